"""`Axis`: what the names of columns say about the axis of a spectrum, such as 400 nm, 410 nm, ..."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from autonmf._types import Array

NUMBER = r"((?:^[+-])?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?)"
FORMS = (
    re.compile(rf"(\D*?){NUMBER}((?![.,\d]).*)"),  # 400, 400 nm, 400.5 cm-1, wavelength_400, X400nm
    re.compile(rf"(.*[^\d.,]){NUMBER}()"),  # cm-1_400
)
AROUND = " \t_-:=.,;()[]"
"""What stands between a number and its unit."""

QUANTITIES = {
    "nm", "um", "µm", "μm", "micron", "microns", "angstrom", "cm-1", "cm^-1", "cm⁻¹", "1/cm",
    "ev", "kev", "mev", "hz", "khz", "mhz", "ghz", "thz", "ppm", "m/z", "mz",
    "wavelength", "wavenumber", "frequency", "energy", "lambda",
}  # fmt: skip
"""Units, and what is measured in them, on either side of a number."""

BEHIND = {"å", "s", "ms", "us", "µs", "μs", "sec", "min", "h"}
"""Units behind a number only: names like s1 count samples."""


@dataclass(frozen=True)
class Axis:
    """A number for every column, rising or falling all the way, and the text that they have in common."""

    values: tuple[float, ...]
    label: str  # mostly the unit; empty where names are bare numbers
    measured: bool  # bare numbers, or with a unit that is known: names like gene7 only count


def axis_of(names: Sequence[str] | Array | None) -> Axis | None:
    """The axis that the names of columns are, if each is one number in the same text.

    >>> axis_of(["400 nm", "410 nm", "420 nm"])
    Axis(values=(400.0, 410.0, 420.0), label='nm', measured=True)
    >>> axis_of(["gene1", "gene2"]).measured
    False
    """
    texts = [] if names is None else [str(name).strip() for name in names]
    found = (_read(form, texts) for form in FORMS)
    return next((axis for axis in found if axis is not None), None)


def _read(form: re.Pattern[str], names: list[str]) -> Axis | None:
    matches = [match for match in map(form.fullmatch, names) if match is not None]
    if len(names) < 2 or len(matches) < len(names) or len({match.group(1, 3) for match in matches}) > 1:
        return None
    values = tuple(float(match[2].replace(",", ".")) for match in matches)
    steps = [b - a for a, b in pairwise(values)]
    if not all(map(isfinite, values)) or not (min(steps) > 0 or max(steps) < 0):
        return None
    before, after = (text.strip(AROUND) for text in matches[0].group(1, 3))
    known_after = after.casefold() in QUANTITIES | BEHIND
    known = known_after or (not after and before.casefold() in QUANTITIES)
    return Axis(values, after if known_after else before or after, known or not (before or after))
