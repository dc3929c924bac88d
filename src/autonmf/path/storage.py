"""A path in one file: arrays as npz, everything else as JSON inside it. No pickle."""

from __future__ import annotations

import errno
import json
import math
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from autonmf._types import Array
from autonmf.path.archive import Archive
from autonmf.path.result import Evidence, PathPoint, RankPath, Visit

Result = TypeVar("Result")

FORMAT = "autonmf.RankPath"
FORMATS = (FORMAT, "autonmf.AutoNMF")  # every one that a class of that name saves and loads
VERSION = 1
COLUMNS = ("ranks", "losses", "losses_of_X", "spectrum", "spectrum_of_X")  # of the evidence


def save_path(path: RankPath, file: str | PathLike[str]) -> None:
    """Write ``path``; an existing file is replaced only once the new one is complete."""
    write_archive(file, path_header(path), path_factors(path))


def load_path(file: str | PathLike[str]) -> RankPath:
    """Read a path; anything that is not one is refused with a ValueError, whoever wrote it."""
    return read_archive(file, FORMAT, path_from)


def path_header(path: RankPath) -> dict[str, Any]:
    """All of a path but its factors, as JSON holds it."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "shape": list(path.shape),
        "squared_norm": path.squared_norm,
        "spectral_norm": path.spectral_norm,
        "mu": path.mu,
        "delta": path.delta,
        "complete": path.complete,
        "settings": path.settings,
        "points": [{"loss": p.loss, "lam": p.lam, "n_iter": p.n_iter, "on_X": p.on_X} for p in path.points],
        "visits": [list(visit) for visit in path.visits],
        "evidence": None if path.evidence is None else _listed(path.evidence),
    }


def path_factors(path: RankPath) -> dict[str, Array]:
    """The factors of a path by the names under which a file holds them."""
    return {f"{name}{i}": getattr(point, name) for i, point in enumerate(path.points) for name in "UV"}


def write_archive(file: str | PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write arrays and a header to one file, which is replaced only once the new one is complete."""
    members: dict[str, Any] = {"header": np.array(json.dumps(header))} | arrays
    target = os.fspath(file)
    if not os.path.isdir(folder := os.path.dirname(target) or "."):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write to", folder)
    temporary = f"{target}.{secrets.token_hex(4)}.part"
    try:
        with open(temporary, "xb") as stream:
            np.savez(stream, **members)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def read_archive(file: str | PathLike[str], form: str, read: Callable[[Archive, Any], Result]) -> Result:
    """What ``read`` makes of a file and its header; one that is refused is called no saved ``form``."""
    with open(file, "rb") as stream:
        try:
            archive = Archive(stream)
            return read(archive, json.loads(archive.text("header")))
        except Archive.UNFIT as error:
            name = form.removeprefix("autonmf.")
            raise ValueError(f"{os.fspath(file)} is not a saved {name}: {error}") from None


def check_format(header: Any, form: str, version: int) -> None:
    """Refuse a header of something else, or of a newer version."""
    found = of_kind(header, dict)["format"]
    if found != form:
        known = found in FORMATS
        name = str(found).removeprefix("autonmf.")
        raise ValueError(f"it holds a saved {name}: use {name}.load" if known else f"it holds {found!r}")
    if (written := count(header["version"])) > version:
        raise ValueError(f"its format version {written} is newer than {version}; update autonmf")


def visit_from(values: Any) -> Visit:
    """A visit from what JSON holds of it."""
    start, lam, rank, loss, n_iter, seconds, reason, next_lam = values
    if not isinstance(reason, str):
        raise ValueError("a visit has no reason")
    return Visit(
        start=count(start, 0), lam=_lam(lam), rank=count(rank), loss=size(loss), n_iter=count(n_iter, 0),
        seconds=size(seconds), reason=reason, next_lam=_lam(next_lam),
    )  # fmt: skip


def path_from(archive: Archive, header: Any) -> RankPath:
    """A path from its header, and its factors in the archive."""
    check_format(header, FORMAT, VERSION)
    n, m = map(count, header["shape"])
    points = tuple(_point(archive, i, fields, (n, m)) for i, fields in enumerate(header["points"]))
    ranks = [point.rank for point in points]
    if not ranks or ranks != sorted(set(ranks)):
        raise ValueError("its ranks do not increase")
    return RankPath(
        points=points,
        visits=tuple(visit_from(values) for values in header["visits"]),
        shape=(n, m),
        squared_norm=size(header["squared_norm"]),
        spectral_norm=size(header["spectral_norm"]),
        mu=size(header["mu"]),
        delta=size(header["delta"]),
        complete=of_kind(header["complete"], bool),
        settings=of_kind(header["settings"], dict),
        evidence=_evidence(header.get("evidence"), (n, m)),
    )


def _point(archive: Archive, index: int, fields: Any, shape: tuple[int, int]) -> PathPoint:
    U, V = (archive.matrix(f"{name}{index}") for name in "UV")
    n, m = shape
    rank = U.shape[1]
    if not rank or U.shape != (n, rank) or V.shape != (m, rank):
        raise ValueError(f"its factors at {index} do not fit the shape {n} x {m}")
    if not all(factor.min() >= 0 and factor.max() < np.inf for factor in (U, V)):
        raise ValueError(f"its factors at {index} are not finite and nonnegative")
    on_X = of_kind(of_kind(fields, dict).get("on_X", True), bool)
    return PathPoint(U, V, size(fields["loss"]), _lam(fields["lam"]), count(fields["n_iter"], 0), on_X)


def _listed(evidence: Evidence) -> dict[str, Any]:
    columns = {name: getattr(evidence, name).tolist() for name in COLUMNS}
    return columns | {"complete": evidence.complete}


def _evidence(fields: Any, shape: tuple[int, int]) -> Evidence | None:
    if fields is None:
        return None
    columns = {name: _column(of_kind(fields, dict)[name]) for name in COLUMNS}
    if not len(columns["ranks"]) == len(columns["losses"]) >= len(columns["losses_of_X"]) > 0:
        raise ValueError("its evidence has not a loss for each rank")
    return Evidence(shape, **columns, complete=of_kind(fields["complete"], bool))


def _column(values: Any) -> Array:
    column = np.array(values)
    if column.ndim != 1 or column.dtype.kind not in "if" or not np.isfinite(column).all():
        raise ValueError("its evidence has a column that is no list of numbers")
    return column


def of_kind(value: Any, kind: type) -> Any:
    """The value, if it is of this kind."""
    if not isinstance(value, kind):
        raise ValueError(f"its header has {str(value)[:40]!r} in the wrong place")
    return value


def count(value: Any, least: int = 1) -> int:
    """The value, if it is an integer of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"its header has {str(value)[:40]!r} where a count belongs")
    return value


def size(value: Any) -> float:
    """The value, if it is a finite nonnegative number."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise ValueError(f"its header has {str(value)[:40]!r} where a nonnegative number belongs")
    return float(value)


def _lam(value: Any) -> float:
    """A λ; NaN where none is known."""
    return math.nan if isinstance(value, float) and math.isnan(value) else size(value)
