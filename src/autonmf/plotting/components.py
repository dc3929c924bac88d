"""`ComponentsDisplay`: components as images, spectra with maps, lists of features or templates."""

from __future__ import annotations

from math import ceil, log
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from autonmf._types import Array
from autonmf.plotting.presentation import (
    FLOOR,
    as_picture,
    check_presentation,
    choose_presentation,
    decibels,
    score_features,
    top_features,
)
from autonmf.plotting.style import DARK, Display, axes_or_new, divide_axes, log_axis, open_frame, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAGE = 1.6
"""Preferred width over height of a figure."""

FEW = 12
"""Titles are smaller if there are more components."""


class ComponentsDisplay(Display):
    """Components as images, spectra with maps, top words or genes, or spectrogram templates.

    Parameters
    ----------
    components : array of shape (r, n_features)
        H, one component per row.
    weights : array of shape (n_samples, r), optional
        W. If given, components are sorted by decreasing energy ‖W_j‖²‖H_j‖² and labelled with their fraction
        of the total.
    energies : array of shape (r,), optional
        Energies of the components, instead of ``weights``.
    **presentation
        How components are drawn:

        kind : {"image", "spectrum", "words", "template"}
            Default: chosen from the other parameters.
        image_shape : (rows, columns)
            Shape of an image.
        order : {"C", "F"}
            Pixel order of images and maps: "C" along rows, "F" down columns, as in MATLAB files.
        wavelengths : array of shape (n_features,)
            The x axis of spectra.
        map_shape : (rows, columns)
            The samples are pixels of a map of this shape, which shows the weights of each spectrum. Needs
            ``weights``.
        feature_names : sequence of str
            Words or genes, or an axis such as "400 nm", "410 nm".
        n_top : int
            Number of words or genes per component, by default 10.
        top_by : {"weight", "specificity"}
            How they are ranked. "specificity" multiplies the weight by the fraction of the feature that
            belongs to the component, which ranks features that are large everywhere (housekeeping genes)
            lower.
        frequencies : array of shape (n_features,)
            Frequencies of spectrogram templates. With ``kind="spectrum"`` they are drawn as curves.
        axis_label : str
            Label of ``wavelengths`` or ``frequencies``, with the unit.

    Attributes
    ----------
    components, weights, fractions : arrays
        Sorted by decreasing energy; ``fractions`` are those of the total energy.
    ax_ : Axes
        The axes given to ``plot``, or new ones; divided into panels.
    axes_ : list of list of Axes
        The panels of each component; templates share one panel.
    figure_ : Figure

    Examples
    --------
    >>> from autonmf import AutoNMF
    >>> from autonmf.datasets import load_swimmer
    >>> from autonmf.plotting import ComponentsDisplay
    >>> model = AutoNMF(n_components=16, random_state=0).fit(load_swimmer())
    >>> ComponentsDisplay.from_estimator(model, image_shape=(32, 32)).kind
    'image'
    """

    axes_: list[list[Axes]]

    def __init__(
        self,
        components: Array,
        *,
        weights: Array | None = None,
        energies: Array | None = None,
        **presentation: Any,
    ) -> None:
        H = np.asarray(components, dtype=float)
        if H.ndim != 2 or len(H) == 0:
            raise ValueError(f"components must be a matrix with one component per row, got shape {H.shape}")
        W = None if weights is None else np.asarray(weights, dtype=float)
        if W is not None and (W.ndim != 2 or W.shape[1] != len(H)):
            raise ValueError(f"weights must have {len(H)} columns, one per component; got shape {W.shape}")
        if energies is not None:
            energies = np.asarray(energies, dtype=float)
            if energies.shape != (len(H),):
                raise ValueError(f"energies must be {len(H)} values, one per component, got {energies.shape}")
        elif W is not None:
            energies = np.square(W).sum(axis=0) * np.square(H).sum(axis=1)
        by_energy = np.arange(len(H)) if energies is None else np.argsort(-energies, kind="stable")
        self.components = H[by_energy]
        self.weights = None if W is None else W[:, by_energy]
        self.fractions = None if energies is None else energies[by_energy] / (energies.sum() or 1.0)
        given = {name for name, value in presentation.items() if value is not None}
        if "map_shape" in given and W is None:
            raise ValueError("maps need the weights: use from_estimator(model, X, ...), or pass weights=W")
        if presentation.get("kind") == "template" and given.isdisjoint({"frequencies", "wavelengths"}):
            raise ValueError("templates need frequencies=, one per feature")
        check_presentation("ComponentsDisplay", presentation)
        self._about = choose_presentation((0 if W is None else len(W), H.shape[1]), **presentation)
        self.kind = self._about.kind

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, **options: Any) -> Self:
        """The display of a fitted `AutoNMF`, or of any estimator with ``components_``.

        The weights of samples X, which maps need, are computed with ``transform``; without X the energies are
        those of balanced factors, as in `AutoNMF`. ``options`` are those of `ComponentsDisplay`; feature
        names are taken from the estimator if it was fitted to a data frame.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        H = np.asarray(estimator.components_, dtype=float)
        if X is not None:
            options["weights"] = np.asarray(estimator.transform(X))
        elif hasattr(estimator, "path_"):
            options.setdefault("energies", np.square(H).sum(axis=1) ** 2)
        if options.get("feature_names") is None:
            options["feature_names"] = getattr(estimator, "feature_names_in_", None)
        return cls(H, **options)

    @classmethod
    def from_path(cls, path: Any, rank: int, **options: Any) -> Self:
        """The display of a solution of a `RankPath`; ``options`` are those of `ComponentsDisplay`."""
        point = path.at_rank(rank)
        return cls(point.V.T, weights=point.U, **options)

    @property
    def titles(self) -> list[str]:
        """The number of each component and its percentage of the energy."""
        if self.fractions is None:
            return [str(number) for number in range(1, len(self.components) + 1)]
        titles = [f"{number} · {_percent(fraction)}" for number, fraction in enumerate(self.fractions, 1)]
        return [f"{titles[0]} energy", *titles[1:]]

    def plot(self, ax: Axes | None = None, *, cmap: str | None = None) -> Self:
        """Draw the components in ``ax`` or a new figure; ``cmap`` colours images, maps and templates."""
        if self.kind == "template":
            width = min(max(2.6 + 0.45 * len(self.components), 4.0), 14.0)
            self.ax_ = axes_or_new(ax, (width, 4.0))
            self.axes_ = [[self.ax_]]
            self._draw_templates(cmap)
            return self
        forms = {"image": self._draw_image, "spectrum": self._draw_spectrum, "words": self._draw_words}
        width, height, parts = self._tile()
        count = len(self.components)
        columns = choose_columns(count, width / height)
        rows = ceil(count / columns)
        self.ax_ = axes_or_new(ax, (max(columns * width, 2.4), max(rows * height, 2.0)))
        self.axes_ = divide_axes(self.ax_, count, columns, parts)
        for index, (panel, title) in enumerate(zip(self.axes_, self.titles, strict=True)):
            forms[self.kind](panel, index, cmap, lowest=index + columns >= count)
            panel[0].set_title(title, fontsize="medium" if count <= FEW else "small", pad=3)
        return self

    def _tile(self) -> tuple[float, float, list[float]]:
        """Width and height of one component in inches, and relative heights of its axes."""
        if self._about.image_shape is not None and self.kind == "image":
            rows, columns = self._about.image_shape
            return 1.25, 1.25 * min(max(rows / columns, 0.3), 3.0) + 0.22, [1.0]
        if self.kind == "words":
            return 1.9, 0.45 + 0.165 * min(self._about.n_top, self.components.shape[1]), [1.0]
        return (2.4, 1.6, [1.0]) if self._about.map_shape is None else (2.4, 3.7, [1.0, 1.5])

    def _draw_image(self, panel: list[Axes], index: int, cmap: str | None, *, lowest: bool) -> None:
        """An image from zero to its maximum: dark on a light background and light on a dark one."""
        (ax,) = panel
        colors = cmap or ("gray" if style_of(ax) is DARK else "gray_r")
        self._draw_picture(ax, self.components[index], self._about.image_shape, colors)
        ax.spines[:].set_color(style_of(ax).quiet)

    def _draw_spectrum(self, panel: list[Axes], index: int, cmap: str | None, *, lowest: bool) -> None:
        """A curve scaled to maximum one; the weights times that maximum are a map, in the units of X."""
        ax, *others = panel
        peak = self.components[index].max() or 1.0
        open_frame(ax)
        ax.plot(self._about.axis, self.components[index] / peak, color=style_of(ax).data, linewidth=1.3)
        ax.set_ylim(0.0, 1.05)
        ax.set_yticks([0.0, 1.0])
        ax.margins(x=0.0)
        if lowest:
            ax.set_xlabel(self._about.axis_label, fontsize="small")
        elif not others:
            ax.tick_params(labelbottom=False)
        ax.tick_params(labelsize="small")
        if others and self.weights is not None:
            weights = self.weights[:, index] * peak
            self._draw_picture(others[0], weights, self._about.map_shape, cmap or "viridis")
            others[0].set_xlabel(f"0 to {weights.max():.2g}", fontsize="small")

    def _draw_picture(self, ax: Axes, values: Array, shape: tuple[int, int] | None, cmap: str) -> None:
        """An image from zero to its maximum, with square pixels and without ticks."""
        assert shape is not None
        picture = as_picture(values, shape, self._about.order)
        ax.imshow(picture, cmap=cmap, vmin=0.0, vmax=float(picture.max()) or 1.0, interpolation="nearest")
        ax.set_xticks([])
        ax.set_yticks([])

    def _draw_words(self, panel: list[Axes], index: int, cmap: str | None, *, lowest: bool) -> None:
        """The top features, with bars for their scores."""
        (ax,) = panel
        scores = score_features(self.components, self._about.top_by)[index]
        top = top_features(scores, self._about.n_top)
        names = map(self._about.feature, top)
        ax.barh(np.arange(len(top)), scores[top], height=0.72, color=style_of(ax).data)
        ax.set_yticks(np.arange(len(top)), names, fontsize="small", parse_math=False)
        ax.set_ylim(self._about.n_top - 0.4, -0.6)
        ax.set_xlim(left=0.0)
        ax.set_xticks([])
        ax.tick_params(axis="y", length=0, pad=2)
        ax.spines[["top", "right", "bottom"]].set_visible(False)

    def _draw_templates(self, cmap: str | None) -> None:
        """All components as columns of magnitudes by frequency, in decibels below their maxima."""
        ax, titles, frequencies = self.ax_, self.titles, self._about.axis
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
        ax.set_ylabel(self._about.axis_label)
        few = len(levels) <= FEW
        labels = [title.removesuffix(" energy").replace(" · ", "\n" if few else " · ") for title in titles]
        ax.set_xticks(numbers, labels, rotation=0 if few else 90, fontsize="small")
        ax.set_xlabel("component and its fraction of the energy" if "%" in titles[0] else "component")
        ax.figure.colorbar(mesh, ax=ax, label="level (dB)")


def choose_columns(count: int, aspect: float) -> int:
    """The number of columns for which the figure has about the shape of a page, with few empty cells."""

    def misfit(columns: int) -> float:
        rows = ceil(count / columns)
        return abs(log(columns * aspect / rows / PAGE)) + (rows * columns - count) / columns

    return min(range(1, count + 1), key=misfit)


def _percent(fraction: float) -> str:
    percent = 100.0 * fraction
    return f"{percent:.0f} %" if percent >= 0.95 or percent == 0 else f"{percent:.1g} %"
