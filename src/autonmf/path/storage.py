"""A path in one file: arrays as npz, everything else as JSON inside it. No pickle."""

from __future__ import annotations

import json
import math
import os
import secrets
from contextlib import suppress
from os import PathLike
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.path.archive import Archive
from autonmf.path.result import Evidence, PathPoint, RankPath, Visit

FORMAT = "autonmf.RankPath"
VERSION = 1
COLUMNS = ("ranks", "losses", "losses_of_X", "spectrum", "spectrum_of_X")  # of the evidence


def save_path(path: RankPath, file: str | PathLike[str]) -> None:
    """Write ``path``; an existing file is replaced only once the new one is complete."""
    header = {
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
    arrays: dict[str, Any] = {"header": np.array(json.dumps(header))}
    for index, point in enumerate(path.points):
        arrays[f"U{index}"], arrays[f"V{index}"] = point.U, point.V
    target = os.fspath(file)
    temporary = f"{target}.{secrets.token_hex(4)}.part"
    try:
        with open(temporary, "xb") as stream:
            np.savez(stream, **arrays)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def load_path(file: str | PathLike[str]) -> RankPath:
    """Read a path; anything that is not one is refused with a ValueError, whoever wrote it."""
    with open(file, "rb") as stream:
        try:
            return _from_archive(Archive(stream))
        except Archive.UNFIT as error:
            raise ValueError(f"{os.fspath(file)} is not a saved RankPath: {error}") from None


def visit_from(values: Any) -> Visit:
    """A visit from what JSON holds of it."""
    start, lam, rank, loss, n_iter, seconds, reason, next_lam = values
    if not isinstance(reason, str):
        raise ValueError("a visit has no reason")
    return Visit(
        start=_count(start, 0), lam=_lam(lam), rank=_count(rank), loss=_size(loss), n_iter=_count(n_iter, 0),
        seconds=_size(seconds), reason=reason, next_lam=_lam(next_lam),
    )  # fmt: skip


def _from_archive(archive: Archive) -> RankPath:
    header = _of_kind(json.loads(archive.text("header")), dict)
    if header["format"] != FORMAT:
        raise ValueError(f"it holds {header['format']!r}")
    if (version := _count(header["version"])) > VERSION:
        raise ValueError(f"its format version {version} is newer than {VERSION}; update autonmf")
    n, m = map(_count, header["shape"])
    points = tuple(_point(archive, i, fields, (n, m)) for i, fields in enumerate(header["points"]))
    ranks = [point.rank for point in points]
    if not ranks or ranks != sorted(set(ranks)):
        raise ValueError("its ranks do not increase")
    return RankPath(
        points=points,
        visits=tuple(visit_from(values) for values in header["visits"]),
        shape=(n, m),
        squared_norm=_size(header["squared_norm"]),
        spectral_norm=_size(header["spectral_norm"]),
        mu=_size(header["mu"]),
        delta=_size(header["delta"]),
        complete=_of_kind(header["complete"], bool),
        settings=_of_kind(header["settings"], dict),
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
    on_X = _of_kind(_of_kind(fields, dict).get("on_X", True), bool)
    return PathPoint(U, V, _size(fields["loss"]), _lam(fields["lam"]), _count(fields["n_iter"], 0), on_X)


def _listed(evidence: Evidence) -> dict[str, Any]:
    columns = {name: getattr(evidence, name).tolist() for name in COLUMNS}
    return columns | {"complete": evidence.complete}


def _evidence(fields: Any, shape: tuple[int, int]) -> Evidence | None:
    if fields is None:
        return None
    columns = {name: _column(_of_kind(fields, dict)[name]) for name in COLUMNS}
    if not len(columns["ranks"]) == len(columns["losses"]) >= len(columns["losses_of_X"]) > 0:
        raise ValueError("its evidence has not a loss for each rank")
    return Evidence(shape, **columns, complete=_of_kind(fields["complete"], bool))


def _column(values: Any) -> Array:
    column = np.array(values)
    if column.ndim != 1 or column.dtype.kind not in "if" or not np.isfinite(column).all():
        raise ValueError("its evidence has a column that is no list of numbers")
    return column


def _of_kind(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"its header has {str(value)[:40]!r} in the wrong place")
    return value


def _count(value: Any, least: int = 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"its header has {str(value)[:40]!r} where a count belongs")
    return value


def _size(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise ValueError(f"its header has {str(value)[:40]!r} where a nonnegative number belongs")
    return float(value)


def _lam(value: Any) -> float:
    """A λ; NaN where none is known."""
    return math.nan if isinstance(value, float) and math.isnan(value) else _size(value)
