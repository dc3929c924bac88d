"""The compiled kernels, called through ctypes. Same signatures as their NumPy twins in `reference`."""

from __future__ import annotations

import ctypes
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import numpy as np

from autonmf._types import Array

_LIBRARY = "_native"
_SUFFIXES = {np.dtype(np.float64): "f64", np.dtype(np.float32): "f32"}


def _load() -> ctypes.CDLL:
    """The library beside this file; OSError if the package was installed without a compiler."""
    here = Path(__file__).parent
    for suffix in EXTENSION_SUFFIXES:
        if (file := here / (_LIBRARY + suffix)).exists():
            return ctypes.CDLL(str(file))
    raise OSError(f"no compiled kernels in {here}")


_library = _load()
VECTOR_BYTES: int = ctypes.c_int.in_dll(_library, "vector_bytes").value
_library.vector_unit.restype = ctypes.c_char_p
VECTOR_UNIT: str = _library.vector_unit().decode()

_size, _pointer = ctypes.c_ssize_t, ctypes.c_void_p
for _suffix in _SUFFIXES.values():
    getattr(_library, f"hals_sweeps_{_suffix}").argtypes = [
        _size, _size, _pointer, _pointer, _pointer, ctypes.c_double, ctypes.c_int,
    ]  # fmt: skip
    for _product in ("csr_times", "csr_transposed_times"):
        getattr(_library, f"{_product}_{_suffix}").argtypes = [_size] * 3 + [_pointer] * 5
        getattr(_library, f"{_product}_{_suffix}").restype = None
    _sweeps = [_pointer, _size, _pointer, _size, _pointer, _size, ctypes.c_int, ctypes.c_double, _pointer]
    for _kind, _of_X in (("sparse", [_size] * 2 + [_pointer] * 3), ("dense", [_size] * 3 + [_pointer])):
        getattr(_library, f"kl_{_kind}_{_suffix}").argtypes = _of_X + _sweeps
        getattr(_library, f"kl_{_kind}_{_suffix}").restype = ctypes.c_double
    getattr(_library, f"kl_pairs_{_suffix}").argtypes = [_size, _size, _pointer, _pointer, _pointer]
    getattr(_library, f"kl_pairs_{_suffix}").restype = None
    getattr(_library, f"forward_step_{_suffix}").argtypes = [
        _size, _size, _pointer, _pointer, _pointer, ctypes.c_double, ctypes.c_double, _pointer, _pointer,
    ]  # fmt: skip


def whole_vectors(rank: int, dtype: np.dtype[np.floating]) -> int:
    """See `autonmf.kernels.reference.whole_vectors`."""
    lanes = VECTOR_BYTES // dtype.itemsize
    return -(-rank // lanes) * lanes


def csr_times(X: Any, factor: Array, rows: slice, out: Array) -> None:
    """See `autonmf.kernels.reference.csr_times`."""
    _csr("csr_times_", X, factor, rows, out)


def csr_transposed_times(X: Any, factor: Array, rows: slice, out: Array) -> None:
    """See `autonmf.kernels.reference.csr_transposed_times`."""
    _csr("csr_transposed_times_", X, factor, rows, out)


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
    getattr(_library, name + _SUFFIXES[X.dtype])(
        rows.start, rows.stop, factor.shape[1], X.indptr.ctypes.data, X.indices.ctypes.data,
        X.data.ctypes.data, factor.ctypes.data, out.ctypes.data,
    )  # fmt: skip


def hals_sweeps(block: Array, product: Array, gram: Array, mu: float, sweeps: int) -> None:
    """See `autonmf.kernels.reference.hals_sweeps`. ``block`` must be Fortran-ordered."""
    if not block.flags.f_contiguous or not block.flags.writeable:
        raise ValueError("the block is updated in place: it must be writeable and Fortran-ordered")
    product, gram = _alike(product, block), _alike(gram, block)
    rows, rank = _checked(block, product, gram)
    function = getattr(_library, "hals_sweeps_" + _SUFFIXES[block.dtype])
    _succeed(function(rows, rank, block.ctypes.data, product.ctypes.data, gram.ctypes.data, mu, sweeps), rank)


def forward_step(block: Array, product: Array, gram: Array, mu: float, gamma: float) -> tuple[Array, Array]:
    """See `autonmf.kernels.reference.forward_step`."""
    block = np.asfortranarray(block)
    product, gram = _alike(product, block), _alike(gram, block)
    rows, rank = _checked(block, product, gram)
    forward, norms = np.empty_like(block), np.empty(rank)
    function = getattr(_library, "forward_step_" + _SUFFIXES[block.dtype])
    _succeed(
        function(
            rows, rank, block.ctypes.data, product.ctypes.data, gram.ctypes.data, mu, gamma,
            forward.ctypes.data, norms.ctypes.data,
        ),
        rank,
    )  # fmt: skip
    return forward, norms


def kl_sweeps(
    X: Any, other: Array, sums: Array, block: Array, sweeps: int, tol: float = 0.0, ratio: Array | None = None
) -> float:
    """See `autonmf.kernels.reference.kl_sweeps`. ``other`` must come from `pad_rows`."""
    (n, rank), dtype = block.shape, block.dtype
    dense = isinstance(X, np.ndarray)
    if not (n <= 1 or block.strides[0] == dtype.itemsize) or (sweeps and not block.flags.writeable):
        raise ValueError("the block is updated in place: its columns must be writeable and contiguous")
    if not other.dtype == X.dtype == dtype:
        raise ValueError("the other factor must have the dtype of X and of the block")
    m = whole_vectors(X.shape[1], dtype)
    expected = (m, rank) if dense else (X.shape[1], whole_vectors(rank, dtype))
    if X.shape[0] != n or other.shape != expected or not (other.T if dense else other).flags.c_contiguous:
        raise ValueError(
            f"the factors of X of shape {X.shape} have the shapes {block.shape} and {other.shape}; "
            "the other factor must be padded"
        )
    sums = np.ascontiguousarray(sums, dtype=np.float64)
    if sums.shape not in ((rank,), (n, rank)):
        raise ValueError(f"sums must have shape ({rank},) or ({n}, {rank}), got {sums.shape}")
    factors = (
        other.ctypes.data, m if dense else other.shape[1], sums.ctypes.data, rank if sums.ndim == 2 else 0,
        block.ctypes.data, block.strides[1] // dtype.itemsize, sweeps, tol,
        None if ratio is None else ratio.ctypes.data,
    )  # fmt: skip
    if dense:
        X = np.ascontiguousarray(X)
        loss = getattr(_library, f"kl_dense_{_SUFFIXES[dtype]}")(n, X.shape[1], rank, X.ctypes.data, *factors)
    else:
        starts, columns = (np.ascontiguousarray(part) for part in (X.indptr, X.indices))
        starts, columns = starts.astype(np.int64, copy=False), columns.astype(np.int32, copy=False)
        pointers = starts.ctypes.data, columns.ctypes.data, X.data.ctypes.data
        loss = getattr(_library, f"kl_sparse_{_SUFFIXES[dtype]}")(n, rank, *pointers, *factors)
    if np.isnan(loss):
        raise MemoryError(f"no memory for a row of X and {rank} components")
    return float(loss)


def pad_rows(factor: Array, *, sparse: bool = False) -> Array:
    """See `autonmf.kernels.reference.pad_rows`."""
    (n, rank), dtype = factor.shape, factor.dtype
    if sparse:
        padded = np.zeros((n, whole_vectors(rank, dtype)), dtype=dtype)
    else:
        padded = np.zeros((whole_vectors(n, dtype), rank), dtype=dtype, order="F")
    padded[:n, :rank] = factor
    return padded


def kl_pairs(profiles: Array, sizes: Array) -> Array:
    """See `autonmf.kernels.reference.kl_pairs`."""
    profiles, sizes = np.asfortranarray(profiles), np.ascontiguousarray(sizes, dtype=np.float64)
    rank = profiles.shape[1]
    distances = np.empty((rank, rank))
    function = getattr(_library, f"kl_pairs_{_SUFFIXES[profiles.dtype]}")
    function(len(profiles), rank, profiles.ctypes.data, sizes.ctypes.data, distances.ctypes.data)
    return distances


def _alike(array: Array, block: Array) -> Array:
    """``array`` with contiguous columns and the dtype of ``block``; a copy only if need be."""
    return np.asarray(array, dtype=block.dtype, order="F")


def _checked(block: Array, product: Array, gram: Array) -> tuple[int, int]:
    rows, rank = block.shape
    if block.dtype not in _SUFFIXES or product.shape != block.shape or gram.shape != (rank, rank):
        raise ValueError(
            f"kernels need float arrays of shapes (n, r), (n, r) and (r, r), got {block.dtype} with "
            f"{block.shape}, {product.shape} and {gram.shape}"
        )
    return rows, rank


def _succeed(status: int, rank: int) -> None:
    if status:
        raise MemoryError(f"no memory for a block of {rank} columns")
