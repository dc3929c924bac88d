"""`ComponentsDisplay`: the components in the form that their field reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from autonmf._types import Array
from autonmf.path import RankPath
from autonmf.plotting.canvas import axes_or_new
from autonmf.plotting.forms import Images, Spectra, Templates, Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

KINDS = ("image", "spectrum", "words", "template")


class ComponentsDisplay:
    """Components as images, spectra with maps, top words or genes, or templates of a spectrogram.

    Parameters
    ----------
    components : array of shape (r, n_features)
        H, one component a row.
    weights : array of shape (n_samples, r), optional
        W. With it components come by decreasing energy ‖W_j‖²‖H_j‖², with their share of the sum of all.
    kind : {"image", "spectrum", "words", "template"}, optional
        Default: what the other parameters are for.
    shape : (rows, columns), optional
        Of an image.
    order : {"C", "F"}
        "C" if pixels go along rows, "F" if down columns, as in files from MATLAB. Of images and maps.
    wavelengths : array of shape (n_features,), optional
        The axis of spectra.
    map_shape : (rows, columns), optional
        Of the map of a spectrum's weights over the samples; it needs ``weights``.
    feature_names : sequence of str, optional
        Words or genes.
    n_top : int
        How many of them.
    top_by : {"weight", "specificity"}
        What they are chosen by. "specificity" multiplies the weight by the component's share of the feature:
        it passes over what is large everywhere, such as housekeeping genes.
    frequencies : array of shape (n_features,), optional
        Of spectrogram templates. With ``kind="spectrum"`` they are drawn as curves.
    axis_label : str, optional
        What ``wavelengths`` or ``frequencies`` are, with their unit.
    energies : array of shape (r,), optional
        In place of ``weights``.

    Attributes
    ----------
    components, weights, shares : arrays
        By decreasing energy.
    ax_ : Axes
        Those that were given or made. They are divided into panels.
    axes_ : list of list of Axes
        The panels of each component; templates share a single one.
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
            raise ValueError(f"components must be an array with one component a row, got shape {H.shape}")
        if order not in ("C", "F"):
            raise ValueError(f"order must be 'C' (along rows) or 'F' (down columns), got {order!r}")
        W = None if weights is None else _weights(weights, len(H))
        strength = _energies(H, W) if energies is None else _one_each(energies, len(H))
        by_energy = np.arange(len(H)) if strength is None else np.argsort(-strength, kind="stable")
        self.components = H[by_energy]
        self.weights = None if W is None else W[:, by_energy]
        self.shares = None if strength is None else _shares(strength[by_energy])
        self.shape, self.order = shape, order
        self.wavelengths, self.map_shape = wavelengths, map_shape
        self.feature_names, self.n_top, self.top_by = feature_names, n_top, top_by
        self.frequencies, self.axis_label = frequencies, axis_label
        self.kind = self._guess() if kind is None else kind
        self._form = self._make_form()

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, **options: Any) -> Self:
        """The display of a fitted `AutoNMF`, or of any estimator with ``components_``.

        Parameters
        ----------
        estimator : estimator
        X : array, optional
            Samples, for their weights: maps need them. Without it the shares are those of balanced factors,
            which `AutoNMF` has.
        **options
            As those of `ComponentsDisplay`. The names of the features are known if it was fitted to a data
            frame.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        H = np.asarray(estimator.components_, dtype=float)
        if X is not None:
            options["weights"] = np.asarray(estimator.transform(X))
        elif hasattr(estimator, "path_"):
            options.setdefault("energies", np.square(H).sum(axis=1) ** 2)
        if not _says_form(options) and hasattr(estimator, "feature_names_in_"):
            options["feature_names"] = estimator.feature_names_in_
        return cls(H, **options)

    @classmethod
    def from_path(cls, path: RankPath, rank: int, **options: Any) -> Self:
        """The display of a path's solution at one rank; ``options`` are those of `ComponentsDisplay`."""
        point = path.at_rank(rank)
        return cls(point.V.T, weights=point.U, **options)

    @property
    def titles(self) -> list[str]:
        """A number for each component, and its share of the energy; the first says what the share is."""
        if self.shares is None:
            return [str(number) for number in range(1, len(self.components) + 1)]
        titles = [f"{number} · {_percent(share)}" for number, share in enumerate(self.shares, 1)]
        return [f"{titles[0]} energy", *titles[1:]]

    def plot(self, ax: Axes | None = None, *, cmap: str | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. Default: a new figure, as large as the components need.
        cmap : str, optional
            Colour map of images, maps and templates.

        Returns
        -------
        self
        """
        self.ax_ = axes_or_new(ax, self._form.size)
        self.figure_ = self.ax_.figure
        self.axes_ = self._form.draw(self.ax_, self.titles, cmap)
        return self

    def _guess(self) -> str:
        if self.shape is not None:
            return "image"
        if self.wavelengths is not None or self.map_shape is not None:
            return "spectrum"
        if self.frequencies is not None:
            return "template"
        return "words" if self.feature_names is not None else "spectrum"

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
                raise ValueError("templates need frequencies=, one a feature")
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


def _says_form(options: dict[str, Any]) -> bool:
    given = ("kind", "shape", "wavelengths", "map_shape", "frequencies", "feature_names")
    return any(options.get(name) is not None for name in given)


def _weights(weights: Array, count: int) -> Array:
    W = np.asarray(weights, dtype=float)
    if W.ndim != 2 or W.shape[1] != count:
        raise ValueError(f"weights must have {count} columns, one a component; got shape {W.shape}")
    return W


def _one_each(energies: Array, count: int) -> Array:
    values = np.asarray(energies, dtype=float)
    if values.shape != (count,):
        raise ValueError(f"energies must have {count} values, one a component; got shape {values.shape}")
    return values


def _energies(H: Array, W: Array | None) -> Array | None:
    return None if W is None else np.square(W).sum(axis=0) * np.square(H).sum(axis=1)


def _shares(energies: Array) -> Array:
    total = energies.sum()
    return energies / total if total > 0 else energies


def _percent(share: float) -> str:
    percent = 100.0 * share
    return f"{percent:.0f} %" if percent >= 0.95 or percent == 0 else f"{percent:.1g} %"
