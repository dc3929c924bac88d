"""The paper's synthetic data (Section VI-E), and what the same generator makes without components."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autonmf import AutoNMF, RankEstimate
from autonmf.datasets import make_low_rank

Choose = Callable[..., RankEstimate]
SHAPE = (1000, 400)


@pytest.mark.parametrize("noise", [0.1, 0.3])
@pytest.mark.parametrize("rank", [10, 20])
def test_the_papers_small_data(rank: int, noise: float, choose: Choose) -> None:
    estimate = choose(make_low_rank(*SHAPE, rank=rank, noise=noise, random_state=rank)[0])
    assert estimate.rank == rank
    assert estimate.plausible == (rank,)
    assert estimate.warnings == ()
    assert "looks like noise" in estimate.why


@pytest.mark.parametrize("seed", range(2))
def test_noise_of_that_size(seed: int, choose: Choose) -> None:
    rng = np.random.default_rng(seed)
    for noise in (rng.random(SHAPE), np.maximum(rng.standard_normal(SHAPE), 0.0)):
        estimate = choose(noise, random_state=seed)
        assert estimate.rank == 1
        assert estimate.warnings == ("no structure beyond rank one",)


def test_the_estimator_goes_on_to_that_rank() -> None:
    X = make_low_rank(*SHAPE, rank=10, noise=0.1, random_state=10)[0]
    model = AutoNMF(random_state=0).fit(X)
    assert model.n_components_ == model.rank_estimate_.rank == 10
    assert model.components_.shape == (10, 400)
    squares = np.linalg.svd(X, compute_uv=False) ** 2
    assert model.reconstruction_err_**2 < 1.05 * squares[10:].sum()
