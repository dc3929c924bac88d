"""`plot` for results, which live far below the layer that draws them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Plottable:
    """A result that `autonmf.plotting` has a display for."""

    def plot(self, ax: Axes | None = None, **options: Any) -> Any:
        """Draw the result and return its display; ``options`` are those of the display's ``plot``."""
        import autonmf

        return autonmf._display(self).plot(ax, **options)
