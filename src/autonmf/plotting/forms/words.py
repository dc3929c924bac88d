"""Components as lists of what weighs most in them: words, genes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from autonmf._types import Array
from autonmf.plotting.canvas import ink_of
from autonmf.plotting.terms import TOP_BY, scores_of, top_of
from autonmf.plotting.tiles import Tiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Words:
    """The names of the largest entries of each component, with bars as long as their scores."""

    components: Array  # r x m
    names: Array  # m
    n_top: int
    top_by: str = "weight"

    def __post_init__(self) -> None:
        if self.names.shape != (self.components.shape[1],):
            raise ValueError(
                f"feature_names has shape {self.names.shape}, but components have "
                f"{self.components.shape[1]} features: pass one name a feature"
            )
        if self.n_top < 1:
            raise ValueError(f"n_top must be at least 1, got {self.n_top}")
        if self.top_by not in TOP_BY:
            raise ValueError(f"top_by must be one of {', '.join(TOP_BY)}, got {self.top_by!r}")

    @property
    def scores(self) -> Array:
        """What decides which features come first."""
        return scores_of(self.components, self.top_by)

    def top(self, index: int) -> Array:
        """The features that score highest, the highest first; without those of score zero."""
        return top_of(self.scores[index], self.n_top)

    @property
    def tiles(self) -> Tiles:
        return Tiles(len(self.components), 1.9, 0.45 + 0.165 * min(self.n_top, self.components.shape[1]))

    @property
    def size(self) -> tuple[float, float]:
        return self.tiles.size

    def draw(self, ax: Axes, titles: list[str], cmap: str | None) -> list[list[Axes]]:
        panels = self.tiles.divide(ax)
        for index, (title, (panel,)) in enumerate(zip(titles, panels, strict=True)):
            self._draw_bars(panel, index)
            panel.set_title(title, fontsize=self.tiles.font, pad=3)
        return panels

    def _draw_bars(self, ax: Axes, index: int) -> None:
        top = self.top(index)
        ax.barh(np.arange(len(top)), self.scores[index, top], height=0.72, color=ink_of(ax).data)
        ax.set_yticks(np.arange(len(top)), self.names[top], fontsize="small", parse_math=False)
        ax.set_ylim(self.n_top - 0.4, -0.6)
        ax.set_xlim(left=0.0)
        ax.set_xticks([])
        ax.tick_params(axis="y", length=0, pad=2)
        ax.spines[["top", "right", "bottom"]].set_visible(False)
