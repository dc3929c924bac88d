"""`RankDisplay`: the evidence for the chosen rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    rank_axis,
    spans_decades,
    stack_axes,
    style_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_RANKS = 50
"""Largest rank shown, unless the chosen or a plausible rank is larger."""


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

    axes_: dict[str, Axes]

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
    def from_estimate(cls, estimate: Any) -> Self:
        """The display of a `RankEstimate`, from `select_rank` or a method of `autonmf.baselines`."""
        return cls(
            estimate.evidence,
            estimate.rank,
            plausible=estimate.plausible,
            confidence=estimate.confidence,
            rule=estimate.rule,
        )

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
        """Draw the display.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. Default: a new figure.
        columns : str or sequence of str, optional
            Columns of the evidence, one per panel, from the top. Default: the known ones.

        Returns
        -------
        self
        """
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
        draw_series(ax, ranks, values, log=known.log and spans_decades(values)).set_label(name)
        if known.standard_error in self.evidence:
            error = self._shown(known.standard_error)
            ax.fill_between(ranks, values - error, values + error, color=style.data, alpha=0.25, linewidth=0)
        threshold = next((other for other in known.thresholds if other in self.evidence), None)
        if threshold:
            draw_level(ax, ranks, self._shown(threshold), THRESHOLD_LABELS[threshold])
        if known.level:
            height, meaning = known.level
            draw_level(ax, ranks, np.full(len(ranks), height), meaning)
        if known.unit:
            ax.set_ylim(1.05 * np.min(values, where=np.isfinite(values), initial=-0.03), 1.05)
        mark_rank(ax, ranks, values, self.rank, named=False)
        ax.set_ylabel(known.label)
