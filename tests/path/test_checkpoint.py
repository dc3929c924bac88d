"""Paths that go on where they were killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from autonmf import RankPath, rank_path
from autonmf.data import OpenedData, as_data
from autonmf.fit import factorise
from autonmf.losses import Problem
from autonmf.path import PathOptions, Progress
from autonmf.path.checkpoint import Checkpoint
from autonmf.path.journal import MAGIC, Journal

Same = Callable[[RankPath, RankPath], bool]

KINDS: dict[str, dict[str, Any]] = {
    "exact": {},
    "equilibrated": {"equilibrate": True},
    "adaptive": {"grid": "adaptive"},
    "adaptive, equilibrated": {"grid": "adaptive", "equilibrate": True},
    "inertial": {"solver": "ipalm", "grid": "adaptive"},
    "balanced": {"solver": "s-ipalm"},
    "starts": {"n_starts": 3},
    "starts in threads": {"n_starts": 3, "n_jobs": 2},
    "compressed": {"engine": "compressed"},
    "full budget": {"budget": "full"},
    "own budget": {"budget": lambda rank: 3},
    "exact, to the limit": {
        "budget": "full",
        "tol": 0.0,
        "max_iter": 25,
    },  # X V is known: the criteria needed it
    "adaptive, to the limit": {"grid": "adaptive", "tol": 0.0, "max_iter": 25},
    "not to the end": {"min_rank": 4},
}


class Crash(Exception):
    """The end of a run that nothing expected."""


def crash_after(iterations: int) -> Callable[[Progress], None]:
    """A callback that ends the run as a bug would."""
    left = iter(range(iterations))

    def callback(progress: Progress) -> None:
        if next(left, None) is None:
            raise Crash

    return callback


def begun(X: Any, file: Path, iterations: int = 40, **options: Any) -> None:
    """Leave a checkpoint of a path that crashed."""
    with pytest.raises(Crash):
        rank_path(X, 8, random_state=0, checkpoint=file, callback=crash_after(iterations), **options)


# The same bits


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_that_crashed_again_and_again_ends_as_if_it_had_not(
    same: Same, low_rank: np.ndarray, kind: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    whole = rank_path(low_rank, 8, random_state=0, **KINDS[kind])
    for _ in range(5):
        some = int(rng.integers(1, max(2, sum(visit.n_iter for visit in whole.visits) // 3)))
        options = {"random_state": 0, "checkpoint": tmp_path / "c"} | KINDS[kind]
        with suppress(Crash):
            rank_path(low_rank, 8, callback=crash_after(some), **options)
    path = rank_path(low_rank, 8, **options)
    assert same(path, whole)
    assert path.settings == whole.settings
    assert all(np.diff([v.seconds for v in path.visits if v.start == 0]) >= 0)


@pytest.mark.parametrize("kind", ["single", "csr", "csc", "wide", "in a file"])
def test_every_kind_of_data(same: Same, low_rank: np.ndarray, kind: str, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", low_rank)
    X: Any = {
        "single": low_rank.astype(np.float32),
        "csr": sp.csr_array(low_rank),
        "csc": sp.csc_array(low_rank),
        "wide": low_rank.T,
        "in a file": np.load(tmp_path / "X.npy", mmap_mode="r"),
    }[kind]
    begun(X, tmp_path / "c")
    path = rank_path(X, 8, random_state=0, checkpoint=tmp_path / "c")
    assert same(path, rank_path(X, 8, random_state=0))


@pytest.mark.parametrize("equilibrate", [False, True])
def test_missing_entries(same: Same, low_rank: np.ndarray, equilibrate: bool, tmp_path: Path) -> None:
    X = np.where(np.arange(low_rank.size).reshape(low_rank.shape) % 11, low_rank, np.nan)
    begun(X, tmp_path / "c", missing="mask", equilibrate=equilibrate)
    path = rank_path(X, 8, random_state=0, missing="mask", equilibrate=equilibrate, checkpoint=tmp_path / "c")
    assert same(path, rank_path(X, 8, random_state=0, missing="mask", equilibrate=equilibrate))


def test_the_second_search_after_an_unreliable_compression_has_its_own_records(
    same: Same, tmp_path: Path
) -> None:
    X = np.eye(200)
    whole = rank_path(X, 8, random_state=0)
    first = rank_path(X, 8, random_state=0, engine="compressed").visits[0]
    assert whole.settings["engine"] == "direct", "the compression of the identity is unreliable"
    second = whole.visits[0]
    for crash, engines in ((1, {"compressed"}), (second.n_iter + 1, {"compressed", "direct"})):
        file = tmp_path / str(crash)
        begun(X, file, first.n_iter + crash)
        journal = Journal.open(file)
        assert {entry.label["stage"].split(",")[0] for entry in journal.entries[1:]} == engines
        journal.close()
        assert same(rank_path(X, 8, random_state=0, checkpoint=file), whole)


def test_what_is_written_is_not_kept(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "c")
    journal.begin({"identity": {}})
    for start in range(5):
        journal.append({"start": start}, b"body")
    assert len(journal.entries) == 1
    journal.close()
    again = Journal.open(tmp_path / "c")
    assert [entry.label.get("start") for entry in again.entries] == [None, 0, 1, 2, 3, 4]
    assert again.read(again.entries[3]) == b"body"
    again.close()


@pytest.mark.parametrize("choice", [{}, {"n_components": 3}, {"rule": "marginal"}], ids=str)
def test_a_factorisation_goes_on(low_rank: np.ndarray, tmp_path: Path, choice: dict[str, Any]) -> None:
    data = OpenedData(as_data(low_rank))
    whole = factorise(data, PathOptions(max_rank=8, random_state=0), **choice)
    options = PathOptions(max_rank=8, random_state=0, checkpoint=tmp_path / "c", callback=crash_after(40))
    with pytest.raises(Crash):
        factorise(data, options, **choice)
    options = PathOptions(max_rank=8, random_state=0, checkpoint=tmp_path / "c")
    found = factorise(data, options, **choice)
    assert np.array_equal(found.W, whole.W)
    assert np.array_equal(found.H, whole.H)
    assert found.n_iter == whole.n_iter


@pytest.mark.parametrize("kind", KINDS)
def test_a_finished_one_needs_no_iteration(
    same: Same, low_rank: np.ndarray, kind: str, tmp_path: Path
) -> None:
    path = rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c", **KINDS[kind])
    before = (tmp_path / "c").read_bytes()
    again = rank_path(
        low_rank, 8, random_state=0, checkpoint=tmp_path / "c", callback=crash_after(0), **KINDS[kind]
    )
    assert same(again, path)
    assert (tmp_path / "c").read_bytes() == before


def test_a_seed_that_was_not_given_is_kept(same: Same, low_rank: np.ndarray, tmp_path: Path) -> None:
    with pytest.raises(Crash):
        rank_path(low_rank, 8, checkpoint=tmp_path / "c", callback=crash_after(40))
    path = rank_path(low_rank, 8, checkpoint=tmp_path / "c")
    assert same(path, rank_path(low_rank, 8, random_state=path.settings["random_state"]))


def test_where_a_callback_ends_the_path_is_not_where_it_goes_on(
    same: Same, low_rank: np.ndarray, tmp_path: Path
) -> None:
    """The iterate at which a user stopped is no solution: it is computed again."""
    count = iter(range(30))
    partial = rank_path(
        low_rank, 8, random_state=0, checkpoint=tmp_path / "c", callback=lambda _: next(count, None) is None
    )
    assert not partial.complete
    assert same(
        rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c"),
        rank_path(low_rank, 8, random_state=0),
    )


def test_interrupted_by_the_keyboard(same: Same, low_rank: np.ndarray, tmp_path: Path) -> None:
    def callback(progress: Progress) -> None:
        if progress.rank == 5 and progress.iteration == 3:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs
    try:
        with pytest.warns(RuntimeWarning, match="interrupted at rank 6"):
            rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c", callback=callback)
    finally:
        signal.signal(signal.SIGINT, before)
    assert same(
        rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c"),
        rank_path(low_rank, 8, random_state=0),
    )


def test_arrays_keep_their_memory_order(low_rank: np.ndarray, tmp_path: Path) -> None:
    """Sums over the same numbers in another order have other last bits."""
    begun(low_rank, tmp_path / "c")
    checkpoint = Checkpoint.open(tmp_path / "c", {})
    stops = list(checkpoint.track("direct, from rank 8", 0).stops(Problem(as_data(low_rank)), low_rank.shape))
    checkpoint.journal.close()
    assert len(stops) > 1
    for _, _, state, _ in stops:
        for array in (state.U, state.V, state.XtU, state.XV):
            assert array.flags.f_contiguous
            assert not array.flags.c_contiguous


# Killed

KILLED = """
import os, random, signal, sys, time
import numpy as np
from autonmf import rank_path

folder, kills, options = sys.argv[1], int(sys.argv[2]), eval(sys.argv[3])
X = np.load(f"{folder}/X.npy")
rank_path(X[:9, :9], 2)  # imports what else is needed, so that kills hit the path
moments = random.Random(sys.argv[3])
hit = done = 0
finished = False
while hit < kills or not finished:
    child = os.fork()
    if child == 0:
        rank_path(X, checkpoint=f"{folder}/c", **options).save(f"{folder}/path{done}")
        os._exit(0)
    if hit < kills:
        time.sleep(moments.uniform(0.0, 0.25))
        os.kill(child, signal.SIGKILL)
    finished = os.waitpid(child, 0)[1] == 0
    hit += not finished
    if finished:
        os.unlink(f"{folder}/c")
        done += 1
    elif hit > kills:
        sys.exit("the path failed")
print(done)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork, and no SIGKILL")
@pytest.mark.parametrize(
    "options",
    [
        {"max_rank": 10, "budget": "full", "n_starts": 2, "random_state": 1},
        {"max_rank": 10, "budget": "full", "equilibrate": True, "random_state": 2},
        {"max_rank": 12, "grid": "adaptive", "n_starts": 2, "random_state": 3},
    ],
    ids=["exact", "equilibrated", "adaptive"],
)
def test_killed_at_any_moment(
    same: Same, low_rank: np.ndarray, tmp_path: Path, options: dict[str, Any]
) -> None:
    """Real processes, which SIGKILL ends four times, and one that is left in peace."""
    X = np.tile(low_rank, (5, 5))
    np.save(tmp_path / "X.npy", X)
    command = [sys.executable, "-c", KILLED, str(tmp_path), "4", repr(options)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    whole = rank_path(X, **options)
    for index in range(int(ended.stdout)):
        assert same(RankPath.load(tmp_path / f"path{index}"), whole)


@pytest.mark.parametrize("short", [0, 1, 10, len(MAGIC), len(MAGIC) + 10, len(MAGIC) + 200, None])
def test_a_file_that_ends_anywhere(
    same: Same, small: np.ndarray, tmp_path: Path, short: int | None, rng: np.random.Generator
) -> None:
    """A kill while a record is written leaves a part of it."""
    whole = rank_path(small, 6, random_state=0, checkpoint=tmp_path / "c")
    content = (tmp_path / "c").read_bytes()
    for length in [short] if short is not None else rng.integers(len(content), size=20):
        (tmp_path / "c").write_bytes(content[:length])
        path = rank_path(small, 6, random_state=0, checkpoint=tmp_path / "c")
        assert same(path, whole), length
        again = rank_path(small, 6, random_state=0, checkpoint=tmp_path / "c", callback=crash_after(0))
        assert same(again, whole), "what followed the torn record was kept"


def test_a_length_that_was_noted_before_its_content(same: Same, small: np.ndarray, tmp_path: Path) -> None:
    """Power that failed can leave zeros at the end of a file."""
    whole = rank_path(small, 6, random_state=0, checkpoint=tmp_path / "c")
    content = (tmp_path / "c").read_bytes()
    journal = Journal.open(tmp_path / "c")
    last = journal.entries[-2]  # a rank; then comes the end
    journal.close()
    for kept, zeros in ((last.offset + last.length, 5000), (last.offset + 1, last.length - 1)):
        (tmp_path / "c").write_bytes(content[:kept] + bytes(zeros))
        assert same(rank_path(small, 6, random_state=0, checkpoint=tmp_path / "c"), whole)
