"""What a fit needs and what it holds, in a process of its own, beside the formulas of docs/performance.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

FIT = """
import gc, json, sys, tracemalloc
import numpy as np
from autonmf import AutoNMF
from autonmf.datasets import make_low_rank

n, m, rank = map(int, sys.argv[1:])
# what is loaded once
AutoNMF(max_rank=3, random_state=0).fit(np.random.default_rng(0).random((300, 200)))
X = make_low_rank(n, m, rank, 0.3, random_state=0)[0]
gc.collect()
tracemalloc.start()
model = AutoNMF(random_state=0).fit(X)
peak = tracemalloc.get_traced_memory()[1]
gc.collect()
print(json.dumps({"peak": peak, "held": tracemalloc.get_traced_memory()[0], "rank": model.n_components_}))
"""

TEMPORARY = 8e6
"""Bytes of a few blocks of rows, and of what does not grow with X."""


def measure(n: int, m: int, rank: int) -> dict[str, float]:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", FIT, str(n), str(m), str(rank)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    assert found["rank"] == rank
    return found


def test_a_compressed_path() -> None:
    n, m, R = 3000, 2000, 50
    found = measure(n, m, 10)
    path, compression = 2 * (n + m) * R * (R + 1), 8 * (n + m) * (R + 10)
    assert found["held"] <= 1.05 * (path + compression) + 1e6
    unclipped = min(4 * n * m, 2**26)
    assert found["peak"] <= max(path + 5 * compression, unclipped + 4 * compression) + TEMPORARY


@pytest.mark.parametrize("transposed", [False, True])
def test_a_tall_matrix_and_a_wide_one(transposed: bool) -> None:
    n, m, r, R = 100_000, 60, 10, 30
    found = measure(m, n, r) if transposed else measure(n, m, r)
    rows = max(64 * min(R + 10, m), n // 64)  # of the sample
    copy, columns = 4 * n * m, 2 * m * R * (R + 1)
    sample = rows * (8 * m + 1300)
    assert found["held"] <= copy + columns + 24 * n + 8 * n * r * transposed + 1e6
    assert found["peak"] <= max(copy + 16 * n * r, 40 * n * r) + columns + sample + 24 * n + TEMPORARY
