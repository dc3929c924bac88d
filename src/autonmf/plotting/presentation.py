"""`Presentation`: how components are shown in plots and reports; it may be inferred from column names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite, isqrt
from typing import Any

import numpy as np

from autonmf._types import Array, check_parameters

KINDS = ("image", "spectrum", "words", "template")
"""The forms of components by name."""

TOP_BY = ("weight", "specificity")
"""The scores by which features are ranked."""

MAX_NAME = 80
"""Maximum length of a name."""


@dataclass(frozen=True, eq=False)
class Presentation:
    """Components as images, spectra with maps, lists of words, or spectrogram templates."""

    kind: str
    axis: Array  # of spectra and templates, one value per feature
    axis_label: str = "feature"
    feature_names: tuple[str, ...] | None = None
    sample_names: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None  # of the samples
    image_shape: tuple[int, int] | None = None
    map_shape: tuple[int, int] | None = None
    order: str = "C"
    n_top: int = 10
    top_by: str = "weight"

    def feature(self, index: int) -> str:
        """The name of a feature, or its column number."""
        return _shorten(self.feature_names[index]) if self.feature_names else f"column {index + 1}"

    def sample(self, index: int) -> str:
        """The name of a sample, its position in the map, or its row number."""
        if self.sample_names:
            return _shorten(self.sample_names[index])
        if self.map_shape:
            rows, columns = self.map_shape
            row, column = divmod(index, columns) if self.order == "C" else divmod(index, rows)[::-1]
            return f"pixel {row + 1}, {column + 1}"
        return f"row {index + 1}"


def check_presentation(function: str, given: Iterable[str]) -> None:
    """Refuse names that are not parameters of `choose_presentation`, which ``function`` passes on."""
    _, *known = inspect.signature(choose_presentation).parameters
    check_parameters(function, given, known)


def choose_presentation(
    shape: tuple[int, int],
    *,
    feature_names: Sequence[str] | Array | None = None,
    sample_names: Sequence[str] | Array | None = None,
    groups: Sequence[str] | Array | None = None,
    image_shape: tuple[int, int] | None = None,
    order: str = "C",
    wavelengths: Any = None,
    frequencies: Any = None,
    map_shape: tuple[int, int] | None = None,
    kind: str | None = None,
    axis_label: str | None = None,
    n_top: int = 10,
    top_by: str = "weight",
) -> Presentation:
    """Choose the presentation for an n x m matrix, after checking the parameters."""
    n, m = shape
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' (along rows) or 'F' (down columns), got {order!r}")
    check_top(n_top, top_by)
    if wavelengths is None and frequencies is None and image_shape is None:
        named = None if isinstance(feature_names, str) else parse_axis(feature_names)
        curves = kind in ("spectrum", "template")  # draw any numbers; by default, only measurements
        if named is not None and (curves or (named.measured and kind is None)):
            wavelengths, axis_label = named.values, axis_label or named.label
    over = map_shape if wavelengths is None else wavelengths
    given = {"image": image_shape, "spectrum": over, "template": frequencies, "words": feature_names}
    chosen = kind or next((form for form, value in given.items() if value is not None), "spectrum")
    if chosen not in KINDS:
        raise ValueError(f"unknown kind {kind!r}; choose one of {', '.join(KINDS)}")
    if image_shape is not None:
        check_shape(image_shape, m, "image_shape", "features")
    elif chosen == "image":
        raise ValueError("images need image_shape=(rows, columns)")
    if map_shape is not None:
        if np.prod(map_shape) == m != n:
            raise ValueError(
                f"map_shape {tuple(map_shape)} matches the {m} columns of X, not its {n} rows: pass the "
                "transpose of X, because samples belong in rows"
            )
        check_shape(map_shape, n, "map_shape", "samples")
    axis, label = np.arange(1.0, m + 1.0), "feature"
    if wavelengths is not None:
        axis, label = _check_axis(wavelengths, m, "wavelengths"), "wavelength"
    elif frequencies is not None:
        axis, label = _check_axis(frequencies, m, "frequencies"), "frequency (Hz)"
    if chosen == "template" and label == "wavelength":
        label = "frequency (Hz)"
    return Presentation(
        kind=chosen,
        feature_names=check_names(feature_names, m, "feature_names", "features"),
        sample_names=check_names(sample_names, n, "sample_names", "samples"),
        groups=check_names(groups, n, "groups", "samples"),
        image_shape=image_shape,
        map_shape=map_shape,
        order=order,
        axis=axis,
        axis_label=axis_label or label,
        n_top=n_top,
        top_by=top_by,
    )


def _check_axis(values: Any, m: int, parameter: str) -> Array:
    axis = np.asarray(values, dtype=float)
    if axis.shape != (m,):
        raise ValueError(f"{parameter} has shape {axis.shape} for {m} features: pass one value per feature")
    if not np.isfinite(axis).all():
        raise ValueError(f"{parameter} must be finite numbers")
    return axis


def check_shape(shape: tuple[int, int], count: int, parameter: str, what: str) -> None:
    """Refuse a shape that does not have ``count`` pixels, and suggest one."""
    if len(shape) == 2 and shape[0] * shape[1] == count:
        return
    rows = next(k for k in range(isqrt(count), 0, -1) if count % k == 0)
    raise ValueError(
        f"{parameter} {tuple(shape)} does not match the {count} {what}; pass {parameter}=(rows, columns) "
        f"with rows * columns = {count}, for instance ({rows}, {count // rows})"
    )


def check_names(names: Any, length: int, parameter: str, what: str) -> tuple[str, ...] | None:
    """The names as strings, if there are ``length`` of them."""
    if names is None:
        return None
    if isinstance(names, str) or len(names) != length:
        got = "one string" if isinstance(names, str) else len(names)
        raise ValueError(f"{parameter} must have {length} names, one for each of the {what}; got {got}")
    return tuple(map(str, names))


def check_top(n_top: int, top_by: str) -> None:
    """Refuse a number of top features below one, or an unknown score."""
    if n_top < 1:
        raise ValueError(f"n_top must be at least 1, got {n_top}")
    if top_by not in TOP_BY:
        raise ValueError(f"top_by must be one of {', '.join(TOP_BY)}, got {top_by!r}")


def _shorten(name: str) -> str:
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


NUMBER = r"((?:^[+-])?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?)"
FORMS = (
    re.compile(rf"(\D*?){NUMBER}((?![.,\d]).*)"),  # 400, 400 nm, 400.5 cm-1, wavelength_400, X400nm
    re.compile(rf"(.*[^\d.,]){NUMBER}()"),  # cm-1_400
)
SEPARATORS = " \t_-:=.,;()[]"
"""Characters between a number and its unit."""

QUANTITIES = {
    "nm", "um", "µm", "μm", "micron", "microns", "angstrom", "cm-1", "cm^-1", "cm⁻¹", "1/cm",
    "ev", "kev", "mev", "hz", "khz", "mhz", "ghz", "thz", "ppm", "m/z", "mz",
    "wavelength", "wavenumber", "frequency", "energy", "lambda",
}  # fmt: skip
"""Units and quantities before or after a number."""

UNITS_AFTER = {"å", "s", "ms", "us", "µs", "μs", "sec", "min", "h"}
"""Units only after a number, since names such as s1 are numbered samples."""


@dataclass(frozen=True)
class Axis:
    """Increasing or decreasing numbers in the names of the columns, and the text around them."""

    values: tuple[float, ...]
    label: str  # usually the unit; empty if the names are plain numbers
    measured: bool  # plain numbers or a known unit; false for names such as gene7


def parse_axis(names: Sequence[str] | Array | None) -> Axis | None:
    """Parse column names as an axis, if they differ only in an increasing or decreasing number.

    >>> parse_axis(["400 nm", "410 nm", "420 nm"])
    Axis(values=(400.0, 410.0, 420.0), label='nm', measured=True)
    >>> parse_axis(["gene1", "gene2"]).measured
    False
    """
    texts = [] if names is None else [str(name).strip() for name in names]
    found = (_match_names(form, texts) for form in FORMS)
    return next((axis for axis in found if axis is not None), None)


def _match_names(form: re.Pattern[str], names: list[str]) -> Axis | None:
    matches = [match for match in map(form.fullmatch, names) if match is not None]
    if len(names) < 2 or len(matches) < len(names) or len({match.group(1, 3) for match in matches}) > 1:
        return None
    values = tuple(float(match[2].replace(",", ".")) for match in matches)
    steps = [b - a for a, b in pairwise(values)]
    if not all(map(isfinite, values)) or not (min(steps) > 0 or max(steps) < 0):
        return None
    before, after = (text.strip(SEPARATORS) for text in matches[0].group(1, 3))
    known_after = after.casefold() in QUANTITIES | UNITS_AFTER
    known = known_after or (not after and before.casefold() in QUANTITIES)
    return Axis(values, after if known_after else before or after, known or not (before or after))


FLOOR = -60.0
"""Level in decibels below which nothing is drawn."""


def decibels(components: Array) -> Array:
    """20 log₁₀ of each component over its maximum, at least FLOOR."""
    peaks = components.max(axis=1, keepdims=True)
    relative = components / np.where(peaks > 0, peaks, 1.0)
    return np.asarray(20.0 * np.log10(np.maximum(relative, 10.0 ** (FLOOR / 20.0))))


def as_picture(values: Array, shape: tuple[int, int], order: str) -> Array:
    """A vector as an image, with pixels along the rows ("C") or down the columns ("F")."""
    picture: Array = values.reshape(shape, order=order)  # type: ignore[call-overload]
    return picture


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
