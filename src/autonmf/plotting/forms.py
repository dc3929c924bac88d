"""The forms in which components are drawn: images, spectra with maps, lists of features, templates."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from typing import TYPE_CHECKING

import numpy as np

from autonmf._types import Array
from autonmf.plotting.presentation import Presentation
from autonmf.plotting.style import DARK, grid_in, log_axis, open_frame, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 1.25
"""Width of an image in inches."""


@dataclass(frozen=True)
class Form:
    """Components to be drawn, one tile for each."""

    components: Array  # r x m
    weights: Array | None  # n x r
    about: Presentation

    @property
    def tiles(self) -> Tiles:
        raise NotImplementedError

    def draw(self, ax: Axes, titles: list[str], cmap: str | None) -> list[list[Axes]]:
        """Divide ``ax`` and draw every component; returns the axes of each."""
        panels = self.tiles.divide(ax)
        for index, (title, panel) in enumerate(zip(titles, panels, strict=True)):
            self.draw_component(panel, index, cmap)
            panel[0].set_title(title, fontsize=self.tiles.font, pad=3)
        return panels

    def draw_component(self, panel: list[Axes], index: int, cmap: str | None) -> None:
        """Draw one component in the axes of its tile."""
        raise NotImplementedError


class Images(Form):
    """Each component is an image, drawn from zero to its maximum."""

    @property
    def tiles(self) -> Tiles:
        assert self.about.image_shape is not None
        rows, columns = self.about.image_shape
        height = min(max(rows / columns, 0.3), 3.0) * WIDTH
        return Tiles(len(self.components), WIDTH, height + 0.22)

    def draw_component(self, panel: list[Axes], index: int, cmap: str | None) -> None:
        """Large values are dark on a light background and light on a dark one."""
        (ax,) = panel
        assert self.about.image_shape is not None
        colors = cmap or ("gray" if style_of(ax) is DARK else "gray_r")
        draw_picture(ax, as_picture(self.components[index], self.about.image_shape, self.about.order), colors)
        ax.spines[:].set_color(style_of(ax).quiet)


class Spectra(Form):
    """Each component is a curve scaled to maximum one; its weights times that maximum are a map.

    The scale of a factor is arbitrary; with this one the maps have the units of X.
    """

    @property
    def tiles(self) -> Tiles:
        if self.about.map_shape is None:
            return Tiles(len(self.components), 2.4, 1.6)
        return Tiles(len(self.components), 2.4, 3.7, parts=(1.0, 1.5))

    def draw_component(self, panel: list[Axes], index: int, cmap: str | None) -> None:
        ax, *others = panel
        top = self.components[index].max()
        peak = top if top > 0 else 1.0
        open_frame(ax)
        ax.plot(self.about.axis, self.components[index] / peak, color=style_of(ax).data, linewidth=1.3)
        ax.set_ylim(0.0, 1.05)
        ax.set_yticks([0.0, 1.0])
        ax.margins(x=0.0)
        if self.tiles.is_lowest(index):
            ax.set_xlabel(self.about.axis_label, fontsize="small")
        elif self.about.map_shape is None:
            ax.tick_params(labelbottom=False)
        ax.tick_params(labelsize="small")
        if self.about.map_shape is not None and self.weights is not None:
            weights = self.weights[:, index] * peak
            picture = as_picture(weights, self.about.map_shape, self.about.order)
            draw_picture(others[0], picture, cmap or "viridis")
            others[0].set_xlabel(f"0 to {weights.max():.2g}", fontsize="small")


FLOOR = -60.0
"""Level in decibels below which nothing is drawn."""


def decibels(components: Array) -> Array:
    """20 log₁₀ of each component over its maximum, at least FLOOR."""
    peaks = components.max(axis=1, keepdims=True)
    relative = components / np.where(peaks > 0, peaks, 1.0)
    return np.asarray(20.0 * np.log10(np.maximum(relative, 10.0 ** (FLOOR / 20.0))))


class Templates(Form):
    """Each component is a column of magnitudes by frequency, in decibels below its maximum."""

    @property
    def tiles(self) -> Tiles:
        return Tiles(1, min(max(2.6 + 0.45 * len(self.components), 4.0), 14.0), 4.0)

    def draw(self, ax: Axes, titles: list[str], cmap: str | None) -> list[list[Axes]]:
        frequencies = self.about.axis
        levels, heard = decibels(self.components), frequencies > 0  # a log axis has no zero
        numbers = np.arange(1, len(levels) + 1)
        mesh = ax.pcolormesh(
            numbers, frequencies[heard], levels[:, heard].T, cmap=cmap or "magma", vmin=FLOOR, vmax=0.0,
            shading="nearest", rasterized=True,
        )  # fmt: skip
        for edge in numbers[:-1] + 0.5:
            ax.axvline(edge, color=style_of(ax).quiet, linewidth=0.6)
        loud = frequencies[(levels.max(axis=0) > FLOOR) & heard]
        log_axis(ax, loud)
        if loud.size and loud.min() < loud.max():
            ax.set_ylim(loud.min(), loud.max())
        ax.set_ylabel(self.about.axis_label)
        few = len(levels) <= 12
        labels = [title.removesuffix(" energy").replace(" · ", "\n" if few else " · ") for title in titles]
        ax.set_xticks(numbers, labels, rotation=0 if few else 90, fontsize="small")
        ax.set_xlabel("component and its fraction of the energy" if "%" in titles[0] else "component")
        ax.figure.colorbar(mesh, ax=ax, label="level (dB)")
        return [[ax]]


class Words(Form):
    """The top features of each component, with bars for their scores."""

    @property
    def tiles(self) -> Tiles:
        lines = min(self.about.n_top, self.components.shape[1])
        return Tiles(len(self.components), 1.9, 0.45 + 0.165 * lines)

    def draw_component(self, panel: list[Axes], index: int, cmap: str | None) -> None:
        (ax,) = panel
        scores = score_features(self.components, self.about.top_by)[index]
        top = top_features(scores, self.about.n_top)
        ax.barh(np.arange(len(top)), scores[top], height=0.72, color=style_of(ax).data)
        ax.set_yticks(np.arange(len(top)), map(self.about.feature, top), fontsize="small", parse_math=False)
        ax.set_ylim(self.about.n_top - 0.4, -0.6)
        ax.set_xlim(left=0.0)
        ax.set_xticks([])
        ax.tick_params(axis="y", length=0, pad=2)
        ax.spines[["top", "right", "bottom"]].set_visible(False)


FORMS = {"image": Images, "spectrum": Spectra, "template": Templates, "words": Words}


PAGE = 1.6
"""Preferred width over height of the whole grid."""

FEW = 12
"""Titles are smaller if there are more tiles than this."""


@dataclass(frozen=True)
class Tiles:
    """A grid of ``count`` tiles of ``width`` x ``height`` inches, each with one or more parts."""

    count: int
    width: float
    height: float
    parts: tuple[float, ...] = (1.0,)  # relative heights of the parts of a tile

    @property
    def columns(self) -> int:
        """The number that brings the grid close to `PAGE` with few empty cells."""
        return min(range(1, self.count + 1), key=self._misfit)

    def _misfit(self, columns: int) -> float:
        rows = ceil(self.count / columns)
        aspect = columns * self.width / (rows * self.height)
        return abs(log(aspect / PAGE)) + (rows * columns - self.count) / columns

    @property
    def rows(self) -> int:
        return ceil(self.count / self.columns)

    @property
    def size(self) -> tuple[float, float]:
        """Size of a figure for all tiles, in inches."""
        return max(self.columns * self.width, 2.4), max(self.rows * self.height, 2.0)

    @property
    def font(self) -> str:
        return "medium" if self.count <= FEW else "small"

    def divide(self, ax: Axes) -> list[list[Axes]]:
        """Divide the place of ``ax`` and return the axes of each tile, part by part."""
        grid = grid_in(ax, self.rows * len(self.parts), self.columns, list(self.parts) * self.rows)
        tiles = []
        for index in range(self.count):
            row, column = divmod(index, self.columns)
            cells = [grid[row * len(self.parts) + part, column] for part in range(len(self.parts))]
            tiles.append([ax.figure.add_subplot(cell) for cell in cells])
        return tiles

    def is_lowest(self, index: int) -> bool:
        """Whether there is no tile below this one."""
        return index + self.columns >= self.count


def as_picture(values: Array, shape: tuple[int, int], order: str) -> Array:
    """A vector as an image, with pixels along the rows ("C") or down the columns ("F")."""
    picture: Array = values.reshape(shape, order=order)  # type: ignore[call-overload]
    return picture


def draw_picture(ax: Axes, picture: Array, cmap: str) -> None:
    """Draw an image from zero to its maximum, with square pixels and without ticks."""
    top = float(picture.max())
    ax.imshow(picture, cmap=cmap, vmin=0.0, vmax=top if top > 0 else 1.0, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])


def score_features(components: Array, top_by: str) -> Array:
    """Scores by which the features of each component are ranked (r x m).

    ``top_by="weight"``: the weight. ``"specificity"``: the weight times the fraction of the feature that
    belongs to the component, with all components at unit norm.
    """
    if top_by == "weight":
        return components
    norms = np.linalg.norm(components, axis=1, keepdims=True)
    unit = components / np.where(norms > 0, norms, 1.0)
    total = unit.sum(axis=0)
    return np.asarray(unit**2 / np.where(total > 0, total, 1.0))


def top_features(scores: Array, n_top: int) -> Array:
    """Indices of the highest scores of one component in decreasing order, without scores of zero."""
    least = np.partition(scores, -n_top)[-n_top] if n_top < len(scores) else 0.0
    some = np.flatnonzero((scores >= least) & (scores > 0))
    return np.asarray(some[np.argsort(-scores[some], kind="stable")[:n_top]])
