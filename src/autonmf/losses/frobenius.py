r"""The Frobenius loss :math:`\tfrac12\|X-UV^\top\|_F^2`, and the iterates of methods that minimise it.

A step on one *block* B (U or V) needs the product X C with the other block C and the Gram matrix CᵀC, and
nothing else of X: U and V share every formula. The loss follows from the same products,

.. math:: \tfrac12\|X-UV^\top\|^2 = \tfrac12\|X\|^2 - \langle X, UV^\top\rangle
    + \tfrac12\langle U^\top U, V^\top V\rangle,

which loses digits when the fit is nearly exact; the residual itself is formed then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from autonmf import kernels
from autonmf._threads import each
from autonmf._types import Array, Lazy, cached_property
from autonmf.data import Block, Data, Dense, row_blocks, unit_scaling, unscale
from autonmf.data.dense import PARALLEL_ENTRIES
from autonmf.data.factors import (
    append_column,
    as_factor,
    cross,
    dot,
    gram,
    map_rows,
    norm,
    persist,
    scale_columns,
    take_columns,
)
from autonmf.data.scaling import as_single, copy_small
from autonmf.losses.protocol import NONE, Projection
from autonmf.model.components import (
    Merger,
    balance,
    balancing_scales,
    combine_columns,
    find_cheapest_merger,
    inverse_scales,
    split_strongest,
)
from autonmf.model.initial import draw_factors, explained_norm, leading_triplet
from autonmf.model.nnls import approximate_nnls, solve_nnls, solve_nnls_each
from autonmf.model.penalty import ColumnPenalty

MU = 1e-8
"""The default of μ, in units of the scaled X."""

TRUSTED_DIGITS = 1e4
"""Gram products give the loss to about eps·‖X‖²; below ½·1e4·eps·‖X‖² the residual itself is formed."""

ROUNDING_UNITS = 10.0
"""Sums of products are taken to be right to this many units of their precision."""


@dataclass(frozen=True)
class Problem:
    """One instance of eq. (1): the data and its three constants."""

    data: Data
    mu: float = MU  # weight of the squared norms
    lam: float = 0.0  # price of a nonzero column
    delta: float = 1e-6  # what a step size γ adds to its Lipschitz constant
    n_fixed: int = 0  # the first columns of V, known components, stay as they are

    @property
    def squared_norm(self) -> float:
        """‖X‖²."""
        return self.data.squared_norm()

    @property
    def penalty(self) -> ColumnPenalty:
        return ColumnPenalty(self.lam)

    def at(self, lam: float) -> Problem:
        """The same problem at another λ."""
        return replace(self, lam=lam)

    def step_size(self, gram: Array) -> float:
        """γ = τ + δ, with τ the Lipschitz constant of the block gradient."""
        return lipschitz(gram, self.mu) + self.delta

    def start(self, U: Any, V: Array, XtU: Array | None = None) -> FrobeniusState:
        """The iterate at given factors, at rest; Xᵀ U if it is known."""
        if XtU is None:
            XtU = self.data.completed_at(U, V).left(U)
        return FrobeniusState.at(self, U, V, XtU=XtU).compact()

    def restore(self, arrays: dict[str, Array]) -> FrobeniusState:
        """The iterate whose `FrobeniusState.arrays` these are."""
        U, V, XtU, gram_U = (arrays[name] for name in ("U", "V", "XtU", "gram_U"))
        state = FrobeniusState.at(self, U, V, XtU=XtU, gram_U=gram_U)
        XV = Lazy.known(arrays["XV"]) if "XV" in arrays else state.lazy_XV
        return replace(state, gram_V=arrays["gram_V"], lazy_XV=XV)


@dataclass(frozen=True)
class FrobeniusState:
    """One iterate. Only components that are nonzero in at least one factor are held."""

    problem: Problem
    U: Any  # n x r
    V: Array  # m x r
    XtU: Array  # Xᵀ U, m x r
    gram_U: Array  # Uᵀ U
    gram_V: Array  # Vᵀ V
    lazy_XV: Lazy[Any]  # X V, n x r: what the next U step needs, and the optimality check of this iterate
    previous: tuple[Array, Array] | None = None  # the iterate before, for inertia; None: at rest
    t: tuple[float, float] = (1.0, 1.0)  # Nesterov's t_{k-1}, t_k

    @staticmethod
    def at(problem: Problem, U: Any, V: Array, previous: tuple[Array, Array] | None = None,
           t: tuple[float, float] = (1.0, 1.0), XtU: Array | None = None,
           gram_U: Array | None = None) -> FrobeniusState:  # fmt: skip
        """The iterate at given factors; by default at rest, and with its products computed."""
        if XtU is None:
            XtU = problem.data.completed_at(U, V).left(U)
        XV = Lazy(partial(_multiply_right, problem.data, U, V))
        return FrobeniusState(
            problem, U, V, XtU, gram(U) if gram_U is None else gram_U, gram(V), XV, previous, t
        )

    @property
    def XV(self) -> Any:
        return self.lazy_XV.value

    def restart(self, problem: Problem) -> FrobeniusState:
        """The same factors at another λ, at rest."""
        return replace(self, problem=problem, previous=None, t=(1.0, 1.0))

    def sweep(self, count: int, inertia: float = 0.0) -> FrobeniusState:
        """HALS: ``count`` sweeps over the columns of U, then over those of V, for λ = 0.

        With inertia they begin at a V, and lead to a U, that are extrapolated along the last step.
        """
        problem, V, XV, gram_V = self.problem, self.V, self.lazy_XV, self.gram_V
        if inertia and self.previous:
            V = extrapolate(V, self.previous[1], inertia)
            XV, gram_V = Lazy(partial(_multiply_right, problem.data, self.U, V)), gram(V)
        U = persist(map_rows(_sweep, self.U, XV.value, gram_V, problem.mu, count, 0, inertia))
        XtU, gram_U = problem.data.completed_at(U, V).left(U), gram(U)
        V = _sweep(V, XtU, gram_U, problem.mu, count, problem.n_fixed)
        t = self.t[1], 0.5 * (1.0 + math.sqrt(4.0 * self.t[1] ** 2 + 1.0))
        previous = U, self.V  # U is where its inertia has led: only V is still to be extrapolated
        return FrobeniusState.at(problem, U, V, previous, t, XtU, gram_U).compact()

    def sweep_ahead(self, count: int) -> FrobeniusState:
        """`sweep` with Nesterov's inertia, which begins anew where it would raise the loss.

        See Ang and Gillis (2019). With missing entries a loss needs products of its own: there is no inertia.
        """
        if self.previous is None or not self.problem.data.complete:
            return self.sweep(count)
        new = self.sweep(count, inertia=(self.t[0] - 1.0) / self.t[1])
        if new.smooth_objective > self.smooth_objective:
            return replace(self, t=(1.0, 1.0)).sweep(count)
        return new

    def sweep_V(self, count: int) -> FrobeniusState:
        """The second half of `sweep`: V for the U at hand."""
        problem, XtU, gram_U = self.problem, self.XtU, self.gram_U
        V = _sweep(self.V, XtU, gram_U, problem.mu, count, problem.n_fixed)
        return FrobeniusState.at(problem, self.U, V, XtU=XtU, gram_U=gram_U).compact()

    def merge(self) -> FrobeniusState:
        return self.apply_merger(find_cheapest_merger(self.gram_U, self.gram_V, self.problem.n_fixed))

    def apply_merger(self, merger: Merger) -> FrobeniusState:
        """Two components as one, at rest."""
        merged = self._transform(
            partial(combine_columns, merger=merger, weights=merger.a),
            partial(combine_columns, merger=merger, weights=merger.b),
        )
        if not self.problem.data.complete:  # X is completed differently with another fit
            XV = Lazy(partial(_multiply_right, self.problem.data, merged.U, merged.V))
            merged = replace(merged, lazy_XV=XV)
        return replace(merged, previous=None, t=(1.0, 1.0))

    def select(self, keep: Array) -> FrobeniusState:
        """Only the components in ``keep``."""
        if keep.all():
            return self
        select = partial(take_columns, columns=keep)
        fewer = self._transform(select, select)
        if self.previous is None:
            return fewer
        U, V = self.previous
        return replace(fewer, previous=(select(U), select(V)))

    def balance(self) -> FrobeniusState:
        norms_U, norms_V = np.sqrt(self.gram_U.diagonal()), np.sqrt(self.gram_V.diagonal())
        scales = balancing_scales(norms_U, norms_V)
        scales[: self.problem.n_fixed] = 1.0
        return self._transform(
            partial(scale_columns, scales=scales), partial(scale_columns, scales=inverse_scales(scales))
        )

    def compact(self) -> FrobeniusState:
        """Without components that are zero in both factors: they can never come back."""
        squares_U, squares_V = self.gram_U.diagonal(), self.gram_V.diagonal()
        if squares_U.all():
            return self
        return self.select((squares_U > 0) | (squares_V > 0) | self._is_fixed)

    def grow(self) -> FrobeniusState:
        r"""With a component :math:`p q^\top/\|p\|^2`, where p = (Rw)₊ and q = (Rᵀp)₊ for the residual R.

        It lowers the loss by :math:`\tfrac12\|q\|^2/\|p\|^2`. The weights w ≥ 0 are arbitrary, and always the
        same. If no row of the fit is too small, there is nothing to add.
        """
        data = self.problem.data.completed_at(self.U, self.V)
        w = np.random.default_rng(0).random((len(self.V), 1)).astype(data.dtype)
        p = persist(map_rows(_positive_residual, data.right(w), self.U, self.V.T @ w))
        product, square = data.left(p), norm(p) ** 2
        if square == 0.0:
            return self
        inner = cross(self.U, p)
        q = _positive_residual(product, self.V, inner) / square
        U, V = persist(append_column(self.U, p)), append_column(self.V, q)
        if not self.problem.data.complete:  # X is completed differently with another fit
            return FrobeniusState.at(self.problem, U, V).balance().compact()
        gram_U = np.block([[self.gram_U, inner], [inner.T, np.full((1, 1), square)]]).astype(data.dtype)
        XtU = append_column(self.XtU, product)
        return FrobeniusState.at(self.problem, U, V, XtU=XtU, gram_U=gram_U).balance().compact()

    def split(self, rank: int) -> FrobeniusState:
        if rank <= self.rank:
            return self
        energies = self.gram_U.diagonal() * self.gram_V.diagonal()
        return FrobeniusState.at(self.problem, *split_strongest(self.U, self.V, energies, rank)).balance()

    @property
    def arrays(self) -> dict[str, Array]:
        """What a checkpoint stores; products computed again later could differ in their last bits."""
        names = ("U", "V", "XtU", "gram_U", "gram_V", *(["XV"] if self.lazy_XV.is_known else []))
        return {name: getattr(self, name) for name in names}

    def _transform(self, on_U: Callable[[Any], Any], on_V: Callable[[Any], Any]) -> FrobeniusState:
        """The same change of columns in a factor and in all that was made with it."""
        U, V = on_U(self.U), on_V(self.V)
        XV = self.lazy_XV
        return replace(
            self,
            U=U,
            V=V,
            XtU=on_U(self.XtU),
            gram_U=on_U(on_U(self.gram_U).T),
            gram_V=on_V(on_V(self.gram_V).T),
            lazy_XV=Lazy.known(on_V(XV.value)) if XV.is_known
            else Lazy(partial(_multiply_right, self.problem.data, U, V)),
        )  # fmt: skip

    @property
    def _is_fixed(self) -> Array:
        """Which components are known: these are kept even where U is zero."""
        return np.arange(len(self.gram_U)) < self.problem.n_fixed

    @cached_property
    def rank(self) -> int:
        """Number of nonzero columns, the smaller of the two factors'; known components always count."""
        return min(
            int(np.count_nonzero(self.gram_U.diagonal() + self._is_fixed)),
            int(np.count_nonzero(self.gram_V.diagonal())),
        )

    @cached_property
    def loss(self) -> float:
        """½‖√ω∘(X - UVᵀ)‖²."""
        quick = self.quick_loss
        if has_digits(quick, self.problem.data):
            return quick
        return 0.5 * self.problem.data.squared_residual(self.U, self.V)

    @property
    def has_digits(self) -> bool:
        return has_digits(self.quick_loss, self.problem.data)

    @cached_property
    def quick_loss(self) -> float:
        """The loss by products at hand: ⟨X, UVᵀ⟩, or ½⟨ω∘X + X̂, UVᵀ⟩ with weights, and Gram matrices."""
        data = self.problem.data
        if data.complete:
            inner = float(np.sum(self.V * self.XtU, dtype=np.float64))
        else:  # the next step needs X V anyway
            inner = 0.5 * (dot(self.U, data.right(self.V)) + dot(self.U, self.lazy_XV.value))
        return gram_loss(data.squared_norm(), inner, self.gram_U, self.gram_V)

    @property
    def loss_error(self) -> float:
        eps = float(np.finfo(self.problem.data.dtype).eps)
        return ROUNDING_UNITS * eps * self.problem.squared_norm

    @property
    def precise_loss(self) -> Lazy[float]:
        data = self.problem.data
        return (
            Lazy(partial(_precise_loss, data, self.U, self.V))
            if data.complete
            else Lazy.known(self.quick_loss)
        )

    @property
    def smooth_objective(self) -> float:
        """Loss and ridge, from what is at hand."""
        ridge = sum(float(g.trace(dtype=np.float64)) for g in (self.gram_U, self.gram_V))
        return self.quick_loss + 0.5 * self.problem.mu * ridge

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


class Frobenius:
    """½‖X - UVᵀ‖²."""

    name = "frobenius"
    degree = 2  # the loss of c X and c U Vᵀ is c² times as large
    weight_power = 0.5  # the loss with weights w is that of √w X and √w U Vᵀ
    equilibrates = True
    reweighs = False
    reads_entries = False

    def prepare(self, data: Data, *, single: bool) -> Data:
        """X, or a copy: in single precision where it is sparse or an array of ours, scaled if it is small."""
        if single and isinstance(data, Dense):
            return Dense(data.X.astype(np.float32))
        return as_single(data) if single else copy_small(data)

    def pose(self, prepared: Data, **constants: Any) -> Problem:
        """Eq. (1) with the given μ and δ."""
        return Problem(prepared, **constants)

    def initialize(
        self, data: Data, rank: int, init: str, rng: np.random.Generator, fixed: Array = NONE
    ) -> tuple[Any, Array]:
        """Initial factors by name, balanced and scaled to their least-squares fit."""
        U, V = draw_factors(data, rank, init, rng)
        V[:, : fixed.shape[1]] = fixed
        fitted = float(np.sum(gram(U) * gram(V), dtype=np.float64))
        if fitted > 0:
            U = scale_columns(U, np.asarray(dot(U, data.right(V)) / fitted, dtype=U.dtype))
        U, V = balance(U, V, n_fixed=fixed.shape[1])
        return as_factor(U), as_factor(V)

    def rank_one(self, data: Data) -> tuple[Any, Array, float]:
        """The leading singular pair, with its singular value on the left."""
        u, sigma, v = leading_triplet(data)
        explained = explained_norm(data, u, sigma, v)
        loss = 0.5 * max(data.squared_norm() - explained**2, 0.0)
        return scale_columns(u, np.asarray(sigma, dtype=u.dtype)), v, loss

    def value(self, data: Data, U: Any, V: Array) -> float:
        if not data.complete:
            return 0.5 * data.squared_residual(U.astype(np.float64), V.astype(np.float64))
        loss = _precise_loss(data, U, V)
        if has_digits(loss, data):
            return loss
        return 0.5 * data.squared_residual(*(factor.astype(data.dtype, copy=False) for factor in (U, V)))

    def reweigh(self, data: Data, U: Any, V: Array) -> None:
        """No weights: all entries count alike."""

    def project(
        self, data: Data, V: Array, solve: Callable[[Array, Array], Array] = solve_nnls
    ) -> Projection:
        """W ≥ 0 minimising ‖X - W Vᵀ‖, row by row; computed at unit scale, where nothing overflows."""
        if data.squared_norm() == 0.0:
            return Projection(np.zeros((data.shape[0], V.shape[1]), dtype=data.dtype), 0.0)
        scaling = unit_scaling(data)
        scaled, unit = scaling.apply(data), scaling.unit
        size = max(float(V.max()), float(np.finfo(V.dtype).tiny))
        V = np.asfortranarray(V / np.asarray(size, dtype=V.dtype))
        product = scaled.right(V)
        if scaled.complete:
            gram_V = gram(V)
            W = persist(map_rows(solve, product, gram_V))
            loss = gram_loss(scaled.squared_norm(), dot(W, product), gram(W), gram_V)
            if not has_digits(loss, scaled):
                loss = 0.5 * scaled.squared_residual(W, V)
        else:
            W = _solve_weighted(scaled, product, V)
            loss = 0.5 * scaled.squared_residual(W, V)
        return Projection(scale_columns(W, np.asarray(unit / size, dtype=W.dtype)), loss * unit**2)


def fit_rows(data: Data, V: Array) -> Any:
    """U ≥ 0 that nearly minimises ‖X - U Vᵀ‖: what a few sweeps find."""
    return persist(map_rows(approximate_nnls, data.right(as_factor(V, data.dtype)), gram(V)))


def gram_loss(squared_norm: float, inner: float, gram_U: Array, gram_V: Array) -> float:
    """½(‖X‖² - 2⟨X, UVᵀ⟩ + ⟨UᵀU, VᵀV⟩), or 0 if rounding makes it negative.

    It loses all digits when the fit is nearly exact; `has_digits` tells.
    """
    return max(0.5 * (squared_norm - 2.0 * inner + float(np.sum(gram_U * gram_V, dtype=np.float64))), 0.0)


def has_digits(loss: float, data: Data) -> bool:
    """Whether a `gram_loss` has digits left, given the precision of the products."""
    return loss >= 0.5 * TRUSTED_DIGITS * float(np.finfo(data.dtype).eps) * data.squared_norm()


def gradient(block: Array, product: Array, gram: Array, mu: float) -> Array:
    r"""Block gradient :math:`\nabla_U F_\mu = (UV^\top - X)V + \mu U`."""
    result: Array = (gram @ block.T).T
    result -= product
    result += mu * block
    return result


def projected_gradient(block: Array, gradient: Array) -> Array:
    """∇ᵖF of Section VI-A: the gradient where it is negative or the entry is positive, else 0.

    It is a subgradient of Ψ, and zero exactly at the KKT points of the block.
    """
    return np.where((gradient < 0) | (block > 0), gradient, 0.0)


def lipschitz(gram: Array, mu: float) -> float:
    """τ = ‖CᵀC‖₂ + μ, the Lipschitz constant of the block gradient."""
    if gram.shape[0] == 0:
        return mu
    return float(np.linalg.eigvalsh(gram)[-1]) + mu


def _multiply_right(data: Data, U: Any, V: Array) -> Any:
    return data.completed_at(U, V).right(V)


def _precise_loss(data: Data, U: Any, V: Array) -> float:
    """`gram_loss` from sums in double precision."""
    U, V = U.astype(np.float64, copy=False), V.astype(np.float64, copy=False)
    return gram_loss(data.squared_norm(), float(np.sum(V * data.left(U))), gram(U), gram(V))


def extrapolate(block: Array, old: Array, inertia: float) -> Array:
    """The nonnegative part of B + β(B - B_old)."""
    return np.maximum(block + inertia * (block - old), 0.0)


def _sweep(
    old: Array, product: Array, gram: Array, mu: float, count: int, n_fixed: int = 0, inertia: float = 0.0
) -> Array:
    """Sweeps over the columns from ``n_fixed`` on, on what the known components leave of X; then inertia."""
    block = np.array(old, order="F")
    free = block[:, n_fixed:]
    if n_fixed:
        product = product[:, n_fixed:] - block[:, :n_fixed] @ gram[:n_fixed, n_fixed:]
        gram = gram[n_fixed:, n_fixed:]

    def sweep(rows: slice) -> None:
        part = np.asfortranarray(free[rows])
        kernels.hals_sweeps(part, product[rows], gram, mu, count)
        free[rows] = extrapolate(part, old[rows, n_fixed:], inertia) if inertia else part

    if free.size < PARALLEL_ENTRIES:
        sweep(slice(None))
    else:
        each(sweep, row_blocks(free.shape))
    return block


def _positive_residual(product: Array, block: Array, coefficients: Array) -> Array:
    return np.asfortranarray(np.maximum(product - block @ coefficients, 0.0))


def _solve_weighted(data: Data, product: Array, V: Array) -> Array:
    """Weights of components where entries are missing or weighted: Gᵢ = Vᵀ diag(ωᵢ) V differs by row."""
    rank = V.shape[1]
    columns = V.astype(np.float64)
    pairs = (columns[:, :, None] * columns[:, None, :]).reshape(len(V), rank * rank)
    W = unscale(data).map_blocks(_solve_block, product.astype(np.float64), pairs)[0]
    return np.asfortranarray(W, dtype=np.result_type(data.dtype, V))


def _solve_block(block: Block, product: Array, pairs: Array) -> tuple[Array, None]:
    rank, weights = product.shape[1], block.read_weights()
    assert weights is not None, "complete data have no weights"
    parts = [
        solve_nnls_each(product[rows], (weights[rows] @ pairs).reshape(-1, rank, rank))
        for rows in row_blocks((len(product), rank * rank))
    ]
    return np.concatenate(parts), None
