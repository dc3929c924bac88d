"""A path in one file: arrays as npz, everything else as JSON inside it. No pickle.

Files may be hostile: no code in them is run, and nothing larger than the file is allocated.
"""

from __future__ import annotations

import errno
import json
import math
import os
import zipfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from autonmf._files import replace_file
from autonmf._types import Array
from autonmf.data.noise import WhitenedSpectrum
from autonmf.io.numpy_files import read_array
from autonmf.path.result import Evidence, PathPoint, RankPath, Visit

Result = TypeVar("Result")

FORMAT = "autonmf.RankPath"
FORMATS = (FORMAT, "autonmf.AutoNMF")  # each is saved and loaded by the class of that name
VERSION = 2
SIZES = ("squared_norm", "rank_one_loss", "energy", "mu", "delta")  # of a path
COLUMNS = ("ranks", "losses", "spectrum")  # of the evidence


def save_path(path: RankPath, file: str | PathLike[str]) -> None:
    """Write ``path`` to a file; an existing file is replaced only once the new one is complete."""
    write_archive(file, describe_path(path), list_factors(path))


def load_path(file: str | PathLike[str]) -> RankPath:
    """Read a path; a ValueError if the file holds anything else."""
    return read_archive(file, FORMAT, read_path)


def describe_path(path: RankPath) -> dict[str, Any]:
    """All of a path except its factors, in types that JSON can hold."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "shape": list(path.shape),
        **{name: getattr(path, name) for name in SIZES},
        "complete": path.complete,
        "settings": path.settings,
        "points": [{"loss": p.loss, "lam": p.lam, "n_iter": p.n_iter, "on_X": p.on_X} for p in path.points],
        "visits": [list(visit) for visit in path.visits],
        "evidence": None if path.evidence is None else _describe_evidence(path.evidence),
        "n_known": path.n_known,
    }


def list_factors(path: RankPath) -> dict[str, Array]:
    """The factors of a path by their names in the file."""
    return {f"{name}{i}": getattr(point, name) for i, point in enumerate(path.points) for name in "UV"}


def write_archive(file: str | PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write arrays and a header to one file, which is replaced only once the new one is complete."""
    members: dict[str, Any] = {"header": np.array(json.dumps(header))} | arrays
    target = os.fspath(file)
    if not os.path.isdir(folder := os.path.dirname(target) or "."):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write to", folder)
    with replace_file(target) as stream:
        np.savez(stream, **members)


def read_archive(file: str | PathLike[str], form: str, read: Callable[[Archive, Any], Result]) -> Result:
    """Open a file and return ``read(archive, header)``; errors say that it is not a saved ``form``."""
    with open(file, "rb") as stream:
        try:
            archive = Archive(stream)
            return read(archive, json.loads(archive.text("header")))
        except MemoryError:
            raise
        except Exception as error:  # damaged files may raise any exception, even tokenize.TokenError
            name = form.removeprefix("autonmf.")
            raise ValueError(f"{os.fspath(file)} is not a saved {name}: {error}") from None


def check_format(header: Any, form: str, version: int) -> None:
    """Refuse a header of another format, or of a newer version."""
    found = check_kind(header, dict)["format"]
    if found != form:
        known = found in FORMATS
        name = str(found).removeprefix("autonmf.")
        raise ValueError(f"it holds a saved {name}: use {name}.load" if known else f"it holds {found!r}")
    if (written := check_count(header["version"])) > version:
        raise ValueError(f"its format version {written} is newer than {version}; update autonmf")


def read_visit(values: Any) -> Visit:
    """Read a visit from JSON."""
    start, lam, rank, loss, n_iter, seconds, reason, next_lam = values
    if not isinstance(reason, str):
        raise ValueError("a visit has no reason")
    return Visit(
        start=check_count(start, 0),
        lam=_check_lam(lam),
        rank=check_count(rank),
        loss=check_size(loss),
        n_iter=check_count(n_iter, 0),
        seconds=check_size(seconds),
        reason=reason,
        next_lam=_check_lam(next_lam),
    )


def read_path(archive: Archive, header: Any) -> RankPath:
    """Read a path from its header and the factors in the archive."""
    check_format(header, FORMAT, VERSION)
    n, m = map(check_count, header["shape"])
    points = tuple(_read_point(archive, i, fields, (n, m)) for i, fields in enumerate(header["points"]))
    ranks = [point.rank for point in points]
    if not ranks or ranks != sorted(set(ranks)):
        raise ValueError("its ranks do not increase")
    evidence = _read_evidence(header.get("evidence"), (n, m))
    if evidence is not None and evidence.ranks.tolist() != ranks[: len(evidence.ranks)]:
        raise ValueError("its evidence is not that of its ranks")
    n_known = check_count(header.get("n_known", 0), 0)
    if n_known > ranks[0]:
        raise ValueError("it has fewer components than known ones")
    return RankPath(
        n_known=n_known,
        points=points,
        visits=tuple(read_visit(values) for values in header["visits"]),
        shape=(n, m),
        **{name: check_size(header[name]) for name in SIZES},
        complete=check_kind(header["complete"], bool),
        settings=check_kind(header["settings"], dict),
        evidence=evidence,
    )


def _read_point(archive: Archive, index: int, fields: Any, shape: tuple[int, int]) -> PathPoint:
    U, V = (archive.matrix(f"{name}{index}") for name in "UV")
    n, m = shape
    rank = U.shape[1]
    if not rank or U.shape != (n, rank) or V.shape != (m, rank):
        raise ValueError(f"its factors number {index} do not match the shape {n} x {m}")
    if not all(factor.min() >= 0 and factor.max() < np.inf for factor in (U, V)):
        raise ValueError(f"its factors number {index} are not finite and nonnegative")
    on_X = check_kind(check_kind(fields, dict).get("on_X", True), bool)
    return PathPoint(
        U, V, check_size(fields["loss"]), _check_lam(fields["lam"]), check_count(fields["n_iter"], 0), on_X
    )


def _describe_evidence(evidence: Evidence) -> dict[str, Any]:
    whitened = evidence.whitened
    return {name: getattr(evidence, name).tolist() for name in COLUMNS} | {
        "whitened": {
            "shape": whitened.shape,
            "squares": whitened.squares.tolist(),
            "clipped": whitened.clipped,
            "doubtful": whitened.doubtful,
        },
        "complete": evidence.complete,
        "all_known": evidence.all_known,
        "n_known": evidence.n_known,
        "known_drops": evidence.known_drops.tolist(),
    }


def _read_evidence(fields: Any, shape: tuple[int, int]) -> Evidence | None:
    if fields is None:
        return None
    columns = {name: read_column(check_kind(fields, dict)[name], finite=True) for name in COLUMNS}
    if not len(columns["ranks"]) == len(columns["losses"]) > 0:
        raise ValueError("its evidence does not have a loss for each rank")
    whitened = check_kind(fields["whitened"], dict)
    n, m = (check_count(side, 0) for side in check_kind(whitened["shape"], list))
    squares = read_column(whitened["squares"], finite=True)
    clipped = check_kind(whitened["clipped"], bool)
    doubtful = check_kind(whitened.get("doubtful", False), bool)  # earlier versions do not have it
    return Evidence(
        shape,
        **columns,
        whitened=WhitenedSpectrum((n, m), squares, clipped, doubtful),
        complete=check_kind(fields["complete"], bool),
        all_known=check_kind(fields["all_known"], bool),
        n_known=check_count(fields.get("n_known", 0), 0),
        known_drops=read_column(fields.get("known_drops", []), finite=True),
    )


def read_column(values: Any, *, finite: bool = False) -> Array:
    """Read a column of the evidence: numbers, which may be infinite or NaN unless ``finite``."""
    column = np.array(check_kind(values, list))
    if column.ndim != 1 or column.dtype.kind not in "if" or (finite and not np.isfinite(column).all()):
        raise ValueError("its evidence has a column that is not a list of numbers")
    return column


def check_kind(value: Any, kind: type) -> Any:
    """Return the value if it is of this type; a ValueError otherwise."""
    if not isinstance(value, kind):
        raise ValueError(f"its header has {str(value)[:40]!r} in the wrong place")
    return value


def check_count(value: Any, least: int = 1) -> int:
    """Return the value if it is an integer of at least ``least``; a ValueError otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"its header has {str(value)[:40]!r} where a count is expected")
    return value


def check_size(value: Any) -> float:
    """Return the value if it is a finite nonnegative number; a ValueError otherwise."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise ValueError(f"its header has {str(value)[:40]!r} where a nonnegative number is expected")
    return float(value)


def _check_lam(value: Any) -> float:
    """Check a λ, which may be NaN if it is not known."""
    return math.nan if isinstance(value, float) and math.isnan(value) else check_size(value)


class Archive:
    """An npz as `numpy.savez` writes it: arrays by name, not compressed.

    Names in the file are never used as paths.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(stream)
        members = self._zip.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("it is compressed, and could expand to any size")
        if sum(member.file_size for member in members) > os.fstat(stream.fileno()).st_size:
            raise ValueError("it declares more bytes than the file has")
        self.names = [member.filename.removesuffix(".npy") for member in members]
        if len(set(self.names)) < len(self.names):
            raise ValueError("it holds two arrays under one name")

    def text(self, name: str) -> str:
        """An array that is one string."""
        array = self._array(name, "U")
        if array.shape != ():
            raise ValueError(f"{name} is not one string")
        return str(array)

    def matrix(self, name: str) -> Array:
        """An array that is a matrix of numbers, Fortran-ordered."""
        array = self._array(name, "f")
        if array.ndim != 2 or array.dtype not in (np.float32, np.float64):
            raise ValueError(f"{name} is not a matrix in single or double precision")
        return np.asfortranarray(array)

    def _array(self, name: str, kind: str) -> Array:
        member = self._zip.getinfo(f"{name}.npy")
        with self._zip.open(member) as stream:
            array = read_array(Path(name), stream, member.file_size)
        if array.dtype.kind != kind:
            raise ValueError(f"{name} holds {array.dtype} entries")
        return array
