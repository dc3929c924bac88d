"""`Reading`: in what form the components of some data are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.plotting.tiles import check_shape
from autonmf.report.axis import Axis, axis_of

KINDS = ("image", "spectrum", "words", "template")

LONGEST_NAME = 80
"""Letters of a name that are shown."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Components as images, curves with maps, lists of names, or templates of a spectrogram."""

    kind: str
    feature_names: tuple[str, ...] | None = None
    sample_names: tuple[str, ...] | None = None
    image_shape: tuple[int, int] | None = None
    map_shape: tuple[int, int] | None = None
    order: str = "C"
    axis: Array | None = None  # one value a feature, of curves and templates
    axis_label: str = "feature"
    n_top: int = 10

    def feature(self, index: int) -> str:
        """The name of a feature, or its column."""
        return self.feature_names[index] if self.feature_names else f"column {index + 1}"

    def sample(self, index: int) -> str:
        """The name of a sample, or its row."""
        return self.sample_names[index] if self.sample_names else f"row {index + 1}"


def reading_of(
    shape: tuple[int, int],
    *,
    feature_names: Sequence[str] | Array | None = None,
    sample_names: Sequence[str] | Array | None = None,
    image_shape: tuple[int, int] | None = None,
    order: str = "C",
    wavelengths: Any = None,
    map_shape: tuple[int, int] | None = None,
    kind: str | None = None,
    axis_label: str | None = None,
    n_top: int = 10,
) -> Reading:
    """The form for an n x m matrix; whatever does not fit it is refused with a proposal."""
    n, m = shape
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' (along rows) or 'F' (down columns), got {order!r}")
    if n_top < 1:
        raise ValueError(f"n_top must be at least 1, got {n_top}")
    if wavelengths is None and image_shape is None:
        named = _named_axis(feature_names, kind)
        wavelengths, axis_label = (named.values, axis_label or named.label) if named else (None, axis_label)
    chosen = kind or _guess(image_shape, wavelengths, map_shape, feature_names)
    if chosen not in KINDS:
        raise ValueError(f"unknown kind {kind!r}; choose one of {', '.join(KINDS)}")
    if image_shape is not None:
        check_shape(image_shape, m, "image_shape", "features")
    elif chosen == "image":
        raise ValueError("images need image_shape=(rows, columns)")
    if map_shape is not None:
        check_shape(map_shape, n, "map_shape", "samples")
    return Reading(
        kind=chosen,
        feature_names=_names(feature_names, m, "feature_names", "features"),
        sample_names=_names(sample_names, n, "sample_names", "samples"),
        image_shape=image_shape,
        map_shape=map_shape,
        order=order,
        axis=_axis(wavelengths, m),
        axis_label=axis_label or _axis_name(wavelengths, chosen),
        n_top=n_top,
    )


def _named_axis(names: Any, kind: str | None) -> Axis | None:
    """The numbers in the names of features: those of a measure, or any where curves are asked for."""
    axis = None if isinstance(names, str) else axis_of(names)
    asked = kind in ("spectrum", "template")
    return axis if axis is not None and (asked or (axis.measured and kind is None)) else None


def _guess(image_shape: Any, wavelengths: Any, map_shape: Any, feature_names: Any) -> str:
    if image_shape is not None:
        return "image"
    if wavelengths is not None or map_shape is not None:
        return "spectrum"
    return "words" if feature_names is not None else "spectrum"


def _axis(wavelengths: Any, m: int) -> Array:
    if wavelengths is None:
        return np.arange(1.0, m + 1.0)
    axis = np.asarray(wavelengths, dtype=float)
    if axis.shape != (m,):
        raise ValueError(
            f"wavelengths has shape {axis.shape}, but there are {m} features: pass one a feature"
        )
    if not np.isfinite(axis).all():
        raise ValueError("wavelengths must be finite numbers")
    return axis


def _axis_name(wavelengths: Any, kind: str) -> str:
    if wavelengths is None:
        return "feature"
    return "frequency (Hz)" if kind == "template" else "wavelength"


def _names(names: Any, length: int, parameter: str, what: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str) or len(names) != length:
        raise ValueError(
            f"{parameter} must be {length} names, one for each of the {what}; got {_count(names)}"
        )
    return tuple(_shortened(str(name)) for name in names)


def _count(names: Any) -> str:
    return "one string" if isinstance(names, str) else str(len(names))


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
