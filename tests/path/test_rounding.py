"""The order in which rows are summed changes last digits, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from autonmf import rank_path


@pytest.mark.parametrize("seed", range(4))
def test_rounding_does_not_decide_how_long_a_rank_is_iterated(seed: int) -> None:
    """Nearly exact data: what is left of them is hardly more than the rounding of single precision."""
    rng = np.random.default_rng(seed)
    X = rng.random((200, 4)) @ rng.random((4, 30))
    X += 0.01 * X.mean() * rng.random(X.shape)
    U, V = rng.random((200, 8)), rng.random((30, 8))
    path = rank_path(X, init=(U, V), engine="compressed", random_state=0)
    backwards = rank_path(X[::-1], init=(U[::-1], V), engine="compressed", random_state=0)
    assert [visit.n_iter for visit in backwards.visits] == [visit.n_iter for visit in path.visits]
    np.testing.assert_allclose(backwards.relative_losses, path.relative_losses, rtol=0, atol=1e-7)
