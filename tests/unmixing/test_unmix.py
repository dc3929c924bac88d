"""`unmix`: materials and abundances of scenes of known truth, results that repeat, and messages."""

from __future__ import annotations

import subprocess
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

from autonmf import AutoNMF, Unmixing, unmix
from autonmf.datasets import Dataset, fetch_jasper_ridge, fetch_samson
from autonmf.model.fcls import MAX_WEIGHTS
from autonmf.unmixing import MAX_PIXELS


def make_scene(n: int = 400, r: int = 3, m: int = 30, noise: float = 0.0, seed: int = 0) -> tuple[Any, ...]:
    """X, endmembers and abundances; the first r pixels are pure."""
    rng = np.random.default_rng(seed)
    E = rng.random((r, m))
    A = np.vstack([np.eye(r), rng.dirichlet(np.full(r, 0.7), n - r)])
    return np.maximum(A @ E + noise * rng.standard_normal((n, m)), 0.0), E, A


def errors(found: Unmixing, E: np.ndarray, A: np.ndarray) -> tuple[float, float]:
    """The mean angle in degrees and the error of the abundances, for the order with the smallest angle."""

    def angle(order: tuple[int, ...]) -> float:
        ours = found.endmembers[list(order)]
        cosines = np.sum(ours * E, axis=1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(E, axis=1)
        return float(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))).mean())

    best = min(permutations(range(len(E))), key=angle)
    return angle(best), float(np.sqrt(np.mean((found.abundances[:, list(best)] - A) ** 2)))


@pytest.mark.parametrize("r", [1, 2, 3, 5])
def test_pure_pixels_without_noise_are_found_exactly(r: int) -> None:
    X, E, A = make_scene(r=r)
    found = unmix(X, rank=r)
    angle, error = errors(found, E, A)
    assert angle < 0.1
    assert error < 2e-3
    assert found.misfit < 1e-5
    order = [int(np.argmin(np.abs(found.endmembers - e).sum(axis=1))) for e in E]
    np.testing.assert_allclose(found.endmembers[order], E, rtol=0.02, atol=0.01)  # in the units of X


def test_abundances_are_fractions_and_the_misfit_is_theirs() -> None:
    X, _, _ = make_scene(noise=0.02)
    found = unmix(X, rank=3)
    assert found.abundances.min() >= 0
    np.testing.assert_allclose(found.abundances.sum(axis=1), 1.0, atol=1e-14)
    left = X - found.abundances @ found.endmembers
    assert found.misfit == pytest.approx(np.sum(left**2) / np.sum(X**2))
    means = found.abundances.mean(axis=0)
    assert list(means) == sorted(means, reverse=True)
    assert (found.rank, repr(found)) == (
        3,
        f"Unmixing(rank=3, pixels=400, bands=30, misfit={found.misfit:.3g})",
    )


def test_new_pixels() -> None:
    X, _, _ = make_scene(noise=0.02)
    found = unmix(X[:300], rank=3)
    np.testing.assert_allclose(found.transform(X[:300]), found.abundances, atol=1e-12)
    new = found.transform(X[300:])
    assert new.shape == (100, 3)
    np.testing.assert_allclose(found.transform(np.zeros((1, 30))).sum(), 1.0)


@pytest.mark.parametrize("scale", [1e-6, 1e4])
def test_units_do_not_matter(scale: float) -> None:
    X, _, _ = make_scene(noise=0.02)
    found, scaled = unmix(X, rank=3), unmix(scale * X, rank=3)
    np.testing.assert_allclose(scaled.abundances, found.abundances, atol=1e-6)
    np.testing.assert_allclose(scaled.endmembers, scale * found.endmembers, rtol=1e-4)


def test_rank_of_a_model_or_of_the_data() -> None:
    X, E, A = make_scene(noise=0.005)
    model = AutoNMF(n_components=3, random_state=0).fit(X)
    for found in (unmix(X), unmix(X, init=model), unmix(X, init=model.transform(X)), unmix(X, 3, model)):
        assert found.rank == 3
        assert errors(found, E, A)[0] < 2.0
    other = AutoNMF(max_rank=5, random_state=0).fit(X)
    assert unmix(X, rank=2, init=other).rank == 2  # another rank of the same path
    scikit = NMF(3, init="nndsvda", max_iter=500, tol=1e-3).fit(X)
    assert unmix(X, init=scikit).rank == 3


def test_a_start_can_only_help() -> None:
    """The solution with the lower misfit is kept, so that a poor model does no harm."""
    X, E, A = make_scene(noise=0.01, r=4)
    poor = np.random.default_rng(0).random((len(X), 4))
    assert errors(unmix(X, init=poor), E, A)[0] <= errors(unmix(X, rank=4), E, A)[0] + 0.5


@pytest.mark.parametrize("form", ["float32", "uint16", "fortran", "list", "frame", "reversed"])
def test_what_X_may_be(form: str) -> None:
    X = np.rint(1000.0 * make_scene(noise=0.02)[0])
    given: Any = {
        "float32": lambda: X.astype(np.float32),
        "uint16": lambda: X.astype(np.uint16),
        "fortran": lambda: np.asfortranarray(X),
        "list": lambda: X.tolist(),
        "frame": lambda: pytest.importorskip("pandas").DataFrame(X),
        "reversed": lambda: X[::-1].copy()[::-1],
    }[form]()
    np.testing.assert_allclose(unmix(given, 3).abundances, unmix(X, 3).abundances, atol=1e-8)


def test_X_is_not_changed() -> None:
    X, _, _ = make_scene(noise=0.02)
    X.setflags(write=False)
    unmix(X, rank=3)
    unmix(X)


def test_the_same_bits_whatever_the_threads() -> None:
    X, _, _ = make_scene(n=MAX_PIXELS + 500, noise=0.02)
    first = unmix(X, rank=3)
    for threads in (1, 2):
        with threadpool_limits(threads):
            again = unmix(X, rank=3)
        np.testing.assert_array_equal(again.endmembers, first.endmembers)
        np.testing.assert_array_equal(again.abundances, first.abundances)


def test_a_sample_of_many_pixels_does_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with a material that is pure in one pixel of 20,000."""
    X, E, A = make_scene(n=20_000, noise=0.005)
    A[3:, 2] *= 0.3
    A[3:] /= A[3:].sum(axis=1, keepdims=True)
    X = np.maximum(A @ E + 0.002 * np.random.default_rng(1).standard_normal(X.shape), 0.0)
    sampled = errors(unmix(X, rank=3), E, A)
    monkeypatch.setattr("autonmf.unmixing.MAX_PIXELS", 20_000)
    whole = errors(unmix(X, rank=3), E, A)
    assert sampled[0] < whole[0] + 0.5
    assert sampled[1] < whole[1] + 0.01


def test_pixels_that_are_zero_or_repeated() -> None:
    X, E, A = make_scene(noise=0.002)
    X[50:60] = 0.0
    X[60:200] = X[60]
    found = unmix(X, rank=3)
    assert np.isfinite(found.endmembers).all()
    np.testing.assert_allclose(found.abundances.sum(axis=1), 1.0)
    assert (
        errors(unmix(np.delete(X, np.s_[50:60], axis=0), rank=3), E, np.delete(A, np.s_[50:60], 0))[0] < 2.0
    )


def test_one_material() -> None:
    for X in (np.full((5, 4), 2.0), np.array([[1.0, 2.0, 3.0]]), np.ones((1, 1))):
        found = unmix(X, rank=1)
        np.testing.assert_allclose(found.endmembers, X[:1])
        np.testing.assert_array_equal(found.abundances, np.ones((len(X), 1)))
        assert found.misfit < 1e-20
    assert unmix(np.array([[1.0, 2.0, 3.0]])).rank == 1


X, _, _ = make_scene(n=20, m=6)
BAD: dict[str, tuple[tuple[Any, ...], type[Exception], str]] = {
    "fewer pixels": ((X[:2], 3), ValueError, "X has 2 pixels, too few for 3 mat.*: choose a rank up to 2"),
    "fewer bands": ((X[:, :2], 3), ValueError, "X has 2 bands, too few for 3 mat.*: choose a rank up to 2"),
    "one pixel": ((X[:1], 2), ValueError, "X has 1 pixel, too few for 2 materials"),
    "rank zero": ((X, 0), ValueError, "rank must be a positive int, the number of materials, or None; got 0"),
    "rank negative": ((X, -2), ValueError, "got -2"),
    "rank a float": ((X, 2.5), ValueError, "got 2.5"),
    "rank a bool": ((X, True), ValueError, "got True"),
    "negative": ((-X, 2), ValueError, "X has negative entries, the smallest -.*pass X.clip"),
    "NaN": ((np.where(X > 0.9, np.nan, X), 2), ValueError, "X contains NaN or infinity: leave those"),
    "infinity": ((np.where(X > 0.9, np.inf, X), 2), ValueError, "X contains NaN or infinity: leave those"),
    "too large": ((1e200 * X, 2), ValueError, "squares do not fit double precision. Divide X by its max"),
    "too small": ((1e-200 * X, 2), ValueError, "squares do not fit double precision. Divide X by its max"),
    "zeros": ((np.zeros((4, 4)), 2), ValueError, "X is all zeros: there is nothing to unmix"),
    "constant": ((np.ones((9, 4)), 2), ValueError, "mixtures of 1 spectrum, so 2 materials cannot be told"),
    "two only": ((X[:, :1] * X[0] + X[1], 3), ValueError, "mixtures of 2 spectra.*: choose a rank up to 2"),
    "sparse": ((sparse.csr_matrix(X), 2), TypeError, "sparse matrix, but spectra are dense: pass X.toarray"),
    "vector": ((X[0], 2), ValueError, r"a pixel per row, got shape \(6,\): pass X.reshape\(-1, n_bands\)"),
    "image": ((X.reshape(4, 5, 6), 2), ValueError, r"got shape \(4, 5, 6\): pass X.reshape\(-1, n_bands\)"),
    "empty": ((X[:0], 2), ValueError, r"got shape \(0, 6\)"),
    "text": ((np.array([["a", "b"]]), 1), TypeError, "X has dtype <U1"),
    "complex": ((X + 1j, 2), TypeError, "X is complex"),
    "nothing": ((None, 2), TypeError, "X is None"),
    "many": ((np.eye(70), 70), ValueError, f"rank is 70, but at most {MAX_WEIGHTS} materials can be unmixed"),
    "not fitted": ((X, 2, AutoNMF()), ValueError, "init is a model that is not fitted: call init.fit"),
    "init a word": ((X, 2, "random"), TypeError, "init must be a fitted model or its weights, got 'random'"),
    "other pixels": ((X, 2, X[:5, :2]), ValueError, r"weights of shape \(20, 2\), got shape \(5, 2\)"),
    "other rank": ((X, 2, X[:, :3]), ValueError, r"weights of shape \(20, 2\), got shape \(20, 3\)"),
    "weights negative": ((X, 2, -X[:, :2]), ValueError, "the weights of init must be finite and nonnegative"),
    "seed": ((X, 2, None, "zero"), ValueError, "random_state must be"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    arguments, kind, message = BAD[case]
    with pytest.raises(kind, match=message):
        unmix(*arguments)


def test_a_model_of_another_width() -> None:
    model = AutoNMF(n_components=2, random_state=0).fit(X[:, :5])
    with pytest.raises(ValueError, match="init was fitted to 5 bands, but X has 6"):
        unmix(X, init=model)
    fitted = AutoNMF(max_rank=3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="rank 5"):
        unmix(X, rank=5, init=fitted)
    with pytest.raises(ValueError, match="init has 3 components, not 2"):
        unmix(X, rank=2, init=NMF(3, init="nndsvda", max_iter=500, tol=1e-2).fit(X))


def test_new_pixels_of_another_width() -> None:
    found = unmix(X, rank=2)
    with pytest.raises(ValueError, match="X has 5 bands, but the endmembers have 6"):
        found.transform(X[:, :5])
    with pytest.raises(ValueError, match="negative"):
        found.transform(-X)
    with pytest.raises(TypeError, match="sparse"):
        found.transform(sparse.csr_matrix(X))


def test_light_to_import() -> None:
    code = "import sys, autonmf.unmixing; print('sklearn' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def score_seeds(data: Dataset) -> np.ndarray:
    assert data.V is not None
    assert data.U is not None
    models = [AutoNMF(data.rank, random_state=seed).fit(data.X) for seed in range(5)]
    return np.array([errors(unmix(data.X, init=model), data.V.T, data.U) for model in models])


@pytest.mark.slow
def test_samson(real_home: Path) -> None:
    angles, rms = score_seeds(fetch_samson(data_home=real_home, download=False)).T
    assert angles.max() <= 3.0
    assert rms.max() <= 0.07


@pytest.mark.slow
def test_jasper_ridge(real_home: Path) -> None:
    angles, rms = score_seeds(fetch_jasper_ridge(data_home=real_home, download=False)).T
    assert angles.max() <= 6.0
    assert rms.max() <= 0.12


def test_unknown_options_of_the_plot() -> None:
    with pytest.raises(TypeError, match="plot has no parameter 'map_shape': do you mean image_sh"):
        unmix(X, 2).plot(map_shape=(4, 5))


def test_bands_in_rows_are_pointed_out() -> None:
    X, _, _ = make_scene(n=100, m=20)
    with pytest.warns(
        UserWarning, match=r"X has 100 bands and only 20 pixels: if its rows are bands, pass X\.T"
    ):
        unmix(X.T, rank=3)
