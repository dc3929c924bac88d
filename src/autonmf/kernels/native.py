"""The compiled kernels, called through ctypes. Same signatures as their NumPy twins in `reference`."""

from __future__ import annotations

import ctypes
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import product as every_pair
from pathlib import Path
from typing import Any

import numpy as np

from autonmf._types import Array

_SUFFIXES = {np.dtype(np.float64): "f64", np.dtype(np.float32): "f32"}


def _load() -> ctypes.CDLL:
    """The library beside this file; OSError if the package was installed without a compiler."""
    here = Path(__file__).parent
    for suffix in EXTENSION_SUFFIXES:
        if (file := here / f"_native{suffix}").exists():
            return ctypes.CDLL(str(file))
    raise OSError(f"no compiled kernels in {here}")


_library = _load()
VECTOR_BYTES: int = ctypes.c_int.in_dll(_library, "vector_bytes").value
LINE_BYTES: int = ctypes.c_int.in_dll(_library, "line_bytes").value
_library.vector_unit.restype = ctypes.c_char_p
VECTOR_UNIT: str = _library.vector_unit().decode()

_size, _pointer, _int, _double = ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_int, ctypes.c_double
_OF_SWEEPS = [_pointer, _size, _pointer, _size, _pointer, _size, _int, _double, _pointer, _size]
_ARGUMENTS = {
    "csr_times": [_size] * 3 + [_pointer] * 5,
    "csr_transposed_times": [_size] * 3 + [_pointer] * 5,
    "forward_step": [_size] * 2 + [_pointer] * 3 + [_double] * 2 + [_pointer] * 2,
    "hals_sweeps": [_size] * 2 + [_pointer] * 3 + [_double, _int],
    "kl_dense": [_size] * 3 + [_pointer, *_OF_SWEEPS],
    "kl_pairs": [_size] * 2 + [_pointer] * 3,
    "kl_sparse": [_size] * 2 + [_pointer] * 3 + _OF_SWEEPS,
}
_RESULTS = {"forward_step": _int, "hals_sweeps": _int, "kl_dense": _double, "kl_sparse": _double}
for _name, _suffix in every_pair(_ARGUMENTS, _SUFFIXES.values()):
    _function = getattr(_library, f"{_name}_{_suffix}")
    _function.argtypes, _function.restype = _ARGUMENTS[_name], _RESULTS.get(_name)


def _call(name: str, dtype: np.dtype[Any], *args: Any) -> Any:
    """Call a function of the library for this precision; arrays are passed by their addresses."""
    function = getattr(_library, f"{name}_{_SUFFIXES[dtype]}")
    passed = list(args)
    for i, arg in enumerate(args):
        if isinstance(arg, np.ndarray):
            passed[i] = arg.ctypes.data
    return function(*passed)


def whole_vectors(rank: int, dtype: np.dtype[np.floating]) -> int:
    """See `autonmf.kernels.reference.whole_vectors`."""
    lanes = VECTOR_BYTES // dtype.itemsize
    return -(-rank // lanes) * lanes


def csr_times(X: Any, factor: Array, rows: slice, out: Array) -> None:
    """See `autonmf.kernels.reference.csr_times`."""
    _csr("csr_times", X, factor, rows, out)


def csr_transposed_times(X: Any, factor: Array, rows: slice, out: Array) -> None:
    """See `autonmf.kernels.reference.csr_transposed_times`."""
    _csr("csr_transposed_times", X, factor, rows, out)


def _csr(name: str, X: Any, factor: Array, rows: slice, out: Array) -> None:
    if X.indices.dtype != np.int32 or X.indptr.dtype != np.int32:
        raise ValueError("the compiled sparse products need 32-bit indices")
    if not all(array.flags.c_contiguous for array in (X.data, X.indices, X.indptr)):
        raise ValueError("the compiled sparse products need contiguous entries and indices")
    if not (factor.flags.c_contiguous and out.flags.c_contiguous and X.dtype == factor.dtype == out.dtype):
        raise ValueError("sparse products need C-ordered factors of the dtype of X")
    if factor.shape[1] != out.shape[1]:
        raise ValueError(f"the factors have {factor.shape[1]} and {out.shape[1]} columns")
    if factor.shape[1] != whole_vectors(factor.shape[1], X.dtype):
        raise ValueError("the compiled sparse products need columns that fill whole vectors")
    sizes = rows.start, rows.stop, factor.shape[1]
    _call(name, X.dtype, *sizes, X.indptr, X.indices, X.data, factor, out)


def hals_sweeps(block: Array, product: Array, gram: Array, mu: float, sweeps: int) -> None:
    """See `autonmf.kernels.reference.hals_sweeps`. ``block`` must be Fortran-ordered."""
    if not block.flags.f_contiguous or not block.flags.writeable:
        raise ValueError("the block is updated in place: it must be writeable and Fortran-ordered")
    rows, rank, product, gram = _check_step(block, product, gram)
    if _call("hals_sweeps", block.dtype, rows, rank, block, product, gram, mu, sweeps):
        raise MemoryError(f"no memory for a block of {rank} columns")


def forward_step(block: Array, product: Array, gram: Array, mu: float, gamma: float) -> tuple[Array, Array]:
    """See `autonmf.kernels.reference.forward_step`."""
    block = np.asfortranarray(block)
    forward, norms = np.empty_like(block), np.empty(block.shape[1])
    rows, rank, product, gram = _check_step(block, product, gram)
    if _call("forward_step", block.dtype, rows, rank, block, product, gram, mu, gamma, forward, norms):
        raise MemoryError(f"no memory for a block of {rank} columns")
    return forward, norms


def _check_step(block: Array, product: Array, gram: Array) -> tuple[int, int, Array, Array]:
    """Rows and columns of a block, and its product and Gram matrix as the kernels read them."""
    rows, rank = block.shape
    if block.dtype not in _SUFFIXES or product.shape != block.shape or gram.shape != (rank, rank):
        raise ValueError(
            f"kernels need float arrays of shapes (n, r), (n, r) and (r, r), got {block.dtype} with "
            f"{block.shape}, {product.shape} and {gram.shape}"
        )
    # with contiguous columns and the dtype of the block; copies only if need be
    product = np.asarray(product, dtype=block.dtype, order="F")
    return rows, rank, product, np.asarray(gram, dtype=block.dtype, order="F")


def kl_sweeps(
    X: Any,
    other: Array,
    sums: Array,
    block: Array,
    sweeps: int,
    tol: float = 0.0,
    ratio: Array | None = None,
    first: int = 0,
) -> float:
    """See `autonmf.kernels.reference.kl_sweeps`. ``other`` must come from `pad_rows`."""
    (n, rank), dtype = block.shape, block.dtype
    dense = isinstance(X, np.ndarray)
    if not (n <= 1 or block.strides[0] == dtype.itemsize) or (sweeps and not block.flags.writeable):
        raise ValueError("the block is updated in place: its columns must be writeable and contiguous")
    if not other.dtype == X.dtype == dtype:
        raise ValueError("the other factor must have the dtype of X and of the block")
    m = _whole_lines(X.shape[1], dtype)
    expected = (m, rank) if dense else (X.shape[1], whole_vectors(rank, dtype))
    contiguous = other.T.flags.c_contiguous if dense else other.flags.c_contiguous
    if X.shape[0] != n or other.shape != expected or not contiguous:
        raise ValueError(
            f"the factors of X of shape {X.shape} have the shapes {block.shape} and {other.shape}; "
            "the other factor must be padded"
        )
    if dense and other.ctypes.data % LINE_BYTES:  # it was sent to a worker
        aligned = _zero_lines(m, rank, dtype)
        aligned[:] = other
        other = aligned
    sums = np.ascontiguousarray(sums, dtype=np.float64)
    if sums.shape not in ((rank,), (n, rank)):
        raise ValueError(f"sums must have shape ({rank},) or ({n}, {rank}), got {sums.shape}")
    if not 0 <= first <= rank:
        raise ValueError(f"the block has {rank} components, the first to be updated cannot be {first}")
    stride = m if dense else other.shape[1]
    block_stride = block.strides[1] // dtype.itemsize
    sums_stride = rank if sums.ndim == 2 else 0
    factors = (other, stride, sums, sums_stride, block, block_stride, sweeps, tol, ratio, first)
    if dense:
        loss = _call("kl_dense", dtype, n, X.shape[1], rank, np.ascontiguousarray(X), *factors)
    else:
        starts, columns = (np.ascontiguousarray(part) for part in (X.indptr, X.indices))
        starts, columns = starts.astype(np.int64, copy=False), columns.astype(np.int32, copy=False)
        loss = _call("kl_sparse", dtype, n, rank, starts, columns, X.data, *factors)
    if np.isnan(loss):
        raise MemoryError(f"no memory for a row of X and {rank} components")
    return float(loss)


def pad_rows(factor: Array, *, sparse: bool = False) -> Array:
    """See `autonmf.kernels.reference.pad_rows`."""
    (n, rank), dtype = factor.shape, factor.dtype
    if sparse:
        padded = np.zeros((n, whole_vectors(rank, dtype)), dtype=dtype)
    else:
        padded = _zero_lines(_whole_lines(n, dtype), rank, dtype)
    padded[:n, :rank] = factor
    return padded


def _whole_lines(size: int, dtype: np.dtype[Any]) -> int:
    """``size`` rounded up to numbers that fill whole cache lines."""
    line = LINE_BYTES // dtype.itemsize
    return -(-size // line) * line


def _zero_lines(size: int, rank: int, dtype: np.dtype[Any]) -> Array:
    """Columns of zeros, each of which begins on a cache line."""
    room = np.zeros(size * rank * dtype.itemsize + LINE_BYTES, dtype=np.uint8)
    first = -room.ctypes.data % LINE_BYTES
    return room[first : first + size * rank * dtype.itemsize].view(dtype).reshape((size, rank), order="F")


def kl_pairs(profiles: Array, sizes: Array) -> Array:
    """See `autonmf.kernels.reference.kl_pairs`."""
    profiles, sizes = np.asfortranarray(profiles), np.ascontiguousarray(sizes, dtype=np.float64)
    rank = profiles.shape[1]
    distances = np.empty((rank, rank))
    _call("kl_pairs", profiles.dtype, len(profiles), rank, profiles, sizes, distances)
    return distances
