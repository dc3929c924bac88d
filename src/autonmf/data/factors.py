"""Operations on factors: matrices with a row for each row, or each column, of X.

Most factors are Fortran-ordered arrays. If X is kept on a cluster, the rows of its left factor stay there
too, as a `RemoteFactor`. All other modules handle both kinds through these functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy.linalg.blas import dgemm, sgemm

from autonmf._types import Array

NARROW = 28
"""Up to this width gemm is faster than syrk, which NumPy uses for AᵀA."""


class RemoteFactor(ABC):
    """A matrix whose rows are held elsewhere. Nothing is computed until a sum over the rows is needed."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @abstractmethod
    def times(self, matrix: Array, dtype: Any = None) -> Self:
        """The product with a small matrix from the right."""

    @abstractmethod
    def map(self, function: Callable[..., Array], *args: Any) -> Self:
        """``function`` of the rows; it must treat rows independently of each other."""

    @abstractmethod
    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """The sum of ``function`` over blocks of rows."""

    @abstractmethod
    def map_parts(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """``function`` of every block of rows, as a list."""

    @abstractmethod
    def map_blocks(self, function: Callable[..., Any], U: Any, *shared: Any) -> tuple[Any, Any]:
        """`Data.map_blocks` of this matrix as X."""

    @abstractmethod
    def cross(self, other: Any) -> Array:
        """AᵀB."""

    @abstractmethod
    def astype(self, dtype: Any, copy: bool = True) -> Self:
        """The same factor in another precision."""

    @abstractmethod
    def persist(self) -> Self:
        """The same factor, which is kept on the workers once computed."""

    @abstractmethod
    def compute(self) -> Self:
        """The same factor, computed now."""


def gram(A: Any) -> Array:
    """AᵀA."""
    if isinstance(A, RemoteFactor):
        return A.cross(A)
    if A.flags.f_contiguous and 0 < A.shape[1] <= NARROW:
        product = dgemm if A.dtype == np.float64 else sgemm
        return np.asarray(product(1.0, A, A, trans_a=True))
    return np.asarray(A.T @ A)


def cross(A: Any, B: Any) -> Array:
    """AᵀB of two factors with the same rows."""
    if isinstance(A, RemoteFactor):
        return A.cross(B)
    return B.cross(A).T if isinstance(B, RemoteFactor) else np.asarray(A.T @ B)


def dot(A: Any, B: Any) -> float:
    """⟨A, B⟩ of two factors with the same rows, in double precision."""
    if isinstance(A, RemoteFactor):
        return float(np.trace(A.cross(B), dtype=np.float64))
    if A.dtype == B.dtype == np.float64:
        return float(np.vdot(A.T, B.T))  # without a copy of Fortran-ordered factors
    return float(np.sum(A * B, dtype=np.float64))


def norm(A: Any) -> float:
    """‖A‖_F."""
    return float(np.sqrt(max(dot(A, A), 0.0))) if isinstance(A, RemoteFactor) else float(np.linalg.norm(A))


def scale_columns(A: Any, scales: Any) -> Any:
    """A diag(scales); one number scales all columns."""
    if isinstance(A, RemoteFactor):
        diagonal = np.diag(np.broadcast_to(np.asarray(scales, dtype=np.float64), (A.shape[1],)))
        return A.times(diagonal, np.result_type(A.dtype, scales))
    return A * scales


def scale_rows(A: Any, scales: Any) -> Any:
    """diag(scales) A in the precision of A; ``scales`` is n x 1, or one number."""
    if isinstance(A, np.ndarray) and not isinstance(scales, RemoteFactor):
        return np.asfortranarray(A * np.asarray(scales, dtype=A.dtype))
    return (
        map_rows(_multiply, A, scales) if np.ndim(scales) else scale_columns(A, np.asarray(scales, A.dtype))
    )


def take_columns(A: Any, columns: Any, scales: Array | None = None) -> Any:
    """Some columns of A diag(scales), given by a list or an array of indices; Fortran-ordered."""
    if isinstance(A, RemoteFactor):
        return A.times(np.diag(np.ones(A.shape[1]) if scales is None else scales)[:, columns], A.dtype)
    taken = A.T[columns]  # a copy
    if scales is not None:
        taken *= scales[columns, None].astype(A.dtype)
    return np.asfortranarray(taken.T)


def append_column(A: Any, column: Any) -> Any:
    """A with one more column."""
    return map_rows(_append_column, A, column)


def map_rows(function: Callable[..., Array], *args: Any) -> Any:
    """``function`` of factors; it must treat their rows independently of each other."""
    remote = _remote(*args)
    return function(*args) if remote is None else remote.map(function, *args)


def sum_rows(function: Callable[..., Any], *args: Any) -> Any:
    """``function`` of factors, which is a sum over their rows."""
    remote = _remote(*args)
    return function(*args) if remote is None else remote.total(function, *args)


def as_factor(A: Any, dtype: Any = None, *, keep: bool = True) -> Any:
    """A factor ready for use: Fortran-ordered or, if it is remote, kept on the workers once computed.

    ``keep=False`` is for a factor that is used only once, or is a multiple of one that is kept already.
    """
    if isinstance(A, RemoteFactor):
        A = A if dtype is None else A.astype(dtype)
        return A.persist() if keep else A
    return np.asfortranarray(A, dtype=dtype)


def persist(A: Any) -> Any:
    """The same factor; a remote one is kept on the workers once computed."""
    return A.persist() if isinstance(A, RemoteFactor) else A


def triangle(A: Any, B: Any) -> Array:
    """The triangular factor of a thin QR decomposition of (A, B)."""
    remote = _remote(A, B)
    parts = [_triangle(A, B)] if remote is None else remote.map_parts(_triangle, A, B)
    return parts[0] if len(parts) == 1 else np.asarray(np.linalg.qr(np.vstack(parts)).R)


def _remote(*args: Any) -> RemoteFactor | None:
    for arg in args:
        if isinstance(arg, RemoteFactor):
            return arg
    return None


def _multiply(A: Array, scales: Array) -> Array:
    return np.asfortranarray(A * scales.astype(A.dtype, copy=False))


def _append_column(A: Array, column: Array) -> Array:
    return np.asfortranarray(np.hstack([A, column]))


def _triangle(A: Array, B: Array) -> Array:
    return np.asarray(np.linalg.qr(np.hstack([A, B])).R)
