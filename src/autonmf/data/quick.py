"""X for many products that need not be exact."""

from __future__ import annotations

from typing import Any

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
    entries = _entries(data)
    return data if entries is None else Sparse(entries.astype(np.float32))


def _entries(data: Data) -> Any:
    """X in a sparse format; None if it is not stored in one."""
    if isinstance(data, Sparse):
        return data.X
    if isinstance(data, Turned):
        turned = _entries(data.T)
        return None if turned is None else turned.T
    if not isinstance(data, Scaled | Evened) or (X := _entries(data.data)) is None:
        return None
    return X / data.scale if isinstance(data, Scaled) else _divided(X, data.a, data.b)


def _divided(X: Any, a: Array, b: Array) -> Any:
    """diag(a)⁻¹ X diag(b)⁻¹."""
    if X.format == "csc":
        return _divided(X.T, b, a).T
    divisors = np.repeat(a, np.diff(X.indptr)) * b[X.indices]
    return type(X)((X.data / divisors, X.indices, X.indptr), shape=X.shape)
