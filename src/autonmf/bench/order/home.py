"""The data home: real parts are used where it is present, generated ones elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from autonmf._types import Array


def data_home() -> Path | None:
    """The folder ``AUTONMF_DATA``, else ``../shared/data`` from the project's root; None where absent."""
    named = os.environ.get("AUTONMF_DATA")
    home = Path(named) if named else Path(__file__).resolve().parents[5] / "shared" / "data"
    return home if home.is_dir() else None


def find(file: str) -> Path | None:
    """A file of the data home, or None."""
    home = data_home()
    return home / file if home is not None and (home / file).is_file() else None


def need(file: str) -> Path:
    """A file of the data home that has to be there."""
    found = find(file)
    if found is None:
        raise FileNotFoundError(
            f"no {file} in the data home: set AUTONMF_DATA to the folder of the benchmark data"
        )
    return found


def read(file: Path, key: str) -> Array:
    """One array of an npz file."""
    with np.load(file) as stored:
        array: Array = stored[key]
        return array


def read_csr(file: Path) -> Any:
    """The sparse matrix of an npz file with CSR parts."""
    with np.load(file) as s:
        parts = (s["data"].astype(np.float64), s["indices"], s["indptr"])
        return sparse.csr_matrix(parts, shape=(int(s["shape"][0]), int(s["shape"][1])))
