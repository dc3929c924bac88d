"""Checkpoints: after each stop of a search, the file holds all that is needed to resume from there.

A checkpoint is a `Journal`. Its first record identifies the search: X, options and seed. It is followed by
one record per stop, with the visit and the arrays of the iterate, and one when the path of an initial point
ends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib.metadata import version
from os import PathLike
from typing import Any, NamedTuple, cast

import numpy as np
import scipy

from autonmf import kernels
from autonmf._threads import each, one_pool
from autonmf._types import Array
from autonmf._warnings import warn
from autonmf.data import Data, Dense, Scaled, Sparse, Streamed, unscale
from autonmf.data.masked import Masked, MaskedSparse
from autonmf.data.protocol import is_sparse
from autonmf.losses.protocol import Posed
from autonmf.path.grids import Stop
from autonmf.path.journal import Entry, Journal
from autonmf.path.options import PathOptions, default_max_rank
from autonmf.path.result import Visit
from autonmf.path.storage import read_visit

WEIGHTED = ", weighted"
"""What is added to the name of the stage in the records of a weighted search."""

HASHED = 1 << 20
"""Entries that are hashed at a time, by one of the threads."""

WITHOUT_EFFECT = {"n_jobs", "callback", "checkpoint", "random_state", "time_budget"}
"""Options that do not change what a complete path holds, or that are checked by themselves."""


@contextmanager
def open_checkpoint(options: PathOptions, data: Data) -> Iterator[tuple[PathOptions, Checkpoint]]:
    """The checkpoint that the options name, and the options of the search that resumes it.

    A seed that was not given is drawn, and read from the checkpoint when the search is resumed.
    """
    assert options.checkpoint is not None
    given = _given_seed(options)
    seed = int(np.random.default_rng().integers(2**31)) if given is None else given
    identity = {"search": _describe_search(data, options), "seed": seed, "versions": _versions()}
    checkpoint = Checkpoint.open(options.checkpoint, identity)
    try:
        _compare(checkpoint, identity, seed_matters=given is not None)
        yield replace(options, random_state=int(checkpoint.identity["seed"])), checkpoint
    finally:
        checkpoint.journal.close()


def _given_seed(options: PathOptions) -> int | None:
    if options.time_budget is not None:
        raise ValueError(
            "checkpoint and time_budget cannot be combined: with a time budget the result depends on the "
            "clock, and a resumed run could not reproduce it. Leave out one of the two"
        )
    seed = options.random_state
    if seed is None or isinstance(seed, int | np.integer):
        return None if seed is None else int(seed)
    raise ValueError("with a checkpoint, random_state must be an int or None: a generator cannot be restored")


def _compare(checkpoint: Checkpoint, now: dict[str, Any], *, seed_matters: bool) -> None:
    """Refuse a checkpoint of another search; warn if last bits may differ."""
    file, then = checkpoint.journal.file, checkpoint.identity
    remedy = f"Name another file, or delete {file} to start again"
    try:
        different = _differences(then["search"], now["search"])
        if seed_matters:
            different |= _differences({"random_state": then["seed"]}, {"random_state": now["seed"]})
        versions = _differences(then["versions"], now["versions"])
        int(then["seed"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError(f"the checkpoint {file} does not say which search it belongs to. {remedy}") from None
    if different:
        raise ValueError(f"the checkpoint {file} belongs to another run: {_listed(different)}. {remedy}")
    if "autonmf" in versions:
        raise ValueError(f"the checkpoint {file} is from another version: {_listed(versions)}. {remedy}")
    if versions:
        warn(
            f"the checkpoint {file} was written with other versions: {_listed(versions)}. The search is "
            "resumed, but its last digits may differ from those of an uninterrupted run"
        )


def _differences(then: dict[str, Any], now: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    pairs = {name: (then.get(name), now.get(name)) for name in sorted({*then, *now})}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _listed(different: dict[str, tuple[Any, Any]]) -> str:
    said = [f"{name} was {then}, is {now}" for name, (then, now) in different.items() if name != "X"]
    if "X" in different and "shape" not in different:
        said.insert(0, "X has other entries, or another memory order")
    return ", ".join(said)


def _describe_search(data: Data, options: PathOptions) -> dict[str, Any]:
    """What decides every bit of a path, as JSON would hold it."""
    chosen = [f.name for f in fields(options) if f.name not in WITHOUT_EFFECT]
    plain = {name: _plain(getattr(options, name)) for name in chosen}
    if callable(options.budget):
        given = None if isinstance(options.init, str) else np.shape(options.init[0])[-1]
        first = min(given or options.max_rank or default_max_rank(data.shape), *data.shape)
        plain["budget"] = [_plain(options.budget(rank)) for rank in range(options.min_rank, first + 1)]
    shape = {"shape": list(data.shape), "dtype": np.dtype(data.dtype).name}
    return plain | shape | {"X": fingerprint(data)}


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):  # known components
        return _digest(value)
    if isinstance(value, tuple | list):  # factors
        return [_digest(np.asarray(factor, dtype=np.float64)) for factor in value]
    return repr(value) if is_dataclass(value) else type(value).__qualname__


def _versions() -> dict[str, str]:
    return {
        "autonmf": version("autonmf"),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "kernels": kernels.BACKEND,
    }


def fingerprint(data: Data) -> str:
    """A hash of all entries of X and of how they are stored, on which the last bits of a path depend."""
    total = hashlib.sha256(type(unscale(data)).__name__.encode())
    with one_pool():
        for array in _list_arrays(data):
            order = "C" if array.flags.c_contiguous else "F"
            total.update(repr((array.dtype.str, array.shape, order)).encode())
            entries = array.ravel(order="K")
            parts = [entries[start : start + HASHED] for start in range(0, entries.size, HASHED)]
            total.update(b"".join(each(lambda part: hashlib.sha256(part.data).digest(), parts)))
    return total.hexdigest()


def _list_arrays(data: Data) -> Iterator[Array]:
    """Everything that X consists of, a block of rows at a time where it lies in a file."""
    if isinstance(data, Scaled):
        scaling = data.scaling
        yield from map(np.asarray, (scaling.a, scaling.b, scaling.transposed))
        data = data.data
    if isinstance(data, Streamed):
        blocks: Iterable[Any] = map(data.read, data.blocks)
    elif isinstance(data, MaskedSparse):
        blocks = (data.known.X, data.missing)
    elif isinstance(data, Masked):
        blocks = (data.X, data.weights)
    else:
        blocks = (cast("Dense | Sparse", data).X,)
    for X in blocks:
        yield from (X.data, X.indices, X.indptr) if is_sparse(X) else (X,)


def _digest(array: Array) -> str:
    shape = repr(array.shape).encode()
    return hashlib.sha256(shape + array.astype("<f8").tobytes()).hexdigest()


@dataclass
class Checkpoint:
    """An open checkpoint."""

    journal: Journal
    identity: dict[str, Any]  # as it was when the search began
    tracks: dict[tuple[str, int], Track] = field(default_factory=dict)
    weighted: bool = False  # whether the search is the second one of a fit, with weights that the first gave

    @staticmethod
    def open(file: str | PathLike[str], identity: dict[str, Any]) -> Checkpoint:
        """Open or create a checkpoint; `Checkpoint.identity` is for the caller to compare.

        One without a stop is overwritten.
        """
        journal = Journal.open(file)
        try:
            if len(journal.entries) < 2:
                journal.begin({"identity": identity})
            first, *records = journal.entries
            found = first.label.get("identity")
            if not isinstance(found, dict):
                raise TypeError
            checkpoint = Checkpoint(journal, found)
            for entry in records:
                track = checkpoint._find_track(str(entry.label["stage"]), int(entry.label["start"]))
                if entry.label.get("end"):
                    track.finished = True
                else:
                    visit, lam = read_visit(entry.label["visit"]), float(entry.label["lam"])
                    track.records.append(Record(entry, visit, lam))
        except (KeyError, TypeError, ValueError):
            journal.close()
            raise _invalid(journal) from None
        except BaseException:
            journal.close()
            raise
        return checkpoint

    def track(self, stage: str, start: int) -> Track:
        """The records of one initial point in a stage: an engine and the rank where it begins."""
        return self._find_track(f"{stage}{WEIGHTED}" if self.weighted else stage, start)

    def _find_track(self, stage: str, start: int) -> Track:
        return self.tracks.setdefault((stage, start), Track(self.journal, stage, start))

    @property
    def seconds(self) -> float:
        """Seconds spent before the search was resumed."""
        tracks = (t for t in self.tracks.values() if t.stage.endswith(WEIGHTED) == self.weighted)
        return max((record.visit.seconds for track in tracks for record in track.records), default=0.0)


class Record(NamedTuple):
    """One stop, its arrays still in the file."""

    entry: Entry
    visit: Visit
    lam: float  # in the units of the view


@dataclass
class Track:
    """The records of the path of one initial point."""

    journal: Journal
    stage: str  # engine and first rank, and whether weighted
    start: int
    records: list[Record] = field(default_factory=list)
    finished: bool = False  # nothing comes after the last record

    def stops(self, problem: Posed, shape: tuple[int, int]) -> Iterator[tuple[Visit, float, Any, int]]:
        """Visit, λ, state and number of each stop so far, one in memory at a time; once."""
        for count, record in enumerate(self.records, 1):
            body = self.journal.read(record.entry)
            try:
                state = problem.restore(_unpack(record.entry.label["arrays"], body, shape))
            except (KeyError, TypeError, ValueError, OverflowError):
                raise _invalid(self.journal) from None
            yield record.visit, record.lam, state, count
        self.records.clear()

    def add(self, visit: Visit, stop: Stop) -> None:
        label, body = _pack(stop.state.arrays)
        named = {"stage": self.stage, "start": self.start, "lam": stop.lam, "visit": list(visit)}
        self.journal.append_if_possible(named | label, body)

    def finish(self) -> None:
        """Record that the path has ended, unless it is recorded already."""
        if self.finished:
            return
        self.finished = True
        self.journal.append_if_possible({"stage": self.stage, "start": self.start, "end": True})


def _pack(arrays: dict[str, Array]) -> tuple[dict[str, Any], bytes]:
    """A label that describes the arrays, and their bytes.

    The memory order is kept: sums and products over the same numbers in another order have other last bits.
    """
    described, bodies = [], []
    for name, array in arrays.items():
        by_rows = array.strides[1] == array.itemsize
        described.append([name, array.dtype.str, "C" if by_rows else "F", *array.shape])
        bodies.append((array if by_rows else array.T).tobytes())
    return {"arrays": described}, b"".join(bodies)


def _unpack(described: Any, body: bytearray, shape: tuple[int, int]) -> dict[str, Array]:
    """The arrays of a record, refused unless they fit X and the record itself."""
    n, m = shape
    offset = 0
    arrays: dict[str, Array] = {}
    for name, kind, order, rows, columns in described:
        dtype = {t.str: t for t in map(np.dtype, (np.float32, np.float64))}[kind]
        flat = np.frombuffer(body, dtype, rows * columns, offset)  # a ValueError beyond the end
        arrays[name] = flat.copy().reshape((rows, columns), order=order)
        offset += flat.nbytes
    rank = arrays["U"].shape[1]
    expected = {"U": (n, rank), "V": (m, rank), "XtU": (m, rank), "XV": (n, rank)}
    expected |= {"gram_U": (rank, rank), "gram_V": (rank, rank)}
    fits = all(array.shape == expected[name] for name, array in arrays.items())
    good = all(arrays[name].min() >= 0 and np.isfinite(arrays[name].max()) for name in ("U", "V"))
    if not (fits and good and offset == len(body)):
        raise ValueError("arrays of other shapes, or factors that are none")
    return arrays


def _invalid(journal: Journal) -> ValueError:
    return ValueError(
        f"the checkpoint {journal.file} holds records that do not belong to a path. Delete it to start again"
    )
