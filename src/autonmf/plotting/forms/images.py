"""Components as images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autonmf._types import Array
from autonmf.plotting.canvas import DARK, ink_of
from autonmf.plotting.tiles import Tiles, as_picture, check_shape, draw_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 1.25
"""Inches of an image."""


@dataclass(frozen=True)
class Images:
    """Each component is an image, drawn from zero to its maximum."""

    components: Array  # r x m
    shape: tuple[int, int]
    order: str

    def __post_init__(self) -> None:
        check_shape(self.shape, self.components.shape[1], "shape", "features")

    @property
    def tiles(self) -> Tiles:
        height = min(max(self.shape[0] / self.shape[1], 0.3), 3.0) * WIDTH
        return Tiles(len(self.components), WIDTH, height + 0.22)

    @property
    def size(self) -> tuple[float, float]:
        return self.tiles.size

    def draw(self, ax: Axes, titles: list[str], cmap: str | None) -> list[list[Axes]]:
        """Ink on paper: large values are dark in a light style, and bright in a dark one."""
        colors = cmap or ("gray" if ink_of(ax) is DARK else "gray_r")
        panels = self.tiles.divide(ax)
        for component, title, (panel,) in zip(self.components, titles, panels, strict=True):
            draw_picture(panel, as_picture(component, self.shape, self.order), colors)
            panel.set_title(title, fontsize=self.tiles.font, pad=3)
            panel.spines[:].set_color(ink_of(panel).quiet)
        return panels
