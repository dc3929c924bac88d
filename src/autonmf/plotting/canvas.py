"""Where plots are drawn: matplotlib on demand, axes, and colours that suit the style in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpecBase


@dataclass(frozen=True)
class Ink:
    """Colours of one plot, from the palette of Okabe and Ito, which colour-blind readers can tell apart."""

    data: str
    choice: str
    quiet: str
    pale: str  # shading behind the data


LIGHT = Ink(data="#0072B2", choice="#D55E00", quiet="#767676", pale="#E4E4E4")
DARK = Ink(data="#56B4E9", choice="#E69F00", quiet="#A0A0A0", pale="#404040")


def pyplot() -> Any:
    """matplotlib.pyplot; says how to install it where it is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f'plots need matplotlib, which cannot be imported here ({error}): pip install "autonmf[plot]"'
        ) from error
    return plt


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes that were given, or those of a new figure of ``size`` inches."""
    plt = pyplot()
    if ax is None:
        new: Axes = plt.subplots(figsize=size, layout="constrained")[1]
        return new
    if not hasattr(ax, "get_subplotspec"):
        raise TypeError(
            f"ax must be one matplotlib Axes, got {type(ax).__name__}; "
            "it is divided where several panels are needed"
        )
    return ax


def grid_in(ax: Axes, rows: int, columns: int, heights: list[float] | None = None) -> GridSpecBase:
    """Divide the place of ``ax``, which itself disappears, into cells for `add_subplot`."""
    from matplotlib.gridspec import GridSpec

    ax.set_axis_off()
    spec = ax.get_subplotspec()
    if spec is not None:
        return spec.subgridspec(rows, columns, height_ratios=heights)
    box, figure = ax.get_position(), cast("Figure", ax.figure)
    return GridSpec(
        rows, columns, figure, box.x0, box.y0, box.x1, box.y1, wspace=0.3, hspace=0.4, height_ratios=heights
    )  # fmt: skip


def stacked(ax: Axes, count: int) -> list[Axes]:
    """``count`` axes above one another on a common x axis, labelled at the bottom only; ``ax`` if one."""
    if count == 1:
        return [ax]
    grid = grid_in(ax, count, 1)
    panels: list[Axes] = []
    for row in range(count):
        panels.append(ax.figure.add_subplot(grid[row, 0], sharex=panels[0] if panels else None))
    for panel in panels[:-1]:
        panel.tick_params(labelbottom=False)
    ax.figure.align_ylabels(panels)
    return panels


def ink_of(ax: Axes) -> Ink:
    """Colours that are readable on these axes: light text means a dark style."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(ax.xaxis.label.get_color())
    return DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else LIGHT


def open_frame(ax: Axes) -> None:
    """No lines at the top and on the right."""
    ax.spines[["top", "right"]].set_visible(False)


def whole_numbers(axis: Any) -> None:
    """Ticks at integers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(10, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
