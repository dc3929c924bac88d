"""`RankDisplay`: the evidence for a rank, and the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from autonmf._types import Array
from autonmf.plotting.canvas import axes_or_new, ink_of, stacked
from autonmf.plotting.columns import LIMIT_LABELS, checked_columns, column, default_columns
from autonmf.plotting.series import draw_limit, draw_series, mark_rank, rank_axis, spans_decades
from autonmf.selection import RankEstimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MOST_RANKS = 50
"""Ranks that are shown, at most, unless the choice or a plausible rank needs more."""


class RankDisplay:
    """What a rule looked at, rank by rank, with its choice and the plausible ranks marked.

    Parameters
    ----------
    evidence : mapping of str to array
        A table by columns. One is "rank"; others that are known ("drop", "ratio", "score", "probability",
        "stability", "error", ...) get a panel each.
    rank : int
        The choice.
    plausible : sequence of int
        Ranks that the evidence does not rule out; they are shaded.
    confidence : float, optional
        Probability that ``rank`` is right, for the title.
    rule : str, optional
        Name of the rule, for the title.

    Attributes
    ----------
    ax_ : Axes
        Those that were given or made. They are divided if there are several panels.
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

    ax_: Axes
    axes_: dict[str, Axes]
    figure_: Figure | SubFigure

    def __init__(
        self,
        evidence: Mapping[str, Array],
        rank: int,
        *,
        plausible: Sequence[int] = (),
        confidence: float | None = None,
        rule: str | None = None,
    ) -> None:
        if "rank" not in evidence:
            raise ValueError(f"evidence needs a column 'rank', got {', '.join(evidence) or 'no columns'}")
        self.evidence = {name: np.asarray(values) for name, values in evidence.items()}
        self.rank = rank
        self.plausible = tuple(plausible)
        self.confidence = confidence
        self.rule = rule

    @classmethod
    def from_estimate(cls, estimate: RankEstimate) -> Self:
        """The display of a `RankEstimate`, ours or that of one of `autonmf.baselines`."""
        return cls(
            estimate.evidence,
            estimate.rank,
            plausible=estimate.plausible,
            confidence=estimate.confidence,
            rule=estimate.rule,
        )

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """The display of the choice that a fitted `AutoNMF` made."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        if estimator.rank_estimate_ is None:
            raise ValueError(
                f"the rank was given (n_components={estimator.n_components}), so there is no choice to show; "
                "fit with n_components=None, or see PathDisplay.from_estimator"
            )
        return cls.from_estimate(estimator.rank_estimate_)

    @property
    def title(self) -> str:
        """The choice, how sure the rule is if it says so, and the name of the rule."""
        sure = "" if self.confidence is None else f", {100 * self.confidence:.0f} % sure"
        return f"rank {self.rank}{sure}" + (f" (rule: {self.rule})" if self.rule else "")

    def plot(self, ax: Axes | None = None, *, columns: str | Sequence[str] | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. Default: a new figure.
        columns : str or sequence of str, optional
            Columns of the evidence, one a panel, from the top. Default: those that are known.

        Returns
        -------
        self
        """
        names = default_columns(self.evidence) if columns is None else _listed(columns)
        names = checked_columns(self.evidence, names)
        self.ax_ = axes_or_new(ax, (5.4, 1.4 + 1.9 * len(names)))
        self.figure_ = self.ax_.figure
        self.axes_ = dict(zip(names, stacked(self.ax_, len(names)), strict=True))
        label = "rank (shaded: plausible)" if set(self.plausible) - {self.rank} else "rank"
        for name, panel in self.axes_.items():
            self._draw(panel, name)
            rank_axis(panel, self._shown("rank"), label if name == names[-1] else None)
        self.axes_[names[0]].set_title(self.title, loc="left")
        return self

    def _shown(self, name: str) -> Array:
        """A column at the ranks that the x axis holds."""
        last = max(MOST_RANKS, 2 * max([self.rank, *self.plausible]))
        return self.evidence[name][self.evidence["rank"] <= last]

    def _draw(self, ax: Axes, name: str) -> None:
        known, ink = column(name), ink_of(ax)
        ranks, values = self._shown("rank"), self._shown(name)
        for rank in self.plausible:
            ax.axvspan(rank - 0.5, rank + 0.5, color=ink.pale, linewidth=0, zorder=0)
        draw_series(ax, ranks, values, log=known.log and spans_decades(values)).set_label(name)
        if known.spread in self.evidence:
            spread = self._shown(known.spread)
            ax.fill_between(ranks, values - spread, values + spread, color=ink.data, alpha=0.25, linewidth=0)
        limit = next((other for other in known.limits if other in self.evidence), None)
        if limit:
            draw_limit(ax, ranks, self._shown(limit), LIMIT_LABELS[limit])
        if known.level:
            height, meaning = known.level
            draw_limit(ax, ranks, np.full(len(ranks), height), meaning)
        if known.unit:
            ax.set_ylim(1.05 * np.min(values, where=np.isfinite(values), initial=-0.03), 1.05)
        mark_rank(ax, ranks, values, self.rank, named=False)
        ax.set_ylabel(known.label)


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
