"""Sparse matrices from the three arrays that files store them as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.readers.room import check_room


def compressed_matrix(
    values: Array, indices: Array, indptr: Array, shape: tuple[int, int], *, by_columns: bool
) -> Any:
    """A CSR or (``by_columns``) CSC matrix whose indices were all checked: files may lie."""
    from scipy import sparse

    kind = sparse.csc_matrix if by_columns else sparse.csr_matrix
    # MATLAB and h5py hand out unsigned indices, which SciPy would copy to 64 bits.
    indices, indptr = (np.asarray(part).astype(np.int64, copy=False) for part in (indices, indptr))
    X = kind((values, indices, indptr), shape=shape)
    X.check_format(full_check=True)
    return X


def checked(file: Path, X: Any) -> Any:
    """X, a sparse one as CSR or CSC after a check that every index lies inside the matrix."""
    if not hasattr(X, "tocsr") or X.ndim != 2:
        return X
    if X.format not in ("csr", "csc"):
        check_room(file, (X.shape[0] + 1,))  # CSR has an index for each row, also for those without entries
        X = X.tocsr()
    X.check_format(full_check=True)
    return X
