"""`ComponentsDisplay`: components as images, spectra, words or spectrogram templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from autonmf._types import Array
from autonmf.plotting.forms import KINDS, Images, Spectra, Templates, Words, check_order, guess_kind
from autonmf.plotting.style import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

FORM_OPTIONS = ("kind", "shape", "wavelengths", "map_shape", "frequencies", "feature_names")
"""Parameters that decide the form of the components."""


class ComponentsDisplay:
    """Components as images, spectra with maps, top words or genes, or spectrogram templates.

    Parameters
    ----------
    components : array of shape (r, n_features)
        H, one component per row.
    weights : array of shape (n_samples, r), optional
        W. If given, components are sorted by decreasing energy ‖W_j‖²‖H_j‖² and labelled with their fraction
        of the total.
    kind : {"image", "spectrum", "words", "template"}, optional
        Default: chosen from the other parameters.
    shape : (rows, columns), optional
        Shape of an image.
    order : {"C", "F"}
        Pixel order of images and maps: "C" along rows, "F" down columns, as in MATLAB files.
    wavelengths : array of shape (n_features,), optional
        The x axis of spectra.
    map_shape : (rows, columns), optional
        The samples are pixels of a map of this shape, which shows the weights of each spectrum. Needs
        ``weights``.
    feature_names : sequence of str, optional
        Words or genes.
    n_top : int
        Number of words or genes per component.
    top_by : {"weight", "specificity"}
        How they are ranked. "specificity" multiplies the weight by the fraction of the feature that belongs
        to the component, which ranks features that are large everywhere (housekeeping genes) lower.
    frequencies : array of shape (n_features,), optional
        Frequencies of spectrogram templates. With ``kind="spectrum"`` they are drawn as curves.
    axis_label : str, optional
        Label of ``wavelengths`` or ``frequencies``, with the unit.
    energies : array of shape (r,), optional
        Energies of the components, instead of ``weights``.

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
    >>> ComponentsDisplay.from_estimator(model, shape=(32, 32)).kind
    'image'
    """

    ax_: Axes
    axes_: list[list[Axes]]
    figure_: Figure | SubFigure

    def __init__(
        self,
        components: Array,
        *,
        weights: Array | None = None,
        kind: str | None = None,
        shape: tuple[int, int] | None = None,
        order: str = "C",
        wavelengths: Array | None = None,
        map_shape: tuple[int, int] | None = None,
        feature_names: Sequence[str] | Array | None = None,
        n_top: int = 10,
        top_by: str = "weight",
        frequencies: Array | None = None,
        axis_label: str | None = None,
        energies: Array | None = None,
    ) -> None:
        H = np.asarray(components, dtype=float)
        if H.ndim != 2 or len(H) == 0:
            raise ValueError(f"components must be a matrix with one component per row, got shape {H.shape}")
        check_order(order)
        W = None if weights is None else np.asarray(weights, dtype=float)
        if W is not None and (W.ndim != 2 or W.shape[1] != len(H)):
            raise ValueError(f"weights must have {len(H)} columns, one per component; got shape {W.shape}")
        if energies is not None:
            energies = np.asarray(energies, dtype=float)
            if energies.shape != (len(H),):
                raise ValueError(
                    f"energies must have {len(H)} values, one per component; got shape {energies.shape}"
                )
        elif W is not None:
            energies = np.square(W).sum(axis=0) * np.square(H).sum(axis=1)
        by_energy = np.arange(len(H)) if energies is None else np.argsort(-energies, kind="stable")
        self.components = H[by_energy]
        self.weights = None if W is None else W[:, by_energy]
        self.fractions = None if energies is None else _normalise(energies[by_energy])
        self.shape, self.order = shape, order
        self.wavelengths, self.map_shape = wavelengths, map_shape
        self.feature_names, self.n_top, self.top_by = feature_names, n_top, top_by
        self.frequencies, self.axis_label = frequencies, axis_label
        self.kind = kind or guess_kind(
            image=shape,
            spectrum=map_shape if wavelengths is None else wavelengths,
            template=frequencies,
            words=feature_names,
        )
        self._form = self._make_form()

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, **options: Any) -> Self:
        """The display of a fitted `AutoNMF`, or of any estimator with ``components_``.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        X : array, optional
            Samples, whose weights are computed with ``transform``. Maps need them. Without X the energies
            are those of balanced factors, as in `AutoNMF`.
        **options
            Other parameters of `ComponentsDisplay`. Feature names are taken from the estimator if it was
            fitted to a data frame.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        H = np.asarray(estimator.components_, dtype=float)
        if X is not None:
            options["weights"] = np.asarray(estimator.transform(X))
        elif hasattr(estimator, "path_"):
            options.setdefault("energies", np.square(H).sum(axis=1) ** 2)
        given = any(options.get(name) is not None for name in FORM_OPTIONS)
        if not given and hasattr(estimator, "feature_names_in_"):
            options["feature_names"] = estimator.feature_names_in_
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
        """Draw the display.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. Default: a new figure of suitable size.
        cmap : str, optional
            Colour map of images, maps and templates.

        Returns
        -------
        self
        """
        self.ax_ = axes_or_new(ax, self._form.tiles.size)
        self.figure_ = self.ax_.figure
        self.axes_ = self._form.draw(self.ax_, self.titles, cmap)
        return self

    def _make_form(self) -> Images | Spectra | Templates | Words:
        if self.kind == "image":
            if self.shape is None:
                raise ValueError("images need shape=(rows, columns)")
            return Images(self.components, self.shape, self.order)
        if self.kind == "spectrum":
            axis, label = self._axis()
            return Spectra(self.components, self.weights, axis, label, self.map_shape, self.order)
        if self.kind == "words":
            names = self._indices() if self.feature_names is None else np.asarray(self.feature_names)
            return Words(self.components, names.astype(str), self.n_top, self.top_by)
        if self.kind == "template":
            if self.frequencies is None and self.wavelengths is None:
                raise ValueError("templates need frequencies=, one per feature")
            return Templates(self.components, *self._axis())
        raise ValueError(f"unknown kind {self.kind!r}; choose one of {', '.join(KINDS)}")

    def _axis(self) -> tuple[Array, str]:
        if self.wavelengths is not None:
            return np.asarray(self.wavelengths, dtype=float), self.axis_label or "wavelength"
        if self.frequencies is not None:
            return np.asarray(self.frequencies, dtype=float), self.axis_label or "frequency (Hz)"
        return self._indices(), self.axis_label or "feature"

    def _indices(self) -> Array:
        return np.arange(self.components.shape[1])


def _normalise(energies: Array) -> Array:
    total = energies.sum()
    return energies / total if total > 0 else energies


def _percent(fraction: float) -> str:
    percent = 100.0 * fraction
    return f"{percent:.0f} %" if percent >= 0.95 or percent == 0 else f"{percent:.1g} %"
