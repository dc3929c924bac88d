"""What a worker computes does not depend on where in memory its arguments arrived."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from autonmf.distributed.data import _map_chunk, load
from autonmf.distributed.rows import Own, Program, Ref, Step, align, run
from autonmf.estimator import _project_chunk

X = np.random.default_rng(0).random((100, 30))
V = np.random.default_rng(1).random((30, 2))
PLACES = [0, 1, 4, 8]


def received(value: Any, offset: int) -> Any:
    """The same, in buffers that begin ``offset`` bytes after a multiple of 64, as from a message."""
    buffers: list[pickle.PickleBuffer] = []
    stream = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(stream, buffers=[_moved(buffer.raw(), offset) for buffer in buffers])


def _moved(buffer: memoryview, offset: int) -> memoryview:
    room = np.empty(len(buffer) + 128, dtype=np.uint8)
    start = -room.ctypes.data % 64 + offset
    room[start : start + len(buffer)] = np.frombuffer(buffer, dtype=np.uint8)
    return memoryview(room)[start : start + len(buffer)].toreadonly()


def product(left: Any, right: Any) -> Any:
    return (right.T @ left.T).T


@pytest.mark.parametrize("at", PLACES)
@pytest.mark.parametrize("there", [X, sparse.csr_array(X * (X > 0.5))], ids=["dense", "sparse"])
def test_products_have_the_same_bits(there: Any, at: int) -> None:
    whole = Ref(0, False, None, X.dtype)
    program = Program((0,), (), (), (Step(product, (whole, V)), Step(product, (whole, Own(0)))))
    expected = product(there, V)
    _, results = run(received(program, at), (received(V, at),), ((received(there, at),), ()))
    for result in results:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("at", PLACES)
def test_blocks_are_loaded_aligned(at: int) -> None:
    for chunk in (X, np.asfortranarray(X), sparse.csr_matrix(X)):
        (block,), _ = load([received(chunk, at)], np.float64)
        np.testing.assert_array_equal(block.toarray() if sparse.issparse(block) else block, X)
        assert align(block) is block


@pytest.mark.parametrize("at", PLACES)
def test_projections_have_the_same_bits(at: int) -> None:
    def project(X: Any, V: np.ndarray) -> np.ndarray:
        return _map_chunk(X, partial(_project_chunk, V, "frobenius"), 2, np.float64)

    np.testing.assert_array_equal(project(received(X, at), received(V, at)), project(X, V))


def test_masked_chunks_are_refused() -> None:
    """On a worker, where the error of a fit comes from."""
    hidden = np.ma.masked_array(X, mask=X > 0.9)
    with pytest.raises(TypeError, match="masked arrays as chunks"):
        load([hidden], np.float64)


def test_repeated_entries_of_sparse_chunks_are_summed() -> None:
    twice = sparse.csr_array((np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    (block,), (summary,) = load([twice], np.float64)
    np.testing.assert_array_equal(block.toarray(), [[2.0, 0.0], [0.0, 1.0]])
    assert (summary.highest, summary.squared_norm, summary.stored) == (2.0, 5.0, 2)
    assert twice.nnz == 3  # the caller's chunk is left as it is
