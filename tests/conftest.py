"""Data that several test modules share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from autonmf.datasets import make_low_rank


@pytest.fixture(scope="session")
def low_rank() -> np.ndarray:
    """60 x 40 with three components and some noise. Read-only: a function that writes to X fails."""
    X = make_low_rank(60, 40, rank=3, random_state=0)[0]
    X.setflags(write=False)
    return X


@pytest.fixture
def flipped() -> Callable[[bytes], Iterator[bytes]]:
    """A file with one bit flipped, 300 times, always at the same places."""

    def damaged(good: bytes) -> Iterator[bytes]:
        rng = np.random.default_rng(0)
        for place in rng.integers(len(good), size=300):
            content = bytearray(good)
            content[place] ^= 1 << rng.integers(8)
            yield bytes(content)

    return damaged


@pytest.fixture(scope="session")
def benchmark_data() -> Callable[[str], dict[str, np.ndarray]]:
    """Load a benchmark file by name, from the folder AUTONMF_DATA or ``../shared/data``."""
    home = Path(os.environ.get("AUTONMF_DATA") or Path(__file__).parents[2] / "shared" / "data")

    def load(name: str) -> dict[str, np.ndarray]:
        file = home / f"{name}.npz"
        if not file.is_file():
            pytest.skip(f"no {file.name} in {home}: set AUTONMF_DATA to the folder of the benchmark data")
        with np.load(file) as stored:
            return dict(stored)

    return load
