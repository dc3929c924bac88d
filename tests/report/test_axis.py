"""Names of columns that are an axis, and those that are not."""

from __future__ import annotations

import pytest

from autonmf.plotting.presentation import Axis, parse_axis


@pytest.mark.parametrize(
    ("names", "values", "label"),
    [(["400.5", "401", "7e2"], (400.5, 401.0, 700.0), ""), (["2", "1"], (2.0, 1.0), ""),
     (["400,5", "401,0"], (400.5, 401.0), ""), ([" 400 nm", "410 nm"], (400.0, 410.0), "nm"),
     (["400nm", "410nm"], (400.0, 410.0), "nm"), (["nm_400", "nm_410"], (400.0, 410.0), "nm"),
     (["400.5 cm-1", "399 cm-1"], (400.5, 399.0), "cm-1"), (["cm-1_400", "cm-1_410"], (400.0, 410.0), "cm-1"),
     (["400 (nm)", "410 (nm)"], (400.0, 410.0), "nm"), (["-1 ppm", "0 ppm"], (-1.0, 0.0), "ppm"),
     (["X400.nm", "X410.nm"], (400.0, 410.0), "nm"), (["m/z 10", "m/z 20.5"], (10.0, 20.5), "m/z"),
     (["0 h", "6 h"], (0.0, 6.0), "h"), (["Wavelength 400", "Wavelength 410"], (400.0, 410.0), "Wavelength")],
)  # fmt: skip
def test_a_measure(names: list[str], values: tuple[float, ...], label: str) -> None:
    assert parse_axis(names) == Axis(values, label, measured=True)


@pytest.mark.parametrize(
    ("names", "label"),
    [
        (["gene1", "gene2"], "gene"),
        (["1000_at", "1001_at"], "at"),
        (["s1", "s2"], "s"),
        (["X400", "X410"], "X"),
    ],
)
def test_numbers_that_only_count(names: list[str], label: str) -> None:
    axis = parse_axis(names)
    assert axis is not None
    assert (axis.label, axis.measured) == (label, False)


@pytest.mark.parametrize(
    "names",
    [["1", "b"], ["1", "nan"], ["1", "inf"], ["1", "1e999"], ["1"], None, ["400 nm", "410 um"],
     ["400 nm", "400 nm"], ["400 nm", "410 nm", "405 nm"], ["1.2.3", "1.2.4"], ["400 nm", "410"]],
)  # fmt: skip
def test_no_axis(names: list[str] | None) -> None:
    assert parse_axis(names) is None
