"""A path in one file: arrays as npz, everything else as JSON inside it. No pickle."""

from __future__ import annotations

import json
import os
import zipfile
from contextlib import suppress
from os import PathLike
from typing import Any

import numpy as np

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
    temporary = f"{target}.{os.getpid()}.part"
    try:
        with open(temporary, "xb") as stream:
            np.savez(stream, **arrays)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def load_path(file: str | PathLike[str]) -> RankPath:
    """Read a path; anything that is not one is refused with a ValueError."""
    with open(file, "rb") as stream:
        try:
            with np.load(stream, allow_pickle=False) as stored:
                return _from_arrays(stored)
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            EOFError,
            OSError,
            zipfile.BadZipFile,
        ) as error:
            raise ValueError(f"{os.fspath(file)} is not a saved RankPath: {error}") from None


def _from_arrays(stored: Any) -> RankPath:
    header = json.loads(str(stored["header"]))
    if header["format"] != FORMAT:
        raise ValueError(f"it holds {header['format']!r}")
    if header["version"] > VERSION:
        raise ValueError(f"its format version {header['version']} is newer than {VERSION}; update autonmf")
    n, m = header["shape"]
    points = []
    for i, fields in enumerate(header["points"]):
        U, V = (np.asfortranarray(stored[f"{name}{i}"]) for name in "UV")
        if U.ndim != 2 or U.shape[0] != n or V.shape != (m, U.shape[1]):
            raise ValueError(f"its factors at {i} do not fit the shape {n} x {m}")
        points.append(PathPoint(U, V, **fields))
    return RankPath(
        points=tuple(points),
        visits=tuple(Visit(*fields) for fields in header["visits"]),
        shape=(n, m),
        squared_norm=header["squared_norm"],
        spectral_norm=header["spectral_norm"],
        mu=header["mu"],
        delta=header["delta"],
        complete=header["complete"],
        settings=header["settings"],
        evidence=_evidence(header.get("evidence"), (n, m)),
    )


def _listed(evidence: Evidence) -> dict[str, Any]:
    columns = {name: getattr(evidence, name).tolist() for name in COLUMNS}
    return columns | {"complete": evidence.complete}


def _evidence(fields: dict[str, Any] | None, shape: tuple[int, int]) -> Evidence | None:
    if fields is None:
        return None
    columns = {name: np.array(fields[name]) for name in COLUMNS}
    if not len(columns["ranks"]) == len(columns["losses"]) == len(columns["losses_of_X"]):
        raise ValueError("its evidence has not two losses for each rank")
    return Evidence(shape, **columns, complete=bool(fields["complete"]))
