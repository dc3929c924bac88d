"""Files that were cut off, or in which bytes were changed, put in or left out."""

from __future__ import annotations

import gzip
import io
import tempfile
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from scipy import sparse

from autonmf import RankPath, rank_path
from autonmf.datasets import make_low_rank
from autonmf.io import ReadError, read_matrix
from experiments.core import equilibrate
from experiments.reliability.faults import Fault, require, same

X = np.round(make_low_rank(12, 7, rank=2, random_state=0)[0], 3)
X.setflags(write=False)

ROOM = 4 << 30
"""Bytes that reading a file of a few kilobytes may use: a header that claims more is not believed."""


def _saved(write: Callable[..., Any], *content: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    write(stream, *content, **options)
    return stream.getvalue()


def _text() -> bytes:
    lines = ["id," + ",".join("abcdefg"), *(f"r{i}," + ",".join(map(str, row)) for i, row in enumerate(X))]
    return "\n".join(lines).encode()


def _parquet() -> bytes:
    import pandas as pd

    return bytes(pd.DataFrame(X, columns=list("abcdefg")).to_parquet())


def _h5ad() -> bytes:
    """Without attributes of variable length: HDF5 itself hangs on some damaged ones."""
    import h5py

    stream, matrix = io.BytesIO(), sparse.csr_matrix(X)
    with h5py.File(stream, "w") as content:
        group = content.create_group("X")
        group.attrs["encoding-type"] = np.bytes_("csr_matrix")
        group.attrs["shape"] = matrix.shape
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(matrix, name)
    return stream.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    "x.npy": lambda: _saved(np.save, X),
    "x.npz": lambda: _saved(np.savez_compressed, X=X),
    "sparse.npz": lambda: _saved(sparse.save_npz, sparse.csr_matrix(X)),
    "x.csv": _text,
    "x.csv.gz": lambda: gzip.compress(_text()),
    "x.mat": lambda: _saved(scipy.io.savemat, {"X": X}, do_compression=True),
    "four.mat": lambda: _saved(scipy.io.savemat, {"X": X}, format="4"),
    "sparse.mat": lambda: _saved(scipy.io.savemat, {"X": sparse.csc_matrix(X)}),
    "x.mtx": lambda: _saved(scipy.io.mmwrite, sparse.coo_matrix(X)),
    "x.mtx.gz": lambda: gzip.compress(_saved(scipy.io.mmwrite, X)),
    "x.parquet": _parquet,
    "x.h5ad": _h5ad,
}


def damaged(content: bytes, seed: int) -> bytes:
    """Cut off, or with a few bytes changed, put in or left out."""
    rng = np.random.default_rng(seed)
    bad = bytearray(content)
    kind = seed % 4
    if kind == 0:
        return bytes(bad[: rng.integers(len(bad))])
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(bad)))
        if kind == 1:
            bad[at] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            bad[at:at] = rng.bytes(int(rng.integers(1, 9)))
        else:
            del bad[at : at + int(rng.integers(1, 9))]
    return bytes(bad)


@cache
def limit_memory() -> None:
    """Let this process have `ROOM` more memory than it has, where the system can say so."""
    try:
        import resource
    except ImportError:
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, hard))


@cache
def _content(name: str) -> bytes:
    return FILES[name]()


def read(name: str, seed: int) -> str:
    content = _content(name)
    limit_memory()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, name)
        file.write_bytes(damaged(content, seed))
        try:
            found = read_matrix(file).X
        except ReadError as error:
            require(name in str(error) and "\n" not in str(error), f"a poor message: {error}")
            return "refused: ReadError"
    require(found.ndim == 2 and found.dtype.kind in "biufc", f"shape {found.shape}, dtype {found.dtype}")
    whole = found.shape == X.shape and not sparse.issparse(found) and np.array_equal(found, X)
    return "read correctly" if whole else "read with other values"


@cache
def _path() -> tuple[RankPath, bytes]:
    found = rank_path(X, **equilibrate(), random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        found.save(Path(folder, "path.npz"))
        return found, Path(folder, "path.npz").read_bytes()


def load(seed: int) -> str:
    whole, content = _path()
    limit_memory()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "path.npz")
        file.write_bytes(damaged(content, seed))
        try:
            found = RankPath.load(file)
        except ValueError as error:
            require(str(file) in str(error), f"a poor message: {error}")
            return "refused: ValueError"
    require(same(found, whole), "another path was read")
    return "read, bitwise identical"


@cache
def _checkpoint() -> tuple[RankPath, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "checkpoint")
        return rank_path(X, random_state=0, checkpoint=file), file.read_bytes()


def resume(seed: int) -> str:
    whole, content = _checkpoint()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "checkpoint")
        file.write_bytes(bad := damaged(content, seed))
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "the checkpoint", RuntimeWarning)
                found = rank_path(X, random_state=0, checkpoint=file)
        except ValueError as error:
            require(str(file) in str(error), f"a poor message: {error}")
            require(file.read_bytes() == bad, "the file was touched")
            return "refused: ValueError"
    require(same(found, whole), "other bits")
    return "resumed, bitwise identical"


DAMAGE = [
    *(Fault(f"read_matrix: {name}", "a numeric table, or refused; bounded memory",
            partial(read, name), 24, 600) for name in FILES),
    Fault("RankPath.load", "refused, or bitwise identical", load, 40, 2000),
    Fault("rank_path(checkpoint=...)", "refused and unchanged, or bitwise identical", resume, 24, 600),
]  # fmt: skip
