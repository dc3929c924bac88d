"""A path on disk while it is searched: after each stop, all that is needed to go on from there.

A checkpoint is a `Journal`. Its first record says which search it belongs to; then comes one a stop, with the
visit and the arrays of the iterate, and one where a start has reached its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.model.objective import Problem
from autonmf.path.grids import Reached, Stop
from autonmf.path.journal import Journal
from autonmf.path.records import Entry
from autonmf.path.result import Visit
from autonmf.path.storage import visit_from
from autonmf.solvers import State

ARRAYS = ("U", "V", "XtU", "gram_U", "gram_V")
KNOWN = "XV"  # stored if it was known: a product made again later has other last bits


@dataclass
class Checkpoint:
    """An open checkpoint, of a search whose identity was checked."""

    journal: Journal
    identity: dict[str, Any]  # as it was when the search began
    tracks: dict[tuple[str, int], Track] = field(default_factory=dict)

    @staticmethod
    def open(file: str | PathLike[str], identity: dict[str, Any]) -> Checkpoint:
        """Open a checkpoint, or begin one; `Checkpoint.identity` is for the caller to compare.

        One without a stop has nothing to lose, and is begun again.
        """
        journal = Journal.open(file)
        try:
            if len(journal.entries) < 2:
                journal.begin({"identity": identity})
            begun, *records = journal.entries
            checkpoint = Checkpoint(journal, _dictionary(begun, "identity", journal))
            for entry in records:
                checkpoint._sort_in(entry)
        except BaseException:
            journal.close()
            raise
        return checkpoint

    def track(self, engine: str, start: int) -> Track:
        """What is kept of one start. The path on X itself that may follow a compressed one has its own."""
        return self.tracks.setdefault((engine, start), Track(self.journal, engine, start))

    @property
    def seconds(self) -> float:
        """Spent on the path before."""
        return max((r.visit.seconds for t in self.tracks.values() for r in t.records), default=0.0)

    def _sort_in(self, entry: Entry) -> None:
        try:
            track = self.track(str(entry.label["engine"]), int(entry.label["start"]))
            if entry.label.get("end"):
                track.finished = True
            else:
                record = Record(entry, visit_from(entry.label["visit"]), float(entry.label["lam"]))
                track.records.append(record)
        except (KeyError, TypeError, ValueError):
            raise _unfit(self.journal) from None


class Record(NamedTuple):
    """One stop, its arrays still in the file."""

    entry: Entry
    visit: Visit
    lam: float  # in the solvers' units


@dataclass
class Track:
    """What is kept of one start."""

    journal: Journal
    engine: str
    start: int
    records: list[Record] = field(default_factory=list)
    finished: bool = False  # nothing comes after the last record

    def stops(self, problem: Problem) -> Iterator[tuple[Visit, Reached]]:
        """The stops so far, one in memory at a time; once."""
        for count, record in enumerate(self.records, 1):
            arrays = _unpacked(record.entry, self.journal, problem.data.shape)
            U, V, XtU, gram_U, gram_V = (arrays[name] for name in ARRAYS)
            state = State(problem, U, V, XtU, gram_U, gram_V)
            if KNOWN in arrays:
                state.__dict__[KNOWN] = arrays[KNOWN]
            yield record.visit, Reached(record.lam, state, count)
        self.records.clear()

    def add(self, visit: Visit, stop: Stop) -> None:
        """Keep a stop."""
        arrays = {name: getattr(stop.state, name) for name in ARRAYS}
        if KNOWN in stop.state.__dict__:
            arrays[KNOWN] = stop.state.XV
        label, body = _packed(arrays)
        named = {"engine": self.engine, "start": self.start, "lam": stop.lam, "visit": list(visit)}
        self.journal.append_if_possible(named | label, body)

    def finish(self) -> None:
        """Note that the start is at its end."""
        self.journal.append_if_possible({"engine": self.engine, "start": self.start, "end": True})


def _packed(arrays: dict[str, Array]) -> tuple[dict[str, Any], bytes]:
    """A label that describes the arrays, and their bytes.

    The memory order is kept: sums and products over the same numbers in another order have other last bits.
    """
    described, bodies = [], []
    for name, array in arrays.items():
        by_rows = array.strides[1] == array.itemsize
        described.append([name, array.dtype.str, "C" if by_rows else "F", *array.shape])
        bodies.append((array if by_rows else array.T).tobytes())
    return {"arrays": described}, b"".join(bodies)


def _unpacked(entry: Entry, journal: Journal, shape: tuple[int, int]) -> dict[str, Array]:
    """The arrays of a record, refused unless they fit X and the record itself."""
    n, m = shape
    body, offset = journal.read(entry), 0
    arrays: dict[str, Array] = {}
    try:
        for name, kind, order, rows, columns in entry.label["arrays"]:
            dtype = {t.str: t for t in map(np.dtype, (np.float32, np.float64))}[kind]
            flat = np.frombuffer(body, dtype, rows * columns, offset)  # a ValueError beyond the end
            arrays[name] = flat.copy().reshape((rows, columns), order=order)
            offset += flat.nbytes
        rank = arrays["U"].shape[1]
        expected = {"U": (n, rank), "V": (m, rank), "XtU": (m, rank), "XV": (n, rank)}
        expected |= {"gram_U": (rank, rank), "gram_V": (rank, rank)}
        fits = all(array.shape == expected[name] for name, array in arrays.items())
        good = all(arrays[name].min() >= 0 and np.isfinite(arrays[name].max()) for name in ("U", "V"))
        if not (fits and good and offset == len(body) and {*ARRAYS} <= {*arrays}):
            raise ValueError
    except (KeyError, TypeError, ValueError, OverflowError):
        raise _unfit(journal) from None
    return arrays


def _dictionary(entry: Entry, name: str, journal: Journal) -> dict[str, Any]:
    value = entry.label.get(name)
    if not isinstance(value, dict):
        raise _unfit(journal)
    return value


def _unfit(journal: Journal) -> ValueError:
    return ValueError(
        f"the checkpoint {journal.file} holds records that are none of a path. Delete it, and the path "
        "starts afresh"
    )
