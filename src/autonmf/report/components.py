"""The components of one rank as images, curves, maps or lists of features, small enough for the page."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from autonmf._types import Array
from autonmf.metrics import unit_columns
from autonmf.plotting.presentation import (
    FLOOR,
    Presentation,
    as_picture,
    decibels,
    score_features,
    top_features,
)
from autonmf.report.result import Factors, Result
from autonmf.unmixing import Unmixing

MAX_SAMPLES = 3
"""Number of samples named with each component."""


class Detail(NamedTuple):
    """The resolution of pictures and curves."""

    name: str
    pixels: int
    points: int


FULL, SMALL = Detail("full", 128 * 128, 512), Detail("small", 32 * 32, 96)


def describe_form(presentation: Presentation) -> dict[str, Any]:
    """How components are drawn, and what is lost at each resolution."""
    shape = presentation.image_shape if presentation.kind == "image" else presentation.map_shape
    curves = presentation.kind in ("spectrum", "template")
    details, axis = (FULL, SMALL), presentation.axis
    return {
        "kind": presentation.kind,
        "axis_label": presentation.axis_label,
        "axes": {d.name: thin_axis(axis, d.points).round(6).tolist() for d in details} if curves else {},
        "map": curves and presentation.map_shape is not None,
        "shape": shape,  # of a picture
        "blocks": {d.name: block_side(shape, d.pixels) for d in details} if shape else {},
        "thinned": {d.name: len(axis) > d.points for d in details} if curves else {},
    }


def view_components(
    factors: Factors,
    presentation: Presentation,
    reference: Array,
    detail: Detail,
    *,
    power: int = 2,
    n_known: int = 0,
    known_names: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """All components at one rank, as the page draws them; ``reference`` is V at the rank of the model.

    The first ``n_known`` ones are marked as known, with their names if they have any.
    """
    fractions, matches = fractions_of(factors, power), match_components(factors.V, reference)
    views = []
    for index, form in enumerate(_draw_forms(factors, presentation, detail)):
        match, cosine = matches[index]
        view = {"fraction": fractions[index], "match": match, "cosine": cosine, **form}
        if index < n_known:
            view["known"] = known_names[index] if known_names else True
        if factors.U is not None and presentation.sample_names is not None:
            top = top_features(factors.U[:, index], MAX_SAMPLES)
            view["samples"] = [presentation.sample(i) for i in top]
        views.append(view)
    return views


def fractions_of(factors: Factors, power: int = 2) -> list[float | None]:
    """The fraction of each component of the sum of all ‖U_j‖²‖V_j‖², or of the fit (``power`` 1).

    None if the weights are unknown.
    """
    if factors.U is None:
        return [None] * factors.V.shape[1]
    U, V = (np.asarray(factor, dtype=float) for factor in (factors.U, factors.V))
    energies = (U**power).sum(axis=0) * (V**power).sum(axis=0)
    total = energies.sum()
    return [float(energy / total) if total > 0 else 0.0 for energy in energies]


def match_components(V: Array, reference: Array) -> list[tuple[int | None, float | None]]:
    """For each column of V the matching column of the reference, from 1, and their cosine."""
    cosines = unit_columns(V).T @ unit_columns(reference)
    found: list[tuple[int | None, float | None]] = [(None, None)] * V.shape[1]
    for ours, theirs in zip(*linear_sum_assignment(-cosines), strict=True):
        found[ours] = (int(theirs) + 1, float(cosines[ours, theirs]))
    return found


def place_in_tree(result: Result) -> dict[int, list[dict[str, Any]]]:
    """For each component of each rank of the path: its branch, and its parent at the next smaller rank.

    Parents are numbered as the page shows them: at the rank of the model, polishing may change the order.
    """
    tree = result.path.tree(int(result.path.ranks[-1]))
    orders = {int(rank): np.arange(rank) for rank in tree.ranks}
    if result.rank in orders:
        shown, on_path = result.factors(result.rank).V, result.path.at_rank(result.rank).V
        orders[result.rank] = linear_sum_assignment(-(unit_columns(shown).T @ unit_columns(on_path)))[1]
    found: dict[int, list[dict[str, Any]]] = {}
    above: Array | None = None
    for rank, order in orders.items():
        here = tree.at_rank(rank)
        places: list[dict[str, Any]] = [{"branch": int(here["branch"][i])} for i in order]
        if above is not None:
            number = np.argsort(above)  # of each component of the smaller rank
            for place, i in zip(places, order, strict=True):
                place["parent"] = int(number[here["parent"][i]])
                place["similarity"] = round(float(here["similarity"][i]), 3)
        found[rank], above = places, order
    return found


def _draw_forms(factors: Factors, presentation: Presentation, detail: Detail) -> Iterator[dict[str, Any]]:
    H = np.asarray(factors.V.T, dtype=float)
    if presentation.kind == "image":
        assert presentation.image_shape is not None
        for row in H:
            picture = as_picture(row, presentation.image_shape, presentation.order)
            yield {"image": encode_picture(picture, detail.pixels)}
    elif presentation.kind == "words":
        scores = {by: score_features(H, by) for by in ("weight", "specificity")}
        for index in range(len(H)):
            yield {f"by_{by}": _list_terms(scores[by][index], presentation) for by in scores}
    else:
        yield from _draw_curves(H, factors.U, presentation, detail)


def _draw_curves(
    H: Array, U: Array | None, presentation: Presentation, detail: Detail
) -> Iterator[dict[str, Any]]:
    shares = None if U is None or presentation.map_shape is None else signal_shares(U, H)
    heights = 1.0 - decibels(H) / FLOOR if presentation.kind == "template" else H
    for index, (row, height) in enumerate(zip(H, heights, strict=True)):
        form = {
            "curve": encode_curve(height, detail.points),
            "peak": float(presentation.axis[np.argmax(row)]),  # where the maximum is
        }
        if U is not None and shares is not None:
            form |= _draw_maps(shares[:, index], U[:, index] * row.max(), presentation, detail)
        elif U is not None and presentation.kind == "template":
            form["activity"] = encode_curve(U[:, index], detail.points)  # along the samples
        yield form


def signal_shares(U: Array, H: Array) -> Array:
    """The share of each component in the fitted sum of each sample: rows that sum to one.

    Unlike the weights they do not depend on the intensity of a sample, so dark components are visible as
    well. They are not abundances of materials, which `autonmf.unmix` estimates.
    """
    parts = np.asarray(U, dtype=float) * H.sum(axis=1)
    totals = parts.sum(axis=1, keepdims=True)
    return np.asarray(parts / np.where(totals > 0, totals, 1.0))


def _draw_maps(shares: Array, amounts: Array, presentation: Presentation, detail: Detail) -> dict[str, Any]:
    """Maps of the share of a component in each sample, and of its amounts in units of X."""
    assert presentation.map_shape is not None
    shape, order = presentation.map_shape, presentation.order
    return {
        "map": encode_picture(as_picture(shares, shape, order), detail.pixels),
        "map_top": float(shares.max()),
        "map_mean": float(shares.mean()),
        "amounts": encode_picture(as_picture(amounts, shape, order), detail.pixels),
        "amounts_top": float(amounts.max()),
    }


def view_materials(unmixing: Unmixing, presentation: Presentation) -> list[dict[str, Any]]:
    """The materials as the page draws them: spectra on one scale, and maps of abundances from 0 to 1."""
    top, shape = float(unmixing.endmembers.max()), presentation.map_shape
    views: list[dict[str, Any]] = []
    for spectrum, abundances in zip(unmixing.endmembers, unmixing.abundances.T, strict=True):
        view = {"curve": encode_curve(spectrum, FULL.points, top), "mean": float(abundances.mean())}
        if shape is not None:
            picture = as_picture(abundances, shape, presentation.order)
            view["map"] = encode_picture(picture, FULL.pixels, 1.0)
        views.append(view)
    return views


def view_intervals(loadings: Array, lower: Array, upper: Array, presentation: Presentation) -> dict[str, Any]:
    """The loadings of a component and their intervals, relative to the largest loading.

    They are pictures, curves, or those of the features with the largest loadings.
    """
    top = float(loadings.max(initial=0.0)) or 1.0
    parts = {"value": loadings / top, "lower": lower / top, "upper": upper / top}
    if presentation.kind == "image":
        assert presentation.image_shape is not None
        shape, order, highest = (
            presentation.image_shape,
            presentation.order,
            max(1.0, float(upper.max()) / top),
        )
        return {
            name: encode_picture(as_picture(part, shape, order), FULL.pixels, highest)
            for name, part in parts.items()
        }
    if presentation.kind == "words":
        shown = top_features(loadings, presentation.n_top)
        names = {"names": [presentation.feature(int(i)) for i in shown]}
        return names | {name: part[shown].round(3).tolist() for name, part in parts.items()}
    return {name: thin(part, FULL.points).round(4).tolist() for name, part in parts.items()}


def _list_terms(scores: Array, presentation: Presentation) -> list[tuple[str, float]]:
    """The top features, and their scores relative to the first."""
    top = top_features(scores, presentation.n_top)
    return [(presentation.feature(i), round(float(scores[i] / scores[top[0]]), 3)) for i in top]


LEVELS = 63
"""Number of grey levels above black; more would double the size without a visible difference."""

CURVE_LEVELS = 65535


def encode_picture(values: Array, max_pixels: int, top: float | None = None) -> str:
    """A matrix as a greyscale PNG from zero (black) to ``top``, by default its maximum, in base 64."""
    image = shrink(np.asarray(values, dtype=float), max_pixels)
    shades = np.rint(np.rint(_relative(image, top) * LEVELS) * (255 / LEVELS)).astype(np.uint8)
    return b64encode(_png(shades)).decode("ascii")


def encode_curve(values: Array, max_points: int, top: float | None = None) -> str:
    """A vector relative to ``top``, by default its maximum, as little-endian 16-bit numbers in base 64."""
    numbers = np.rint(_relative(thin(values, max_points), top) * CURVE_LEVELS)
    return b64encode(numbers.astype("<u2").tobytes()).decode("ascii")


def shrink(image: Array, max_pixels: int) -> Array:
    """Average over square blocks if there are too many pixels."""
    side = block_side(image.shape, max_pixels)
    if side == 1:
        return image
    rows, columns = (np.arange(0, length, side) for length in image.shape)
    sums = np.add.reduceat(np.add.reduceat(image, rows, axis=0), columns, axis=1)
    heights, widths = (np.diff(np.append(b, n)) for b, n in zip((rows, columns), image.shape, strict=True))
    return np.asarray(sums / np.outer(heights, widths))


def block_side(shape: tuple[Any, ...], max_pixels: int) -> int:
    """The side of the blocks of pixels that are averaged."""
    side = ceil(sqrt(shape[0] * shape[1] / max_pixels))
    while ceil(shape[0] / side) * ceil(shape[1] / side) > max_pixels and side < max(shape):
        side += 1
    return max(side, 1)


def thin(values: Array, max_points: int) -> Array:
    """The maxima of bins if there are too many points, so that peaks are kept."""
    step = ceil(len(values) / max_points)
    return np.asarray(np.maximum.reduceat(np.asarray(values, dtype=float), np.arange(0, len(values), step)))


def thin_axis(axis: Array, max_points: int) -> Array:
    """The centres of the bins of `thin`."""
    step = ceil(len(axis) / max_points)
    starts = np.arange(0, len(axis), step)
    return np.asarray([axis[start : start + step].mean() for start in starts])


def _relative(values: Array, top: float | None = None) -> Array:
    top = float(values.max(initial=0.0)) if top is None else top
    return np.clip(values / top, 0.0, 1.0) if top > 0 else np.zeros_like(values)


def _png(shades: Array) -> bytes:
    """An 8-bit greyscale PNG, unfiltered or with differences to the row above, whichever is smaller."""
    height, width = shades.shape
    above = np.vstack([np.zeros((1, width), np.uint8), shades[:-1]])
    rows = [
        np.hstack([np.full((height, 1), kind, np.uint8), filtered]).tobytes()
        for kind, filtered in ((0, shades), (2, shades - above))
    ]
    packed = min((zlib.compress(raw, 9) for raw in rows), key=len)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(*part) for part in ((b"IHDR", header), (b"IDAT", packed), (b"IEND", b""))
    )


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
