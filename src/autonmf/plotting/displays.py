"""Displays by rank: the evidence, the path, and the answers of several methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from autonmf._types import Array
from autonmf.plotting.evidence import THRESHOLD_LABELS, check_columns, column, default_columns
from autonmf.plotting.style import (
    Display,
    axes_or_new,
    draw_level,
    draw_series,
    mark_rank,
    open_frame,
    rank_axis,
    spans_decades,
    stack_axes,
    style_of,
    whole_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_RANKS = 50
"""Largest rank that is shown, unless twice the chosen or a plausible rank is larger."""


@dataclass(eq=False, repr=False)
class RankDisplay(Display):
    """The evidence of a rule at each rank, with the chosen and the plausible ranks marked.

    Parameters
    ----------
    evidence : mapping of str to array
        A table by columns, one of which is "rank". Each known column ("drop", "drop_ratio", "noise_ratio",
        "probability", "stability", "error", ...) has a panel of its own.
    rank : int
        The chosen rank.
    plausible : sequence of int
        Ranks that the evidence does not rule out. They are shaded.
    confidence : float, optional
        Probability that ``rank`` is right, for the title.
    rule : str, optional
        Name of the rule, for the title.

    Attributes
    ----------
    ax_ : Axes
        The axes given to ``plot``, or new ones; divided if there are several panels.
    axes_ : dict of str to Axes
        The panels by column.
    figure_ : Figure

    Examples
    --------
    >>> from autonmf import rank_path, select_rank
    >>> from autonmf.datasets import make_low_rank
    >>> from autonmf.plotting import RankDisplay
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> estimate = select_rank(rank_path(X, max_rank=6, random_state=0), "marginal")
    >>> RankDisplay.from_estimate(estimate).title
    'rank 3 (rule: marginal)'
    """

    evidence: Mapping[str, Array]
    rank: int
    _: KW_ONLY
    plausible: Sequence[int] = ()
    confidence: float | None = None
    rule: str | None = None

    def __post_init__(self) -> None:
        if "rank" not in self.evidence:
            names = ", ".join(self.evidence) or "no columns"
            raise ValueError(f"evidence needs a column 'rank', got {names}")
        self.evidence = {name: np.asarray(values) for name, values in self.evidence.items()}
        self.plausible = tuple(self.plausible)

    @classmethod
    def from_estimate(cls, estimate: Any) -> Self:
        """The display of a `RankEstimate`, from `select_rank` or a method of `autonmf.baselines`."""
        names = ("evidence", "rank", "plausible", "confidence", "rule")
        return cls(**{name: getattr(estimate, name) for name in names})

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """The display of the ``rank_estimate_`` of a fitted `AutoNMF`."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        if estimator.rank_estimate_ is None:
            raise ValueError(
                f"the rank was given (n_components={estimator.n_components}), so there is no evidence "
                "to show; fit with n_components=None, or use PathDisplay.from_estimator"
            )
        return cls.from_estimate(estimator.rank_estimate_)

    @property
    def title(self) -> str:
        """The chosen rank, the confidence if there is one, and the name of the rule."""
        sure = "" if self.confidence is None else f", confidence {100 * self.confidence:.0f} %"
        return f"rank {self.rank}{sure}" + (f" (rule: {self.rule})" if self.rule else "")

    def plot(self, ax: Axes | None = None, *, columns: str | Sequence[str] | None = None) -> Self:
        """Draw columns of the evidence, by default the known ones, in ``ax`` or a new figure."""
        names = check_columns(self.evidence, default_columns(self.evidence) if columns is None else columns)
        self.ax_ = axes_or_new(ax, (5.4, 1.4 + 1.9 * len(names)))
        self.axes_ = dict(zip(names, stack_axes(self.ax_, len(names)), strict=True))
        label = "rank (shaded: plausible ranks)" if set(self.plausible) - {self.rank} else "rank"
        for name, panel in self.axes_.items():
            self._draw(panel, name)
            rank_axis(panel, self._shown("rank"), label if name == names[-1] else None)
        self.axes_[names[0]].set_title(self.title, loc="left")
        return self

    def _shown(self, name: str) -> Array:
        """A column at the ranks that are shown."""
        last = max(MOST_RANKS, 2 * max([self.rank, *self.plausible]))
        return self.evidence[name][self.evidence["rank"] <= last]

    def _draw(self, ax: Axes, name: str) -> None:
        known, style = column(name), style_of(ax)
        ranks, values = self._shown("rank"), self._shown(name)
        for rank in self.plausible:
            ax.axvspan(rank - 0.5, rank + 0.5, color=style.pale, linewidth=0, zorder=0)
        draw_series(ax, ranks, values, log=known.needs_log_scale(values)).set_label(name)
        if known.standard_error in self.evidence:
            error = self._shown(known.standard_error)
            ax.fill_between(ranks, values - error, values + error, color=style.data, alpha=0.25, linewidth=0)
        threshold = next((other for other in known.thresholds if other in self.evidence), None)
        if threshold:
            draw_level(ax, ranks, self._shown(threshold), THRESHOLD_LABELS[threshold])
        if known.level:
            height, meaning = known.level
            draw_level(ax, ranks, np.full(len(ranks), height), meaning)
            above = values > height
            ax.vlines(ranks[above], height, values[above], color=style.data, alpha=0.25, linewidth=4.0)
            low, high = ax.get_ylim()
            ax.set_ylim(min(low, height / 2), max(high, 2 * height))
        if known.unit:
            ax.set_ylim(1.05 * np.min(values, where=np.isfinite(values), initial=-0.03), 1.05)
        mark_rank(ax, ranks, values, self.rank, named=False)
        ax.set_ylabel(known.label)


PANELS = ("loss", "lambda")


@dataclass(eq=False, repr=False)
class PathDisplay(Display):
    """The loss of each rank of a path, and its plateau: the interval of λ over which the path has that rank.

    With several initialisations, losses are the best of all; plateaus are those of the initialisation with
    the lowest loss at the marked rank.

    Parameters
    ----------
    ranks : array of shape (n_ranks,)
        Increasing.
    relative_losses : array of shape (n_ranks,)
        ‖X - UVᵀ‖²/‖X‖² at each rank.
    plateaus : array of shape (n_plateaus, 3)
        Rank, first and last λ of each plateau.
    rank : int, optional
        The chosen rank, which is marked.

    Attributes
    ----------
    ax_ : Axes
        The axes given to ``plot``, or new ones; divided if there are two panels.
    axes_ : dict of str to Axes
        The panels by name, "loss" and "lambda".
    figure_ : Figure

    Examples
    --------
    >>> from autonmf import rank_path
    >>> from autonmf.datasets import make_low_rank
    >>> from autonmf.plotting import PathDisplay
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> display = PathDisplay.from_path(rank_path(X, max_rank=6, random_state=0), rank=3)
    >>> display.ranks.tolist()
    [1, 2, 3, 4, 5, 6]
    """

    ranks: Array
    relative_losses: Array
    plateaus: Array
    _: KW_ONLY
    rank: int | None = None

    def __post_init__(self) -> None:
        self.ranks, self.relative_losses = np.asarray(self.ranks), np.asarray(self.relative_losses)
        self.plateaus = np.asarray(self.plateaus, dtype=float).reshape(-1, 3)

    @classmethod
    def from_path(cls, path: Any, *, rank: int | None = None) -> Self:
        """The display of a `RankPath`, with ``rank`` marked if it is given."""
        return cls(path.ranks, path.relative_losses, find_plateaus(path.visits, rank), rank=rank)

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """The display of the path of a fitted `AutoNMF`, with its rank marked."""
        return cls.from_path(estimator.path_, rank=int(estimator.n_components_))

    def plot(self, ax: Axes | None = None, *, panels: str | Sequence[str] = "loss") -> Self:
        """Draw the panel "loss", "lambda" or both, in ``ax`` or a new figure.

        λ is the cost of a component in the paper's model. The path has a rank from the first to the last λ of
        its plateau; a long plateau means that all its components lower the loss much more than the next one.
        """
        names = self._check_panels(panels)
        self.ax_ = axes_or_new(ax, (5.4, 1.0 + 2.3 * len(names)))
        self.axes_ = dict(zip(names, stack_axes(self.ax_, len(names)), strict=True))
        for name, panel in self.axes_.items():
            rank_axis(panel, self.ranks, "rank" if name == names[-1] else None)
            draw = self._draw_loss if name == "loss" else self._draw_plateaus
            draw(panel, named=name == names[0])
        return self

    def _check_panels(self, panels: str | Sequence[str]) -> list[str]:
        names = [panels] if isinstance(panels, str) else list(panels)
        if not names or any(name not in PANELS for name in names):
            raise ValueError(f"panels must be 'loss', 'lambda' or both, got {panels!r}")
        if "lambda" in names and len(self.plateaus) == 0:
            names.remove("lambda")
        return names or ["loss"]

    def _draw_loss(self, ax: Axes, *, named: bool) -> None:
        losses = self.relative_losses
        draw_series(ax, self.ranks, losses, log=spans_decades(losses))
        ax.set_ylabel("relative loss\n" + r"$\Vert X-UV^\mathsf{T}\Vert^2\,/\,\Vert X\Vert^2$")
        if self.rank is not None:
            mark_rank(ax, self.ranks, losses, self.rank, named=named)

    def _draw_plateaus(self, ax: Axes, *, named: bool) -> None:
        ranks, first, last = self.plateaus.T
        style = style_of(ax)
        colors = [style.choice if rank == self.rank else style.data for rank in ranks]
        log = spans_decades(np.concatenate([first, last]))
        floor = 0.7 * last[last > 0].min() if log else 0.0
        ax.set_yscale("log" if log else "linear")
        first, last = np.maximum(first, floor), np.maximum(last, floor)
        ax.vlines(ranks, first, last, colors=colors, linewidth=3.0 if len(ranks) <= 30 else 2.0)
        ax.scatter(ranks, first, c=colors, s=9, linewidths=0)
        ax.set_ylim(bottom=floor)
        ax.set_ylabel("cost of a component " + r"$\lambda$" + "\nover which the rank is kept")
        if self.rank is not None:
            mark_rank(ax, np.array([]), np.array([]), self.rank, named=named)


def find_plateaus(visits: Sequence[Any], rank: int | None = None) -> Array:
    """Rank, first and last λ of each plateau by increasing rank, for one initialisation.

    This is the initialisation with the lowest loss at ``rank``; by default, the one with the lowest loss at
    most ranks.
    """
    start = _best_start(visits, rank)
    rows = []
    for each in sorted({visit.rank for visit in visits}):
        seen = [visit for visit in visits if visit.rank == each and visit.start == start]
        if seen:
            first = min(visit.lam for visit in seen)
            rows.append((each, first, max(first, *(visit.next_lam for visit in seen))))
    return np.array(rows, dtype=float).reshape(-1, 3)


def _best_start(visits: Sequence[Any], rank: int | None) -> int:
    best: dict[int, tuple[float, int]] = {}
    for visit in visits:
        best[visit.rank] = min(best.get(visit.rank, (np.inf, 0)), (visit.loss, visit.start))
    if rank in best:
        return best[rank][1]
    return int(np.bincount([start for _, start in best.values()]).argmax()) if best else 0


WIDE = 12
"""Answers that differ by more than this factor are drawn on a log scale."""


class AgreementDisplay(Display):
    """The rank that each method found, with its plausible ranks; one method may be marked.

    Parameters
    ----------
    ranks : mapping of str to int or None
        Each method's answer; None if it failed.
    plausible : mapping of str to sequence of int, optional
        Other ranks that each method considers plausible.
    ours : str, optional
        The method to mark. Its answer is drawn as a line across all rows.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    """

    def __init__(
        self,
        ranks: Mapping[str, int | None],
        *,
        plausible: Mapping[str, Sequence[int]] | None = None,
        ours: str | None = None,
    ) -> None:
        if ours is not None and ours not in ranks:
            raise ValueError(f"ours={ours!r} is not one of the methods: {', '.join(ranks) or 'none'}")
        self.ranks, self.plausible, self.ours = dict(ranks), dict(plausible or {}), ours

    @classmethod
    def from_comparison(cls, comparison: Any, *, ours: str | None = None) -> Self:
        """The display of a `Comparison`; ``ours`` is by default its first rule of `select_rank`."""
        ranks = {answer.method: answer.rank for answer in comparison.answers}
        plausible = {name: estimate.plausible for name, estimate in comparison.estimates.items()}
        return cls(ranks, plausible=plausible, ours=ours or comparison.ours)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a row for each method, in ``ax`` or a new figure."""
        self.ax_ = ax = axes_or_new(ax, (5.4, 1.0 + 0.3 * len(self.ranks)))
        choice = style_of(ax).choice
        open_frame(ax)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("rank (bars: plausible ranks)" if any(self.plausible.values()) else "rank")
        shown = [rank for rank in self.ranks.values() if rank is not None]
        if shown and max(shown) > WIDE * min(shown):
            _log_axis(ax, min(shown), max(shown))
        else:
            whole_numbers(ax.xaxis)
            ax.set_xlim(0.5, max(shown, default=1) * 1.08 + 0.7)
        for row, method in enumerate(self.ranks):
            self._draw_answer(row, method)
        ax.set_yticks(range(len(self.ranks)), list(self.ranks))
        ax.set_ylim(len(self.ranks) - 0.5, -0.5)
        if self.ours is not None:
            label = ax.get_yticklabels()[list(self.ranks).index(self.ours)]
            label.set(color=choice, fontweight="bold")
            if (chosen := self.ranks[self.ours]) is not None:
                ax.axvline(chosen, color=choice, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
        return self

    def _draw_answer(self, row: int, method: str) -> None:
        ax, style, rank = self.ax_, style_of(self.ax_), self.ranks[method]
        color = style.choice if method == self.ours else style.data
        for start, end in consecutive(self.plausible.get(method, ())):
            ax.plot([start - 0.25, end + 0.25], [row, row], color=color, alpha=0.3, linewidth=7,
                    solid_capstyle="butt")  # fmt: skip
        if rank is not None:
            ax.plot([rank], [row], color=color, marker="o", markersize=7, linestyle="none", label=method)
            text, shade = str(rank), color
        else:
            text, shade = "failed", style.quiet
        ax.annotate(
            text, (1.0, row), xycoords=ax.get_yaxis_transform(), xytext=(4, 0), textcoords="offset points",
            va="center", color=shade,
        )  # fmt: skip


def consecutive(ranks: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of consecutive ranks."""
    ordered = np.unique(np.asarray(ranks, dtype=int))
    pieces = np.split(ordered, np.flatnonzero(np.diff(ordered) > 1) + 1)
    return [(int(piece[0]), int(piece[-1])) for piece in pieces if piece.size]


def _log_axis(ax: Axes, low: int, high: int) -> None:
    """A log scale from ``low`` to ``high``, labelled at 1, 2, 5, 10, ..."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    ax.set_xscale("log")
    ax.set_xlim(0.8 * low, 1.35 * high)
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
