"""The matrices that are timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autonmf.datasets import (
    Dataset,
    fetch_bbc,
    fetch_olivetti,
    fetch_pbmc3k,
    fetch_samson,
    make_low_rank,
)
from autonmf.datasets.home import environment_home, find


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


def real() -> Iterator[Case]:
    """The real data sets of the folder ``AUTONMF_DATA``; none without one."""
    home = environment_home()
    if home is None:
        return
    cases: list[tuple[str, str, int, Callable[[], Any]]] = [
        ("samson", "samson.npz", 3, lambda: _fetched(fetch_samson, home).T),  # a band a row
        ("olivetti_faces", "olivetti_faces.npz", 10, lambda: _fetched(fetch_olivetti, home)),
        ("pbmc3k (sparse)", "pbmc3k.npz", 9, lambda: _fetched(fetch_pbmc3k, home, normalize=True)),
        ("bbc_news (sparse)", "bbc_news.npz", 5, lambda: _fetched(fetch_bbc, home)),
    ]
    for name, file, rank, load in cases:
        if find(file, home) is not None:
            yield Case(name, rank, False, False, load)


def _fetched(fetch: Callable[..., Dataset], home: Path, **options: Any) -> Any:
    return fetch(data_home=home, download=False, **options).X
