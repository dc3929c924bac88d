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
