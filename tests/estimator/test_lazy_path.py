"""The path of a model is computed when it is read."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from autonmf import AutoNMF, rank_path
from autonmf.datasets import make_low_rank


@pytest.mark.parametrize("engine", ["direct", "compressed"])
@pytest.mark.parametrize(
    "max_rank", [8, 30]
)  # above 25 no rule reads the losses, and points are computed later
def test_a_path_is_computed_when_it_is_read(engine: str, max_rank: int) -> None:
    """`path_` is the path that `rank_path` returns, whether it is read now, later, or after pickling."""
    X, _, _ = make_low_rank(300, 200, rank=4, noise=0.1, random_state=0)
    model = AutoNMF(max_rank=max_rank, random_state=0, engine=engine).fit(X)
    again = pickle.loads(pickle.dumps(model))
    wanted = rank_path(X, max_rank=max_rank, equilibrate=True, random_state=0, engine=engine)
    for path in (model.path_, again.path_, copy.deepcopy(model).path_):
        assert_array_equal(path.ranks, np.arange(1, max_rank + 1))
        assert_array_equal(path.losses, wanted.losses)
        assert_array_equal(path.lambdas, wanted.lambdas)
        assert [visit._replace(seconds=0) for visit in path.visits] == [
            visit._replace(seconds=0) for visit in wanted.visits
        ]
        for mine, other in zip(path.points, wanted.points, strict=True):
            assert_array_equal(mine.V, other.V)
    assert model.path_ is model.path_
    assert np.all(np.diff(wanted.lambdas) <= 0)
    assert wanted.lambdas[-1] == 0.0


@pytest.mark.parametrize("factor", [1e-8, 1.0, 1e8])
def test_high_ranks_are_no_worse_than_rank_one_either(factor: float) -> None:
    X = factor * 10.0 ** np.random.default_rng(0).uniform(-6, 0, (120, 60))
    model = AutoNMF(max_rank=30, random_state=0, engine="compressed").fit(X)
    assert model.path_.losses.max() <= model.path_.rank_one_loss * (1 + 1e-6)


def test_a_path_is_the_same_for_all_threads_that_read_it_at_once() -> None:
    X, _, _ = make_low_rank(300, 200, rank=4, noise=0.1, random_state=0)
    model = AutoNMF(random_state=0, engine="compressed").fit(X)
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: model.path_, range(4)))
    for path in paths:
        assert_array_equal(path.losses, model.path_.losses)


def test_a_high_rank_is_chosen_and_polished() -> None:
    X, _, _ = make_low_rank(400, 300, rank=30, noise=0.02, random_state=0)
    model = AutoNMF(random_state=0, engine="compressed").fit(X)
    assert model.n_components_ == 30
    assert model.reconstruction_err_**2 <= 2 * model.path_.at_rank(30).loss
