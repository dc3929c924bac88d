"""The compiled kernels against their NumPy twins, and the choice between them."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from autonmf.kernels import reference

native = pytest.importorskip(
    "autonmf.kernels.native", reason="installed without a compiler", exc_type=OSError
)
TOLERANCE = {np.float64: 1e-12, np.float32: 2e-4}


def make_block(n, rank, dtype, seed=0, zeros=0.3):
    rng = np.random.default_rng(seed)
    other = rng.random((rank + 3, rank)) * (rng.random((rank + 3, rank)) > zeros)
    gram = (other.T @ other).astype(dtype)
    block = np.asfortranarray(rng.random((n, rank)) * (rng.random((n, rank)) > zeros), dtype=dtype)
    product = np.asfortranarray(rng.standard_normal((n, rank)) * rank, dtype=dtype)
    return block, product, gram


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 300),
    rank=st.integers(1, 20),
    dtype=st.sampled_from([np.float64, np.float32]),
    sweeps=st.integers(0, 3),
    mu=st.sampled_from([0.0, 1e-8, 1.0]),
    seed=st.integers(0, 2**16),
)
def test_hals_sweeps_equal_their_twin(n, rank, dtype, sweeps, mu, seed):
    block, product, gram = make_block(n, rank, dtype, seed)
    gram[np.diag_indices(rank)] += 1  # well conditioned, so that rounding stays rounding
    expected = block.copy(order="F")
    reference.hals_sweeps(expected, product, gram, mu, sweeps)
    native.hals_sweeps(block, product, gram, mu, sweeps)
    np.testing.assert_allclose(block, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * rank)


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 300),
    rank=st.integers(1, 20),
    dtype=st.sampled_from([np.float64, np.float32]),
    seed=st.integers(0, 2**16),
)
def test_forward_step_equals_its_twin(n, rank, dtype, seed):
    block, product, gram = make_block(n, rank, dtype, seed)
    before = block.copy()
    expected, expected_norms = reference.forward_step(block, product, gram, 0.1, 7.0)
    forward, norms = native.forward_step(block, product, gram, 0.1, 7.0)
    scale = TOLERANCE[dtype] * max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(forward, expected, atol=scale)
    np.testing.assert_allclose(norms, expected_norms, rtol=1e3 * TOLERANCE[dtype], atol=scale)
    np.testing.assert_array_equal(block, before)


def test_a_column_without_partner_becomes_zero():
    block, product, gram = make_block(70, 3, np.float64)
    gram[1, :] = gram[:, 1] = 0
    for kernels in (reference, native):
        swept = block.copy(order="F")
        kernels.hals_sweeps(swept, product, gram, 0.0, 1)
        assert not swept[:, 1].any()
        assert np.isfinite(swept).all()


def test_several_sweeps_are_repeated_sweeps():
    block, product, gram = make_block(130, 5, np.float64)
    once = block.copy(order="F")
    for _ in range(4):
        native.hals_sweeps(once, product, gram, 1e-8, 1)
    native.hals_sweeps(block, product, gram, 1e-8, 4)
    np.testing.assert_array_equal(block, once)


def test_c_ordered_or_read_only_blocks_are_refused_rather_than_lost():
    block, product, gram = make_block(10, 3, np.float64)
    with pytest.raises(ValueError, match="Fortran"):
        native.hals_sweeps(np.ascontiguousarray(block), product, gram, 0.0, 1)
    block.setflags(write=False)
    with pytest.raises(ValueError, match="writeable"):
        native.hals_sweeps(block, product, gram, 0.0, 1)


def test_shapes_are_checked_before_memory_is_touched():
    block, product, gram = make_block(10, 3, np.float64)
    with pytest.raises(ValueError, match="shapes"):
        native.hals_sweeps(block, product[:5], gram, 0.0, 1)
    with pytest.raises(ValueError, match="shapes"):
        native.forward_step(block, product, gram[:2, :2], 0.0, 1.0)


def test_the_environment_can_ask_for_numpy():
    code = "from autonmf import kernels; print(kernels.BACKEND, kernels.hals_sweeps.__module__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"AUTONMF_KERNELS": "numpy"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["NumPy", "(AUTONMF_KERNELS=numpy)", "autonmf.kernels.reference"]


def test_a_path_is_the_same_with_either_kernel(monkeypatch):
    from autonmf import kernels, rank_path
    from autonmf.datasets import make_low_rank

    X, _, _ = make_low_rank(80, 60, 4, 0.1, random_state=0)
    compiled = rank_path(X, max_rank=8, random_state=0)
    monkeypatch.setattr(kernels, "hals_sweeps", reference.hals_sweeps)
    monkeypatch.setattr(kernels, "forward_step", reference.forward_step)
    plain = rank_path(X, max_rank=8, random_state=0)
    np.testing.assert_allclose(plain.losses, compiled.losses, rtol=1e-6)


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(1, 40),
    m=st.integers(1, 40),
    rank=st.integers(1, 80),
    dtype=st.sampled_from([np.float64, np.float32]),
    seed=st.integers(0, 2**16),
)
def test_sparse_products_equal_scipys(n, m, rank, dtype, seed):
    rng = np.random.default_rng(seed)
    X = sparse.random(n, m, density=0.2, format="csr", dtype=dtype, random_state=rng)
    middle = n // 2
    for kernels in (reference, native):
        columns = kernels.whole_vectors(rank, np.dtype(dtype))
        assert rank <= columns < rank + 8
        V, U = rng.random((m, columns)).astype(dtype), rng.random((n, columns)).astype(dtype)
        out, transposed = np.zeros((n, columns), dtype), np.zeros((m, columns), dtype)
        for rows in (slice(0, middle), slice(middle, n)):
            kernels.csr_times(X, V, rows, out)
            kernels.csr_transposed_times(X, U, rows, transposed)
        np.testing.assert_allclose(out, X @ V, rtol=1e-5)
        np.testing.assert_allclose(transposed, X.T @ U, rtol=1e-5)


def test_sparse_products_check_what_they_are_given():
    X = sparse.csr_matrix(np.eye(3))
    with pytest.raises(ValueError, match="C-ordered"):
        native.csr_times(X, np.ones((3, 4), order="F"), slice(0, 3), np.zeros((3, 4)))
    with pytest.raises(ValueError, match="4 and 8 columns"):
        native.csr_times(X, np.ones((3, 4)), slice(0, 3), np.zeros((3, 8)))
    strided = sparse.csr_matrix((np.ones(6)[::2], X.indices, X.indptr))
    with pytest.raises(ValueError, match="contiguous"):
        native.csr_times(strided, np.ones((3, 4)), slice(0, 3), np.zeros((3, 4)))
    with pytest.raises(ValueError, match="whole vectors"):
        native.csr_times(X, np.ones((3, 2)), slice(0, 3), np.zeros((3, 2)))
    X.indices = X.indices.astype(np.int64)
    with pytest.raises(ValueError, match="32-bit"):
        native.csr_times(X, np.ones((3, 2)), slice(0, 3), np.zeros((3, 2)))
