"""What the rest of the package may ask of a data matrix X."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from autonmf._types import Array


class Data(Protocol):
    """A nonnegative matrix X (n x m), however it is stored.

    Solvers touch X only through two products. Both return Fortran-ordered arrays, so that a
    component is contiguous.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """Precision of X and of every factor made from it: float32 or float64."""

    @property
    def T(self) -> Data:
        """Xᵀ, without copying X."""

    @property
    def cost(self) -> float:
        """Multiply-adds of X times one vector, in units of those of a dense product."""

    def squared_norm(self) -> float:
        """‖√ω∘X‖_F², accumulated in double precision and read once."""

    def squares(self, weights: Array) -> Array:
        """(ω∘X∘X) w for m weights, in double precision: weighted squared norms of the rows."""

    def column_squares(self, weights: Array) -> Array:
        """`squares` of the transpose: weighted squared norms of the columns."""

    def right(self, V: Array) -> Array:
        """X V (n x r)."""

    def left(self, U: Array) -> Array:
        """Xᵀ U (m x r)."""

    def inner(self, U: Array, V: Array) -> float:
        """⟨X, U Vᵀ⟩."""

    @property
    def complete(self) -> bool:
        """Whether every entry is known and counts alike."""

    def seen_from(self, U: Array, V: Array) -> Data:
        """The complete matrix X̂ with ½‖X̂ - U'V'ᵀ‖² + constant ≥ the loss at (U', V'), equal at (U, V).

        What solvers descend on. X itself if X is complete.
        """

    def omega(self, some: slice) -> Array:
        """A few rows of the weights ω of the entries; booleans if entries are only known or missing."""

    def residual(self, U: Array, V: Array, some: slice) -> Array:
        """A few rows of √ω∘(X - U Vᵀ), where ω are the weights of the entries."""

    def squared_residual(self, U: Array, V: Array) -> float:
        """‖√ω∘(X - U Vᵀ)‖_F² from the residual itself: no cancellation, one pass over X."""

    def rows(self, some: slice) -> Array:
        """A few rows of X, as an ordinary array."""

    def divided(self, scale: float) -> Data:
        """X / scale as a copy."""
