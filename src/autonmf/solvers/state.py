"""Where an algorithm stands: the factors and the products that the next step needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from autonmf._types import Array, cached_property
from autonmf.data.spread import columns_of, is_rows
from autonmf.model.balancing import balancing_scales, inverse_scales
from autonmf.model.merging import Merger
from autonmf.model.objective import Problem, gradient, gram, loss_from, projected_gradient, rough_loss


@dataclass(frozen=True)
class State:
    """One iterate. Only components that are nonzero in at least one factor are held."""

    problem: Problem
    U: Array  # n x r
    V: Array  # m x r
    XtU: Array  # Xᵀ U, m x r
    gram_U: Array  # Uᵀ U
    gram_V: Array  # Vᵀ V
    previous: tuple[Array, Array] | None = None  # the iterate before, for inertia; None: at rest
    t: tuple[float, float] = (1.0, 1.0)  # Nesterov's t_{k-1}, t_k

    @staticmethod
    def start(problem: Problem, U: Array, V: Array) -> State:
        """The initial iterate, at rest: U^{-1} = U⁰ and t = 1."""
        return State(problem, U, V, problem.data.seen_from(U, V).left(U), gram(U), gram(V))

    def restarted(self, problem: Problem) -> State:
        """The same factors at another λ, at rest."""
        return self._with_XV(replace(self, problem=problem, previous=None, t=(1.0, 1.0)), lambda XV: XV)

    def selected(self, keep: Array) -> State:
        """Only the components in ``keep``."""
        if keep.all():
            return self
        pair = np.ix_(keep, keep)
        previous = self.previous and (_columns(self.previous[0], keep), _columns(self.previous[1], keep))
        fewer = replace(
            self,
            U=_columns(self.U, keep),
            V=_columns(self.V, keep),
            XtU=_columns(self.XtU, keep),
            gram_U=self.gram_U[pair],
            gram_V=self.gram_V[pair],
            previous=previous,
        )
        return self._with_XV(fewer, lambda XV: _columns(XV, keep))

    def merged(self, merger: Merger) -> State:
        """Two components as one, at rest."""
        one = replace(
            self,
            U=_combined(self.U, merger, merger.a),
            V=_combined(self.V, merger, merger.b),
            XtU=_combined(self.XtU, merger, merger.a),
            gram_U=_combined(_combined(self.gram_U, merger, merger.a).T, merger, merger.a),
            gram_V=_combined(_combined(self.gram_V, merger, merger.b).T, merger, merger.b),
            previous=None,
            t=(1.0, 1.0),
        )
        if not self.problem.data.complete:
            return one  # another fit, from which X looks otherwise
        return self._with_XV(one, lambda XV: _combined(XV, merger, merger.b))

    def balanced(self) -> State:
        """Paired columns of equal norm, zero in both factors where zero in one."""
        norms_U, norms_V = np.sqrt(self.gram_U.diagonal()), np.sqrt(self.gram_V.diagonal())
        scales = balancing_scales(norms_U, norms_V)
        inverse = inverse_scales(scales)
        rescaled = replace(
            self,
            U=self.U * scales,
            V=self.V * inverse,
            XtU=self.XtU * scales,
            gram_U=self.gram_U * np.outer(scales, scales),
            gram_V=self.gram_V * np.outer(inverse, inverse),
        )
        return self._with_XV(rescaled, lambda XV: XV * inverse)

    def compact(self) -> State:
        """Without the components that are zero in both factors: they can never come back."""
        squares_U, squares_V = self.gram_U.diagonal(), self.gram_V.diagonal()
        if squares_U.all():
            return self
        return self.selected((squares_U > 0) | (squares_V > 0))

    def _with_XV(self, other: State, change: Callable[[Array], Array]) -> State:
        """``other`` with X V taken over, where it is known already."""
        if "XV" in self.__dict__:
            other.__dict__["XV"] = change(self.XV)
        return other

    @cached_property
    def XV(self) -> Array:
        """X V, n x r: what the next U step needs, and the optimality check of this iterate."""
        return self.problem.data.seen_from(self.U, self.V).right(self.V)

    @cached_property
    def rank(self) -> int:
        """Number of nonzero columns, the smaller of the two factors'."""
        return min(
            int(np.count_nonzero(self.gram_U.diagonal())),
            int(np.count_nonzero(self.gram_V.diagonal())),
        )

    @cached_property
    def loss(self) -> float:
        """½‖√ω∘(X - UVᵀ)‖²."""
        return loss_from(self.problem.data, self.U, self.V, self._inner, self.gram_U, self.gram_V)

    @property
    def rough_loss(self) -> float:
        """The loss from products at hand, even where they cancel: never negative, for progress bars."""
        return rough_loss(self.problem.squared_norm, self._inner, self.gram_U, self.gram_V)

    @cached_property
    def _inner(self) -> float:
        """⟨X, UVᵀ⟩; with weights ½⟨ω∘X + X̂, UVᵀ⟩, which gives the loss by the same formula."""
        if self.problem.data.complete:
            return float(np.sum(self.V * self.XtU, dtype=np.float64))
        completed = float(np.sum(self.U * self.XV, dtype=np.float64))  # the next step needs X V anyway
        return 0.5 * (self.problem.data.inner(self.U, self.V) + completed)

    @cached_property
    def objective(self) -> float:
        """Φ of eq. (1)."""
        diagonals = self.gram_U.diagonal(), self.gram_V.diagonal()
        ridge = sum(float(d.sum(dtype=np.float64)) for d in diagonals)
        columns = sum(int(np.count_nonzero(d)) for d in diagonals)
        return self.loss + 0.5 * self.problem.mu * ridge + self.problem.lam * columns

    @cached_property
    def gradients(self) -> tuple[Array, Array]:
        """∇_U F_μ and ∇_V F_μ at this iterate."""
        mu = self.problem.mu
        return (
            gradient(self.U, self.XV, self.gram_V, mu),
            gradient(self.V, self.XtU, self.gram_U, mu),
        )

    @property
    def projected_gradient_norm(self) -> float:
        """‖(∇ᵖ_U F_μ, ∇ᵖ_V F_μ)‖_F."""
        grad_U, grad_V = self.gradients
        return float(
            np.hypot(
                np.linalg.norm(projected_gradient(self.U, grad_U)),
                np.linalg.norm(projected_gradient(self.V, grad_V)),
            )
        )


def _combined(array: Array, merger: Merger, weights: Array) -> Array:
    """The columns with two of them combined into one; Fortran-ordered."""
    kept, gone = merger.kept, merger.gone
    if is_rows(array):
        return array @ _combined(np.eye(array.shape[1], dtype=array.dtype), merger, weights)
    result = np.empty((array.shape[0], array.shape[1] - 1), dtype=array.dtype, order="F")
    result[:, :gone] = array[:, :gone]
    result[:, gone:] = array[:, gone + 1 :]
    first, second = weights.astype(array.dtype)
    result[:, kept - (kept > gone)] = first * array[:, kept] + second * array[:, gone]
    return result


def _columns(array: Array, keep: Array) -> Array:
    return columns_of(array, keep)  # type: ignore[no-any-return]
