"""X made ready for a path, and the way back from the solvers' units to the caller's."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autonmf._types import Array, cached_property
from autonmf.data import Compressed, Data, compress, copied, is_sparse, quick, to_unit_scale
from autonmf.data.compressed import OVERSAMPLE
from autonmf.data.spread import by_columns, columns_of
from autonmf.model.balancing import balancing_scales, inverse_scales
from autonmf.model.objective import gram, is_trusted, loss_of
from autonmf.model.spectral import explained_norm, leading_triplet
from autonmf.path.result import PathPoint
from autonmf.solvers import Run, State

ENGINES = ("auto", "direct", "compressed")

GAIN = 2.0
"""Compression must make a product at least this many times cheaper to be worth its passes over X."""


@dataclass(frozen=True)
class Workspace:
    """X / s with its longer side first, and perhaps its compression.

    Dividing by the root mean square s gives the absolute constants μ, δ and ε₁ a meaning; putting the longer
    side first makes a search the same for X and Xᵀ.
    """

    data: Data  # X as the caller has it
    scaled: Data  # X / s, or its transpose
    scale: float  # s
    transposed: bool
    compressed: Compressed | None = None  # of ``scaled``, in double precision
    exact: bool = True  # False: single precision will do, and any order of components

    @staticmethod
    def of(data: Data, *, scale: bool = True, tall: bool = True) -> Workspace:
        """X scaled and turned as asked, not compressed."""
        transposed = tall and data.shape[0] < data.shape[1]
        turned = data.T if transposed else data
        scaled, factor = to_unit_scale(turned) if scale else (turned, 1.0)
        return Workspace(data, scaled, factor, transposed)

    def with_engine(self, engine: str, max_rank: int, rng: np.random.Generator) -> Workspace:
        """Compressed for a path from ``max_rank``, if the engine says so."""
        if not self.scaled.complete:
            if engine == "compressed":
                raise ValueError(
                    "engine='compressed' reads X only once, but missing entries and weights are filled in "
                    "anew at every step: use engine='auto' or 'direct'"
                )
            return self
        n, m = self.scaled.shape
        pays = GAIN * min(max_rank + OVERSAMPLE, n, m) * (n + m) < self.scaled.cost
        if engine == "direct" or (engine == "auto" and not pays):
            return self
        return replace(self, compressed=compress(self.scaled, max_rank, rng))

    def direct(self) -> Workspace:
        """The same without compression."""
        return replace(self, compressed=None)

    def without_X(self, most: int) -> Workspace | None:
        """With its compression in place of X, or a copy of at most so many bytes; None without either."""
        instead = copied(self.view, most)
        return None if instead is None else replace(self, data=instead, scaled=instead)

    @property
    def engine(self) -> str:
        return "direct" if self.compressed is None else "compressed"

    @property
    def view(self) -> Data:
        """X / s, or its compression in double precision."""
        return self.compressed or self.scaled

    @cached_property
    def leading(self) -> tuple[Array, float, Array]:
        """The leading singular triplet of `view`."""
        return leading_triplet(self.view)

    @property
    def spectral_norm(self) -> float:
        """σ₁(X)."""
        return explained_norm(self.view, *self.leading) * self.scale

    @property
    def rough(self) -> bool:
        """Whether a path iterates in single precision."""
        return self.compressed is not None or (not self.exact and is_sparse(self.scaled))

    @property
    def matrix(self) -> Data:
        """What a path iterates on: X / s, or its compression or sparse entries in single precision."""
        return quick(self.view) if self.rough else self.scaled

    @property
    def precision(self) -> np.dtype[np.floating]:
        """The type of factors along a path."""
        return np.dtype(np.float32) if self.rough else self.scaled.dtype

    def inward(self, U: Array, V: Array) -> tuple[Array, Array]:
        """A caller's factors of X as factors of X / s."""
        root = np.sqrt(self.scale)
        U, V = (by_columns(factor / root, self.scaled.dtype, keep=False) for factor in (U, V))
        return self.turned(U, V)

    def outward(self, U: Array, V: Array, gram_U: Array, gram_V: Array) -> tuple[Array, Array]:
        """Balanced factors of X / s as the caller's: by decreasing energy, in the units of X."""
        root = np.asarray(np.sqrt(self.scale), dtype=_roomy(U.dtype, np.sqrt(self.scale)))
        if not self.exact:
            return self.turned(U * root, V * root)
        norms_U, norms_V = np.sqrt(gram_U.diagonal()), np.sqrt(gram_V.diagonal())
        order = np.argsort(-(norms_U * norms_V), kind="stable")
        scales = balancing_scales(norms_U[order], norms_V[order])
        U = columns_of(U, order) * (scales * root)
        V = columns_of(V, order) * (inverse_scales(scales) * root)
        return self.turned(U, V)

    def point(self, lam: float, run: Run) -> PathPoint:
        """A solution as the caller will see it."""
        state = run.state
        loss = self._seen(state) if self.rough else state.loss
        U, V = self.outward(state.U, state.V, state.gram_U, state.gram_V)
        return PathPoint(U, V, loss * self.scale**2, lam * self.scale**2, run.n_iter, self.compressed is None)

    def point_at(self, U: Array, V: Array, n_iter: int) -> PathPoint:
        """The same of factors that no λ led to."""
        loss = loss_of(self.view, U, V)
        factors = self.outward(U, V, gram(U), gram(V))
        return PathPoint(*factors, loss * self.scale**2, np.nan, n_iter, self.compressed is None)

    def _seen(self, state: State) -> float:
        """The loss, in double precision where that matters."""
        loss = state.rough_loss
        if self.exact or not is_trusted(loss, state.problem.data):
            return loss_of(self.view, state.U, state.V)
        return loss

    def turned(self, U: Array, V: Array) -> tuple[Array, Array]:
        """The factors of X as those of its transpose, or back, if the longer side is to be first."""
        return (V, U) if self.transposed else (U, V)


def _roomy(dtype: np.dtype[np.floating], size: float) -> np.dtype[np.floating]:
    """The type, or double precision where entries of this size do not fit: X may be far larger than 1."""
    safe = float(np.finfo(dtype).max) ** 0.5
    return dtype if 1 / safe < size < safe else np.dtype(np.float64)
