"""Solutions grown from the leading pair: a component more is never worse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import NMF

from autonmf import rank_path
from autonmf.data import as_data
from autonmf.model.spectral import leading_triplet
from autonmf.path import Workspace
from autonmf.path.growing import grown, no_worse_than_one
from autonmf.path.result import PathPoint

RNG = np.random.default_rng(0)
MATRICES = {
    "noise": RNG.random((30, 20)),
    "six decades": 10.0 ** RNG.uniform(-6, 0, (10, 7)),
    "three components": RNG.random((40, 3)) @ RNG.random((3, 12)),
    "identity": np.eye(8),
    "rank one": np.outer(RNG.random(6), RNG.random(9)),
    "constant": np.full((5, 4), 7.0),
    "blocks": np.kron(np.eye(3), RNG.random((3, 2))),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_matrix])
def test_losses_fall_from_the_best_of_rank_one(name: str, stored: type) -> None:
    X = MATRICES[name]
    least = 0.5 * np.square(np.linalg.svd(X)[1][1:]).sum()
    data = as_data(stored(X))
    states = [grown(data, leading_triplet(data), rank) for rank in range(1, min(X.shape) + 1)]
    losses = np.array([0.5 * np.square(X - state.U @ state.V.T).sum() for state in states])
    assert losses[0] == pytest.approx(least, abs=1e-12 * np.square(X).sum())
    assert (np.diff(losses) <= 1e-12 * np.square(X).sum()).all()
    for rank, state in enumerate(states, 1):
        assert state.U.shape[1] == state.rank == rank
        assert min(state.U.min(), state.V.min()) >= 0


@pytest.mark.parametrize("name", ["noise", "six decades", "identity", "blocks"])
def test_they_are_fair_solutions(name: str) -> None:
    X = MATRICES[name]
    peer = NMF(3, init="nndsvda", max_iter=2000, random_state=0).fit(X).reconstruction_err_ ** 2
    state = grown(as_data(X), leading_triplet(as_data(X)), 3)
    assert 2 * state.loss <= 1.25 * peer + 1e-12


def test_a_worse_point_is_replaced_and_others_are_not() -> None:
    X = MATRICES["noise"]
    workspace = Workspace.of(as_data(X))
    path = rank_path(X, random_state=0)
    for point in path.points[1:]:
        assert no_worse_than_one(point, workspace, path.rank_one_loss) is point
    zero = PathPoint(np.full((30, 4), 1e-9), np.full((20, 4), 1e-9), 0.5 * path.squared_norm, 3.0, 7)
    better = no_worse_than_one(zero, workspace, path.rank_one_loss)
    assert better.loss == pytest.approx(0.5 * np.square(X - better.U @ better.V.T).sum())
    assert better.loss < path.rank_one_loss
    assert (better.rank, better.lam, better.n_iter) == (4, 3.0, 7)


def test_the_way_back_from_the_evened_copy_is_mended() -> None:
    X = 10.0 ** np.random.default_rng(23).uniform(-6, 0, (10, 3))
    for seed in range(10):
        path = rank_path(X, max_rank=3, evened=True, random_state=seed)
        assert (path.losses <= path.rank_one_loss * (1 + 1e-6)).all()
