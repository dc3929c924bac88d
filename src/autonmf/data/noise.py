r"""How many directions of X are above its noise, and how far, without knowing the noise.

Let X be a matrix of low rank plus independent noise of any variances. With the scales p of its rows and q of
its columns chosen such that the variances of the noise average to one in each row and in each column,

.. math:: Z = \mathrm{diag}(p)^{-1} X\, \mathrm{diag}(q)^{-1}

has noise whose squared singular values follow the law of Marchenko and Pastur, whatever the variances of
single entries (Landa, Zhang and Kluger, 2022). The largest of them is near :math:`(\sqrt n+\sqrt m)^2`, with
the fluctuations of Tracy and Widom (Johnstone, 2001). A direction above this edge is not noise.

The variances are not known. They are estimated by the squared residuals beyond the first k directions, summed
over rows and over columns, each divided by one minus its leverage, the part of the noise that the k
directions take away. Directions far above the edge are taken out first, weaker ones in later rounds: a weak
direction that stays in the residual hardly changes the sums, while each direction of noise that is taken out
makes what is left look like signal. Only a direction of few rows or columns has most of their residual and is
hidden by the scales that it gives to them. Where there may be one, the scales are finally estimated with one
more direction taken out, which counts if it is then clearly above the edge.

*Counts.* Where counts vary more than Poisson's, the variance of an entry is that of the negative binomial
law, μ + φμ². With μ from a fit U Vᵀ, the scales p and q follow from U and V alone (Sinkhorn's iteration),
which is surer than squared residuals: a few entries with large means have most of them.

*Clipped noise.* A common way to make noisy data nonnegative, max(0, M + noise), gives the noise a positive
mean wherever M is small: :math:`\sigma/\sqrt{2\pi}` where it is zero. The places where it is add a direction
to X that is no component. It is undone before directions are counted: zeros get a negative half back, drawn
from a half-normal law, after which the noise has mean zero again. Where M is zero, half of the entries are
clipped, and the others are half-normal. Zeros that were not clipped (no limb in an image, no count of a word)
do not come with half-normal entries in their neighbourhood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from autonmf._threads import each
from autonmf._types import Array
from autonmf.data.compressed import OVERSAMPLE, compress, is_tall, lead_tall, orthonormalize
from autonmf.data.dense import Dense
from autonmf.data.factors import as_factor, gram, map_rows, norm, persist, scale_rows, sum_rows
from autonmf.data.protocol import Block, Data, RowBlocks, is_sparse, squared_sum, sum_in_groups
from autonmf.data.scaling import Scaled, Scaling, as_single, split_scaling, sums_of_squares

LIMITS = (4.0, 2.0, 1.5, 1.2, 1.0, 1.0, 1.0)
"""Directions above this many times the edge are taken out, round by round."""

EXACT = 1e-9
"""If less than this fraction of the energy is left, it consists of rounding errors."""

LEAST_SCALE = 0.001
"""The smallest scale of a row or column, as a fraction of their root mean square: some have no noise. Scales
of rounding differ as much as the totals that counts are divided by."""

LARGEST_LEVERAGE = 0.8
"""A row or column with more than this has a direction to itself, which does not tell it from noise."""

BEYOND = 20
"""Directions of noise that are computed, at least."""

NOISE_LIMIT = 1.3
"""Directions up to the edge are noise, those above this many times the edge are not."""

CLEARLY = 1.1
"""Directions above this many times the edge are not noise whose scales are still rough."""

FAR_ABOVE = 2.0
"""Directions above this many times the edge are signal where other scales would make them noise."""

HIDING = 0.7
"""A direction may be hidden by the scales of rows or columns that would fall to this fraction without it."""

CONCENTRATED = 0.25
"""Sums of the fourth powers of both singular vectors of a direction from which it is one entry, or a few."""

SINKHORN_ROUNDS = 10
"""Iterations for the scales of counts; each brings them closer by a factor."""

MOST_DOUBLINGS = 10
"""Doublings of the dispersion of counts, at most."""

SMALL_CHANGE = 0.03
"""Scales that change by less, on average, are as good as those before."""

TRACY_WIDOM = 0.98
"""The 95 % quantile of the law of Tracy and Widom."""

MIN_ZEROS = 0.01
"""Fewer clipped entries add no direction that matters."""

SMALL_FIT = 0.7
"""A fit is small up to this many standard deviations; the mean of clipped noise alone is 0.4."""

CLIPPED, FAR = (0.3, 0.65), (0.2, 0.45)
"""Where the fit is small: the part of the entries that is zero, about one half; and that part of the others
that is larger than their root mean square, about one third."""

TIES = 0.5
"""The part of the positive entries that may be the same number: small counts are mostly ones."""

UNDERSTATED = 0.8
"""Noise was clipped only if positive entries exceed its estimate, which clipping lowers, by this factor."""

COPIED, COPIED_DOUBLE = 1 << 24, 1 << 20
"""Entries of a matrix that is copied, at most: 64 MB in single precision; and in double precision: 8 MB."""

ROWS_PER_COLUMN, FAR_FEWER = 100, 8
"""So many rows for each column tell the scales of the columns; taken if X has this many times as many."""

SAMPLE = 1 << 17
"""Entries that are looked at, about."""


Estimate = Callable[[Array, Array, Array], Array]
"""Of variances: from sums of squares, singular vectors and squared singular values."""


class WhitenedSpectrum(NamedTuple):
    """The leading squared singular values of Z."""

    shape: tuple[int, int]  # without rows and columns of zeros
    squares: Array  # as fractions of ‖Z‖²
    clipped: bool = False  # whether noise had been clipped at zero, which was undone
    doubtful: bool = False  # whether one more direction may be signal, or one above the edge an outlier

    @property
    def ratios(self) -> Array:
        """Each squared singular value over the edge of the noise beyond those before it.

        The variance of the noise is that of all that is left. Where only rounding errors are left they have
        no edge, and ratios fall as the squared singular values do: abruptly if X has that rank, slowly if its
        components fade away. They are zero beyond the shorter side.
        """
        k = np.arange(len(self.squares))
        n, m = (np.maximum(side - k, 1) for side in self.shape)
        left = 1.0 - np.append(0.0, np.cumsum(self.squares)[:-1])
        something = left > EXACT
        edges = np.where(something, left, 1.0) / (n * m) * noise_edge(n, m)
        ratios = self.squares / edges
        last = int(np.count_nonzero(something)) - 1  # at least 0: all is left before the first
        ratios[last:] = ratios[last] * self.squares[last:] / max(self.squares[last], np.finfo(float).tiny)
        return np.where(k < min(self.shape), ratios, 0.0)

    def count_enough(self) -> int:
        """How many directions are enough to tell those that are above the edge, with some of the noise."""
        count = self.count_above()
        return min(count + max(BEYOND, count // 2), len(self.squares))

    @property
    def has_noise(self) -> bool:
        """Whether the directions above the edge leave more than rounding errors."""
        return bool(1.0 - self.squares[: self.count_above()].sum() > EXACT)

    def count_above(self, limit: float = 1.0) -> int:
        """How many directions come before the first that is at most ``limit`` times the edge."""
        below = np.flatnonzero(self.ratios <= limit)
        return int(below[0]) if below.size else len(self.squares)

    def adds_one(self, count: int) -> bool:
        """Whether exactly one more direction than that is no noise, and all are far above the edge."""
        return self.count_above(NOISE_LIMIT) == count + 1 == self.count_above(FAR_ABOVE)


def noise_edge(n: Array, m: Array) -> Array:
    """The 95 % quantile of the largest squared singular value of n x m noise of unit variance."""
    a, b = np.sqrt(n - 0.5), np.sqrt(m - 0.5)
    return np.asarray((a + b) ** 2 + TRACY_WIDOM * (a + b) * (1.0 / a + 1.0 / b) ** (1 / 3))


def whiten(data: Data, leading: Array, known: Array | None = None, L: Any = None) -> WhitenedSpectrum:
    """The spectrum of Z, from XᵀL for the leading directions L of X. A round reads X a few times.

    L is computed from X where it is not given.

    Clipped noise is recognised and undone where X is dense and complete. With known components of X, as
    columns, the spectrum is that of what they leave: Z (I - P), with P the projector on them.
    """
    start = _Whitened.of(data, Scaling(), leading, *sums_of_squares(data), L)
    if start.is_exact(LIMITS[0]):
        return _beyond_known(start, known)
    data = as_single(data)  # where that is faster; sums are in double precision
    few, b = _take_few(data), None
    if few is not None:  # the scales of the columns are nearly those of a part of the rows
        part = _Whitened.of(few, Scaling(), *lead_tall(few, leading.shape[1]))
        if not part.is_exact(LIMITS[0]):
            b = _find_noise(few, part).scaling.b
            start = _measure(data, Scaling(b=b), start.V)
    return _beyond_known(_find_noise(data, start, b), known)


def _find_noise(data: Data, start: _Whitened, b: Array | None = None) -> _Whitened:
    """Z from rough scales, with clipped noise undone; b is right if it is given.

    After the first round only as many directions are computed as are needed.
    """
    first = _measure(data, *_rescale(start, start.spectrum.count_above(LIMITS[0]), b))
    enough = first.spectrum.count_enough()
    for width in sorted({enough, first.V.shape[1]}):
        found = first.narrow(width)
        unclipped = _undo_clipping(data, found)
        if unclipped is None:
            found = _whiten(data, found, start.spectrum.count_above(), LIMITS)
        else:
            again = _measure(unclipped, *_rescale(found, found.spectrum.count_above(LIMITS[1]), b))
            found = _whiten(unclipped, again, -1, LIMITS[1:])
            found = found._replace(spectrum=found.spectrum._replace(clipped=True))
        found = _find_localized(data if unclipped is None else unclipped, start, found, b)
        if found.has_single():
            found = found._replace(spectrum=found.spectrum._replace(doubtful=True))
        if found.spectrum.count_above() + OVERSAMPLE <= width:
            break
    return found


def _find_localized(data: Data, start: _Whitened, found: _Whitened, b: Array | None) -> _Whitened:
    """Z with one more direction each time that one of few rows or columns was hidden by their scales.

    Such a direction has most of the energy of its rows, whose scales then grow until it looks like noise. If
    it is taken out before they are estimated, it stays far above the edge, alone. Noise would not.
    """
    while True:
        count = found.spectrum.count_above()
        if start.spectrum.count_above() <= count or not start.hides_next(count, rows_only=b is not None):
            return found
        scaling, V = _rescale(start, count + 1, b)
        other = _measure(data, scaling, V[:, : found.V.shape[1]])
        doubtful = other.spectrum.count_above(NOISE_LIMIT) > count
        if other.spectrum.adds_one(count):
            other = _whiten(data, other, -1, LIMITS[3:])
        if not other.spectrum.adds_one(count):
            return found._replace(spectrum=found.spectrum._replace(doubtful=doubtful))
        found = other._replace(spectrum=other.spectrum._replace(clipped=found.spectrum.clipped))


def _take_few(data: Data) -> Scaled | None:
    """Every k-th row of a tall X in memory, without a copy; None where these would not be far fewer."""
    inner, scaling = split_scaling(data)
    n, m = data.shape
    step = n // (ROWS_PER_COLUMN * m)
    if not isinstance(inner, Dense) or not is_tall(data) or step < FAR_FEWER:
        return None
    a = scaling.a[::step] if np.ndim(scaling.a) else scaling.a
    return Scaled(Dense(inner.X[::step]), Scaling(a, scaling.b))


def whiten_counts(
    data: Data, U: Any, V: Array, dispersion: float, rank: int, known: Array | None = None
) -> WhitenedSpectrum:
    """The spectrum of Z for counts of mean μ = U Vᵀ and variance μ + φμ², up to some components.

    A fit with components to spare follows the noise and understates φ: it is doubled as long as that does not
    leave more directions above the edge. With the right φ they are fewest.
    """
    scaling = _count_scales(U, V, 0.5 * dispersion)
    found = _measure(data, scaling, compress(scaling.apply(data), rank, np.random.default_rng(0)).R)
    for doublings in range(MOST_DOUBLINGS):
        scaling = _count_scales(U, V, 2.0**doublings * dispersion)
        other = _measure(data, scaling, scale_rows(found.V, found.scaling.b / scaling.b))
        if other.spectrum.count_above() > found.spectrum.count_above():
            break
        found = other
    return _beyond_known(found, known)


def project_out(leading: Array, known: Array) -> Array:
    """The leading directions XᵀL of X (I - P), with P the projector on known components, given as columns."""
    basis = orthonormalize(np.asfortranarray(known), exactly=True)
    return np.asarray(leading - basis @ (basis.T @ leading))


def measure_known(data: Data, leading: Array, known: Array) -> Array:
    r"""By how much each known component lowers the loss, as fractions of ‖X‖², decreasing; only those in X.

    With K the components as columns and :math:`G = K^\top K`, least squares without component j leave
    :math:`\|XKG^{-1}e_j\|^2/(G^{-1})_{jj}` more than with it. A component that lowers the loss by no more
    than noise would let it is not in X.
    """
    (n, m), columns = data.shape, known / np.linalg.norm(known, axis=0)
    inverse = np.linalg.pinv(columns.T @ columns)
    weights = leading.T @ columns @ inverse
    energy = data.squared_norm()
    left = energy - float(np.square(project_out(leading, known) - leading).sum())
    noise = left / max(m - columns.shape[1], 1) * (1.0 + 3.0 * np.sqrt(2.0 / n))
    drops = np.square(weights).sum(axis=0) / inverse.diagonal()
    return np.sort(drops[drops > noise])[::-1] / energy


def _beyond_known(found: _Whitened, known: Array | None) -> WhitenedSpectrum:
    """The spectrum of Z, or of Z (I - P) where components of X are known."""
    if known is None or not known.shape[1]:
        return found.spectrum
    columns = np.where(found.columns > 0, known / found.scaling.b, 0.0)
    basis = orthonormalize(np.asfortranarray(columns[:, columns.any(axis=0)]), exactly=True)
    (n, m), width = found.spectrum.shape, basis.shape[1]
    Z = found.Z
    energy = found.energy - norm(Z.right(as_factor(basis, Z.dtype))) ** 2
    shape, squares = (n, max(m - width, 1)), np.zeros(found.V.shape[1])
    if energy > EXACT * found.energy:  # otherwise rounding errors are left
        W = persist(Z.right(as_factor(orthonormalize(found.V - basis @ (basis.T @ found.V)), Z.dtype)))
        U = as_factor(orthonormalize(W, exactly=True), Z.dtype)
        R = Z.left(U).astype(np.float64, copy=False)
        R -= basis @ (basis.T @ R)
        values = np.maximum(np.linalg.eigvalsh(R.T @ R)[::-1], 0.0)
        squares[: len(values)] = values / energy
    return found.spectrum._replace(shape=shape, squares=squares)


def _count_scales(U: Any, V: Array, dispersion: float) -> Scaling:
    """Scales such that the variances μ + φμ² of the entries average to one in rows and in columns."""
    V = V.astype(np.float64, copy=False)
    a, b = np.ones((U.shape[0], 1)), np.ones((V.shape[0], 1))
    for _ in range(SINKHORN_ROUNDS):
        a = persist(_multiply_roots(1.0, map_rows(_count_variances, U, _inverse_sums(V, b), dispersion)))
        b = _multiply_roots(1.0, _count_variances(V, sum_rows(_inverse_sums, U, a), dispersion))
    return Scaling(a, b)


def _inverse_sums(factor: Array, scales: Array) -> Array:
    """Sums over the rows of a factor, and of their outer products, each divided by its squared scale."""
    factor = factor.astype(np.float64, copy=False)
    divided = factor / np.square(scales)
    return np.column_stack([divided.sum(axis=0), factor.T @ divided])


def _count_variances(factor: Array, sums: Array, dispersion: float) -> Array:
    """Σ_j (μ_ij + φμ_ij²) / q_j for every row of a factor, from the `_inverse_sums` of the other one."""
    factor = factor.astype(np.float64, copy=False)
    squares = ((factor @ sums[:, 1:]) * factor).sum(axis=1, keepdims=True)
    return np.asarray(factor @ sums[:, :1] + dispersion * squares)


def _undo_clipping(data: Data, found: _Whitened) -> Scaled | None:
    """X with clipped noise undone; None if there is none, or X is not dense and complete."""
    inner, scaling = split_scaling(data)
    if not isinstance(inner, RowBlocks) or inner.sparse or not data.complete or found.is_exact(1.0):
        return None
    total = scaling.then(found.scaling)
    U, V, sigma = found.above()
    if sigma == 0.0:
        return None
    if U is None:
        V = V / np.linalg.norm(V, axis=0)
    else:
        U, V = (V / sigma, U) if scaling.transposed else (U, V / sigma)
    there = found.rows > 0, found.columns > 0  # rows and columns of zeros stay so
    some_rows, some_columns = there[::-1] if scaling.transposed else there
    rows, columns = sigma * total.a * some_rows, total.b * some_columns
    factor = find_clipped_noise(inner, rows, columns, U, V)
    return Scaled(unclip(inner, factor * rows, columns, scaling.transposed), scaling) if factor else None


def _residual_variances(squares: Array, vectors: Array, values: Array) -> Array:
    """What singular vectors leave of sums of squares, over one minus their leverage."""
    explained, leverage = (np.square(vectors) @ np.column_stack([values, np.ones_like(values)])).T
    left = np.maximum(squares[:, 0] - explained, 0.0)
    free = leverage < LARGEST_LEVERAGE
    return np.where(free, left / np.where(free, 1.0 - leverage, 1.0), squares[:, 0])[:, None]


def _two_variances(squares: Array, vectors: Array, values: Array) -> Array:
    """What all but the last, and all singular vectors leave."""
    before = _residual_variances(squares, vectors[:, :-1], values[:-1])
    return np.hstack([before, _residual_variances(squares, vectors, values)])


class _Whitened(NamedTuple):
    """Z and its leading directions: Z ≈ U Vᵀ, where U has orthonormal columns and V orthogonal ones."""

    Z: Data
    scaling: Scaling  # from X to Z
    rows: Any  # squared norms of its rows
    columns: Array  # of its columns
    U: Any  # an n x w basis of the leading ones; None where it is computed when needed, because it is large
    rotation: Array  # from that basis to the columns of U
    V: Array  # m x w, by decreasing norm
    spectrum: WhitenedSpectrum

    @staticmethod
    def of(Z: Data, scaling: Scaling, V: Array, rows: Any, columns: Array, U: Any = None) -> _Whitened:
        """From V = ZᵀU for orthonormal U, both to be rotated, and the squared norms of rows and columns."""
        vectors = np.linalg.eigh(V.T @ V)[1][:, ::-1]
        V = V @ vectors
        shape = int(sum_rows(np.count_nonzero, rows)), int(np.count_nonzero(columns))
        squares = np.square(V).sum(axis=0) / (columns.sum() or 1.0)
        return _Whitened(Z, scaling, rows, columns, U, vectors, V, WhitenedSpectrum(shape, squares))

    def narrow(self, width: int) -> _Whitened:
        """With only the leading directions."""
        return self._replace(V=self.V[:, :width])

    def row_variances(self, count: int, estimate: Estimate = _residual_variances) -> Any:
        """The `_residual_variances` of the rows beyond the first directions; U = Z V diag(σ)⁻²."""
        values = self.spectrum.squares[:count] * self.energy
        if self.U is not None:
            return map_rows(estimate, self.rows, self._rotate(count), values)
        V = self.V[:, :count] / values
        if is_tall(self.Z):
            return self.Z.map_blocks(_block_variances, self.rows, V, values, estimate)[0]
        U = self.Z.right(as_factor(V, self.Z.dtype))
        return map_rows(estimate, self.rows, U, values)

    def column_variances(self, count: int, estimate: Estimate = _residual_variances) -> Array:
        """The same of the columns."""
        values = self.spectrum.squares[:count] * self.energy
        return estimate(self.columns, self.V[:, :count] / np.sqrt(values), values)

    def hides_next(self, count: int, *, rows_only: bool) -> bool:
        """Whether the direction after so many has most of what these leave of some rows or columns."""
        left = 1.0 - np.append(0.0, np.cumsum(self.spectrum.squares))
        limit = HIDING**2 * left[count + 1] / left[count]
        if not rows_only and _count_smaller(self.column_variances(count + 1, _two_variances), limit):
            return True
        return bool(sum_rows(_count_smaller, self.row_variances(count + 1, _two_variances), limit))

    def has_single(self) -> bool:
        """Whether a direction above the edge is hardly more than one entry: noise with outliers has some."""
        count = self.spectrum.count_above()
        columns = self.V[:, :count] / np.linalg.norm(self.V[:, :count], axis=0)
        alone = np.flatnonzero((columns**4).sum(axis=0) > CONCENTRATED)
        if not alone.size or self.is_exact(1.0):
            return False
        values = np.sqrt(self.spectrum.squares[alone] * self.energy)
        U = self.Z.right(as_factor(columns[:, alone] / values, self.Z.dtype))
        return bool((sum_rows(_fourth_powers, U) > CONCENTRATED).any())

    def _rotate(self, count: int) -> Any:
        """The first columns of U; None where it is not kept."""
        if self.U is None:
            return None
        return persist(map_rows(_times, self.U, self.rotation[:, :count].astype(self.U.dtype)))

    def is_exact(self, limit: float) -> bool:
        """Whether the directions far above the edge leave nothing but rounding errors."""
        far = self.spectrum.count_above(limit)
        return not 1.0 - self.spectrum.squares[:far].sum() > EXACT

    @property
    def energy(self) -> float:
        """‖Z‖²."""
        return float(self.columns.sum())

    def above(self) -> tuple[Array | None, Array, float]:
        """The directions clearly above the edge, and the standard deviation of the noise of Z."""
        k = self.spectrum.count_above(CLEARLY)
        n, m = (max(side - k, 1) for side in self.spectrum.shape)
        left = max(self.energy - float(np.square(self.V[:, :k]).sum()), 0.0)
        return self._rotate(k), self.V[:, :k], float(np.sqrt(left / (n * m)))


def _whiten(data: Data, found: _Whitened, before: int, limits: Sequence[float]) -> _Whitened:
    """Rescale until the scales, and the number of directions above the edge, stay the same."""
    for limit in limits:
        spectrum = found.spectrum
        count, far = spectrum.count_above(), spectrum.count_above(limit)
        if count == before == far or found.is_exact(limit):
            break
        scaling, V = _rescale(found, far)
        if count == far and _change(found.scaling, scaling) < SMALL_CHANGE:
            break
        before, found = count, _measure(data, scaling, V)
    return found


def _measure(data: Data, scaling: Scaling, V: Array) -> _Whitened:
    """X with other scales, and its leading directions from about those of V."""
    Z = scaling.apply(data)
    if is_tall(Z):
        return _Whitened.of(Z, scaling, *lead_tall(Z, V.shape[1]))
    W = persist(Z.right(as_factor(orthonormalize(V), Z.dtype)))
    values, vectors = np.linalg.eigh(gram(W.astype(np.float64)))
    strong = values > 1e-14 * values[-1]
    basis = vectors[:, strong] / np.sqrt(values[strong])
    U = persist(map_rows(_times, W, basis.astype(Z.dtype)))
    R = Z.left(as_factor(U, Z.dtype)).astype(np.float64, copy=False)
    return _Whitened.of(Z, scaling, R, *sums_of_squares(Z), U)


def _change(old: Scaling, new: Scaling) -> float:
    """The root mean square of the relative change of the scales of rows and columns, the larger."""
    pairs = (old.a, new.a), (old.b, new.b)
    return float(
        max(np.sqrt(sum_rows(_squared_change, after, before) / after.shape[0]) for before, after in pairs)
    )


def _fourth_powers(factor: Array) -> Array:
    return np.asarray((factor.astype(np.float64) ** 4).sum(axis=0))


def _count_smaller(variances: Array, limit: float) -> int:
    return int(np.count_nonzero(variances[:, 1] < limit * variances[:, 0]))


def _squared_change(after: Array, before: Any) -> float:
    return float(np.square(after / before - 1.0).sum())


def _rescale(found: _Whitened, count: int, b: Array | None = None) -> tuple[Scaling, Array]:
    """Scales that give the residual beyond some directions equal variances, and V in the new scales.

    Those of the columns are kept if they are given.
    """
    scaling = found.scaling
    a = persist(_multiply_roots(scaling.a, found.row_variances(count)))
    b = _multiply_roots(scaling.b, found.column_variances(count)) if b is None else b
    return Scaling(a, b), scale_rows(found.V, scaling.b / b)


def _times(A: Array, matrix: Array) -> Array:
    return np.asfortranarray(A @ matrix)


def _block_variances(
    block: Block, squares: Array, vectors: Array, values: Array, estimate: Estimate
) -> tuple[Array, None]:
    return estimate(squares, block.read() @ vectors, values), None


def _multiply_roots(scales: Any, variances: Any) -> Any:
    """The scales times the roots of the variances, none far below their root mean square."""
    squares = map_rows(_multiply_squares, variances, scales)
    mean = sum_rows(np.sum, squares) / max(sum_rows(np.count_nonzero, squares), 1)
    return map_rows(_bounded_roots, squares, mean)


def _multiply_squares(variances: Array, scales: Any) -> Array:
    return np.asarray(variances * np.square(scales))


def _bounded_roots(squares: Array, mean: float) -> Array:
    """Their roots in units of the root mean square; one for a row of zeros."""
    return np.where(squares > 0, np.sqrt(np.maximum(squares / (mean or 1.0), LEAST_SCALE**2)), 1.0)


# Clipped noise


class Unclipped(RowBlocks):
    """X with normal noise given back to its zeros. What is drawn for an entry depends on its place alone."""

    def __init__(self, data: RowBlocks, rows: Array, columns: Array, transposed: bool = False) -> None:
        self.data, self.transposed = data, transposed  # a file of columns is given back what its transpose is
        self.rows, self.columns = rows, columns  # the standard deviation of entry ij is rows_i columns_j
        self.shape, self.dtype = data.shape, data.dtype
        self.block_entries, self.parallel = data.block_entries, data.parallel

    def read(self, rows: slice) -> Array:
        X = np.array(self.data.read(rows), order="C")
        zeros = X == 0
        places = np.flatnonzero(zeros)  # faster than the coordinates at once
        i = np.repeat(np.arange(len(X)), np.count_nonzero(zeros, axis=1))
        j = places - i * X.shape[1]
        place = (j, i + rows.start) if self.transposed else (i + rows.start, j)
        X.reshape(-1)[places] = -draw_half_normal(*place) * self.rows[rows][i, 0] * self.columns[j, 0]
        return X

    @property
    def cost(self) -> float:
        return float(np.prod(self.shape, dtype=float))

    def squared_norm(self) -> float:
        return float(self.map_blocks(_squared_sum, None)[1])

    def right(self, V: Array) -> Array:
        parts = (each if self.parallel else map)(lambda b: self.read(b) @ V, self.blocks)
        return np.asfortranarray(np.concatenate(list(parts)))

    def left(self, U: Array) -> Array:
        return sum_in_groups(lambda b: self.read(b).T @ U[b], self.blocks, parallel=self.parallel)


def _squared_sum(block: Block, _: None) -> tuple[None, float]:
    return None, squared_sum(block.read())


def unclip(data: RowBlocks, rows: Array, columns: Array, transposed: bool = False) -> Data:
    """X with clipped noise undone: a copy where it is small, otherwise made anew each time it is read."""
    unclipped = Unclipped(data, rows, columns, transposed)
    n, m = data.shape
    if n * m > COPIED:
        return unclipped
    dtype = data.dtype if n * m <= COPIED_DOUBLE else np.float32  # what this drops is far below the noise
    copy = np.empty((n, m), dtype=dtype)
    for part in unclipped.blocks:
        copy[part] = unclipped.read(part)
    return Dense(copy)


def find_clipped_noise(data: RowBlocks, rows: Array, columns: Array, U: Array | None, V: Array) -> float:
    """The factor by which ``rows``_i ``columns``_j understates the noise that was clipped; 0 if none was.

    U Vᵀ is a fit of X divided by ``rows`` and ``columns``; without U, it is projected on orthonormal V. Where
    the fit is small, half of X must be zero, and the rest half-normal.
    """
    values: list[Array] = []
    positive: list[Array] = []
    zeros = seen = 0
    for block in _spread_blocks(data.shape):
        X = data.read(block)
        if is_sparse(X) or np.count_nonzero(X) > (1.0 - MIN_ZEROS) * X.size:
            continue
        scale = rows[block] * columns.T
        scores = X / np.where(scale > 0, scale, 1.0) @ V if U is None else U[block]
        small = (np.abs(scores @ V.T) < SMALL_FIT) & (scale > 0)
        zeros += int(np.count_nonzero(X[small] == 0))
        values.append(X[small & (X > 0)])
        positive.append(values[-1] / scale[small & (X > 0)])
        seen += X.size
    above, values_above = (np.concatenate([np.zeros(0), *parts]) for parts in (positive, values))
    total = zeros + len(above)
    if zeros <= MIN_ZEROS * seen or not len(above) or not CLIPPED[0] < zeros / total < CLIPPED[1]:
        return 0.0
    if np.unique(values_above, return_counts=True)[1].max() > TIES * len(above):
        return 0.0
    sigma = float(np.sqrt(np.mean(np.square(above))))
    far = np.count_nonzero(above > sigma) / len(above)
    return sigma if FAR[0] < far < FAR[1] and sigma > UNDERSTATED else 0.0


def _spread_blocks(shape: tuple[int, int]) -> list[slice]:
    """Few blocks of rows from all over X, with about `SAMPLE` entries."""
    n, m = shape
    size = max(1, SAMPLE // (8 * m))
    return [slice(start, min(start + size, n)) for start in range(0, n, max(size, -(-n // 8)))]


@cache
def _half_normal_table() -> Array:
    return np.abs(np.random.default_rng(0).standard_normal(1 << 16))


def draw_half_normal(i: Array, j: Array) -> Array:
    """Absolute values of normal numbers, always the same at the same place: a table, read at a hash."""
    place = i.astype(np.uint64) << np.uint64(32) | j.astype(np.uint64)
    for shift, multiplier in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # SplitMix64
        place = (place ^ (place >> np.uint64(shift))) * np.uint64(multiplier)
    return _half_normal_table()[(place >> np.uint64(48)).astype(np.intp)]
