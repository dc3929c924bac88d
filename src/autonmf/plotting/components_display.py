"""`ComponentsDisplay`: components as images, spectra, words or spectrogram templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from autonmf._types import Array
from autonmf.plotting.forms import FORMS
from autonmf.plotting.presentation import PresentationOptions, choose_presentation
from autonmf.plotting.style import Display, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        **presentation: Unpack[PresentationOptions],
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
        about = choose_presentation((0 if W is None else len(W), H.shape[1]), **presentation)
        self.kind = about.kind
        self._form = FORMS[about.kind](self.components, self.weights, about)

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
        self.ax_ = axes_or_new(ax, self._form.tiles.size)
        self.axes_ = self._form.draw(self.ax_, self.titles, cmap)
        return self


def _percent(fraction: float) -> str:
    percent = 100.0 * fraction
    return f"{percent:.0f} %" if percent >= 0.95 or percent == 0 else f"{percent:.1g} %"
