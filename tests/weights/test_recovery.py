"""The rank and the components with a tenth to half of the entries missing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import sparse

from autonmf import AutoNMF
from autonmf.datasets import make_low_rank
from autonmf.metrics import recovery_error


def rank_of(X: object, **options: object) -> int:
    return int(AutoNMF(**{"missing": "mask", "random_state": 0} | options).fit(X).n_components_)


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.3, 0.5])
@pytest.mark.parametrize(("shape", "rank"), [((100, 80), 5), ((80, 150), 4), ((200, 60), 6)])
def test_rank_and_components(shape: tuple[int, int], rank: int, fraction: float, holed) -> None:
    X, U, V = make_low_rank(*shape, rank=rank, noise=0.1, random_state=1)
    model = AutoNMF(missing="mask", random_state=0)
    W = model.fit_transform(holed(X, fraction))
    assert model.n_components_ == rank
    assert recovery_error(U, W) < 0.2
    assert recovery_error(V, model.components_.T) < 0.2


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.5])
def test_missing_entries_are_predicted(fraction: float, holed: Callable[..., np.ndarray]) -> None:
    """To the noise, which zeros in their place are far from."""
    clean, U, V = make_low_rank(100, 80, rank=5, noise=0.1, random_state=1)
    X = holed(clean, fraction)
    truth = (U @ V.T)[np.isnan(X)]
    model = AutoNMF(missing="mask", random_state=0)
    predicted = (model.fit_transform(X) @ model.components_)[np.isnan(X)]
    filled = AutoNMF(model.n_components_, random_state=0)
    from_zeros = (filled.fit_transform(np.nan_to_num(X)) @ filled.components_)[np.isnan(X)]
    error, other = (np.linalg.norm(p - truth) / np.linalg.norm(truth) for p in (predicted, from_zeros))
    assert error < 0.1
    assert error < 0.3 * other


def test_transposed_permuted_and_rescaled(planted: np.ndarray, holed: Callable[..., np.ndarray]) -> None:
    X = holed(planted, 0.3)
    rng = np.random.default_rng(0)
    shuffled = X[rng.permutation(100)][:, rng.permutation(80)]
    assert [rank_of(Y) for Y in (X, X.T, shuffled, 1e8 * X, 1e-8 * X)] == [5] * 5
    assert rank_of(1e8 * X.astype(np.float32)) == 5


def test_every_storage(planted: np.ndarray, holed: Callable[..., np.ndarray]) -> None:
    X = holed(planted, 0.3)
    kinds = (np.asfortranarray, sparse.csr_matrix, sparse.csc_matrix, np.ma.masked_invalid)
    assert [rank_of(kind(X)) for kind in kinds] == [5] * 4


@pytest.mark.parametrize("max_rank", [10, None])
@pytest.mark.parametrize("how", ["half missing", "uneven weights"])
def test_first_drops_are_not_taken_for_the_last(how: str, max_rank: int | None) -> None:
    """Skewed parts: rank one explains little, and what it explains of known entries is what counts."""
    for seed in range(100, 103):
        rng = np.random.default_rng(seed)
        X = rng.gamma(0.3, 1, (300, 6)) @ rng.gamma(0.3, 1, (6, 60))
        X = np.maximum(X + 0.2 * np.sqrt(np.square(X).mean()) * rng.standard_normal(X.shape), 0.0)
        model = AutoNMF(missing="mask", max_rank=max_rank, random_state=0)
        if how == "half missing":
            model.fit(np.where(rng.random(X.shape) < 0.5, np.nan, X))
        else:
            model.fit(X, weights=rng.exponential(1, X.shape))
        assert abs(model.n_components_ - 6) <= 1


def test_lines_of_which_nothing_is_known(planted: np.ndarray, holed: Callable[..., np.ndarray]) -> None:
    X = holed(planted, 0.3)
    X[5], X[:, 7] = np.nan, np.nan
    dense = AutoNMF(missing="mask", max_rank=8, random_state=0).fit(X)
    for kind in (
        np.asfortranarray,
        sparse.csr_matrix,
        sparse.csc_matrix,
        sparse.csc_array,
        sparse.coo_matrix,
    ):
        other = AutoNMF(missing="mask", max_rank=8, random_state=0).fit(kind(X))
        np.testing.assert_allclose(other.path_.losses, dense.path_.losses, rtol=1e-10)
        assert other.reconstruction_err_ == pytest.approx(dense.reconstruction_err_, rel=1e-10)


def test_missing_in_blocks(planted: np.ndarray) -> None:
    """A corner of which nothing is known: some samples were never measured on some features."""
    X = np.array(planted)
    X[:40, :30] = np.nan
    assert rank_of(X) == 5


def test_weights_that_are_known_uncertainties(planted: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    sigma = np.exp(0.5 * rng.standard_normal(planted.shape))
    X = np.maximum(planted + 0.1 * sigma * rng.standard_normal(planted.shape), 0.0)
    model = AutoNMF(random_state=0).fit(X, weights=sigma**-2)
    assert model.n_components_ == 5
