"""A fault, how often it is tried, and what happened: each fault in a process of its own."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait

PATIENCE = 300.0
"""Seconds without a word from a trial after which it counts as hung."""

SHOWN = 160
"""Characters of what went wrong."""


class Broken(AssertionError):
    """A promise that was not kept."""


def require(kept: object, what: str) -> None:
    """Raise `Broken` unless the promise was kept."""
    if not kept:
        raise Broken(what)


@dataclass(frozen=True)
class Fault:
    """One line of the page."""

    name: str  # what is done
    promise: str  # what must happen
    attempt: Callable[[int], str]  # a trial: from its seed to what happened; whatever it raises is a failure
    quick: int  # trials
    full: int


@dataclass
class Row:
    """What became of the trials of a fault."""

    group: str
    fault: Fault
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)  # seed, what went wrong

    @property
    def trials(self) -> int:
        return self.outcomes.total() + len(self.failures)

    @property
    def green(self) -> bool:
        return not self.failures and self.trials > 0


def tried(group: str, fault: Fault, trials: int, patience: float = PATIENCE) -> Row:
    """Run the trials with the seeds 0, 1, ... in a child, so that a crash or a hang is counted, not suffered.

    After either the rest of the seeds are tried in a new child.
    """
    row = Row(group, fault)
    while row.trials < trials:
        for seed, kept, what in _in_child(fault, range(row.trials, trials), patience):
            if kept:
                row.outcomes[what] += 1
            else:
                row.failures.append((seed, what))
    return row


def _in_child(fault: Fault, seeds: range, patience: float) -> Iterator[tuple[int, bool, str]]:
    """What a child tells of its trials; at its early end, of the trial that it died of.

    The child leads a group of processes, none of which outlives it.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_tell, args=(fault, seeds, theirs))
    child.start()
    theirs.close()
    finished = False
    try:
        for seed in seeds:
            if not ours.poll(patience):
                yield seed, False, f"no answer in {patience:g} s"
                return
            try:
                yield ours.recv()
            except EOFError:
                child.join()
                yield seed, False, f"the process died: {_exit(child.exitcode)}"
                return
        finished = True
    finally:
        wait([child.sentinel], patience if finished else 0.0)
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # and whatever it has started
        child.join()
        ours.close()


def _tell(fault: Fault, seeds: range, told: Connection) -> None:
    os.setsid()
    for seed in seeds:
        told.send((seed, *_outcome(fault, seed)))
    told.close()
    atexit._run_exitfuncs()  # a forked child has its own to run: temporary folders of joblib


def _outcome(fault: Fault, seed: int) -> tuple[bool, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return True, fault.attempt(seed)
        except Exception as error:
            message = " ".join(str(error).split())
            return False, f"{type(error).__name__}: {message}"[:SHOWN]


def _exit(code: int | None) -> str:
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
