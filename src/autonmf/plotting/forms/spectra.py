"""Components as spectra, each with the map of where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from autonmf._types import Array
from autonmf.plotting.canvas import ink_of, open_frame
from autonmf.plotting.tiles import Tiles, as_picture, check_shape, draw_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Spectra:
    """Each component is a curve of maximum one; its weights times that maximum are a map.

    The scale of a factor is arbitrary: this one gives the maps the units of X.
    """

    components: Array  # r x m
    weights: Array | None  # n x r
    axis: Array  # m
    axis_label: str
    map_shape: tuple[int, int] | None
    order: str

    def __post_init__(self) -> None:
        if self.axis.shape != (self.components.shape[1],):
            raise ValueError(
                f"the axis of the spectra has shape {self.axis.shape}, but components have "
                f"{self.components.shape[1]} features: pass one wavelength (or frequency) a feature"
            )
        if self.map_shape is None:
            return
        if self.weights is None:
            raise ValueError(
                "maps need the weight of each component in each sample: "
                "from_estimator(model, X, ...), or weights=W"
            )
        check_shape(self.map_shape, len(self.weights), "map_shape", "samples")

    @property
    def peaks(self) -> Array:
        """The maximum of each component; one if it is zero."""
        peaks = self.components.max(axis=1)
        return np.where(peaks > 0, peaks, 1.0)

    @property
    def tiles(self) -> Tiles:
        if self.map_shape is None:
            return Tiles(len(self.components), 2.4, 1.6)
        return Tiles(len(self.components), 2.4, 3.7, parts=(1.0, 1.5))

    @property
    def size(self) -> tuple[float, float]:
        return self.tiles.size

    def draw(self, ax: Axes, titles: list[str], cmap: str | None) -> list[list[Axes]]:
        panels = self.tiles.divide(ax)
        for index, (title, panel) in enumerate(zip(titles, panels, strict=True)):
            self._draw_curve(panel[0], index)
            panel[0].set_title(title, fontsize=self.tiles.font, pad=3)
            if self.map_shape is not None:
                self._draw_map(panel[1], index, cmap or "viridis")
        return panels

    def _draw_curve(self, ax: Axes, index: int) -> None:
        open_frame(ax)
        curve = self.components[index] / self.peaks[index]
        ax.plot(self.axis, curve, color=ink_of(ax).data, linewidth=1.3)
        ax.set_ylim(0.0, 1.05)
        ax.set_yticks([0.0, 1.0])
        ax.margins(x=0.0)
        if self.tiles.is_lowest(index):
            ax.set_xlabel(self.axis_label, fontsize="small")
        elif self.map_shape is None:
            ax.tick_params(labelbottom=False)
        ax.tick_params(labelsize="small")

    def _draw_map(self, ax: Axes, index: int, cmap: str) -> None:
        assert self.weights is not None
        assert self.map_shape is not None
        weights = self.weights[:, index] * self.peaks[index]
        draw_picture(ax, as_picture(weights, self.map_shape, self.order), cmap)
        ax.set_xlabel(f"0 to {weights.max():.2g}", fontsize="small")
