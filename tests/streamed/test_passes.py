"""How often a file is read: no more often because it is large, whichever way its lines run."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from autonmf import AutoNMF, rank_path
from autonmf.data import Stored, as_data, equilibration
from autonmf.datasets import make_low_rank
from autonmf.path import PathOptions, prepare


class Counted:
    """A matrix that counts the entries that are read."""

    def __init__(self, X: np.ndarray) -> None:
        self.X, self.shape, self.dtype = X, X.shape, X.dtype
        self.read = 0

    def __getitem__(self, key: object) -> np.ndarray:
        part = self.X[key]
        self.read += part.size
        return part

    @property
    def passes(self) -> float:
        return self.read / self.X.size


@pytest.fixture(params=[False, True], ids=["by rows", "by columns"])
def stored(request: pytest.FixtureRequest) -> Stored:
    """1,200,000 entries: several blocks of the usual sizes."""
    return Stored(Counted(make_low_rank(12_000, 100, 4, 0.1, random_state=0)[0]), by_columns=request.param)


def test_singular_values(stored: Stored) -> None:
    from autonmf.baselines import svht

    svht(stored)
    assert stored.source.passes <= 2


def test_hidden_entries(stored: Stored) -> None:
    """Two folds, three ranks, at most two steps each, and a few sums."""
    from autonmf.baselines import cross_validate

    cross_validate(stored, folds=2, max_rank=3, max_iter=2, random_state=0)
    assert stored.source.passes <= 2 * (3 * (2 + 1 + 1) + 4)


def test_the_residual_of_equilibrated_data(stored: Stored) -> None:
    data = as_data(stored)
    scaling = equilibration(data)
    U, V = (np.random.default_rng(0).random((size, 3)) for size in data.shape)
    before = stored.source.passes
    residual = scaling.apply(data).squared_residual(U, V)
    assert stored.source.passes - before == 1
    Y = stored.source.X / scaling.a / scaling.b.T
    assert_allclose(residual, np.linalg.norm(Y - U @ V.T) ** 2)


def test_preparation(stored: Stored) -> None:
    """One pass for the checks, one for the norms of rows and columns, one for ‖Y‖, and the products."""
    data = as_data(stored)
    assert stored.source.passes == 1
    view = prepare(data, PathOptions(equilibrate=True), 6, np.random.default_rng(0))
    assert view.compressed is not None
    assert stored.source.passes == 3 + 6  # three products with X and three with its transpose
    view.scaled.squared_norm()
    assert stored.source.passes == 3 + 6


def test_a_fit(stored: Stored) -> None:
    """26 passes, one of them for the direction of rank one, and a tenth that tells of clipping."""
    model = AutoNMF(max_rank=6, random_state=0).fit(stored)
    assert model.n_components_ == 4
    assert model.path_.evidence.whitened.clipped
    assert stored.source.passes <= 26 + 0.15


def test_a_path_of_counts() -> None:
    """Four passes an iteration, few of them repeated, sixty before the path begins, and some for sums."""
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(0.5, 2.0, (3000, 4)) @ rng.gamma(0.5, 1.0, (4, 100))).astype(float)
    source = Counted(X)
    path = rank_path(Stored(source), 6, beta_loss="kullback-leibler", random_state=0)
    assert source.passes <= 80 + 5 * sum(visit.n_iter for visit in path.visits)


def test_methods_that_need_all_entries_say_so(stored: Stored) -> None:
    from autonmf.baselines import cross_validate

    with pytest.raises(TypeError, match="load it into memory"):
        cross_validate(stored, kind="bicv", max_rank=3)
