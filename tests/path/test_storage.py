"""Paths in files."""

from __future__ import annotations

import gc
import io
import json
import pickle
import zipfile
from collections.abc import Callable

import numpy as np
import pytest

from autonmf import RankPath, rank_path, select_rank
from autonmf.path.storage import COLUMNS
from autonmf.solvers import SOLVERS

# Storage


@pytest.mark.parametrize("name", ["path.npz", "path", "path.with.dots", "päth.npz"])
def test_saved_path_comes_back(
    same: Callable[[RankPath, RankPath], bool], name: str, path: RankPath, tmp_path
) -> None:
    file = tmp_path / name
    path.save(file)
    assert [f.name for f in tmp_path.iterdir()] == [name], "one file, under the name that was asked for"
    loaded = RankPath.load(str(file))
    assert same(path, loaded)
    for field in (
        "shape",
        "squared_norm",
        "rank_one_loss",
        "energy",
        "mu",
        "delta",
        "complete",
        "settings",
        "visits",
    ):
        assert getattr(loaded, field) == getattr(path, field)
    assert select_rank(loaded).rank == select_rank(path).rank
    assert all(p.U.flags.f_contiguous and p.V.flags.f_contiguous for p in loaded.points)


def test_saving_keeps_single_precision_and_settings(
    same: Callable[[RankPath, RankPath], bool], low_rank: np.ndarray, tmp_path
) -> None:
    seed = np.random.default_rng(0)
    path = rank_path(low_rank.astype(np.float32), 4, random_state=seed, solver=SOLVERS["pasm"])
    path.save(tmp_path / "path.npz")
    loaded = RankPath.load(tmp_path / "path.npz")
    assert loaded.at_rank(2).U.dtype == np.float32
    assert same(path, loaded)


def test_a_saved_file_can_be_read_by_others(path: RankPath, tmp_path) -> None:
    """A file of the user's, not a private one: the permissions are those of any new file."""
    path.save(tmp_path / "path.npz")
    (tmp_path / "other").touch()
    assert (tmp_path / "path.npz").stat().st_mode == (tmp_path / "other").stat().st_mode


def with_header(good: bytes, **changes: object) -> bytes:
    """A saved path whose header says something else."""
    with np.load(io.BytesIO(good)) as stored:
        arrays = dict(stored)
    header = json.loads(str(arrays["header"])) | changes
    return npz(**(arrays | {"header": np.array(json.dumps(header))}))


def npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def with_arrays(good: bytes, **changes: np.ndarray) -> bytes:
    """A saved path with other arrays."""
    with np.load(io.BytesIO(good)) as stored:
        return npz(**(dict(stored) | changes))


def with_factor(good: bytes, value: float) -> bytes:
    """A saved path whose first factor has one other entry."""
    with np.load(io.BytesIO(good)) as stored:
        U = stored["U0"].copy()
    U[3, 0] = value
    return with_arrays(good, U0=U)


def with_members(good: bytes, compression: int = zipfile.ZIP_STORED, **members: bytes) -> bytes:
    """A saved path with some members of the archive replaced or added."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(buffer, "w", compression) as new:
        contents = {name: old.read(name) for name in old.namelist()}
        for name, content in (contents | members).items():
            new.writestr(name, content)
    return buffer.getvalue()


def claiming(shape: str, descr: str = "<f8") -> bytes:
    """An array that says it has this shape, and holds eight bytes."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(8)


def larger_than_the_file(good: bytes) -> bytes:
    """An archive whose table of contents claims 4 GB for its first member."""
    entry = good.index(b"PK\x01\x02")
    return good[: entry + 20] + b"\xf0\xff\xff\xff" * 2 + good[entry + 28 :]


POINT = {"loss": 1.0, "lam": 0.0, "n_iter": 1}
VISIT = [0, 0.0, 1, 1.0, 1, 0.0, "progress", 0.0]
FOREIGN = {
    "empty": lambda good: b"",
    "text": lambda good: b"rank,loss\n1,2\n",
    "pickle": lambda good: pickle.dumps({"header": 1}),
    "npy": lambda good: npy(np.ones(3)),
    "npz of something else": lambda good: npz(X=np.ones(3)),
    "header that is no JSON": lambda good: npz(header=np.array("rank")),
    "header that is a list": lambda good: npz(header=np.array("[1, 2]")),
    "truncated": lambda good: good[: len(good) // 2],
    "one byte short": lambda good: good[:-1],
    "damaged": lambda good: good[:500] + bytes(byte ^ 255 for byte in good[500:560]) + good[560:],
    "newer version": lambda good: with_header(good, version=99),
    "other format": lambda good: with_header(good, format="another.Format"),
    "version that is no number": lambda good: with_header(good, version="one"),
    "no visits": lambda good: with_header(good, visits=None),
    "wrong visits": lambda good: with_header(good, visits=[[1, 2]]),
    "more points than factors": lambda good: with_header(
        good, points=[{"loss": 1, "lam": 0, "n_iter": 1}] * 20
    ),
    "wrong points": lambda good: with_header(good, points=[{"loss": 1.0, "weight": 0.0}]),
    "no shape": lambda good: with_header(good, shape=None),
    "absurd shape": lambda good: with_header(good, shape=[10**15, 10**15]),
    "shape that is no count": lambda good: with_header(good, shape=[60.0, 40]),
    "version zero": lambda good: with_header(good, version=0),
    "version that is true": lambda good: with_header(good, version=True),
    "no points": lambda good: with_header(good, points=[]),
    "points that are lists": lambda good: with_header(good, points=[[1, 2]] * 8),
    "loss that is not a number": lambda good: with_header(good, points=[POINT | {"loss": np.nan}] * 8),
    "negative loss": lambda good: with_header(good, points=[POINT | {"loss": -1.0}] * 8),
    "loss beyond double precision": lambda good: with_header(good, points=[POINT | {"loss": 10**400}] * 8),
    "loss that is text": lambda good: with_header(good, points=[POINT | {"loss": "1.0"}] * 8),
    "visits that are texts": lambda good: with_header(good, visits=["abcdefgh"]),
    "visit with a negative loss": lambda good: with_header(good, visits=[[*VISIT[:3], -1.0, *VISIT[4:]]]),
    "visit without a reason": lambda good: with_header(good, visits=[[*VISIT[:6], 0, 0.0]]),
    "infinite norm": lambda good: with_header(good, squared_norm=np.inf),
    "settings that are a list": lambda good: with_header(good, settings=[1]),
    "complete that is text": lambda good: with_header(good, complete="yes"),
    "evidence that is a list": lambda good: with_header(good, evidence=[1]),
    "evidence of texts": lambda good: with_header(
        good, evidence={name: ["a"] for name in COLUMNS} | {"complete": True}
    ),
    "header that nests deeply": lambda good: with_arrays(good, header=np.array("[" * 10**5)),
    "header that is a number": lambda good: with_arrays(good, header=np.array(1.0)),
    "header that is a table": lambda good: with_arrays(good, header=np.array([["a"]])),
    "factors that are not numbers": lambda good: with_factor(good, np.nan),
    "infinite factors": lambda good: with_factor(good, np.inf),
    "negative factors": lambda good: with_factor(good, -1e-300),
    "factors of integers": lambda good: with_arrays(good, U0=np.ones((60, 1), dtype=int)),
    "factors in half precision": lambda good: with_arrays(good, U0=np.ones((60, 1), dtype=np.float16)),
    "factors of no column": lambda good: with_arrays(good, U0=np.ones((60, 0)), V0=np.ones((40, 0))),
    "a rank twice": lambda good: with_arrays(good, U1=np.ones((60, 1)), V1=np.ones((40, 1))),
    "factors with one dimension": lambda good: with_arrays(good, U0=np.ones(60)),
    "an array of 8 EB": lambda good: with_members(good, **{"U0.npy": claiming("(10**9, 10**9)")}),
    "an array of 8 TB": lambda good: with_members(good, **{"U0.npy": claiming("(1000000, 1000000)")}),
    "an array of negative size": lambda good: with_members(good, **{"U0.npy": claiming("(-1, -1)")}),
    "an array of an unknown format": lambda good: with_members(good, **{"U0.npy": b"\x93NUMPY\x09\x00"}),
    "a zip bomb": lambda good: with_members(good, zipfile.ZIP_DEFLATED, **{"U0.npy": bytes(10**7)}),
    "more than the file": larger_than_the_file,
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_path_is_refused(kind: str, path: RankPath, tmp_path) -> None:
    file = tmp_path / "path.npz"
    path.save(file)
    file.write_bytes(FOREIGN[kind](file.read_bytes()))
    message = "99 is newer than 2; update autonmf" if kind == "newer version" else "is not a saved RankPath"
    with pytest.raises(ValueError, match=message):
        RankPath.load(file)
    gc.collect()  # a file left open is reported now, with this test


def test_pickles_are_never_run(path: RankPath, tmp_path) -> None:
    """An object array inside the npz would be unpickled by a careless reader."""

    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was run",))

    bomb = np.empty(1, dtype=object)
    bomb[0] = Bomb()
    np.savez(tmp_path / "bomb.npz", header=bomb)
    with pytest.raises(ValueError, match="is not a saved RankPath"):
        RankPath.load(tmp_path / "bomb.npz")


def test_names_in_an_archive_are_no_places(
    same: Callable[[RankPath, RankPath], bool], path: RankPath, tmp_path
) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    path.save(folder / "path.npz")
    good = (folder / "path.npz").read_bytes()
    names = ("../outside.npy", str(tmp_path / "absolute.npy"), "inside.npy")
    (folder / "path.npz").write_bytes(with_members(good, **dict.fromkeys(names, npy(np.ones(3)))))
    assert same(RankPath.load(folder / "path.npz"), path)
    assert sorted(f.name for f in tmp_path.rglob("*")) == ["inner", "path.npz"]


def test_damage_is_refused_or_does_no_harm(
    same: Callable[[RankPath, RankPath], bool], path: RankPath, tmp_path, flipped: Callable
) -> None:
    file = tmp_path / "path.npz"
    path.save(file)
    refused = 0
    for damaged in flipped(file.read_bytes()):
        file.write_bytes(damaged)
        try:
            loaded = RankPath.load(file)
        except ValueError:
            refused += 1
        else:
            assert same(loaded, path)
    assert refused > 250


def test_missing_file(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        RankPath.load(tmp_path / "nothing.npz")


def test_two_arrays_under_one_name(low_rank: np.ndarray, tmp_path) -> None:
    file = tmp_path / "path.npz"
    rank_path(low_rank, 2, random_state=0).save(file)
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("U0.npy", archive.read("U0.npy"))
    with pytest.raises(ValueError, match="it holds two arrays under one name"):
        RankPath.load(file)
