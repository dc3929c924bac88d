"""HDF5 files and zarr folders on the command line."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autonmf.data
from autonmf.data import Stored
from autonmf.io import checks

h5py = pytest.importorskip("h5py", reason="h5py writes and reads the files")


@pytest.fixture(params=["x.h5", "x.zarr"])
def stored(request: pytest.FixtureRequest, tmp_path: Path, low_rank: np.ndarray) -> Path:
    """The matrix group/X, beside another and a vector."""
    arrays = {"group/X": low_rank, "Y": low_rank[:5], "axis": np.arange(40)}
    return written(tmp_path / request.param, arrays)


def written(target: Path, arrays: dict[str, np.ndarray]) -> Path:
    if target.suffix == ".h5":
        with h5py.File(target, "w") as content:
            content.update(arrays)
        return target
    zarr = pytest.importorskip("zarr", reason="zarr writes and reads the folder")
    group = zarr.open_group(str(target), mode="w")
    for name, array in arrays.items():
        group[name] = array
    return target


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What reaches the fit, in order."""
    seen: list[Any] = []
    real = autonmf.data.as_data

    def noted(X: Any, **options: str) -> Any:
        seen.append(type(X))
        return real(X, **options)

    monkeypatch.setattr(autonmf.data, "as_data", noted)
    return seen


def summary(done: Any) -> dict[str, Any]:
    assert done.code == 0, done.err
    return dict(json.loads(done.out))


@pytest.mark.parametrize("turned", [[], ["--transpose"]])
def test_a_large_matrix_is_not_loaded(
    run, stored: Path, fitted: list[Any], monkeypatch: pytest.MonkeyPatch, turned: list[str]
) -> None:
    command = ["fit", stored, "--var", "group/X", "--json", *turned]
    inside = summary(run(*command))
    monkeypatch.setattr(checks, "KEEP_IN_FILE", 0)
    monkeypatch.setattr(checks, "get_memory", lambda: 100)  # for loading: a bar to it
    streamed = summary(run(*command))
    assert fitted[0] is np.ndarray
    assert issubclass(fitted[1], Stored)
    assert streamed["rank"] == inside["rank"] == 3
    assert streamed["shape"] == inside["shape"] == ([40, 60] if turned else [60, 40])
    assert streamed["relative_loss"] == pytest.approx(inside["relative_loss"], rel=1e-6)


def test_the_file_is_closed_afterwards(
    run, tmp_path: Path, low_rank, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path / "x.h5", {"X": low_rank})
    monkeypatch.setattr(checks, "KEEP_IN_FILE", 0)
    assert run("fit", file, "-k", 2, "--out", tmp_path / "out").code == 0
    gc.collect()
    h5py.File(file, "w").close()


@pytest.mark.parametrize("option", [["--normalize", "log1p"], ["--missing", "mask"]])
def test_options_that_need_it_in_memory(
    run, stored: Path, fitted: list[Any], monkeypatch: pytest.MonkeyPatch, option: list[str]
) -> None:
    command = ["fit", stored, "--var", "group/X", "--json", *option]
    inside = summary(run(*command))
    monkeypatch.setattr(checks, "KEEP_IN_FILE", 0)
    done = run(*command)
    assert summary(done)["path"] == inside["path"]
    assert f"note: {' '.join(option)} reads all of {stored.name} into memory." in done.err
    assert fitted == [np.ndarray, np.ndarray]
    monkeypatch.setattr(checks, "get_memory", lambda: 100)
    refused = run(*command)
    assert refused.code == 1
    assert f"error: {' '.join(option)} needs the whole matrix in memory" in refused.err
    assert "this computer has 100 bytes" in refused.err


def test_missing_entries_are_left_out(run, tmp_path: Path, low_rank, monkeypatch: pytest.MonkeyPatch) -> None:
    X = low_rank.copy()
    X[3, 4] = np.nan
    file = written(tmp_path / "x.h5", {"X": X})
    monkeypatch.setattr(checks, "KEEP_IN_FILE", 0)
    refused = run("fit", file)
    assert refused.code == 1
    assert "--missing mask" in refused.err
    assert summary(run("fit", file, "--missing", "mask", "--json"))["rank"] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "2 matrices: choose one with --var NAME; it holds"),
        (
            ["--var", "Z"],
            "has no variable 'Z'; it holds Y (5 x 40 float64), axis (40 int64), group/X (60 x 40",
        ),
        (["--var", "axis"], "axis (40 int64) in"),
        (["--var", "Y", "--header"], "is not a text file"),
    ],
)
def test_mistakes(run, stored: Path, options: list[str], message: str) -> None:
    done = run("fit", stored, *options)
    assert done.code == 1
    assert message in done.err


def test_damaged_files(run, tmp_path: Path, low_rank: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "KEEP_IN_FILE", 0)
    whole = written(tmp_path / "x.h5", {"X": low_rank}).read_bytes()
    for end in (4, 600, len(whole) // 2):
        (tmp_path / "x.h5").write_bytes(whole[:end])
        done = run("fit", tmp_path / "x.h5")
        assert done.code == 1
        assert "damaged or truncated" in done.err
    with h5py.File(tmp_path / "y.h5", "w") as content:
        item = content.create_dataset("X", data=low_rank, chunks=(10, 40), compression="gzip")
        place = item.id.get_chunk_info(3).byte_offset
    with (tmp_path / "y.h5").open("r+b") as stream:
        stream.seek(place)
        stream.write(bytes(50))
    done = run("fit", tmp_path / "y.h5")
    assert done.code == 1
    assert "error: cannot factorise the matrix" in done.err


def test_a_page(run, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("plotly", reason="reports need plotly")
    monkeypatch.setattr(checks, "KEEP_IN_FILE", 0)
    done = run("report", stored, "--var", "group/X", "--transpose", "-k", 2, "--out", tmp_path / "page.html")
    assert done.code == 0, done.err
    assert "40 x 60, transposed" in done.out
    assert (tmp_path / "page.html").stat().st_size > 10_000
