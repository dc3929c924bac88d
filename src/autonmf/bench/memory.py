"""Peak memory of one fit above X itself; run as ``python -m autonmf.bench.memory n m rank``."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

import numpy as np

from autonmf import AutoNMF
from autonmf._types import Array


def main() -> None:
    """Print the extra memory as a share of X."""
    n, m, rank = map(int, sys.argv[1:4])
    AutoNMF(max_rank=3, random_state=0).fit(np.random.default_rng(0).random((300, 200)))  # load everything
    X = _matrix(n, m, rank)
    before = _resident()
    found = AutoNMF(random_state=0).fit(X).n_components_
    peak = _peak()
    print(json.dumps({"extra": (peak - before) / X.nbytes, "rank": found}))


def _matrix(n: int, m: int, rank: int) -> Array:
    """The paper's generator, row by row, so that making X needs no more memory than X."""
    rng = np.random.default_rng(0)
    U, V = (np.maximum(rng.standard_normal((size, rank)), 0.0) for size in (n, m))
    X = np.empty((n, m))
    for i in range(n):
        X[i] = np.maximum(V @ U[i] + 0.3 * rng.standard_normal(m), 0.0)
    return X


def _peak() -> int:
    """The largest resident size of this program; ru_maxrss would inherit that of its parent."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main()
