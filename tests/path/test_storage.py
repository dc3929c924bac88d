"""Paths in files."""

from __future__ import annotations

import gc
import io
import json
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from autonmf import RankPath, rank_path, select_rank
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
    for field in ("shape", "squared_norm", "spectral_norm", "mu", "delta", "complete", "settings", "visits"):
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


def test_saving_replaces_a_file_only_when_done(path: RankPath, tmp_path, monkeypatch) -> None:
    file = tmp_path / "path.npz"
    path.save(file)
    before = file.read_bytes()

    def disk_full(*arrays: object, **named: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez", disk_full)
    with pytest.raises(OSError, match="No space left"):
        path.save(file)
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["path.npz"]


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


POINT = {"loss": 1.0, "lam": 0.0, "n_iter": 1}
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
    "other format": lambda good: with_header(good, format="somebody.Else"),
    "version that is no number": lambda good: with_header(good, version="one"),
    "no visits": lambda good: with_header(good, visits=None),
    "wrong visits": lambda good: with_header(good, visits=[[1, 2]]),
    "more points than factors": lambda good: with_header(
        good, points=[{"loss": 1, "lam": 0, "n_iter": 1}] * 20
    ),
    "wrong points": lambda good: with_header(good, points=[{"loss": 1.0, "weight": 0.0}]),
    "no shape": lambda good: with_header(good, shape=None),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_path_is_refused(kind: str, path: RankPath, tmp_path) -> None:
    file = tmp_path / "path.npz"
    path.save(file)
    file.write_bytes(FOREIGN[kind](file.read_bytes()))
    try:
        RankPath.load(file)
    except ValueError as error:
        message = str(error)
    assert "is not a saved RankPath" in message
    assert kind != "newer version" or "99 is newer" in message
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


def test_missing_file(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        RankPath.load(tmp_path / "nothing.npz")
