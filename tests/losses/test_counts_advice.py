"""Where least squares meets counts, the estimate says that there is another loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from autonmf import AutoNMF
from autonmf.compare import compare_ranks
from autonmf.data import as_data, looks_like_counts
from autonmf.datasets import load_swimmer, make_low_rank

KL = "kullback-leibler"


def draw_topics() -> np.ndarray:
    rng = np.random.default_rng(0)
    topics, documents = rng.dirichlet(np.full(150, 0.05), 3), rng.dirichlet(np.full(3, 0.2), 80)
    return rng.poisson(100 * documents @ topics).astype(float)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_counts_are_recognised_and_named_once(kind: Any) -> None:
    X = kind(draw_topics())
    assert looks_like_counts(as_data(X))
    model = AutoNMF(max_rank=8, random_state=0).fit(X)
    assert sum("beta_loss" in text for text in model.rank_estimate_.warnings) == 1
    assert "beta_loss" in str(model.rank_estimate_)
    counts = AutoNMF(max_rank=8, beta_loss=KL, random_state=0).fit(X)
    assert not any("beta_loss" in text for text in counts.rank_estimate_.warnings)


def test_images_and_measurements_are_not_counts() -> None:
    rng = np.random.default_rng(0)
    swimmer = load_swimmer()
    assert not looks_like_counts(as_data(swimmer))
    assert not looks_like_counts(as_data(rng.poisson(1 + 10 * np.asarray(swimmer, float))))
    assert not looks_like_counts(as_data(rng.integers(0, 256, (40, 60), dtype=np.uint8)))
    assert not looks_like_counts(as_data(make_low_rank(60, 40, rank=3, random_state=0)[0]))
    assert not looks_like_counts(as_data(0.5 * draw_topics()))


def test_methods_compared_with_the_loss_of_counts() -> None:
    X = draw_topics()
    methods = ["auto", "elbow", "bic", "svht"]
    comparison = compare_ranks(X, methods, max_rank=8, beta_loss=KL, random_state=0)
    assert comparison.ranks["bic"] == 3
    assert not any(answer.failed for answer in comparison.answers)
    squares = compare_ranks(X, methods, max_rank=8, random_state=0)
    losses = [one.estimates["bic"].evidence["loss"] for one in (comparison, squares)]
    assert not np.allclose(*losses)
    assert comparison.ranks["svht"] == squares.ranks["svht"]
    with pytest.raises(ValueError, match="unknown beta_loss"):
        compare_ranks(X, methods, beta_loss="hinge")
