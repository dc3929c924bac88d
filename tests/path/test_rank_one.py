"""No loss of a path is above that of the best matrix of rank one, which ARPACK finds in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import svds

from autonmf import AutoNMF, rank_path
from autonmf.data import as_data
from autonmf.model.initial import leading_triplet


def draw(seed: int) -> Any:
    """Sparse and hardly decaying: the leading singular values are close to each other."""
    rng = np.random.default_rng(seed)
    shape = [(104, 249), (293, 147), (255, 350), (85, 255), (115, 248)][seed % 5]
    X = sparse.random(*shape, [0.008, 0.014, 0.2, 0.14, 0.013][seed % 5], "csr", random_state=seed)
    X.data = (rng.exponential(1.0, X.nnz) ** (1 + 2 * (seed % 2))).astype(np.float32).astype(float)
    return X


def bound(X: Any) -> float:
    """½(‖X‖² - σ₁²) as a fraction of ½‖X‖²."""
    sigma = svds(X, 1, return_singular_vectors=False, tol=1e-12, random_state=0)[0]
    return float(1.0 - sigma**2 / np.square(X.data).sum())


@pytest.mark.parametrize("engine", ["auto", "direct", "compressed"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float64, 1e-8)])
@pytest.mark.parametrize("seed", range(10))
def test_rank_one_of_sparse_data(engine: str, dtype: Any, tolerance: float, seed: int) -> None:
    X = draw(seed)
    path = rank_path(X.astype(dtype), 8, engine=engine, random_state=0)
    best = bound(X)
    assert path.relative_losses.max() <= best + tolerance
    assert path.rank_one_loss / path.energy == pytest.approx(best, abs=tolerance)


@pytest.mark.parametrize("kind", [sparse.csr_array, lambda X: X.toarray()], ids=["sparse", "dense"])
@pytest.mark.parametrize("seed", range(5))
def test_rank_one_of_a_fit(kind: Any, seed: int) -> None:
    """Whose path follows the equilibrated X."""
    X = draw(seed)
    path = AutoNMF(max_rank=8, random_state=0).fit(kind(X.astype(np.float32))).path_
    assert path.relative_losses.max() <= bound(X) + 1e-6
    assert path.rank_one_loss / path.energy == pytest.approx(bound(X), abs=1e-6)


@pytest.mark.parametrize("unit", [1.0, 1e100, 1e-100])
def test_the_leading_pair_of_a_flat_spectrum(unit: float) -> None:
    """Blocks of nearly the same norm, between which power iteration hardly chooses."""
    block = np.random.default_rng(0).random((6, 4))
    X = np.kron(np.diag(1.0 + 1e-5 * np.arange(8)), block)
    u, sigma, v = leading_triplet(as_data(unit * X))
    expected = np.linalg.svd(block, compute_uv=False)[0] * (1 + 7e-5)
    assert sigma / unit == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose((X @ v)[:, 0] * unit, sigma * u[:, 0], rtol=1e-10)
    assert v[:-4].max() < 1e-3 * v[-4:].min()


@pytest.mark.parametrize("shape", [(9, 1), (9, 2), (2, 9), (1, 9), (3, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_leading_pair_of_few_columns(shape: tuple[int, int], dtype: Any) -> None:
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X = (rng.random(shape) * (rng.random(shape) < 0.7) + 1e-3 * rng.random(shape)).astype(dtype)
        sigma = leading_triplet(as_data(X))[1]
        expected = np.linalg.svd(X.astype(float), compute_uv=False)[0]
        assert sigma == pytest.approx(expected, rel=2e-6 if dtype == np.float32 else 1e-12)
