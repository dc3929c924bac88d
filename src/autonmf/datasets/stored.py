"""Files as a data home may hold them: npz with a dense ``X``, or with the parts of a CSR matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from autonmf._types import Array
from autonmf.readers.table import ReadError, parsing


def read_all(file: Path) -> dict[str, Array]:
    """Every array of an npz file."""
    with parsing(file, "an npz file"), np.load(file, allow_pickle=False) as stored:
        return dict(stored)


def read(file: Path, key: str) -> Array:
    """One array of an npz file."""
    with np.load(file) as stored:
        array: Array = stored[key]
        return array


def read_csr(file: Path, dtype: DTypeLike = np.float64) -> Any:
    """The sparse matrix of an npz file with CSR parts."""
    return csr(file, read_all(file), dtype)


def csr(file: Path, stored: dict[str, Array], dtype: DTypeLike = np.float64) -> Any:
    """The sparse matrix whose parts are among the arrays of a file."""
    if missing := [key for key in ("data", "indices", "indptr", "shape") if key not in stored]:
        raise ReadError(f"{file} is no CSR matrix: it holds no {', '.join(missing)}")
    parts = (stored["data"].astype(dtype), stored["indices"], stored["indptr"])
    rows, columns = (int(size) for size in stored["shape"])
    X = sparse.csr_matrix(parts, shape=(rows, columns))
    with parsing(file, "a CSR matrix"):
        X.check_format(full_check=True)
    return X
