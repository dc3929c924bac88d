"""X as a search sees it: scaled, with its longer side first, and perhaps compressed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autonmf._types import Array, cached_property
from autonmf.data import (
    Compressed,
    Data,
    Dense,
    Scaled,
    Scaling,
    Sparse,
    compress,
    compress_onto,
    equilibration,
    is_tall,
    lead,
    reduce_dominant,
    split_scaling,
    unit_scaling,
    unscale,
)
from autonmf.data.compressed import OVERSAMPLE
from autonmf.data.factors import append_column, map_rows, norm, scale_columns, scale_rows, sum_rows
from autonmf.data.masked import Masked
from autonmf.losses import FROBENIUS, Loss
from autonmf.losses.protocol import NONE
from autonmf.model.initial import leading_triplet
from autonmf.model.known import replace_known
from autonmf.path.options import PathOptions

UNITS, MOST_EQUILIBRATIONS = 0.5, 3
"""Scales whose logarithms vary by more are those of different units: X is equilibrated once more."""

CONCENTRATED = 0.4
"""Rows or columns with more of the energy, as about their largest share, may hide the others."""

SINGLE_TOL = 1e-7
"""Tolerances below this need double precision, too."""

SINGLE_LOSS = 1e-3
"""Losses of counts below this fraction of the rank-one loss need double precision."""

GAIN = 2.0
"""Compression must make a product at least this many times cheaper to be worth its passes over X."""

ROWS_PER_DIRECTION, LEAST_FRACTION = 64, 1 / 64
"""Rows of a sample: so many for each leading direction, and at least this fraction of all."""

MIN_ROWS_PER_SAMPLE_ROW = 4.0
"""A sample is used if X has at least this many times as many rows."""

LEADING, ROUGHLY_LEADING = 1e-9, 1e-7
"""Of ‖X‖²: what the leading direction of a compression may miss of its product with X; the second where one
product with X has made it more precise."""

UNRELIABLE = 0.002
"""A loss through the compression may miss this fraction of what the factors explain, per component."""


@dataclass(frozen=True, eq=False)
class View:
    """X' = X scaled, and how to get back to X."""

    data: Data  # X
    scaling: Scaling  # from X to X'
    scaled: Data  # X'
    compressed: Compressed | None = None  # of X', in double precision
    precise: bool = True  # False: single precision will do, where that is faster
    sampled: bool = False  # whether X is a sample of rows, in memory of its own
    loss: Loss = FROBENIUS
    known: Array | None = None  # known components of X as columns, m x k

    @cached_property
    def fixed(self) -> Array:
        """The known components of X', as columns of root mean square one; no column if there are none."""
        if self.known is None:
            return NONE
        columns = scale_rows(self.known, 1.0 / self.scaling.b)
        return np.asfortranarray(columns / np.sqrt(np.mean(np.square(columns), axis=0)))

    @property
    def n_fixed(self) -> int:
        return int(self.fixed.shape[1])

    def fix(self, U: Any, V: Array) -> tuple[Any, Array]:
        """Factors of X' with the known components as they are, after rounding elsewhere."""
        return replace_known(U, V, self.fixed.astype(V.dtype)) if self.n_fixed else (U, V)

    def pose(self, **constants: Any) -> Any:
        """The problem that a search solves."""
        return self.loss.pose(self.matrix, n_fixed=self.n_fixed, **constants)

    @property
    def engine(self) -> str:
        return "direct" if self.compressed is None else "compressed"

    @property
    def double(self) -> Data:
        """X', or its compression in double precision."""
        return self.scaled if self.compressed is None else self.compressed

    @property
    def in_memory(self) -> bool:
        """Whether X is complete and in memory, where it can be read in any order."""
        return self.scaled.complete and isinstance(unscale(self.scaled), Dense | Sparse)

    @property
    def is_single(self) -> bool:
        """Whether a search iterates in single precision."""
        if self.compressed is not None:
            return True
        if self.precise:
            return False
        return self.sampled or self.loss is not FROBENIUS or isinstance(unscale(self.scaled), Sparse)

    @cached_property
    def matrix(self) -> Any:
        """What a search iterates on: X' or its compression, perhaps in single precision."""
        if self.compressed is not None:
            return self.compressed.as_single()
        return self.loss.prepare(self.scaled, single=self.is_single)

    @cached_property
    def rank_one(self) -> tuple[Any, Array, float]:
        """The best factors of X' of rank one, and their loss."""
        return self.loss.rank_one(self.double)

    @cached_property
    def smallest(self) -> tuple[Any, Array, float]:
        """The best factors of X' of the smallest rank, and their loss: a global minimum.

        The smallest rank is one, or that of the known components alone.
        """
        if not self.n_fixed:
            return self.rank_one
        V = np.asfortranarray(self.fixed, dtype=self.double.dtype)
        U, loss = self.loss.project(self.double, V)
        return U, V, loss

    @property
    def loss_unit(self) -> float:
        """What losses of X' are multiplied by to be losses of X, if X' is X in other units."""
        return self.scaling.unit**self.loss.degree

    @property
    def energy(self) -> float:
        """What relative losses of X' are fractions of."""
        return 0.5 * self.scaled.squared_norm() if self.loss is FROBENIUS else self.rank_one[2]

    def evaluate(self, U: Any, V: Array) -> float:
        """The loss of factors of X', in double precision."""
        return self.loss.value(self.double, U, V)

    def measure(self, state: Any) -> float:
        """The loss of a solution, in double precision where single precision is not enough."""
        if not self.is_single:
            return float(state.loss)
        if self.precise or not state.has_digits:
            return self.evaluate(state.U, state.V)
        return float(state.quick_loss)

    def direct(self) -> View:
        """The same without compression, and with losses of counts in double precision."""
        return replace(self, compressed=None, precise=self.precise or self.loss is not FROBENIUS)

    def narrow(self, rank: int) -> View:
        """The same with only as many directions of the compression as components up to a rank need."""
        if self.compressed is None or rank + OVERSAMPLE >= self.compressed.R.shape[1]:
            return self
        return replace(self, compressed=self.compressed.narrow(rank + OVERSAMPLE))

    def is_unreliable(self, U: Any, V: Array, loss: float) -> bool:
        """Whether the loss of a solution through the compression is far from that on X'.

        Nonnegative factors need not lie in the leading directions of X: where its spectrum does not decay
        (the identity, very sparse noise), a compressed search cannot see them. The loss on X' is then clearly
        below the one through the compression. X' itself is read only where a bound does not tell.
        """
        if self.compressed is None:
            return self.is_single and self.loss is not FROBENIUS and loss < SINGLE_LOSS * self.energy
        U, V = (factor.astype(np.float64) for factor in (U, V))
        energy = 0.5 * self.scaled.squared_norm()
        tolerance = UNRELIABLE * V.shape[1]
        error = self.compressed.bound_error(U, V)
        if error <= tolerance * (energy - loss - error):
            return False
        true = FROBENIUS.value(self.scaled, *(factor.astype(self.scaled.dtype) for factor in (U, V)))
        return bool(abs(loss - true) > tolerance * (energy - true))

    def lead(self, data: Data, rank: int, rng: np.random.Generator) -> tuple[Data, Array, Array]:
        """What a rule looks at, X' with missing entries filled in; its leading directions, and what is known.

        Where X' is not equilibrated it is divided by the roots of the sums of its rows and columns: entries
        of counts then have comparable variances, and the first singular pair is the best fit of rank one.
        """
        known = self.fixed
        if not self.loss.equilibrates:
            roots = root_sums(data)
            data, known = roots.apply(data), known / roots.b
        return data, lead(data, rank, rng) if self.compressed is None else self.compressed.R, known

    def without_X(self, most: int, *, single: bool = False) -> View | None:
        """The same with its compression in place of X, or a copy of at most so many bytes.

        None if there is neither: X may be changed by its owner. A copy in single precision may have any size.
        """
        instead = self.compressed or (_copy_single(self.scaled) if single else _copy(self.scaled, most))
        return None if instead is None else replace(self, data=instead, scaled=instead)


def prepare(
    data: Data, options: PathOptions, rank: int, rng: np.random.Generator, weights: Scaling | None = None,
    known: Array | None = None, *, sample: bool = False,
) -> View:  # fmt: skip
    """X weighted, scaled as the options say, and compressed for a search from ``rank`` where that pays.

    ``known`` are the known components of X, as columns. With ``sample``, X of which a sample of the rows is
    better is left as it is.
    """
    weighted = data if weights is None else weights.apply(data)
    scaling = unit_scaling(weighted) if options.scale or options.uses_equilibrated else Scaling()
    scaled = scaling.apply(weighted)
    scaling = scaling if weights is None else weights.then(scaling)
    if options.uses_equilibrated:
        equal, scaled = _equilibrate(scaled)
        scaling = scaling.then(equal)
    view = _view(data, scaling, scaled, options, known)
    if sample and takes_sample(view, options, rank):
        return view
    return compress_view(view, options, rank, rng)


def _equilibrate(data: Data) -> tuple[Scaling, Data]:
    """Scales that give rows and columns comparable norms and entries a root mean square of one; X scaled."""
    total = Scaling()
    step = equilibration(data)
    variation, largest_share = _compare(step)
    if largest_share > CONCENTRATED:
        total = reduce_dominant(data)
        data = total.apply(data)
        step = equilibration(data)
        variation, _ = _compare(step)
    for left in reversed(range(MOST_EQUILIBRATIONS)):
        total, data = total.then(step), step.apply(data)
        if left == 0 or variation <= UNITS:
            break
        step = equilibration(data)
        variation, _ = _compare(step)
    unit = unit_scaling(data)
    return total.then(unit), unit.apply(data)


def compress_view(view: View, options: PathOptions, rank: int, rng: np.random.Generator) -> View:
    """The same, compressed for a search from ``rank`` where that pays."""
    if view.compressed is not None or not _compresses(view.scaled, options, rank):
        return view
    compressed = compress(view.scaled, rank, rng)
    if not options.uses_equilibrated:  # losses of X are those of `prepare_like`
        compressed = _with_leading(view.scaled, compressed)
    return replace(view, compressed=compressed)


def _with_leading(data: Data, compressed: Compressed, tolerance: float = LEADING) -> Compressed:
    """The compression with the leading singular pair of X in it, whose loss is then that of X.

    Where the spectrum hardly decays, a few products with X do not find it; one more product tells.
    """
    _, sigma, v = leading_triplet(compressed)
    outside = norm(data.right(v.astype(data.dtype))) ** 2 - sigma**2  # ‖(I - LLᵀ)Xv‖²
    if outside <= tolerance * data.squared_norm():
        return compressed
    _, sigma, v = leading_triplet(data, v)
    directions = np.hstack([compressed.R, sigma * v])
    return compress_onto(data, data.right(np.asfortranarray(directions, dtype=data.dtype)))


def takes_sample(view: View, options: PathOptions, rank: int) -> bool:
    """Whether a search from ``rank`` computes its path on a sample of the rows."""
    return (
        options.uses_equilibrated
        and options.chosen_engine() == "auto"
        and isinstance(options.init, str)
        and options.checkpoint is None
        and view.known is None
        and view.in_memory  # a file would be read more often, not less
        and is_tall(view.scaled)
        and sample_size(view.scaled.shape, min(rank + OVERSAMPLE, view.scaled.shape[1])) > 0
    )


def sample_size(shape: tuple[int, int], directions: int) -> int:
    """How many rows show so many directions; 0 where all rows are not many more."""
    size = max(ROWS_PER_DIRECTION * directions, int(LEAST_FRACTION * shape[0]))
    return size if MIN_ROWS_PER_SAMPLE_ROW * size <= shape[0] else 0


def prepare_like(view: View, options: PathOptions) -> View:
    """X in its own units, compressed as its equilibrated form was: diag(a) L spans X if L spans X'."""
    scaling = unit_scaling(view.data) if options.scale else Scaling()
    plain = _view(view.data, scaling, scaling.apply(view.data), options, view.known)
    plain = replace(plain, precise=view.precise or view.loss is FROBENIUS)
    if view.compressed is None:
        return plain
    rows, columns = (
        [side for s in (view.scaling, plain.scaling) for side in [s.b if s.transposed == by_rows else s.a]]
        for by_rows in (True, False)
    )
    basis = scale_rows(scale_rows(view.compressed.L, rows[0]), 1.0 / rows[1])
    others = scale_rows(scale_rows(view.compressed.R, columns[0]), 1.0 / columns[1])
    _, sigma, v = leading_triplet(Compressed(basis, others, plain.scaled.squared_norm()))
    u = plain.scaled.right(np.asfortranarray(v, dtype=plain.scaled.dtype))  # nearer to the leading direction
    size = norm(basis) / sigma
    compressed = compress_onto(plain.scaled, append_column(basis, scale_columns(u, size)))
    if plain.in_memory:  # elsewhere each product is a pass over a file, or a round of the workers
        compressed = _with_leading(plain.scaled, compressed, ROUGHLY_LEADING)
    return replace(plain, compressed=compressed)


def _view(data: Data, scaling: Scaling, scaled: Data, options: PathOptions, known: Array | None) -> View:
    n, m = data.shape
    flip = options.grid == "exact" and n < m and known is None  # the longer side first
    if options.loss.reads_entries and not hasattr(unscale(scaled), "T"):
        if isinstance(scaled, Scaled) and scaled.scaling.transposed:
            raise ValueError(
                f"beta_loss={options.beta_loss!r} reads X by rows, and this file holds its columns: "
                "store it by rows (CSR), or load it into memory"
            )
        flip = False  # only rows can be read
    if flip:
        transpose = Scaling(transposed=True)
        scaling, scaled = scaling.then(transpose), transpose.apply(scaled)
    precise = not options.equilibrate or options.chosen_engine() == "direct"
    if options.loss is not FROBENIUS:
        precise = options.engine == "direct" or options.tol < SINGLE_TOL
    return View(data, scaling, scaled, precise=precise, loss=options.loss, known=known)


def _compresses(scaled: Data, options: PathOptions, rank: int) -> bool:
    engine = options.chosen_engine()
    if not scaled.complete:
        if engine == "compressed":
            raise ValueError(
                "engine='compressed' reads X only once, but missing entries and weights are filled in "
                "anew at every step: use engine='auto' or 'direct'"
            )
        return False
    n, m = scaled.shape
    pays = GAIN * min(rank + OVERSAMPLE, n, m) * (n + m) < scaled.cost
    return engine == "compressed" or (engine == "auto" and pays)


def root_sums(data: Data) -> Scaling:
    """Rows and columns divided by the roots of their sums; those of zeros stay as they are."""
    n, m = data.shape
    rows = data.right(np.ones((m, 1), data.dtype, order="F"))
    columns = data.left(np.ones((n, 1), data.dtype, order="F"))
    return Scaling(map_rows(_root, rows), _root(columns))


def _compare(step: Scaling) -> tuple[float, float]:
    r"""How much the scales of an equilibration vary, and how concentrated the energy is; of both sides.

    The first is the standard deviation of their decimal logarithms. The second is :math:`\sqrt{\sum_i p_i^2}`
    for the shares p of rows or columns in the energy, which is near the largest if that is large.
    """
    compared = []
    for scales in (step.a, step.b):
        energy = sum_rows(_energy, scales)
        logs, squares, squared_shares = sum_rows(_moments, scales, energy)
        n = scales.shape[0]
        variation = np.sqrt(max(squares / n - (logs / n) ** 2, 0.0))
        compared.append((variation, np.sqrt(squared_shares)))
    variation, largest_share = np.max(compared, axis=0)
    return float(variation), float(largest_share)


def _energy(scales: Array) -> float:
    """Scales are fourth roots of energies."""
    return float((scales**4).sum())


def _moments(scales: Array, energy: float) -> Array:
    logs, shares = np.log10(scales), scales**4 / energy
    return np.array([logs.sum(), np.square(logs).sum(), np.square(shares).sum()])


def _root(sums: Array) -> Array:
    """Their roots, and one where they are zero."""
    return np.sqrt(np.where(sums > 0, sums, 1.0))


def _copy_single(scaled: Data) -> Data:
    """X' in single precision, in memory of our own; as it is where X is a file."""
    inner, scaling = split_scaling(scaled)
    return inner.divide(scaling.a, scaling.b, np.float32) if isinstance(inner, Dense | Sparse) else scaled


def _copy(scaled: Data, most: int) -> Data | None:
    """X' in memory of our own; None where that takes more than ``most`` bytes, or X is not in memory."""
    if not isinstance(scaled, Scaled):
        return None
    inner = scaled.data
    if isinstance(inner, Dense) and inner.X.nbytes <= most:
        return scaled.replace_data(Dense(inner.X.copy(order="K")))
    if isinstance(inner, Sparse):
        X = inner.X
        if X.data.nbytes + X.indices.nbytes + X.indptr.nbytes <= most:
            return scaled.replace_data(Sparse(X.copy()))
    if isinstance(inner, Masked) and inner.X.nbytes + inner.weights.nbytes <= most:
        return scaled  # its arrays were made when X was opened, and are ours
    return None
