"""Checkpoints whose records are not those of one run, and saved files: permissions, links, contradictions."""

from __future__ import annotations

import io
import json
import os
import stat
import tempfile
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from autonmf import AutoNMF, RankPath, rank_path
from autonmf.datasets import make_low_rank
from experiments.core import MAGIC, Journal
from experiments.reliability.faults import COUNTS, Fault, require, same

X = make_low_rank(40, 25, rank=3, random_state=0)[0]
X.setflags(write=False)
RANK = 6


def run(file: Path | None, matrix: Any = X, **options: Any) -> RankPath:
    return rank_path(matrix, **{"max_rank": RANK, "random_state": 0} | options, checkpoint=file)


def refused(file: Path, work: Callable[[], object], *words: str) -> str:
    """The file is refused, named, and left as it is."""
    before = file.read_bytes()
    try:
        work()
    except (ValueError, OSError) as error:
        require(any(word in str(error) for word in words), f"a poor message: {error}")
        require(file.read_bytes() == before, "the file was changed")
        return f"refused: {type(error).__name__}"
    require(False, "not refused")
    return ""


# Checkpoints


@cache
def _records(seed: int, loss: str) -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder, "c"), random_state=seed, beta_loss=loss)
        journal = Journal.open(Path(folder, "c"))
        ends = [len(MAGIC), *(entry.offset + entry.length for entry in journal.entries)]
        journal.close()
        content = Path(folder, "c").read_bytes()
        return [content[start:end] for start, end in pairwise(ends)]


def wrong_records(kind: str, seed: int) -> str:
    """Whole records, each with sound checksums, but not as they were written."""
    rng = np.random.default_rng(seed)
    loss = ("frobenius", COUNTS["beta_loss"])[seed % 2]
    records = list(_records(0, loss))
    at = int(rng.integers(len(records) - 1))
    if kind == "dropped":
        del records[at]
    elif kind == "repeated":
        records.insert(int(rng.integers(at + 1, len(records) + 1)), records[at])
    elif kind == "exchanged":
        other = int(rng.integers(at + 1, len(records)))
        records[at], records[other] = records[other], records[at]
    else:
        at = int(rng.integers(1, len(records) - 1))
        records[at] = _records(1, loss)[at]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "c")
        file.write_bytes(MAGIC + b"".join(records))
        return refused(file, lambda: run(file, beta_loss=loss), "Delete it to start again")


def other_entries(seed: int) -> str:
    """One entry of X is another one by a last bit, or two are exchanged."""
    rng = np.random.default_rng(seed)
    other = X.copy()
    place = int(rng.integers(40)), int(rng.integers(25))
    while not other[place]:
        place = int(rng.integers(40)), int(rng.integers(25))
    if seed % 2:
        other[place] = np.nextafter(other[place], np.inf)
    else:
        rows = rng.permutation(40)[:2]
        other[rows] = other[rows[::-1]]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "c")
        file.write_bytes(MAGIC + b"".join(_records(0, "frobenius")))
        return refused(file, lambda: run(file, other), "X has other entries")


def other_parameters(seed: int) -> str:
    """The checkpoint of a model is given to a model with another parameter, or is in use."""
    changed: tuple[dict[str, Any], ...] = (
        {"max_rank": RANK - 1}, {"random_state": 1}, {"tol": 1e-3}, COUNTS, {"n_starts": 2},
        {"rule": "marginal"}, {"init": "nndsvd"}, {"n_components": 2}, {"engine": "direct"}, {},
    )  # fmt: skip
    options = changed[seed % len(changed)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "c")
        base: dict[str, Any] = {"max_rank": RANK, "random_state": 0, "checkpoint": file}
        AutoNMF(**base).fit(X)
        if options:
            return refused(file, lambda: AutoNMF(**base | options).fit(X), "belongs to another run")
        journal = Journal.open(file)
        try:
            return refused(file, lambda: AutoNMF(**base).fit(X), "is in use by another run")
        finally:
            journal.close()


# Saved files


@cache
def _model(loss: str) -> AutoNMF:
    return AutoNMF(max_rank=RANK, random_state=0, beta_loss=loss).fit(X)


def permissions(seed: int) -> str:
    """A path or a model replaces a file with its permissions, or the file at the end of links."""
    rng = np.random.default_rng(seed)
    model = _model(("frobenius", COUNTS["beta_loss"])[seed % 2])
    one: Any = model if rng.random() < 0.5 else model.path_
    mode = int(rng.choice([0o600, 0o640, 0o644, 0o664, 0o400, 0o444]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = named = folder / "file"
        file.write_bytes(b"old")
        file.chmod(mode)
        for number in range(int(rng.integers(3))):
            link = folder / f"link {number}"
            link.symlink_to(named if rng.random() < 0.5 else named.name)
            named = link
        listed = sorted(os.listdir(folder))
        one.save(named)
        require(stat.S_IMODE(file.stat().st_mode) == mode, "other permissions")
        require(named == file or named.is_symlink(), "a link was replaced")
        require(sorted(os.listdir(folder)) == listed, "something was left behind")
        again = type(one).load(file)
    first, second = (it.path_ if isinstance(it, AutoNMF) else it for it in (one, again))
    require(same(first, second), "other bits")
    return "permissions and links kept, bitwise identical"


def no_files(seed: int) -> str:
    """Folders, pipes, devices and links in a circle are left alone."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name, "place")
        kind = ("folder", "pipe", "device", "circle")[seed % 4]
        if kind == "folder":
            place.mkdir()
        elif kind == "pipe":
            os.mkfifo(place)
        else:
            place.symlink_to("/dev/null" if kind == "device" else place)
        before = os.lstat(place)
        try:
            _model("frobenius").save(place)
        except OSError as error:
            now = os.lstat(place)
            require((now.st_mode, now.st_ino) == (before.st_mode, before.st_ino), "it was replaced")
            require(os.listdir(name) == ["place"], "something was left behind")
            require(str(place) in str(error), f"a poor message: {error}")
            return "refused: OSError"
    require(False, f"saved to a {kind}")
    return ""


@cache
def _parts(loss: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a saved model."""
    with tempfile.TemporaryDirectory() as folder:
        _model(loss).save(Path(folder, "m"))
        stream = io.BytesIO(Path(folder, "m").read_bytes())
    with np.load(stream) as stored:
        arrays = dict(stored)
    return json.loads(str(arrays.pop("header"))), arrays


Change = Callable[[dict[str, Any], dict[str, Any], np.random.Generator], None]


def _other_rank(header: dict[str, Any], arrays: dict[str, Any], rng: np.random.Generator) -> None:
    estimate = header["rank_estimate"]
    others = [rank for rank in range(1, RANK + 1) if rank != estimate["rank"]]
    estimate["rank"] = int(rng.choice(others))
    estimate["plausible"] = sorted({*estimate["plausible"], estimate["rank"]})


def _fewer_components(header: dict[str, Any], arrays: dict[str, Any], rng: np.random.Generator) -> None:
    arrays["components"] = np.delete(arrays["components"], rng.integers(len(arrays["components"])), axis=0)
    if rng.random() < 0.5:
        header["explained_variance"] = header["explained_variance"][: len(arrays["components"])]


def _other_factor(header: dict[str, Any], arrays: dict[str, Any], rng: np.random.Generator) -> None:
    name = str(rng.choice([name for name in arrays if name != "components"]))
    kind = rng.integers(3)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name] = arrays[name][:-1] if len(arrays[name]) else np.ones((1, 1))
    else:
        arrays[name] = np.where(rng.random(arrays[name].shape) < 0.5, -1.0, np.nan).astype(arrays[name].dtype)


def _other_features(header: dict[str, Any], arrays: dict[str, Any], rng: np.random.Generator) -> None:
    width = int(rng.choice([w for w in range(1, 40) if w != X.shape[1]]))
    arrays["components"] = np.resize(arrays["components"], (len(arrays["components"]), width))


def _beyond_the_path(header: dict[str, Any], arrays: dict[str, Any], rng: np.random.Generator) -> None:
    rank = int(rng.integers(RANK + 1, 1000))
    header["rank_estimate"] |= {"rank": rank, "plausible": [rank]}


def _not_plausible(header: dict[str, Any], arrays: dict[str, Any], rng: np.random.Generator) -> None:
    estimate = header["rank_estimate"]
    estimate["plausible"] = [rank for rank in range(1, RANK + 1) if rank != estimate["rank"]]


CONTRADICTIONS: dict[str, Change] = {
    "an estimate of another rank": _other_rank,
    "an estimate beyond the path": _beyond_the_path,
    "an estimate that is not plausible": _not_plausible,
    "a component too few": _fewer_components,
    "a factor that is missing, too short or no factor": _other_factor,
    "components with other features": _other_features,
}


def contradiction(change: Change, seed: int) -> str:
    """A saved model with sound checksums whose parts do not agree."""
    rng = np.random.default_rng(seed)
    header, arrays = _parts(("frobenius", COUNTS["beta_loss"])[seed % 2])
    header, arrays = json.loads(json.dumps(header)), dict(arrays)
    change(header, arrays, rng)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        with file.open("wb") as stream:
            np.savez(stream, header=np.array(json.dumps(header)), **arrays)
        return refused(file, lambda: AutoNMF.load(file), f"{file} is not a saved AutoNMF")


UNCHANGED = "refused and unchanged"
STORED = [
    *(Fault(f"checkpoint: records {kind}", UNCHANGED, partial(wrong_records, kind), 6, 100)
      for kind in ("dropped", "repeated", "exchanged", "of another run")),
    Fault("checkpoint: X with one other bit, or rows exchanged", UNCHANGED, other_entries, 6, 100),
    Fault("checkpoint of AutoNMF: other parameters, or in use", UNCHANGED, other_parameters, 10, 50),
    Fault("save: permissions and symbolic links", "kept; bitwise identical", permissions, 8, 200),
    Fault("save: folders, pipes, devices and links in a circle", UNCHANGED, no_files, 4, 100),
    *(Fault(f"AutoNMF.load: {name}", "refused", partial(contradiction, change), 6, 100)
      for name, change in CONTRADICTIONS.items()),
]  # fmt: skip
