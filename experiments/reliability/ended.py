"""Processes that are killed or interrupted at random moments, and disks without room."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from autonmf import AutoNMF, RankPath, rank_path
from autonmf.cli import main
from autonmf.datasets import make_low_rank
from experiments.core import equilibrate
from experiments.reliability.faults import COUNTS, Fault, check_path, require, same

X = make_low_rank(160, 120, rank=4, random_state=0)[0]
X.setflags(write=False)
EXACT = {"max_rank": 10, "budget": "full", "random_state": 1}


def _path(**options: Any) -> Callable[..., RankPath]:
    return partial(rank_path, X, **options)


def _model(**options: Any) -> Callable[..., AutoNMF]:
    return lambda checkpoint=None: AutoNMF(max_rank=10, random_state=4, checkpoint=checkpoint, **options).fit(
        X
    )


RUNS: dict[str, Callable[..., RankPath | AutoNMF]] = {
    "exact path": _path(**EXACT),
    "equilibrated path": _path(max_rank=10, **equilibrate(), n_starts=2, random_state=2),
    "adaptive path": _path(max_rank=8, grid="adaptive", n_points=10, random_state=3),
    "path, Kullback-Leibler loss": _path(max_rank=10, **COUNTS, n_starts=2, random_state=2),
    "AutoNMF": _model(n_starts=2),
    "AutoNMF, Kullback-Leibler loss": _model(**COUNTS),
}
"""What is killed; each takes the name of a checkpoint."""

EARLY = 99
"""Exit code of a command that was interrupted before its first line."""

RESULTS = ("W.npy", "H.npy", "W.csv", "H.csv", "path.npz", "summary.json")


@cache
def _whole(kind: str) -> tuple[RankPath | AutoNMF, float]:
    """What nothing disturbed, and the seconds that it takes with a checkpoint."""
    whole = RUNS[kind]()
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        RUNS[kind](checkpoint=Path(folder, "c"))
        return whole, time.monotonic() - began


def _same(first: RankPath | AutoNMF, second: RankPath | AutoNMF) -> bool:
    if isinstance(first, RankPath) or isinstance(second, RankPath):
        return isinstance(first, RankPath) and isinstance(second, RankPath) and same(first, second)
    return np.array_equal(first.components_, second.components_) and same(first.path_, second.path_)


def _forked(work: Callable[[], int]) -> int:
    """A child that does this and ends with that exit code; its number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = work()
        finally:
            os._exit(code)
    return child


def killed(kind: str, seed: int) -> str:
    """SIGKILL a fit three times at random moments, resume it, and compare the bits."""
    whole, seconds = _whole(kind)
    moments = np.random.default_rng(seed).uniform(0.0, seconds / 2, size=3)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "c")
        hit = 0
        for moment in moments:
            child = _forked(lambda: RUNS[kind](checkpoint=file) is None)
            time.sleep(moment)
            os.kill(child, signal.SIGKILL)
            hit += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        saved = file.stat().st_size if file.exists() else 0
        found = RUNS[kind](checkpoint=file)
    require(_same(found, whole), f"other bits after {hit} kills, {saved} bytes saved")
    return f"killed {hit} times, bitwise identical"


def interrupted_threads(options: dict[str, Any], seed: int) -> str:
    """Ctrl-C, a real signal, once every thread has begun; nothing that was found is lost."""
    moment = np.random.default_rng(seed).uniform(0.0, 0.3)
    seen, begun, path = set[int](), threading.Event(), None

    def callback(progress: Any) -> None:
        seen.add(progress.start)
        if len(seen) >= 2:
            begun.set()

    def interrupt() -> None:
        begun.wait()
        time.sleep(moment)
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    sender = threading.Thread(target=interrupt)
    sender.start()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            path = rank_path(
                X, 12, n_starts=4, n_jobs=2, budget="full", callback=callback, random_state=seed, **options
            )
            sender.join()
            time.sleep(0.01)
        except KeyboardInterrupt:
            require(path is not None, "KeyboardInterrupt, although ranks were found")
        sender.join()
    require(path is not None, "no path")
    assert path is not None
    check_path(path)
    left = [thread for thread in threading.enumerate() if thread.name.startswith("autonmf-path")]
    require(not left, f"{len(left)} threads go on")
    if path.complete:
        return "finished first"
    require(
        said and all(issubclass(one.category, RuntimeWarning) for one in said), "another warning, or none"
    )
    return "the path so far, with a warning"


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may grow beyond this: the system refuses to write, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def full_checkpoint(seed: int) -> str:
    """The disk becomes full while a path is saved; later there is room again."""
    (whole, _), options = _whole("exact path"), dict[str, Any](EXACT)
    assert isinstance(whole, RankPath)
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        options["checkpoint"] = Path(folder, "c")
        with room_for(int(rng.integers(2_000, 60_000))), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            path = rank_path(X, **options)
        require(same(path, whole), "other bits")
        require(all("cannot grow" in str(warning.message) for warning in said), "another warning")
        require(same(rank_path(X, **options), whole), "other bits, resumed")
    return f"{'warned' if said else 'not full'}, bitwise identical"


def full_save(seed: int) -> str:
    """A saved path is to be replaced, but there is no room."""
    whole, _ = _whole("exact path")
    assert isinstance(whole, RankPath)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "path.npz")
        whole.save(file)
        before = file.read_bytes()
        size = int(np.random.default_rng(seed).integers(len(before)))
        try:
            with room_for(size):
                whole.save(file)
        except OSError:
            require(file.read_bytes() == before, "the old file is gone")
            require(os.listdir(folder) == ["path.npz"], "something was left behind")
            return "OSError, old file unchanged"
    require(False, f"no error with room for {size} of {len(before)} bytes")
    return ""


def _command(folder: Path, *options: str) -> int:
    """`autonmf fit` in this process, which has nothing else to do; what it says goes to files."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    warnings.resetwarnings()
    for stream, name in ((sys.stdout, "stdout"), (sys.stderr, "stderr")):
        stream.flush()
        os.dup2(os.open(folder / name, os.O_CREAT | os.O_WRONLY), stream.fileno())
    (folder / "began").touch()
    try:
        return main(["fit", str(folder / "x.npy"), "--out", str(folder / "out"), "--seed", "0", *options])
    except KeyboardInterrupt as error:
        if any(frame.name == "main" for frame in traceback.extract_tb(error.__traceback__)):
            raise
        return EARLY


def _check_results(out: Path) -> str:
    """Every file is whole, or not there; nothing else is there."""
    found = sorted(os.listdir(out)) if out.exists() else []
    require(set(found) <= set(RESULTS), f"left behind: {found}")
    for name in found:
        if name.endswith(".npy"):
            np.load(out / name)
    if "path.npz" in found:
        RankPath.load(out / "path.npz")
    if "summary.json" in found:
        json.loads((out / "summary.json").read_text())
        require(len(found) == len(RESULTS), "a summary of files that are not there")
    return "all" if len(found) == len(RESULTS) else "none" if not found else "some"


@cache
def _seconds_of_a_fit() -> float:
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "x.npy"), X)
        began = time.monotonic()
        os.waitpid(_forked(partial(_command, Path(folder))), 0)
        return time.monotonic() - began


def interrupted(seed: int) -> str:
    """Ctrl-C at a random moment."""
    moment = np.random.default_rng(seed).uniform(0.0, _seconds_of_a_fit())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "x.npy", X)
        child = _forked(partial(_command, folder))
        while not (folder / "began").exists():
            time.sleep(0.001)
        time.sleep(moment)
        os.kill(child, signal.SIGINT)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = (folder / "stderr").read_text()
        require("Traceback" not in said, said[-100:])
        written = _check_results(folder / "out")
        if code == 0:
            require(written == "all", f"exit code 0, {written} of the files")
            return "finished first, exit code 0"
        if code == EARLY:
            return "interrupted before it began, skipped"
        require(code == 130, f"exit code {code}: {said[-100:]}")
        require("interrupted" in said, f"it says {said!r}")
    return "exit code 130, every file complete or missing"


def full_results(seed: int) -> str:
    """`autonmf fit --out` on a disk that becomes full."""
    size = int(np.random.default_rng(seed).integers(100, 20_000))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "x.npy", X)

        def work() -> int:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            return _command(folder)

        code = os.waitstatus_to_exitcode(os.waitpid(_forked(work), 0)[1])
        said = (folder / "stderr").read_text()
        require(code == 1, f"exit code {code}: {said[-100:]}")
        require("error: cannot write" in said and "Traceback" not in said, f"it says {said[-100:]!r}")
        require(_check_results(folder / "out") != "all", "every file was written after all")
    return "exit code 1, every file complete or missing"


def bad_file(seed: int) -> str:
    """`autonmf fit` of a file that was cut off."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "x.npy", X)
        content = (folder / "x.npy").read_bytes()
        (folder / "x.npy").write_bytes(content[: np.random.default_rng(seed).integers(len(content))])
        code = os.waitstatus_to_exitcode(os.waitpid(_forked(partial(_command, folder)), 0)[1])
        said = (folder / "stderr").read_text()
        require(code == 1 and said.startswith("error: ") and said.count("\n") == 1, f"{code}: {said[-100:]}")
        require(not (folder / "out").exists(), "something was written")
    return "exit code 1, one-line error, nothing written"


ENDS = [
    *(Fault(f"SIGKILL three times at random; {kind} with a checkpoint", "resumed, bitwise identical",
            partial(killed, kind), 2, 28, counted="kills", times=3) for kind in RUNS),
    *(Fault(f"Ctrl-C at a random moment, several initial points in threads; {loss}",
            "the path so far, with a warning", partial(interrupted_threads, options), 3, 50)
      for loss, options in {"least squares": {}, "Kullback-Leibler": COUNTS}.items()),
    Fault("disk full while a checkpoint is written", "a warning; bitwise identical, also after resuming",
          full_checkpoint, 2, 40),
    Fault("disk full while a path is saved", "an error; the old file is unchanged", full_save, 5, 100),
    Fault("autonmf fit: disk full", "exit code 1; each file complete or missing",
          full_results, 2, 40),
    Fault("autonmf fit: Ctrl-C at a random time", "exit code 130; each file complete or missing",
          interrupted, 5, 100),
    Fault("autonmf fit: truncated input file", "exit code 1, one-line error, nothing written",
          bad_file, 5, 60),
]  # fmt: skip
