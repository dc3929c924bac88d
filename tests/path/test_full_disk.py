"""Checkpoints and saved paths where there is no room for them, or no right to be."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from autonmf import RankPath, rank_path
from autonmf.path import Progress
from autonmf.path.journal import Journal

Same = Callable[[RankPath, RankPath], bool]


def no_iteration(progress: Progress) -> None:
    """A callback that is never to be called."""
    pytest.fail("an iteration was made")


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may grow beyond ``size`` bytes: the system refuses to write, as on a full disk."""
    resource = pytest.importorskip("resource", reason="Windows has no limit of file sizes")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("n_starts", [1, 3])
@pytest.mark.parametrize("size", [3_000, 10_000, 20_000])
def test_a_full_disk_costs_the_checkpoint_and_nothing_else(
    same: Same, low_rank: np.ndarray, tmp_path: Path, size: int, n_starts: int
) -> None:
    whole = rank_path(low_rank, 8, random_state=0, n_starts=n_starts)
    with room_for(size), pytest.warns(RuntimeWarning, match="cannot grow .*File too large") as said:
        path = rank_path(low_rank, 8, random_state=0, n_starts=n_starts, checkpoint=tmp_path / "c")
    assert len(said) == 1
    assert same(path, whole)
    journal = Journal.open(tmp_path / "c")
    assert (tmp_path / "c").stat().st_size == journal.end <= size, "whole records only"
    journal.close()
    path = rank_path(low_rank, 8, random_state=0, n_starts=n_starts, checkpoint=tmp_path / "c")
    assert same(path, whole), "with room again, the path goes on from the prefix"


def test_a_disk_that_is_full_from_the_start_is_said_before_the_work(
    low_rank: np.ndarray, tmp_path: Path
) -> None:
    with (
        room_for(100),
        pytest.raises(OSError, match="cannot be created: File too large"),
    ):
        rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c", callback=no_iteration)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("", ValueError, "is a folder or a device"),
        ("nowhere/c", FileNotFoundError, "cannot be written: No such file or directory"),
        ("file/c", NotADirectoryError, "cannot be written: Not a directory"),
    ],
)
def test_a_place_where_no_file_can_be(
    low_rank: np.ndarray, tmp_path: Path, name: str, error: type[Exception], message: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(error, match=message):
        rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / name, callback=no_iteration)


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_written(low_rank: np.ndarray, tmp_path: Path) -> None:
    (tmp_path / "c").touch(mode=0o400)
    with pytest.raises(PermissionError, match="cannot be written: Permission denied"):
        rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c")


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked on Windows")
def test_two_runs_on_one_file(same: Same, low_rank: np.ndarray, tmp_path: Path) -> None:
    def callback(progress: Progress) -> None:
        with pytest.raises(BlockingIOError, match="in use by another run"):
            rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c")

    path = rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c", callback=callback)
    assert same(path, rank_path(low_rank, 8, random_state=0))


def test_saving_replaces_a_file_only_when_done(path: RankPath, tmp_path: Path) -> None:
    file = tmp_path / "path.npz"
    path.save(file)
    before = file.read_bytes()
    with room_for(len(before) // 2), pytest.raises(OSError, match="File too large"):
        path.save(file)
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["path.npz"]
