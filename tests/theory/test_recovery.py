"""The certificate of exact recovery: when it is given, that it is right, and when it must be refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from autonmf import rank_path
from autonmf.datasets import load_swimmer
from experiments.paper.statements import exact_recovery


def blocks(seed: int, noise: float, rank: int = 3):
    """X* of nonnegative rank = rank, well conditioned (each component has rows and columns of its own)."""
    rng = np.random.default_rng(seed)
    U = 0.2 * rng.random((24, rank)) + np.repeat(np.eye(rank), 24 // rank, axis=0)
    V = 0.2 * rng.random((18, rank)) + np.repeat(np.eye(rank), 18 // rank, axis=0)
    signal = U @ V.T
    X = np.maximum(signal + noise * rng.standard_normal(signal.shape), 0.0)
    return X, signal, U, V


def certified_ranks(X, path, eta, **options):
    return [
        p.rank for p in path.points if exact_recovery(X, p.U, p.V, noise=eta, mu=path.mu, **options).certified
    ]


@pytest.mark.parametrize("constants", ["paper", "sharp"])
@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_recoverable_instance_is_certified_at_its_rank_only(seed, rank, constants):
    X, signal, _, _ = blocks(seed, noise=0.01, rank=rank)
    path = rank_path(X, max_rank=6, random_state=seed)
    eta = 1.01 * np.linalg.norm(X - signal)
    assert certified_ranks(X, path, eta, constants=constants) == [rank]


@pytest.mark.parametrize("constants", ["paper", "sharp"])
def test_refused_when_the_noise_is_large(constants):
    X, signal, _, _ = blocks(0, noise=1.0)
    path = rank_path(X, max_rank=6, random_state=0)
    eta = np.linalg.norm(X - signal)
    assert certified_ranks(X, path, eta, constants=constants) == []
    assert not exact_recovery(
        X, path.at_rank(3).U, path.at_rank(3).V, noise=eta, mu=path.mu, constants=constants
    ).noise_holds


@pytest.mark.parametrize("constants", ["paper", "sharp"])
def test_refused_on_swimmer(constants):
    """Rank 13, nonnegative rank 16: a perfect factorisation has σ₁₆ = 0, and rank 13 never fits."""
    X, parts = load_swimmer(return_parts=True)
    limbs, torso = parts[:16].copy(), parts[16]
    limbs[:4] += torso  # the torso goes with one limb
    weights = np.linalg.lstsq(limbs.T, X.T, rcond=None)[0].T
    assert_allclose(np.maximum(weights, 0) @ limbs, X, atol=1e-10)
    found = exact_recovery(
        X, np.maximum(weights, 0), limbs.T, noise=0.1, mu=1e-8, rank=16, constants=constants
    )
    assert found.sigma == pytest.approx(0, abs=1e-8)
    assert not found.certified
    thirteen = exact_recovery(
        X, np.maximum(weights, 0)[:, :13], limbs.T[:, :13], noise=0.1, mu=1e-8, constants=constants
    )
    assert thirteen.sigma > 1
    assert thirteen.noise_holds
    assert not thirteen.energy_holds
    assert not thirteen.certified


@pytest.mark.parametrize("constants", ["paper", "sharp"])
def test_each_condition_can_fail_alone(constants):
    X, signal, U, V = blocks(0, noise=0.01)
    eta = 1.05 * np.linalg.norm(X - signal)
    good = {"noise": eta, "mu": 1e-8, "constants": constants}
    names = ("noise_holds", "lam_holds", "mu_holds", "energy_holds")

    def failing(U=U, V=V, **change):
        found = exact_recovery(X, U, V, **(good | change))
        assert found.certified == all(getattr(found, name) for name in names)
        return {name for name in names if not getattr(found, name)}

    low, high = exact_recovery(X, U, V, **good).lam_interval
    assert failing() == set()
    assert failing(lam=0.99 * low) == {"lam_holds"}
    assert failing(lam=1.01 * high) == {"lam_holds"}
    assert "energy_holds" in failing(U=1.1 * U)
    assert failing(noise=0.5 * eta) == {"energy_holds"}
    assert "noise_holds" in failing(noise=10.0)
    extra = [np.column_stack([B, 0.001 * np.ones(len(B))]) for B in (U, V)]
    assert "energy_holds" in failing(*extra, rank=3)  # a column too many costs 2λ
    if constants == "paper":
        assert "mu_holds" in failing(mu=1.0)


def test_numbers_of_the_paper_form():
    """Every number against its formula, with NumPy's full SVD."""
    X, _, U, V = blocks(1, noise=0.01)
    eta, mu = 0.25, 1e-3
    sigma = np.linalg.svd(X, compute_uv=False)[2]
    found = exact_recovery(X, U, V, noise=eta, mu=mu)
    assert_allclose(found.sigma, sigma, rtol=1e-10)
    assert found.sigma <= sigma
    assert_allclose(found.noise_bound, sigma / 6)
    assert_allclose(found.lam_interval, (eta**2 / 2, (sigma - 2 * eta) ** 2 / 32))
    assert found.lam == found.lam_interval[1]
    assert_allclose(found.mu_bound, found.lam / (np.sqrt(3) * (np.linalg.norm(X) + eta)))
    assert_allclose(found.energy_bound, eta**2 / 2 + 6 * found.lam)
    energy = 0.5 * np.linalg.norm(X - U @ V.T) ** 2
    energy += 0.5 * mu * (np.sum(U**2) + np.sum(V**2)) + 6 * found.lam
    assert_allclose(found.energy, energy)
    assert exact_recovery(sparse.csr_array(X), U, V, noise=eta, mu=mu).sigma == pytest.approx(found.sigma)


def test_safe_forms_imply_the_propositions_hypotheses():
    """With only X and η known, ‖N‖ ≤ σ_r(X*)/5 and the two-sided bound on λ hold for the unknown X*."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, signal, U, V = blocks(seed, noise=10 ** rng.uniform(-3, -1.2))
        noise = np.linalg.norm(X - signal)
        found = exact_recovery(X, U, V, noise=noise * rng.uniform(1, 1.5), mu=1e-9)
        if not found.noise_holds:
            continue
        sigma = np.linalg.svd(signal, compute_uv=False)[2]
        low, high = found.lam_interval
        assert noise <= sigma / 5
        assert noise**2 / 2 <= low <= high <= (sigma - noise) ** 2 / 32
        assert found.mu_bound <= found.lam / (np.sqrt(3) * np.linalg.norm(signal))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    columns=st.integers(1, 4),
    rank=st.integers(1, 4),
    where=st.floats(0.001, 0.999),
    level=st.floats(-4, 0.5),
)
def test_certified_means_what_it_says(seed, columns, rank, where, level):
    """Random points, ranks, noise bounds and λ: whenever certified, UVᵀ has rank r, and r columns.

    This is the claim itself, for the wider ("sharp") conditions; critical or not, and with zero columns.
    """
    rng = np.random.default_rng(seed)
    U, V = rng.random((6, columns)) * (rng.random((6, columns)) < 0.7), rng.random((5, columns))
    X = np.maximum(U @ V.T + 10**level * 0.1 * rng.standard_normal((6, 5)), 0.0) + 1e-12
    eta = np.linalg.norm(X - U @ V.T) * rng.choice([0.9, 1.1, 2.0]) + 1e-3
    interval = exact_recovery(X, U, V, noise=eta, mu=1e-6, rank=rank, constants="sharp").lam_interval
    lam = max(interval[0] + where * (interval[1] - interval[0]), 0.0)
    found = exact_recovery(X, U, V, noise=eta, mu=1e-6, lam=lam, rank=rank, constants="sharp")
    strict = exact_recovery(X, U, V, noise=eta, mu=1e-6, lam=lam, rank=rank)
    assert found.certified or not strict.certified  # the paper's conditions imply the sharp ones
    if found.certified:
        assert np.linalg.matrix_rank(U @ V.T, tol=1e-9) == rank
        assert np.count_nonzero(U.any(axis=0) & V.any(axis=0)) == rank
        # every matrix within η of X has rank at least r, and singular values beyond r are at most η
        values = np.linalg.svd(X, compute_uv=False)
        assert values[rank - 1] > eta
        assert rank == 5 or values[rank] <= eta


def test_certificates_are_given_often_enough_to_mean_something():
    given_ = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        U, V = rng.random((6, 2)), rng.random((5, 2))
        X = np.maximum(U @ V.T + 0.005 * rng.standard_normal((6, 5)), 0.0)
        eta = 1.1 * np.linalg.norm(X - U @ V.T)
        given_ += exact_recovery(X, U, V, noise=eta, mu=1e-8, constants="sharp").certified
    assert given_ > 25


def test_sharp_interval_cannot_be_widened():
    """Below η²/4 a point with a column too many meets the energy bound; above (σ² - η²)/4 one too few."""
    sigma, eta, mu = 2.0, 0.5, 1e-9
    X = np.diag([sigma, eta])
    whole = np.sqrt(X)
    low, high = exact_recovery(X, whole, whole, noise=eta, mu=mu, rank=1, constants="sharp").lam_interval
    assert_allclose((low, high), (eta**2 / 4, (sigma**2 - eta**2) / 4))
    found = exact_recovery(X, whole, whole, noise=eta, mu=mu, rank=1, lam=0.99 * low, constants="sharp")
    assert found.energy_holds  # two columns for r = 1
    nothing = np.zeros((2, 1))
    Y = np.diag([sigma, 0.0])
    for factor, fits in ((0.99, False), (1.01, True)):
        found = exact_recovery(
            Y, nothing, nothing, noise=eta, mu=mu, rank=1, lam=factor * high, constants="sharp"
        )
        assert found.energy_holds == fits  # no column for r = 1


def test_report():
    X, signal, U, V = blocks(0, noise=0.01)
    found = exact_recovery(X, U, V, noise=1.05 * np.linalg.norm(X - signal), mu=1e-8)
    text = str(found)
    assert "rank 3: certified" in text
    assert "NO" not in text
    assert all(assumption in text for assumption in found.assumed)
    assert "not certified" in str(exact_recovery(X, 2 * U, V, noise=0.1, mu=1e-8))


def test_errors():
    X, _, U, V = blocks(0, noise=0.01)
    with pytest.raises(ValueError, match="unknown constants 'best'"):
        exact_recovery(X, U, V, noise=0.1, mu=0.0, constants="best")
    with pytest.raises(ValueError, match="no rank to certify"):
        exact_recovery(X, 0 * U, V, noise=0.1, mu=0.0)
    with pytest.raises(ValueError, match="noise must be"):
        exact_recovery(X, U, V, noise=-1.0, mu=0.0)
    beyond = exact_recovery(X, U, V, noise=0.1, mu=0.0, rank=19)
    assert beyond.sigma == 0.0
    assert not beyond.certified
