"""What every test of the plots needs: matplotlib without a screen, and no figure left open."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from autonmf import AutoNMF
from autonmf.path import PathPoint, RankPath, Visit


@pytest.fixture(autouse=True)
def off_screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Agg; `show` is an error, since plots never show themselves; figures are closed afterwards."""
    matplotlib = pytest.importorskip(
        "matplotlib", reason='plots need matplotlib: pip install "autonmf[plot]"'
    )
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    def show(*args: object, **options: object) -> None:
        raise AssertionError("a plot called plt.show()")

    monkeypatch.setattr(plt, "show", show)
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def fitted(low_rank: np.ndarray) -> AutoNMF:
    """Three components, found on 60 x 40."""
    return AutoNMF(max_rank=8, rule="marginal", random_state=0).fit(low_rank)


def path_of(losses: dict[int, float], visits: list[tuple[int, float, int, float, float]]) -> RankPath:
    """A path made by hand: the loss at each rank, and (start, λ, rank, loss, next λ) of each visit."""
    points = (
        PathPoint(np.ones((6, rank)), np.ones((5, rank)), loss, 0.0, 1) for rank, loss in losses.items()
    )
    return RankPath(
        points=tuple(points),
        visits=tuple(Visit(start, lam, k, loss, 1, 0.0, "", end) for start, lam, k, loss, end in visits),
        shape=(6, 5),
        squared_norm=200.0,
        rank_one_loss=9.5,
        energy=50.0,
        mu=0.0,
        delta=0.0,
        complete=True,
        settings={},
    )


@pytest.fixture(scope="session")
def two_starts() -> RankPath:
    """Start 1 is best at rank 2, start 0 elsewhere; start 0 stops twice on the plateau of rank 2."""
    return path_of(
        {1: 60.0, 2: 20.0, 3: 10.0},
        [
            (0, 0.0, 3, 10.0, 4.0),
            (0, 5.0, 2, 22.0, 7.0),
            (0, 6.0, 2, 21.0, 8.0),
            (0, 9.0, 1, 60.0, 70.0),
            (1, 0.0, 3, 11.0, 3.0),
            (1, 3.5, 2, 20.0, 50.0),
            (1, 51.0, 1, 61.0, 40.0),
        ],
    )
