"""The matrices that are timed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from autonmf.datasets import make_low_rank


@dataclass(frozen=True)
class Case:
    """A matrix, and the rank at which peers are fitted."""

    name: str
    rank: int
    known: bool  # whether the rank is the truth
    grid: bool  # whether scikit-learn is also timed over the grid 2..50, which takes long
    load: Callable[[], Any]


def synthetic(n: int, m: int, rank: int, noise: float = 0.3) -> Case:
    """The paper's generator; the same seed everywhere."""
    return Case(
        f"{n}x{m}",
        rank,
        True,
        n * m <= 3_000_000,
        lambda: make_low_rank(n, m, rank, noise, random_state=0)[0],
    )


PAPER = [
    synthetic(1000, 400, 10),
    synthetic(1000, 800, 20),
    synthetic(3000, 1000, 20),
    synthetic(3000, 2000, 20),
    synthetic(5000, 3000, 20),
    synthetic(5000, 4000, 20),
]
SHAPES = [synthetic(20000, 200, 20), synthetic(200, 20000, 20)]


def data_home() -> Path | None:
    """Where the shared data sets are: ``AUTONMF_DATA``, if set and present."""
    home = Path(os.environ.get("AUTONMF_DATA", ""))
    return home if str(home) != "." and home.is_dir() else None


def real() -> Iterator[Case]:
    """The real data sets of a data home; none without one."""
    home = data_home()
    if home is None:
        return
    for name, rank in (("samson", 3), ("olivetti_faces", 10)):
        if (file := home / f"{name}.npz").exists():
            yield Case(name, rank, False, False, partial(_dense, file))
    for name, rank, prepare in (("pbmc3k", 9, _log_normalised), ("bbc_news", 5, _csr)):
        if (file := home / f"{name}.npz").exists():
            yield Case(f"{name} (sparse)", rank, False, False, partial(prepare, file))


def _dense(file: Path) -> Any:
    with np.load(file) as stored:
        return stored["X"].astype(np.float64)


def _csr(file: Path) -> Any:
    with np.load(file) as s:
        parts = (s["data"].astype(np.float64), s["indices"], s["indptr"])
        return sparse.csr_matrix(parts, shape=tuple(s["shape"]))


def _log_normalised(file: Path) -> Any:
    """Each cell scaled to 1e4 counts, then log(1 + x)."""
    X = _csr(file)
    X = sparse.csr_matrix(sparse.diags(1e4 / np.asarray(X.sum(axis=1)).ravel()) @ X)
    X.data = np.log1p(X.data)
    return X
