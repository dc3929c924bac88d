r"""The Kullback-Leibler loss, for counts.

.. math:: \sum_{ij} x_{ij}\log\frac{x_{ij}}{\lambda_{ij}} - x_{ij} + \lambda_{ij}, \qquad \lambda = UV^\top,

is up to a constant the negative log-likelihood of Poisson counts with the means λ.

Zeros of X enter only through the sums of the factors, so a step reads the positive entries of X alone. Rows
are independent given V, and columns given U: both are updated by the same `autonmf.kernels.kl_sweeps`. With
weights ω of the entries, zero where one is missing, the loss is
:math:`\sum\omega(x\log(x/\lambda)-x+\lambda)`: x becomes ωx, and the sums of a factor differ by row.

Where the columns of X cannot be read (files, clusters), V takes a step from sums over blocks of rows, in the
pass that updates U: the multiplicative step of Lee and Seung, or a power of it where that lowers the loss.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from autonmf import kernels
from autonmf._types import Array, Lazy, cached_property
from autonmf.data import Block, Data, Scaling, Sparse, unscale
from autonmf.data.blocks import cut_into_blocks
from autonmf.data.factors import (
    append_column,
    as_factor,
    map_rows,
    persist,
    scale_columns,
    sum_rows,
    take_columns,
)
from autonmf.data.protocol import as_array, is_sparse, row_blocks
from autonmf.losses.protocol import NONE, Projection, Reweighing
from autonmf.model.components import split_strongest
from autonmf.model.initial import draw_factors

FIRST_STEPS, FIRST_SWEEPS = 3, 5
"""Multiplicative steps from a random point, which is far from a solution, and sweeps before the path begins.
With fewer, the largest ranks explain less than those below them, and have to be replaced."""

START, GROWTH, LIMIT_GROWTH, SHRINK = 0.5, 1.15, 1.05, 1.5
"""Extrapolation (Ang and Gillis, 2019): its first factor β, how it and its limit grow, and how it shrinks."""

LEAST = 0.05
"""An extrapolated entry is at least this fraction of the entry."""

POWER, LARGEST_POWER = 2.0, 4.0
"""Where only rows can be read, V takes a power of the multiplicative step. It grows until the loss rises."""

SINGLE = 0.2
"""The part of such a step that comes from steps of single weights."""

PASSES, FIRST_PASSES = 4, 60
"""Passes over X in place of one iteration, and before the path begins, where only rows can be read."""

SMALL_LOSS = 1e-3
"""Losses below this fraction of Σx are evaluated in double precision."""

OVERDISPERSED = 10.0
"""Counts are weighted where their dispersion adds more than this multiple of Poisson's variance."""

PIECE = 1 << 16
"""Entries of a dense piece of the fit."""

PROJECTION_SWEEPS, PROJECTION_TOL = 5000, 1e-11
"""Sweeps for given components: at most so many, until one moves less than this fraction of the fit."""


@dataclass(frozen=True, eq=False)
class CountProblem:
    """X as the sweeps read it."""

    data: Data  # X
    rows: Any  # X in the precision of a search; of `Data` it has shape, dtype and map_blocks
    columns: Any  # the same of Xᵀ; None: only rows of X can be read
    row_sums: Any  # n x 1
    column_sums: Array  # m x 1
    constant: float  # what weights add to the loss, whatever the fit
    n_fixed: int = 0  # the first columns of V, known components, stay as they are

    @staticmethod
    def of(data: Data, dtype: Any) -> CountProblem:
        """X in the precision of a search; a copy in memory, or X itself where it lies elsewhere."""
        n, m = data.shape
        blocks = cut_into_blocks(data, dtype)
        row_sums = data.right(np.ones((m, 1), data.dtype, order="F"))
        column_sums = data.left(np.ones((n, 1), data.dtype, order="F"))
        constant = 0.0 if data.complete else float(data.map_blocks(_weights_constant, None)[1])
        rows, columns = (data, None) if blocks is None else blocks
        return CountProblem(data, rows, columns, persist(row_sums), column_sums, constant)

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    @cached_property
    def total(self) -> float:
        """Σ ωx."""
        return float(self.column_sums.sum(dtype=np.float64))

    def start(self, U: Any, V: Array) -> CountState:
        """The iterate at given factors."""
        return CountState(self, U, V).compact()

    def restore(self, arrays: dict[str, Array]) -> CountState:
        """The iterate whose `CountState.arrays` these are."""
        return CountState(self, arrays["U"], arrays["V"])

    def value(self, U: Any, V: Array) -> float:
        """The loss, in the precision of the factors."""
        return _evaluate(self.rows, U, V) + self.constant


@dataclass(frozen=True, eq=False)
class Momentum:
    """What extrapolation remembers."""

    U: Array  # the last update of U, before it was extrapolated
    V: Array  # that of V
    V_ahead: Array  # V extrapolated, where its next sweep starts
    beta: float
    limit: float


@dataclass(frozen=True, eq=False)
class CountState:
    """One iterate."""

    problem: CountProblem
    U: Any  # n x r
    V: Array  # m x r
    known_loss: float | None = None  # at (U, V), or a bound on it where V was updated after the last pass
    is_bound: bool = False
    momentum: Momentum | None = None  # None: at rest

    @property
    def rank(self) -> int:
        return int(self.V.shape[1])

    @cached_property
    def loss(self) -> float:
        if self.known_loss is None or self.is_bound or not self.has_digits:
            return max(self._evaluate(), 0.0)
        return max(self.known_loss, 0.0)

    @property
    def quick_loss(self) -> float:
        return self.loss if self.known_loss is None else max(self.known_loss, 0.0)

    @property
    def has_digits(self) -> bool:
        known = self.known_loss
        return known is None or self.problem.dtype == np.float64 or known > SMALL_LOSS * self.problem.total

    @property
    def loss_error(self) -> float:
        return float(np.finfo(self.problem.dtype).eps) * self.problem.total

    @property
    def precise_loss(self) -> Lazy[float]:
        return Lazy.known(self.quick_loss) if self.is_bound else Lazy(self._evaluate)

    @property
    def objective(self) -> float:
        return self.quick_loss

    @property
    def projected_gradient_norm(self) -> float:
        """Not used to stop: coordinate descent stops when the loss or the factors have settled."""
        return float("inf")

    def _evaluate(self) -> float:
        U, V = (factor.astype(np.float64) for factor in (self.U, self.V))
        return self.problem.value(U, V)

    def sweep(self, count: int) -> CountState:
        """Sweeps over U, then over V, each extrapolated; from the last iterate again if the loss rises."""
        problem = self.problem
        if problem.columns is None:
            state = self
            for _ in range(PASSES):
                state = state._sweep_rows(count, POWER)
            return state
        before, best = self.momentum, float("inf") if self.known_loss is None else self.known_loss
        if before is None:
            return self._sweep_plainly(count, START, 1.0)
        U, _ = _sweep(problem.rows, self.U, before.V_ahead, count)
        U_ahead = _extrapolate(U, before.U, before.beta)
        V, loss = _sweep(problem.columns, before.V_ahead, U_ahead, count, problem.n_fixed)
        loss += problem.constant
        if not loss <= best:
            return self._sweep_plainly(count, before.beta / SHRINK, before.beta)
        ahead = _extrapolate(V, before.V, before.beta)
        beta, limit = min(before.limit, GROWTH * before.beta), min(1.0, LIMIT_GROWTH * before.limit)
        return replace(self, U=U_ahead, V=V, known_loss=loss, momentum=Momentum(U, V, ahead, beta, limit))

    def _sweep_plainly(self, count: int, beta: float, limit: float) -> CountState:
        problem = self.problem
        assert problem.columns is not None
        U, _ = _sweep(problem.rows, self.U, self.V, count)
        V, loss = _sweep(problem.columns, self.V, U, count, problem.n_fixed)
        loss += problem.constant
        if self.known_loss is not None and loss > self.known_loss:  # by rounding: there is nothing to gain
            return replace(self, momentum=None)
        return replace(self, U=U, V=V, known_loss=loss, momentum=Momentum(U, V, V, beta, limit))

    def _sweep_rows(self, count: int, power: float) -> CountState:
        """Sweeps over U and a step on V, in one pass; from the plain step where its power raised the loss."""
        before, best = self.momentum, float("inf") if self.known_loss is None else self.known_loss
        V = self.V if before is None else before.V_ahead
        U, parts = self.problem.rows.map_blocks(_sweep_and_sum_block, self.U, Given(V), count)
        loss = float(parts[-1, 0]) + self.problem.constant
        if before is not None and not loss <= best:
            return replace(self, momentum=None)._sweep_rows(count, max(1.0, before.beta / SHRINK))
        power = power if before is None else min(GROWTH * before.beta, LARGEST_POWER)
        U, (plain, ahead) = persist(U), (_step_V(V, parts, power) for power in (1.0, power))
        for stepped in (plain, ahead):
            self._keep_known(stepped)
        momentum = Momentum(U, plain, ahead, power, 1.0)
        return replace(self, U=U, V=plain, known_loss=loss, is_bound=True, momentum=momentum)

    def multiply(self) -> CountState:
        """The multiplicative step of Lee and Seung on U, then on V."""
        rows, given = self.problem.rows, Given(self.V)
        U = persist(rows.map_blocks(_multiply_block, self.U, given)[0])
        parts, m = rows.map_blocks(_sweep_and_sum_block, U, given, 0)[1], len(self.V)
        V = np.asfortranarray(self.V * _quotient(parts[:m], parts[m : 2 * m]), dtype=self.V.dtype)
        self._keep_known(V)
        return CountState(self.problem, U, V)

    def _keep_known(self, V: Array) -> None:
        """Undo a step on V where its columns are known, in place."""
        known = slice(0, self.problem.n_fixed)
        V[:, known] = self.V[:, known]

    def merge(self) -> CountState:
        """The two components whose merger costs least, as one.

        w = w_j|h_j| + w_k|h_k| and h = (|w_j|h_j + |w_k|h_k)/(s_j + s_k), with s = |w||h|, keep the sums of
        rows and columns that the two components have together. Both get the same sum. If h_j is known it
        stays, and w = w_j + w_k|h_k|/|h_j|.
        """
        a, b = _sums(self.U), _sums(self.V)
        j, k = self.cheapest_pair()
        if j < self.problem.n_fixed:
            others = np.arange(self.rank) != k
            taken = np.eye(self.rank)
            taken[k, j] = b[k] / b[j]
            U = map_rows(partial(_mix, mixing=taken[:, others]), self.U)
            return CountState(self.problem, persist(U), take_columns(self.V, others))
        root = float(np.sqrt(a[j] * b[j] + a[k] * b[k])) or 1.0
        keep = [i for i in range(self.rank) if i not in (j, k)]
        U = _merge_columns(self.U, keep, j, k, b[j] / root, b[k] / root)
        V = _merge_columns(self.V, keep, j, k, a[j] / root, a[k] / root)
        return CountState(self.problem, persist(U), V)

    def cheapest_pair(self) -> tuple[int, int]:
        """The pair whose merger raises the loss least, by `merger_costs`."""
        costs = self.merger_costs()
        np.fill_diagonal(costs, np.inf)
        n_fixed = self.problem.n_fixed
        costs[:n_fixed, :n_fixed] = np.inf
        j, k = np.unravel_index(int(np.argmin(costs)), costs.shape)
        return int(j), int(k)

    @np.errstate(over="ignore", invalid="ignore")  # one entry of X may be 1e100 times the others
    def merger_costs(self) -> Array:
        r"""Estimates :math:`AB/(A+B)` of what the merger of every pair costs.

        A is the second-order expansion of the loss between the two components and their merger. B is the same
        in the metric of the best fit of rank one, which knows what the other components explain. Where one of
        them, j, is known, it takes over the rows of the other: they differ by :math:`s_k p_k(q_k-q_j)^\top`.
        """
        tiny, n_fixed = np.finfo(np.float64).tiny, self.problem.n_fixed
        a, b = (np.maximum(_sums(factor), tiny) for factor in (self.U, self.V))
        s = np.maximum(a * b, tiny)
        P = scale_columns(self.U, (1.0 / a).astype(self.V.dtype))
        Q = scale_columns(self.V, (1.0 / b).astype(self.V.dtype))
        together = np.add.outer(s, s)
        part = np.multiply.outer(s, s) / together**2  # π(1 - π)
        pairs_P, pairs_Q = sum_rows(kernels.kl_pairs, P, s), kernels.kl_pairs(Q, s)
        own = 0.5 * together * part**2 * pairs_P * pairs_Q
        gram_P = sum_rows(_gram_over, P, self.problem.row_sums)
        gram_Q = _gram_over(Q, self.problem.column_sums)
        distances_Q = _distances(gram_Q)
        shared = 0.5 * self.problem.total * (part * together) ** 2 * _distances(gram_P) * distances_Q
        if n_fixed:
            first = s[:n_fixed, None] / together[:n_fixed]
            taken = 0.5 * s**2 / together[:n_fixed] * (1.0 + first**2 * pairs_P[:n_fixed]) * pairs_Q[:n_fixed]
            own[:n_fixed], own[:, :n_fixed] = taken, taken.T
            taken = 0.5 * self.problem.total * s**2 * gram_P.diagonal() * distances_Q[:n_fixed]
            shared[:n_fixed], shared[:, :n_fixed] = taken, taken.T
        costs = own * (shared / np.maximum(own + shared, tiny))
        return np.asarray(np.nan_to_num(costs, nan=np.inf, posinf=np.inf))

    def grow(self) -> CountState:
        """With one more component, which the next sweep over V makes lower the loss.

        Its rows are p = R₊ in one column of R = X/λ - 1, the one that exceeds the fit most: the loss falls in
        that direction, since RᵀR₊ is positive there. Weighted sums of columns need not have such a direction.
        """
        rows, given = self.problem.rows, Given(self.V)
        w = np.zeros((len(self.V), 1), dtype=self.V.dtype)
        w[np.argmax(rows.map_blocks(_excess_block, self.U, given)[1])] = 1.0
        p = persist(rows.map_blocks(_direction_block, self.U, given, w)[0])
        size = float(_sums(p)[0])
        if not size > 0.0:
            return self
        p = scale_columns(p, np.asarray(self.problem.total**0.5 / size, dtype=self.V.dtype))
        V = append_column(self.V, np.zeros((len(self.V), 1), dtype=self.V.dtype))
        U = persist(append_column(self.U, p))
        if self.problem.columns is not None:
            V, loss = _sweep(self.problem.columns, V, U, 1, self.problem.n_fixed)
            return CountState(self.problem, U, V, loss + self.problem.constant).balance()
        V[:, -1] = self.column_share
        return CountState(self.problem, U, V).multiply().balance()

    @property
    def column_share(self) -> Array:
        """A small part of the best fit of rank one, for a component that is yet to grow."""
        return np.asarray(0.01 * self.problem.column_sums[:, 0] / self.problem.total**0.5, dtype=self.V.dtype)

    def split(self, rank: int) -> CountState:
        U, V = split_strongest(self.U, self.V, _sums(self.U) * _sums(self.V), rank)
        return replace(self, U=U, V=V, momentum=None)

    def balance(self) -> CountState:
        """Paired columns of equal sum, at rest."""
        a, b = _sums(self.U), _sums(self.V)
        scales = np.sqrt(np.divide(b, a, out=np.ones_like(a), where=(a > 0) & (b > 0))).astype(self.V.dtype)
        scales[: self.problem.n_fixed] = 1.0
        U, V = scale_columns(self.U, scales), np.asfortranarray(self.V / scales)
        return replace(self, U=as_factor(U), V=V, momentum=None)

    def compact(self) -> CountState:
        keep = (_sums(self.U) > 0) & (_sums(self.V) > 0)
        keep[: self.problem.n_fixed] = True
        if keep.all():
            return self
        return CountState(self.problem, take_columns(self.U, keep), take_columns(self.V, keep))

    @property
    def arrays(self) -> dict[str, Array]:
        """What a checkpoint has to keep."""
        return {"U": self.U, "V": self.V}


class KullbackLeibler:
    """Σ x log(x/λ) - x + λ."""

    name = "kullback-leibler"
    degree = 1  # the loss of c X and c λ is c times as large
    weight_power = 1.0  # the loss with weights is that of weighted X and λ
    equilibrates = False
    reweighs = True
    reads_entries = True

    def prepare(self, data: Data, *, single: bool) -> CountProblem:
        return CountProblem.of(data, np.float32 if single else np.float64)

    def pose(self, prepared: CountProblem, **constants: Any) -> CountProblem:
        """The problem; there is neither μ nor λ."""
        n_fixed = int(constants.get("n_fixed", 0))
        return prepared if prepared.n_fixed == n_fixed else replace(prepared, n_fixed=n_fixed)

    def initialize(
        self,
        prepared: CountProblem,
        rank: int,
        init: str,
        rng: np.random.Generator,
        fixed: Array = NONE,
    ) -> tuple[Any, Array]:
        """Factors whose fit has about the sums of X, after a few multiplicative steps."""
        prepared = self.pose(prepared, n_fixed=fixed.shape[1])
        U, V = draw_factors(prepared.data, rank, init, rng)
        if init == "random":
            U, V = map_rows(_spread_sums, U, prepared.row_sums), _spread_sums(V, prepared.column_sums)
        V[:, : fixed.shape[1]] = fixed
        state = CountState(prepared, as_factor(U, prepared.dtype), as_factor(V, prepared.dtype))
        fitted = float(_sums(state.U) @ _sums(state.V))
        if fitted > 0:
            U = scale_columns(state.U, np.asarray(prepared.total / fitted, dtype=prepared.dtype))
            state = replace(state, U=persist(U))
        for _ in range(FIRST_STEPS if init == "random" else 0):
            state = state.multiply()
        for _ in range(FIRST_SWEEPS if prepared.columns is not None else FIRST_PASSES // PASSES):
            state = state.sweep(2)
        state = state.balance()
        return state.U, state.V

    def rank_one(self, data: Data) -> tuple[Any, Array, float]:
        """The best factors of rank one: the sums of rows and columns, where all entries are known."""
        problem = CountProblem.of(data, np.float64) if not data.complete else None
        n, m = data.shape
        U = data.right(np.ones((m, 1), data.dtype, order="F"))
        V = data.left(np.ones((n, 1), data.dtype, order="F"))
        V = np.asfortranarray(V / V.sum(dtype=np.float64), dtype=V.dtype)
        if problem is not None:
            state = CountState(problem, U.astype(np.float64), V.astype(np.float64))
            for _ in range(50):
                state = state.sweep(1)
            U, V = state.U, state.V
        return persist(U), V, self.value(data, U, V)

    def reweigh(self, data: Data, U: Any, V: Array) -> Reweighing | None:
        r"""Weights of rows and columns for counts that vary more than Poisson's, from a fit μ = U Vᵀ.

        With the variance μ + φμ² (negative binomial), rows and columns with large counts say less than their
        size suggests. An entry gets the weight :math:`\sqrt{\rho_i\kappa_j}` with
        :math:`\rho_i = 1/(1+\varphi\,\sum_j\mu_{ij}^2/\sum_j\mu_{ij})`, and κ alike, the Poisson variance
        over the whole one. None where the noise is mostly Poisson's.
        """
        rows, sums = data.map_blocks(_dispersion_block, U, V)
        (n, m), rank = data.shape, V.shape[1]
        columns, (chi_square, count, size, _) = sums[:-1, :2], sums[-1]
        freedom = 1.0 - rank * (n + m - rank) / (n * m)
        if not (size > 0 and freedom > 0):
            return None
        phi = (chi_square / freedom - count) / size
        if phi * columns[:, 1].sum() <= OVERDISPERSED * columns[:, 0].sum():
            return None
        weights = persist(map_rows(partial(_root_inflation, phi=phi), rows)), _root_inflation(columns, phi)
        return Reweighing(Scaling(*weights), float(phi))

    def value(self, data: Data, U: Any, V: Array) -> float:
        U, V = U.astype(np.float64, copy=False), V.astype(np.float64, copy=False)
        inner = unscale(data)
        if isinstance(inner, Sparse) and inner.X.format == "csc":  # read it as it is stored
            data, U, V = Scaling(transposed=True).apply(data), V, U
        constant = 0.0 if data.complete else float(data.map_blocks(_weights_constant, None)[1])
        return max(_evaluate(data, U, V) + constant, 0.0)

    def project(self, data: Data, V: Array) -> Projection:
        """W ≥ 0 minimising the loss, row by row; entries where no component has mass are left out."""
        W, loss = data.map_blocks(_project_block, None, Given(np.asfortranarray(V, dtype=np.float64)))
        constant = 0.0 if data.complete else float(data.map_blocks(_weights_constant, None)[1])
        return Projection(persist(W), max(float(loss) + constant, 0.0))


# Blocks of rows


def _read_counts(block: Block, dtype: Any) -> tuple[Any, Array | None]:
    """ωx of a block, and ω; None if all entries count alike."""
    X, weights = block.read(), block.read_weights()
    if weights is not None and weights.dtype != bool:
        X = X.multiply(weights).tocsr() if is_sparse(X) else X * weights
    X = X.astype(dtype, copy=False)
    return X, weights


@dataclass(frozen=True, eq=False)
class Given:
    """The factor that stays as it is while the other one is updated, as the kernels read it."""

    factor: Array  # Fortran-ordered

    @cached_property
    def sums(self) -> Array:
        return _column_sums(self.factor)

    @cached_property
    def for_dense(self) -> Array:
        return kernels.pad_rows(self.factor)

    @cached_property
    def for_sparse(self) -> Array:
        return kernels.pad_rows(self.factor, sparse=True)

    def sums_of(self, weights: Array | None) -> Array:
        """Σ_j ω_ij v_jk, which does not depend on the row where all entries count alike."""
        if weights is None:
            return self.sums
        return np.asarray(weights.astype(self.factor.dtype, copy=False) @ self.factor)

    def sweep(
        self, X: Any, weights: Array | None, U: Array, count: int, tol: float = 0.0, ratio: Any = None,
        first: int = 0,
    ) -> float:  # fmt: skip
        """Sweeps over U, in place; the loss after them without its constant. ``ratio`` gets x/λ."""
        sums, padded = self.sums_of(weights), self.for_sparse if is_sparse(X) else self.for_dense
        loss = kernels.kl_sweeps(X, padded, sums, U, count, tol, ratio, first)
        return loss + float(_column_sums(U) @ sums if sums.ndim == 1 else np.sum(U * sums, dtype=np.float64))

    def divide(self, X: Any, weights: Array | None, U: Array, count: int = 0) -> tuple[float, Any]:
        """The loss after sweeps over U, in place, and X/λ; sparse if X is."""
        entries = np.empty_like(X.data if is_sparse(X) else X, order="C")
        loss = self.sweep(X, weights, np.asfortranarray(U), count, ratio=entries)
        if is_sparse(X):
            return loss, type(X)((entries, X.indices, X.indptr), shape=X.shape)
        return loss, entries


def _sweep(data: Any, block: Array, other: Array, count: int, first: int = 0) -> tuple[Array, float]:
    """Sweeps over one factor from its column ``first`` on, and the loss after them, without its constant."""
    updated = np.array(block, order="F")
    return updated, float(data.map_blocks(_sweep_block, updated, Given(other), count, first)[1])


def _sweep_block(block: Block, U: Array, given: Given, count: int, first: int = 0) -> tuple[None, float]:
    """Sweeps over U in place, and the loss after them."""
    return None, given.sweep(*_read_counts(block, U.dtype), U, count, first=first)


def _sweep_and_sum_block(block: Block, U: Array, given: Given, count: int) -> tuple[Array, Array]:
    """Sweeps over U; the sums for a multiplicative step on V, and the loss before it in the last row."""
    X, weights = _read_counts(block, U.dtype)
    U = np.array(U, order="F")
    loss, ratio = given.divide(X, weights, U, count)
    numerator = np.asarray(ratio.T @ U, dtype=np.float64)
    shape = numerator.shape
    denominator = np.broadcast_to(_column_sums(U), shape) if weights is None else weights.T @ U
    counts, entries = (X.data, ratio.data) if is_sparse(X) else (X, ratio)
    entries[:] = np.divide(entries * entries, counts, out=np.zeros_like(entries), where=counts > 0)
    curvature = np.asarray(ratio.T @ (U * U), dtype=np.float64)
    return U, np.concatenate([numerator, denominator, curvature, np.full((1, shape[1]), loss)])


def _step_V(V: Array, parts: Array, power: float) -> Array:
    """A power of the multiplicative step on V, and to a small part the mean of the steps of single weights.

    The loss is convex in V: means of steps that do not raise it do not raise it either. Multiplicative steps
    leave weights near zero where they are; single ones do not.
    """
    m, rank = V.shape
    g, s, q, old = parts[:m], parts[m : 2 * m], parts[2 * m : 3 * m], V.astype(np.float64)
    ratio = _quotient(g, s)
    single = np.where(g > s, old + _quotient(g, q) * (ratio - 1.0), _quotient(old * old * q, old * q + s - g))
    single = old + (single - old) / rank
    return np.asfortranarray((1.0 - SINGLE) * old * ratio**power + SINGLE * single, dtype=V.dtype)


def _multiply_block(block: Block, U: Array, given: Given) -> tuple[Array, None]:
    X, weights = _read_counts(block, U.dtype)
    _, ratio = given.divide(X, weights, U)
    quotient = _quotient(np.asarray(ratio @ given.factor), given.sums_of(weights))
    return np.asfortranarray(U * quotient, dtype=U.dtype), None


def _excess_block(block: Block, U: Array, given: Given) -> tuple[None, Array]:
    """Σ x (x/λ - 1)₊ of each column."""
    X, weights = _read_counts(block, U.dtype)
    _, ratio = given.divide(X, weights, U)
    counts, entries = (X.data, ratio.data) if is_sparse(X) else (X, ratio)
    entries[:] = counts * np.maximum(entries - 1.0, 0.0)
    return None, np.asarray(ratio.sum(axis=0), dtype=np.float64).ravel()


def _direction_block(block: Block, U: Array, given: Given, w: Array) -> tuple[Array, None]:
    """(ω∘(X/λ - 1) w)₊."""
    X, weights = _read_counts(block, U.dtype)
    _, ratio = given.divide(X, weights, U)
    counted = w.sum() if weights is None else weights @ w
    return np.asfortranarray(np.maximum(np.asarray(ratio @ w) - counted, 0.0), dtype=U.dtype), None


def _evaluate(data: Any, U: Any, V: Array) -> float:
    """The loss of given factors, without its constant."""
    return float(data.map_blocks(_loss_block, U, Given(np.asfortranarray(V)))[1])


def _loss_block(block: Block, U: Array, given: Given) -> tuple[None, float]:
    return _sweep_block(block, np.asfortranarray(U), given, 0)


def _project_block(block: Block, _: None, given: Given) -> tuple[Array, float]:
    X, weights = _read_counts(block, np.float64)
    rows = np.asarray(X.sum(axis=1), dtype=np.float64).reshape(-1, 1)
    sums = np.broadcast_to(given.sums_of(weights), (len(rows), given.factor.shape[1]))
    positive = np.maximum(sums.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    W = np.asfortranarray(rows / positive * np.ones(sums.shape))
    return W, given.sweep(X, weights, W, PROJECTION_SWEEPS, PROJECTION_TOL)


def _dispersion_block(block: Block, U: Array, V: Array) -> tuple[Array, Array]:
    """Σμ and Σμ² of rows and columns; the χ² of entries with a mean of one and more, their number and sum.

    Smaller means say nothing about the dispersion, and their χ² has heavy tails.
    """
    X, weights = block.read(), block.read_weights()
    U, V = U.astype(np.float64), V.astype(np.float64)
    rows, sums = np.empty((len(U), 2), order="F"), np.zeros((len(V) + 1, 4))
    for part in row_blocks((len(U), len(V)), PIECE):
        mu = U[part] @ V.T
        if weights is not None:
            mu *= weights[part] > 0
        large = mu >= 1.0
        means = mu[large]
        chi_square = np.sum(np.square(as_array(X[part])[large] - means) / means)
        sums[-1, :3] += chi_square, len(means), means.sum()
        sums[:-1, 0] += mu.sum(axis=0)
        rows[part, 0] = mu.sum(axis=1)
        np.square(mu, out=mu)
        sums[:-1, 1] += mu.sum(axis=0)
        rows[part, 1] = mu.sum(axis=1)
    return rows, sums


def _root_inflation(sums: Array, phi: float) -> Array:
    """√(1 + φ Σμ²/Σμ) of each row."""
    return np.asarray(np.sqrt(1.0 + phi * _quotient(sums[:, 1:], sums[:, :1])))


def _weights_constant(block: Block, _: None) -> tuple[None, float]:
    """-Σ ωx log ω."""
    X, weights = _read_counts(block, np.float64)
    if weights is None or weights.dtype == bool:
        return None, 0.0
    X = X.toarray() if is_sparse(X) else X
    logs = np.log(weights, out=np.zeros(weights.shape), where=weights > 0)
    return None, -float(np.sum(X * logs))


# Small pieces


def _sums(factor: Any) -> Array:
    """The sum of each column, in double precision."""
    return np.asarray(sum_rows(_column_sums, factor))


def _column_sums(factor: Array) -> Array:
    return np.asarray(factor.sum(axis=0, dtype=np.float64))


def _extrapolate(new: Array, old: Array, beta: float) -> Array:
    dtype = new.dtype.type
    return np.asarray(np.maximum(new + dtype(beta) * (new - old), dtype(LEAST) * new))


def _quotient(a: Array, b: Array) -> Array:
    a, b = np.broadcast_arrays(a, b)
    return np.divide(a, b, out=np.zeros(a.shape), where=b > 0)


def _spread_sums(factor: Array, sums: Array) -> Array:
    """Rows of a factor scaled to the sums of X."""
    return np.asfortranarray(
        (factor + 0.05) * (sums / (factor + 0.05).sum(axis=1, keepdims=True)), dtype=factor.dtype
    )


def _merge_columns(factor: Any, keep: list[int], j: int, k: int, of_j: float, of_k: float) -> Any:
    """Some columns, and a combination of two others."""
    mixing = np.eye(factor.shape[1])[:, [*keep, j]]
    mixing[[j, k], -1] = of_j, of_k
    return map_rows(partial(_mix, mixing=mixing), factor)


def _mix(factor: Array, mixing: Array) -> Array:
    return np.asfortranarray(factor @ mixing.astype(factor.dtype))


def _gram_over(factor: Array, sums: Array) -> Array:
    """PᵀDP with D the inverse of the sums of X, zero where these are."""
    inverse = _quotient(np.ones_like(sums), sums).astype(factor.dtype)
    return np.asarray((factor * inverse).T @ factor, dtype=np.float64)


def _distances(gram: Array) -> Array:
    """‖p_j - p_k‖² from PᵀP."""
    squares = np.diag(gram)
    return np.asarray(np.maximum(np.add.outer(squares, squares) - 2.0 * gram, 0.0))
