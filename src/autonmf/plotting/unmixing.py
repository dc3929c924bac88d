"""`UnmixingDisplay`: endmember spectra, and abundance maps on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from autonmf._types import Array
from autonmf.plotting.components import choose_columns
from autonmf.plotting.presentation import as_picture, check_names, check_shape, choose_presentation
from autonmf.plotting.style import Display, axes_or_new, divide_axes, open_frame, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar


class UnmixingDisplay(Display):
    """The spectra of materials, and maps of their abundances from 0 to 1 with one colour bar.

    Parameters
    ----------
    endmembers : array of shape (r, n_bands)
        A spectrum per row.
    abundances : array of shape (n_pixels, r), optional
        The fraction of each material in each pixel. Needed for maps.
    image_shape : (rows, columns), optional
        Shape of the image. Without it only the spectra are drawn.
    order : {"C", "F"}
        Pixel order: "C" along rows, "F" down columns, as in MATLAB files.
    wavelengths : array of shape (n_bands,), optional
        The x axis of the spectra.
    axis_label : str, optional
        Label of the x axis, with the unit.
    names : sequence of str, optional
        Names of the materials. Default: their numbers.

    Attributes
    ----------
    ax_ : Axes
        The axes given to ``plot``, or new ones; divided into panels.
    axes_ : list of list of Axes
        The panels of each material: its spectrum, and its map if there is one.
    colorbar_ : Colorbar or None
        The scale of all maps.
    figure_ : Figure

    Examples
    --------
    >>> import numpy as np
    >>> from autonmf.plotting import UnmixingDisplay
    >>> UnmixingDisplay(np.eye(3), names=["soil", "tree", "water"]).names
    ('soil', 'tree', 'water')
    """

    axes_: list[list[Axes]]
    colorbar_: Colorbar | None

    def __init__(
        self,
        endmembers: Array,
        abundances: Array | None = None,
        *,
        image_shape: tuple[int, int] | None = None,
        order: str = "C",
        wavelengths: Any = None,
        axis_label: str | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        E = np.asarray(endmembers, dtype=float)
        if E.ndim != 2 or len(E) == 0:
            raise ValueError(f"endmembers must be a matrix with a spectrum per row, got shape {E.shape}")
        A = None if abundances is None else np.asarray(abundances, dtype=float)
        if A is not None and (A.ndim != 2 or A.shape[1] != len(E)):
            raise ValueError(f"abundances must have {len(E)} columns, one per endmember; got shape {A.shape}")
        if image_shape is not None and A is None:
            raise ValueError("maps need the abundances: pass abundances=A")
        if image_shape is not None and A is not None:
            check_shape(image_shape, len(A), "image_shape", "pixels")
        self.endmembers, self.abundances = E, A
        self.names = check_names(names, len(E), "names", "materials")
        self._about = choose_presentation(
            (0 if A is None else len(A), E.shape[1]),
            kind="spectrum",
            map_shape=image_shape,
            order=order,
            wavelengths=wavelengths,
            axis_label=axis_label or ("band" if wavelengths is None else None),
        )

    def plot(self, ax: Axes | None = None, *, cmap: str | None = None) -> Self:
        """Draw the spectra, and the maps if ``image_shape`` is given, in ``ax`` or a new figure."""
        count, shape = len(self.endmembers), self._about.map_shape
        parts = [1.0] if shape is None else [1.0, 1.5]
        columns = choose_columns(count, 2.2 / (1.5 if shape is None else 3.4))
        rows = ceil(count / columns)
        self.ax_ = axes_or_new(ax, (max(2.2 * columns, 2.6) + 0.5, max(rows * 1.45 * sum(parts), 2.0)))
        self.axes_ = divide_axes(self.ax_, count, columns, parts)
        top = float(self.endmembers.max()) or 1.0
        for index, (panel, spectrum) in enumerate(zip(self.axes_, self.endmembers, strict=True)):
            self._draw_spectrum(panel[0], spectrum, top, first=index % columns == 0)
            panel[0].set_title(str(index + 1) if self.names is None else self.names[index], pad=3)
            if index + columns >= count:
                panel[0].set_xlabel(self._about.axis_label, fontsize="small")
        self.colorbar_ = None if shape is None else self._draw_maps(shape, cmap or "viridis")
        return self

    def _draw_spectrum(self, ax: Axes, spectrum: Array, top: float, *, first: bool) -> None:
        """All spectra have the same scale, so that dark materials look dark."""
        open_frame(ax)
        ax.plot(self._about.axis, spectrum, color=style_of(ax).data, linewidth=1.3)
        ax.set_ylim(0.0, 1.05 * top)
        ax.margins(x=0.0)
        ax.tick_params(labelsize="small", labelleft=first)

    def _draw_maps(self, shape: tuple[int, int], cmap: str) -> Colorbar:
        assert self.abundances is not None
        maps = [panel[1] for panel in self.axes_]
        for ax, abundance in zip(maps, self.abundances.T, strict=True):
            picture = as_picture(abundance, shape, self._about.order)
            image = ax.imshow(picture, cmap=cmap, vmin=0.0, vmax=1.0, interpolation="nearest")
            ax.set_xticks([])
            ax.set_yticks([])
        bar = self.ax_.figure.colorbar(image, ax=maps, label="abundance", fraction=0.04, pad=0.02)
        bar.set_ticks([0.0, 0.5, 1.0])
        return bar
