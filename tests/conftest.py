"""Data that several test modules share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from autonmf.datasets import make_low_rank


@pytest.fixture(scope="session")
def low_rank() -> np.ndarray:
    """60 x 40 with three components and some noise. Read-only: a function that writes to X fails."""
    X = make_low_rank(60, 40, rank=3, random_state=0)[0]
    X.setflags(write=False)
    return X


@pytest.fixture(scope="session")
def real_home() -> Path:
    """The folder AUTONMF_DATA or ``../shared/data`` from the project's root."""
    home = Path(os.environ.get("AUTONMF_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not home.is_dir():
        pytest.skip(f"no benchmark data in {home}: set AUTONMF_DATA to their folder")
    return home


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


def _hdf5(folder: Path, X: np.ndarray) -> Any:
    h5py = pytest.importorskip("h5py")
    return h5py.File(folder / "x.h5", "w").create_dataset("X", data=X, chunks=(7, X.shape[1]))


def _zarr(folder: Path, X: np.ndarray) -> Any:
    zarr = pytest.importorskip("zarr")
    return zarr.create_array(store=folder / "x.zarr", data=X, chunks=(11, X.shape[1]))


def _map(folder: Path, X: np.ndarray, dtype: str) -> Any:
    file = np.memmap(folder / "x.bin", dtype=dtype, mode="w+", shape=X.shape)
    file[:] = X
    return file


def _backed(folder: Path, X: np.ndarray, kind: type) -> Any:
    anndata = pytest.importorskip("anndata")
    anndata.AnnData(kind(X)).write_h5ad(folder / "x.h5ad")
    return anndata.read_h5ad(folder / "x.h5ad", backed="r").X


@pytest.fixture
def in_file() -> Iterator[Callable[[str, Path, np.ndarray], Any]]:
    """A matrix in a file of some kind, in a folder; closed after the test."""
    kinds: dict[str, Callable[[Path, np.ndarray], Any]] = {
        "hdf5": _hdf5,
        "zarr": _zarr,
        "floats": partial(_map, dtype="f8"),
        "integers": partial(_map, dtype="i8"),
        "big-endian": partial(_map, dtype=">f8"),
        "backed": partial(_backed, kind=sparse.csr_matrix),
        "backed-columns": partial(_backed, kind=sparse.csc_matrix),
    }
    with ExitStack() as files:

        def written(kind: str, folder: Path, X: np.ndarray) -> Any:
            stored = kinds[kind](folder, X)
            if hasattr(stored, "file"):
                files.callback(stored.file.close)
            return stored

        yield written


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
