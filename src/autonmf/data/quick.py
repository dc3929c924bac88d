"""X for many products that need not be exact."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from autonmf._types import Array
from autonmf.data.compressed import Compressed
from autonmf.data.evened import Evened
from autonmf.data.protocol import Data
from autonmf.data.rowwise import Turned
from autonmf.data.scaled import Scaled
from autonmf.data.sparse import Sparse


def quick(data: Data) -> Data:
    """The same matrix in single precision, with no scaling left to do: a sparse or compressed one.

    Another would take much memory, and is left as it is.
    """
    if isinstance(data, Compressed):
        return data.quick()
    return Sparse(_entries(data).astype(np.float32)) if is_sparse(data) else data


def is_sparse(data: Data) -> bool:
    """Whether X is sparse, whatever it is scaled by."""
    if isinstance(data, Turned):
        return is_sparse(data.T)
    return is_sparse(data.data) if isinstance(data, Scaled | Evened) else isinstance(data, Sparse)


def _entries(data: Data) -> Any:
    """A sparse X as SciPy has it."""
    if isinstance(data, Turned):
        return _entries(data.T).T
    if isinstance(data, Scaled):
        return _entries(data.data) / data.scale
    if isinstance(data, Evened):
        return _divided(_entries(data.data), data.a, data.b)
    return cast(Sparse, data).X


def _divided(X: Any, a: Array, b: Array) -> Any:
    """diag(a)⁻¹ X diag(b)⁻¹."""
    if X.format == "csc":
        return _divided(X.T, b, a).T
    divisors = np.repeat(a, np.diff(X.indptr)) * b[X.indices]
    return type(X)((X.data / divisors, X.indices, X.indptr), shape=X.shape)
