"""The forms in which components are drawn: images, spectra with maps, lists of features, templates."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isqrt, log
from typing import TYPE_CHECKING, Any

import numpy as np

from autonmf._types import Array
from autonmf.plotting.style import DARK, grid_in, log_axis, open_frame, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("image", "spectrum", "words", "template")
"""The forms by name."""

WIDTH = 1.25
"""Width of an image in inches."""


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

    def draw(self, ax: Axes, titles: list[str], cmap: str | None) -> list[list[Axes]]:
        """Large values are dark on a light background and light on a dark one."""
        colors = cmap or ("gray" if style_of(ax) is DARK else "gray_r")
        panels = self.tiles.divide(ax)
        for component, title, (panel,) in zip(self.components, titles, panels, strict=True):
            draw_picture(panel, as_picture(component, self.shape, self.order), colors)
            panel.set_title(title, fontsize=self.tiles.font, pad=3)
            panel.spines[:].set_color(style_of(panel).quiet)
        return panels


@dataclass(frozen=True)
class Spectra:
    """Each component is a curve scaled to maximum one; its weights times that maximum are a map.

    The scale of a factor is arbitrary; with this one the maps have the units of X.
    """

    components: Array  # r x m
    weights: Array | None  # n x r
    axis: Array  # m
    axis_label: str
    map_shape: tuple[int, int] | None
    order: str

    def __post_init__(self) -> None:
        check_length(self.axis, self.components, "the axis", "wavelength (or frequency)")
        if self.map_shape is None:
            return
        if self.weights is None:
            raise ValueError("maps need the weights: use from_estimator(model, X, ...), or pass weights=W")
        check_shape(self.map_shape, len(self.weights), "map_shape", "samples")

    @property
    def peaks(self) -> Array:
        """The maximum of each component, or one if that is zero."""
        peaks = self.components.max(axis=1)
        return np.where(peaks > 0, peaks, 1.0)

    @property
    def tiles(self) -> Tiles:
        if self.map_shape is None:
            return Tiles(len(self.components), 2.4, 1.6)
        return Tiles(len(self.components), 2.4, 3.7, parts=(1.0, 1.5))

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
        ax.plot(self.axis, curve, color=style_of(ax).data, linewidth=1.3)
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


FLOOR = -60.0
"""Level in decibels below which nothing is drawn."""


@dataclass(frozen=True)
class Templates:
    """Each component is a column of magnitudes by frequency, in decibels below its maximum."""

    components: Array  # r x m
    frequencies: Array  # m
    label: str = "frequency (Hz)"

    def __post_init__(self) -> None:
        check_length(self.frequencies, self.components, "frequencies", "frequency")

    @property
    def decibels(self) -> Array:
        """20 log₁₀ of each component over its maximum, at least FLOOR."""
        peaks = self.components.max(axis=1, keepdims=True)
        relative = self.components / np.where(peaks > 0, peaks, 1.0)
        return np.asarray(20.0 * np.log10(np.maximum(relative, 10.0 ** (FLOOR / 20.0))))

    @property
    def tiles(self) -> Tiles:
        return Tiles(1, min(max(2.6 + 0.45 * len(self.components), 4.0), 14.0), 4.0)

    def draw(self, ax: Axes, titles: list[str], cmap: str | None) -> list[list[Axes]]:
        levels, heard = self.decibels, self.frequencies > 0  # a log axis has no zero
        numbers = np.arange(1, len(levels) + 1)
        mesh = ax.pcolormesh(
            numbers, self.frequencies[heard], levels[:, heard].T, cmap=cmap or "magma", vmin=FLOOR, vmax=0.0,
            shading="nearest", rasterized=True,
        )  # fmt: skip
        for edge in numbers[:-1] + 0.5:
            ax.axvline(edge, color=style_of(ax).quiet, linewidth=0.6)
        self._frequency_axis(ax, levels)
        few = len(levels) <= 12
        labels = [title.removesuffix(" energy").replace(" · ", "\n" if few else " · ") for title in titles]
        ax.set_xticks(numbers, labels, rotation=0 if few else 90, fontsize="small")
        ax.set_xlabel("component and its fraction of the energy" if "%" in titles[0] else "component")
        ax.figure.colorbar(mesh, ax=ax, label="level (dB)")
        return [[ax]]

    def _frequency_axis(self, ax: Axes, levels: Array) -> None:
        """Set a log axis from the lowest to the highest frequency with any signal."""
        loud = self.frequencies[(levels.max(axis=0) > FLOOR) & (self.frequencies > 0)]
        log_axis(ax, loud)
        if loud.size and loud.min() < loud.max():
            ax.set_ylim(loud.min(), loud.max())
        ax.set_ylabel(self.label)


@dataclass(frozen=True)
class Words:
    """The top features of each component, with bars for their scores."""

    components: Array  # r x m
    names: Array  # m
    n_top: int
    top_by: str = "weight"

    def __post_init__(self) -> None:
        check_length(self.names, self.components, "feature_names", "name")
        check_top(self.n_top, self.top_by)

    @property
    def tiles(self) -> Tiles:
        return Tiles(len(self.components), 1.9, 0.45 + 0.165 * min(self.n_top, self.components.shape[1]))

    def draw(self, ax: Axes, titles: list[str], cmap: str | None) -> list[list[Axes]]:
        panels = self.tiles.divide(ax)
        every = score_features(self.components, self.top_by)
        for scores, title, (panel,) in zip(every, titles, panels, strict=True):
            self._draw_bars(panel, scores)
            panel.set_title(title, fontsize=self.tiles.font, pad=3)
        return panels

    def _draw_bars(self, ax: Axes, scores: Array) -> None:
        top = top_features(scores, self.n_top)
        ax.barh(np.arange(len(top)), scores[top], height=0.72, color=style_of(ax).data)
        ax.set_yticks(np.arange(len(top)), self.names[top], fontsize="small", parse_math=False)
        ax.set_ylim(self.n_top - 0.4, -0.6)
        ax.set_xlim(left=0.0)
        ax.set_xticks([])
        ax.tick_params(axis="y", length=0, pad=2)
        ax.spines[["top", "right", "bottom"]].set_visible(False)


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
        """The size of titles."""
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
    """A vector as an image; see `check_order`."""
    picture: Array = values.reshape(shape, order=order)  # type: ignore[call-overload]
    return picture


def draw_picture(ax: Axes, picture: Array, cmap: str) -> None:
    """Draw an image from zero to its maximum, with square pixels and without ticks."""
    top = float(picture.max())
    ax.imshow(picture, cmap=cmap, vmin=0.0, vmax=top if top > 0 else 1.0, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])


def guess_kind(*, image: Any, spectrum: Any, template: Any = None, words: Any) -> str:
    """The kind of the first argument that is given; spectra if none is."""
    given = {"image": image, "spectrum": spectrum, "template": template, "words": words}
    return next((kind for kind, value in given.items() if value is not None), "spectrum")


def check_order(order: str) -> None:
    """Refuse a pixel order other than "C", along rows, or "F", down columns."""
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' (along rows) or 'F' (down columns), got {order!r}")


def check_length(values: Array, components: Array, name: str, one: str) -> None:
    """Refuse values that are not one per feature."""
    m = components.shape[1]
    if values.shape != (m,):
        raise ValueError(
            f"{name} has shape {values.shape}, but components have {m} features: pass one {one} per feature"
        )


def check_top(n_top: int, top_by: str = "weight") -> None:
    """Refuse a number of top features below one, or an unknown score."""
    if n_top < 1:
        raise ValueError(f"n_top must be at least 1, got {n_top}")
    if top_by not in TOP_BY:
        raise ValueError(f"top_by must be one of {', '.join(TOP_BY)}, got {top_by!r}")


def check_shape(shape: tuple[int, int], count: int, name: str, what: str) -> None:
    """Refuse a shape that does not have ``count`` pixels, and suggest one."""
    if len(shape) == 2 and shape[0] * shape[1] == count:
        return
    rows = next(k for k in range(isqrt(count), 0, -1) if count % k == 0)
    raise ValueError(
        f"{name} {tuple(shape)} does not match the {count} {what}; "
        f"pass {name}=(rows, columns) with rows * columns = {count}, for instance ({rows}, {count // rows})"
    )


TOP_BY = ("weight", "specificity")


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
