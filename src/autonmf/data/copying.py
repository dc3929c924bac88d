"""A copy of X for later, where its owner may change it."""

from __future__ import annotations

from autonmf.data.compressed import Compressed
from autonmf.data.dense import Dense
from autonmf.data.protocol import Data
from autonmf.data.scaled import Scaled
from autonmf.data.sparse import Sparse


def copied(data: Data, most: int) -> Data | None:
    """The same matrix in memory of our own; None where that takes more than ``most`` bytes, or many steps."""
    if isinstance(data, Compressed):
        return data  # is ours
    if isinstance(data, Scaled):
        inner = copied(data.data, most)
        return None if inner is None else Scaled(inner, data.scale)
    if isinstance(data, Dense):
        return Dense(data.X.copy(order="K")) if data.X.nbytes <= most else None
    if isinstance(data, Sparse):
        X = data.X
        size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        return Sparse(X.copy()) if size <= most else None
    return None
