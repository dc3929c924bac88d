"""One tile a component, in a grid that stays readable from one component to many."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isqrt, log
from typing import TYPE_CHECKING

from autonmf._types import Array
from autonmf.plotting.canvas import grid_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAGE = 1.6
"""Width over height that the whole grid aims at."""

FEW = 12
"""More tiles than this have smaller titles."""


@dataclass(frozen=True)
class Tiles:
    """``count`` tiles of ``width`` x ``height`` inches, each of one or more parts above one another."""

    count: int
    width: float
    height: float
    parts: tuple[float, ...] = (1.0,)  # heights of the parts of a tile, relative to one another

    @property
    def columns(self) -> int:
        """As many as bring the grid close to a page, with few cells left empty."""
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
        """Of a figure that holds them."""
        return max(self.columns * self.width, 2.4), max(self.rows * self.height, 2.0)

    @property
    def font(self) -> str:
        """The size of titles."""
        return "medium" if self.count <= FEW else "small"

    def divide(self, ax: Axes) -> list[list[Axes]]:
        """The axes of each tile, in the place of ``ax``: by component, then by part."""
        grid = grid_in(ax, self.rows * len(self.parts), self.columns, list(self.parts) * self.rows)
        tiles = []
        for index in range(self.count):
            row, column = divmod(index, self.columns)
            cells = [grid[row * len(self.parts) + part, column] for part in range(len(self.parts))]
            tiles.append([ax.figure.add_subplot(cell) for cell in cells])
        return tiles

    def is_lowest(self, index: int) -> bool:
        """Whether no tile is below this one."""
        return index + self.columns >= self.count


def as_picture(values: Array, shape: tuple[int, int], order: str) -> Array:
    """A vector as an image; ``order`` is "C" if its pixels go along rows, "F" if down columns."""
    picture: Array = values.reshape(shape, order=order)  # type: ignore[call-overload]
    return picture


def draw_picture(ax: Axes, picture: Array, cmap: str) -> None:
    """An image from zero to its maximum, with square pixels and without ticks."""
    top = float(picture.max())
    ax.imshow(picture, cmap=cmap, vmin=0.0, vmax=top if top > 0 else 1.0, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])


def check_shape(shape: tuple[int, int], count: int, name: str, what: str) -> None:
    """Refuse a shape that does not hold ``count`` values, and propose one."""
    if len(shape) == 2 and shape[0] * shape[1] == count:
        return
    rows = next(k for k in range(isqrt(count), 0, -1) if count % k == 0)
    raise ValueError(
        f"{name} {tuple(shape)} does not fit: there are {count} {what}; "
        f"pass {name}=(rows, columns) with rows * columns = {count}, for instance ({rows}, {count // rows})"
    )
