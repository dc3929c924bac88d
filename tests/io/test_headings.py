"""Numbers in a first line: names where that is plain, a warning wherever it is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autonmf.io import Table, read_matrix

RNG = np.random.default_rng(0)
BODY = RNG.random((6, 8))
SMOOTH = np.sort(BODY, axis=1)  # rises like an axis
WAVELENGTHS = np.linspace(400, 1100, 8)
UNEVEN = np.array([400, 431, 502, 520, 610, 655, 870, 912])


def read(folder: Path, first, body, *, labels: bool = False, **options: bool) -> Table:
    lines = [[*(["sample"] if labels else []), *(f"{x:.10g}" for x in first)]]
    lines += [
        [*([f"s{i}"] if labels else []), *map(repr, row)] for i, row in enumerate(np.asarray(body).tolist())
    ]
    (folder / "x.csv").write_text("\n".join(map(",".join, lines)))
    return read_matrix(folder / "x.csv", **options)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize(
    ("first", "body"),
    [
        (WAVELENGTHS, BODY),
        (WAVELENGTHS[::-1], BODY),  # wavenumbers fall
        (UNEVEN, BODY),
        (np.round(np.linspace(400.05, 1100.3, 8), 1), BODY),  # rounded
        (np.arange(8), 3 * BODY),  # what pandas writes for columns without names
        (np.arange(1, 9), np.round(20 * BODY)),
        (WAVELENGTHS, SMOOTH),  # spectra that rise: evenly spaced and on another scale
        (-WAVELENGTHS[::-1], BODY),
    ],
)
def test_an_axis_is_read_as_names(tmp_path: Path, first, body, labels: bool) -> None:
    table = read(tmp_path, first, body, labels=labels)
    np.testing.assert_array_equal(table.X, body)
    np.testing.assert_allclose([float(name) for name in table.column_names], first)
    assert table.row_names == ([f"s{i}" for i in range(len(body))] if labels else None)
    if labels:
        assert table.doubts == ()  # "sample" stands over s0, s1, ...
        return
    (doubt,) = table.doubts
    assert doubt.startswith(
        f"The first line, {table.column_names[0]} to {table.column_names[-1]}, is read as"
    )
    assert "--no-header" in doubt


@pytest.mark.parametrize(
    ("first", "body"),
    [
        (np.sort(BODY[0]), BODY),  # a row that happens to rise
        (10 + np.sort(BODY[0]), SMOOTH),  # brighter than others, which rise nearly as much
        ([400, 410], BODY[:, :2]),  # too few to tell
        ([900, 800, 700], BODY[:, :3]),
    ],
)
def test_where_it_is_not_plain_both_ways_are_named(tmp_path: Path, first, body) -> None:
    body = np.array(body)
    body[-1] = body[-1, ::-1]  # not all rise
    table = read(tmp_path, first, body)
    assert table.column_names is None
    np.testing.assert_allclose(table.X, [first, *body.tolist()], rtol=1e-9)
    (doubt,) = table.doubts
    assert "is read as data" in doubt
    assert "--header" in doubt


@pytest.mark.parametrize(
    ("first", "body"),
    [
        (BODY[0], BODY[1:]),
        (np.arange(8), [np.arange(8) + 10 * i for i in range(1, 5)]),  # a ramp among ramps
        (np.sort(BODY[0]), SMOOTH),  # all rise
        (WAVELENGTHS, BODY[:1]),  # nothing to compare with
        ([5, 5, 5, 5, 5, 5, 5, 5], BODY),
    ],
)
def test_data_are_data(tmp_path: Path, first, body) -> None:
    table = read(tmp_path, first, body)
    assert (table.column_names, table.doubts) == (None, ())
    assert len(table.X) == len(body) + 1


@pytest.mark.parametrize("header", [True, False])
def test_whoever_says_it_is_asked_nothing(tmp_path: Path, header: bool) -> None:
    table = read(tmp_path, WAVELENGTHS, BODY, header=header)
    assert (table.column_names is not None, table.doubts) == (header, ())
    assert len(table.X) == len(BODY) + (not header)


def test_a_first_cell_like_the_row_names_leaves_a_doubt(tmp_path: Path) -> None:
    table = read(tmp_path, WAVELENGTHS, BODY, labels=True)
    file = tmp_path / "x.csv"
    file.write_text(file.read_text().replace("sample", "s99"))
    (doubt,) = read_matrix(file).doubts
    assert "is read as column names" in doubt
    assert table.doubts == ()


def test_decimal_commas(tmp_path: Path) -> None:
    axis = ";".join(f"{x:.1f}".replace(".", ",") for x in np.linspace(400, 435, 8))
    rows = "\n".join(";".join(f"{x:.3f}".replace(".", ",") for x in row) for row in BODY)
    (tmp_path / "x.csv").write_text(f"{axis}\n{rows}\n")
    table = read_matrix(tmp_path / "x.csv")
    assert table.column_names[:2] == ["400,0", "405,0"]
    np.testing.assert_allclose(table.X, BODY, atol=6e-4)
