r"""`unmix`: the materials of a spectral image and their abundances in every pixel.

The components of an NMF fit best but are rarely the spectra of materials. Here the endmembers are convex
combinations of pixels (archetypal analysis):

.. math:: \min_{A, B} \|Y - A B Y\|^2, \quad A, B \ge 0, \quad A 1 = 1,\ B 1 = 1

with pixels in the rows of Y. The pixels are first divided by their brightness, softly, so that bright ones do
not dominate and dark ones do not become noise, and compressed to a few leading directions.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from autonmf._threads import one_pool
from autonmf._types import Array, Seed, as_generator, check_parameters
from autonmf._warnings import warn
from autonmf.data import OpenedData, as_data, refuse_non_matrix
from autonmf.data.validation import check_scale, float_type
from autonmf.fit import factorise
from autonmf.model.fcls import MAX_WEIGHTS, solve_fcls
from autonmf.model.nnls import solve_nnls
from autonmf.path import PathOptions

if TYPE_CHECKING:
    from autonmf.plotting import UnmixingDisplay

SOFTNESS = 1.0
"""Pixels are divided by their sum plus this multiple of the mean sum; 0.5 to 4 make no difference."""

MAX_PIXELS = 10_000
"""If there are more pixels, endmembers are fitted to a random sample of this size."""

DIRECTIONS = 100
"""Number of random directions whose extreme pixels, beside the sample, may be part of endmembers."""

MAX_ITER = 100
TOL = 1e-5
"""The alternation ends when it lowers the misfit by less than this fraction."""

MAX_JOINING = 8
"""Number of pixels that may join a mixture in one step; the next step goes on from there."""

SMALL_GAP = 1e-6
"""A mixture is nearest to its target if no gradient exceeds this fraction of the squared distance."""

DARK = 0.05
"""The fraction of darkest pixels among which no purest pixel is looked for."""

DEPENDENT = 1e-6
"""Pixels whose residual is below this fraction of the longest pixel add no direction."""


@dataclass(frozen=True, eq=False)
class Unmixing:
    """Materials of a spectral image, from `unmix`.

    Attributes
    ----------
    endmembers : ndarray of shape (r, n_bands)
        The spectra of the materials, in the units of X, by decreasing mean abundance.
    abundances : ndarray of shape (n_pixels, r)
        The fraction of each material in each pixel: nonnegative, rows sum to one.
    misfit : float
        ‖X - A E‖²/‖X‖² with abundances A and endmembers E.
    """

    endmembers: Array
    abundances: Array
    misfit: float

    @property
    def rank(self) -> int:
        """The number of materials."""
        return len(self.endmembers)

    def transform(self, X: Any) -> Array:
        r"""The abundances of these materials in other pixels, by fully constrained least squares.

        .. math:: a_i = \arg\min_{a \ge 0,\ 1^\top a = 1} \|x_i - E^\top a\|

        Parameters
        ----------
        X : array or data frame of shape (n_pixels, n_bands)

        Returns
        -------
        ndarray of shape (n_pixels, r)
        """
        X = _check_pixels(X)
        if X.shape[1] != self.endmembers.shape[1]:
            raise ValueError(f"X has {X.shape[1]} bands, but the endmembers have {self.endmembers.shape[1]}")
        with one_pool():
            return solve_fcls(X, self.endmembers)

    def plot(self, ax: Any = None, *, cmap: str | None = None, **presentation: Any) -> UnmixingDisplay:
        """Plot the spectra and, given ``image_shape``, the abundances as maps from 0 to 1.

        ``presentation`` are the options of `autonmf.plotting.UnmixingDisplay`: image_shape, order,
        wavelengths, axis_label, names.
        """
        from autonmf.plotting import UnmixingDisplay

        _, _, _, *known = inspect.signature(UnmixingDisplay.__init__).parameters
        check_parameters("plot", presentation, known)
        return UnmixingDisplay(self.endmembers, self.abundances, **presentation).plot(ax, cmap=cmap)

    def __repr__(self) -> str:
        n, m = len(self.abundances), self.endmembers.shape[1]
        return f"Unmixing(rank={self.rank}, pixels={n}, bands={m}, misfit={self.misfit:.3g})"


def unmix(X: Any, rank: int | None = None, init: Any = None, random_state: Seed = 0) -> Unmixing:
    """Find the materials of a spectral image and their abundances.

    Parameters
    ----------
    X : array or data frame of shape (n_pixels, n_bands)
        Nonnegative spectra, for example reflectances.
    rank : int, optional
        Number of materials. Default: that of ``init``; without it, an NMF of X finds the number.
    init : AutoNMF or array of shape (n_pixels, rank), optional
        A fitted model of X (any estimator with ``components_`` and ``transform``), or its weights. The pixels
        in which each component has its largest share are a second initial point; the solution with the lower
        misfit is kept.
    random_state : int, generator or None
        Seed of the NMF, where one is fitted, and of the sample of pixels to which endmembers are fitted if
        there are more than 10,000.

    Returns
    -------
    Unmixing
        Endmembers, abundances and misfit.

    Notes
    -----
    1. Z = X / (s + s̄) with s the sum of each pixel and s̄ its mean; Y is Z on its max(3r, 10) leading
       directions.
    2. Endmembers B Y and abundances A minimise ‖Y - A B Y‖², with the rows of A and B on the simplex, by
       turns: A by fully constrained least squares, each row of B by the nearest point in the convex hull of
       the pixels. Initial points: successive projection, and the purest pixels of ``init``.
    3. The endmembers B Z are scaled so that the nonnegative weights of X on them sum to one as nearly as
       possible.
    4. Abundances of X by fully constrained least squares.

    It needs pixels that are nearly pure, and even light. It is wrong for parts of images, topics and
    mutational signatures, where samples are rarely pure and weights do not sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from autonmf import unmix
    >>> rng = np.random.default_rng(0)
    >>> A, E = rng.dirichlet([0.2, 0.2, 0.2], 500), rng.random((3, 40))
    >>> found = unmix(A @ E, rank=3)
    >>> found.endmembers.shape, found.abundances.shape
    ((3, 40), (500, 3))
    >>> bool(np.allclose(found.abundances.sum(axis=1), 1.0))
    True
    """
    X = _check_pixels(X)
    highest = float(X.max())
    if highest == 0:
        raise ValueError("X is all zeros: there is nothing to unmix")
    check_scale(highest, highest * highest)
    with one_pool():
        weights = _initial_weights(X, rank, init, random_state)
        r = weights.shape[1] if weights is not None else int(rank)  # type: ignore[arg-type]
        endmembers = _find_endmembers(X, r, weights, as_generator(random_state))
        abundances = solve_fcls(X, endmembers)
        order = np.argsort(-abundances.mean(axis=0), kind="stable")
        endmembers, abundances = endmembers[order], abundances[:, order]
        misfit = _relative_misfit(X, endmembers, abundances)
    n, m = X.shape
    if m > n > 1:
        warn(f"X has {m} bands and only {n} pixels: if its rows are bands, pass X.T")
    return Unmixing(endmembers, abundances, misfit)


def _relative_misfit(X: Array, endmembers: Array, abundances: Array) -> float:
    """‖X - A E‖²/‖X‖², in blocks of pixels."""
    left = total = 0.0
    for first in range(0, len(X), MAX_PIXELS):
        rows = slice(first, first + MAX_PIXELS)
        left += float(np.square(X[rows] - abundances[rows] @ endmembers).sum())
        total += float(np.square(X[rows]).sum())
    return left / total


def _check_pixels(X: Any) -> Array:
    """X as an array of nonnegative numbers."""
    if sparse.issparse(X):
        raise TypeError("X is a sparse matrix, but spectra are dense: pass X.toarray()")
    refuse_non_matrix(X)
    pixels = np.asarray(X)
    float_type(pixels)  # refuses what is not a real number
    pixels = pixels.astype(np.float64, copy=False)
    if pixels.ndim != 2 or 0 in pixels.shape:
        raise ValueError(
            f"X must be a matrix with a pixel per row, got shape {pixels.shape}: "
            "pass X.reshape(-1, n_bands) for an image"
        )
    lowest, highest = float(pixels.min()), float(pixels.max())
    if not np.isfinite([lowest, highest]).all():
        raise ValueError("X contains NaN or infinity: leave those pixels or bands out first")
    if lowest < 0:
        raise ValueError(
            f"X has negative entries, the smallest {lowest:.6g}: spectra must be nonnegative; "
            "if these are noise, pass X.clip(min=0)"
        )
    return pixels


def _initial_weights(X: Array, rank: int | None, init: Any, random_state: Seed) -> Array | None:
    """Weights of an NMF of X (n x r), from ``init`` or fitted if the rank is unknown; otherwise None."""
    if rank is not None:
        _check_rank(rank, X.shape)
    if init is None:
        if rank is not None:
            return None
        return np.asarray(factorise(OpenedData(as_data(X)), PathOptions(random_state=random_state)).W)
    if hasattr(init, "components_"):
        width = init.components_.shape[1]
        if width != X.shape[1]:
            raise ValueError(f"init was fitted to {width} bands, but X has {X.shape[1]}")
        if rank not in (None, len(init.components_)):
            if not hasattr(init, "at_rank"):
                raise ValueError(f"init has {len(init.components_)} components, not {rank}: leave rank out")
            init = init.at_rank(rank)
        weights = np.asarray(init.transform(X), dtype=np.float64)
    elif hasattr(init, "fit"):
        raise ValueError("init is a model that is not fitted: call init.fit(X) first")
    elif isinstance(init, str):
        raise TypeError(f"init must be a fitted model or its weights, got {init!r}")
    else:
        weights = np.asarray(init, dtype=np.float64)
    r = weights.shape[1] if rank is None and weights.ndim == 2 else rank
    if weights.shape != (len(X), r):
        raise ValueError(
            f"init must be a fitted model or its weights of shape ({len(X)}, {rank or 'rank'}), "
            f"got shape {weights.shape}"
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("the weights of init must be finite and nonnegative")
    _check_rank(weights.shape[1], X.shape)
    return weights


def _check_rank(rank: Any, shape: tuple[int, ...]) -> None:
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or rank < 1:
        raise ValueError(f"rank must be a positive int, the number of materials, or None; got {rank!r}")
    for count, name in zip(shape, ("pixel", "band"), strict=True):
        if rank > count:
            few = f"X has {count} {name if count == 1 else name + 's'}, too few for {rank} materials"
            raise ValueError(f"{few}: choose a rank up to {count}")
    if rank > MAX_WEIGHTS:
        raise ValueError(f"rank is {rank}, but at most {MAX_WEIGHTS} materials can be unmixed")


def _find_endmembers(X: Array, rank: int, weights: Array | None, rng: np.random.Generator) -> Array:
    """Endmembers (r x m) in the units of X."""
    sums = X.sum(axis=1)
    divisors = sums + SOFTNESS * sums.mean()
    Y = _compress(X / divisors[:, None], max(3 * rank, 10))
    starts = [_project_successively(Y[:, :rank], rank)]
    if weights is not None:
        starts.append(_find_purest(weights, sums))
    sample, candidates = np.arange(len(Y)), np.arange(len(Y))
    if len(Y) > MAX_PIXELS:
        heights = Y[:, :rank] @ rng.standard_normal((rank, DIRECTIONS))
        sample = np.sort(rng.choice(len(Y), MAX_PIXELS, replace=False))
        candidates = np.unique(np.hstack([sample, heights.argmax(axis=0), heights.argmin(axis=0), *starts]))
    fits = [_fit_archetypes(Y[sample], Y[candidates], np.searchsorted(candidates, each)) for each in starts]
    best = min(fits, key=lambda fit: fit.misfit)
    endmembers = np.empty((rank, X.shape[1]))
    for k, (support, mixture) in enumerate(best.mixtures):
        pixels = candidates[support]
        shares = mixture / divisors[pixels]
        endmembers[k] = (shares / shares.sum()) @ X[pixels]
    return _rescale(X, endmembers)


def _compress(Z: Array, size: int) -> Array:
    """Coordinates of the rows of Z along its leading directions, by decreasing singular value."""
    m = Z.shape[1]
    directions = eigh(Z.T @ Z, subset_by_index=(max(m - size, 0), m - 1))[1]
    return np.ascontiguousarray(Z @ directions[:, ::-1])


def _project_successively(Y: Array, rank: int) -> Array:
    """Rows of Y by successive projection: each is the longest after the earlier ones are projected out."""
    rest, found = Y.copy(), []
    shortest = DEPENDENT * np.linalg.norm(Y, axis=1).max()
    for k in range(rank):
        lengths = np.linalg.norm(rest, axis=1)
        found.append(int(np.argmax(lengths)))
        if lengths[found[-1]] <= shortest:
            raise ValueError(
                f"the pixels of X are mixtures of {k} {'spectrum' if k == 1 else 'spectra'}, so {rank} "
                f"materials cannot be told apart: choose a rank up to {k}"
            )
        unit = rest[found[-1]] / lengths[found[-1]]
        rest -= np.outer(rest @ unit, unit)
    return np.array(found)


def _find_purest(weights: Array, sums: Array) -> Array:
    """For each component the pixel in which it has its largest share, all different and not too dark."""
    relative = weights / np.maximum(weights.max(axis=0), np.finfo(np.float64).tiny)
    totals = relative.sum(axis=1, keepdims=True)
    shares = np.divide(relative, totals, out=np.zeros_like(relative), where=totals > 0)
    shares[sums < np.quantile(sums, DARK)] = 0.0
    found: list[int] = []
    for share in shares.T:
        share[found] = -1.0
        found.append(int(np.argmax(share)))
    return np.array(found)


class _Archetypes(NamedTuple):
    """Points that are mixtures of others, and how well mixtures of them fit."""

    mixtures: list[tuple[Array, Array]]  # of each: indices and weights, which sum to one
    misfit: float


def _fit_archetypes(Y: Array, candidates: Array, start: Array) -> _Archetypes:
    """Points in the convex hull of the candidates whose mixtures fit the rows of Y best, from ``start``."""
    mixtures = [(start[k : k + 1], np.ones(1)) for k in range(len(start))]
    E, A, misfit = candidates[start], None, np.inf
    for _ in range(MAX_ITER):
        A = solve_fcls(Y, E, A)
        before, misfit = misfit, float(np.square(Y - A @ E).sum())
        if before - misfit <= TOL * misfit:
            break
        gram, product = A.T @ A, A.T @ Y
        for k in np.flatnonzero(gram.diagonal() > 0):
            target = E[k] + (product[k] - gram[k] @ E) / gram[k, k]
            mixtures[k] = support, mixture = _move_towards(target, candidates, *mixtures[k])
            E[k] = mixture @ candidates[support]
    return _Archetypes(mixtures, misfit)


def _move_towards(target: Array, candidates: Array, support: Array, mixture: Array) -> tuple[Array, Array]:
    """The mixture of candidates that is nearest to the target, or closer to it than the one given.

    The nearest mixture on the support is computed exactly; the candidate whose gradient is steepest joins it.
    """
    for _ in range(MAX_JOINING):
        mixture = solve_fcls(target[None], candidates[support], mixture[None])[0]
        support, mixture = support[mixture > 0], mixture[mixture > 0]
        offset = mixture @ candidates[support] - target
        heights = candidates @ offset
        joining = int(np.argmin(heights))
        gap = mixture @ heights[support] - heights[joining]
        if gap <= SMALL_GAP * (offset @ offset) or joining in support or len(support) == MAX_WEIGHTS:
            break
        support, mixture = np.append(support, joining), np.append(mixture, 0.0)
    return support, mixture


def _rescale(X: Array, endmembers: Array) -> Array:
    """Endmembers divided by s ≥ 0 with ‖H s - 1‖ minimal, where H ≥ 0 are the weights of X on them."""
    H = solve_nnls(X @ endmembers.T, endmembers @ endmembers.T)
    scales = solve_nnls(H.sum(axis=0)[None], H.T @ H)[0]
    usable = scales > 1e-3 * scales.max()
    return endmembers / np.where(usable, scales, 1.0)[:, None]
