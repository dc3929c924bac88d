"""The default rule: its formula, its table, and the ranks of well-known matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import block_diag

from autonmf import AutoNMF, RankEstimate, rank_path, select_rank
from autonmf.data.noise import WhitenedSpectrum
from autonmf.datasets import make_low_rank
from autonmf.path import Evidence
from autonmf.selection.features import compute_features

Choose = Callable[..., RankEstimate]


# The formula


def slow_scores(evidence: Evidence) -> list[float]:
    """z of every rank by the formula, with the rule's weights and limits written out."""
    features = compute_features(evidence)
    scores = []
    for i in range(len(features.rank)):
        drop_ratio = np.log10(min(max(features.drop_ratio[i], 2.0), 10.0) / 2.0) if i else 0.0
        fall = min(features.fall[i], 1.0)
        scores.append(2.5 * drop_ratio + 2.5 * features.elbow[i] + 6.5 * fall)
    return scores


@pytest.mark.parametrize("seed", range(4))
def test_scores_and_probabilities(seed: int) -> None:
    X = make_low_rank(70, 50, rank=2 + 2 * seed, noise=0.5, random_state=seed)[0]
    path = rank_path(X, equilibrate=True, random_state=0)
    estimate = select_rank(path, "auto")
    assert path.evidence is not None
    scores = np.array(slow_scores(path.evidence))
    assert_allclose(estimate.evidence["score"], scores, rtol=1e-10)
    expected = np.exp(scores - scores.max())
    assert_allclose(estimate.evidence["probability"], expected / expected.sum(), rtol=1e-8)
    assert estimate.rank == scores.argmax() + 1


def test_a_rank_that_was_not_visited_is_no_candidate(choose: Choose) -> None:
    X = make_low_rank(60, 40, rank=3, random_state=0)[0]
    path = rank_path(X, equilibrate=True, callback=lambda p: p.rank == 6, random_state=0)
    estimate = select_rank(path, "auto")
    assert_array_equal(estimate.evidence["probability"][1:5], 0.0)
    assert (estimate.evidence["probability"][5:] > 0.0).all()
    assert not {2, 3, 4, 5} & set(estimate.plausible)
    assert estimate.rank in {1, *path.ranks}
    assert np.isfinite(estimate.evidence["score"]).all()


@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("rank", [1, 3, 8])
def test_the_table(rank: int, noise: float, choose: Choose) -> None:
    estimate = choose(make_low_rank(60, 40, rank=rank, noise=noise, random_state=rank)[0])
    table = estimate.evidence
    assert list(table) == [
        "rank",
        "loss",
        "drop",
        "drop_ratio",
        "elbow",
        "noise_ratio",
        "score",
        "probability",
    ]
    assert {column.shape for column in table.values()} == {table["rank"].shape}
    probability = table["probability"]
    assert not np.isnan(probability).any()
    assert_allclose(probability.sum(), 1.0)
    assert estimate.rank == probability.argmax() + 1
    assert estimate.rule == "auto"
    assert estimate.confidence == min(probability.max(), 0.99)
    assert (np.diff(table["loss"]) <= 0).all()
    assert str(estimate).startswith(f"rank {estimate.rank}: {estimate.why}")


@pytest.mark.parametrize("noise", [0.1, 1.0, 2.0, 3.0])
def test_plausible_ranks_are_a_third_as_probable_as_the_best(noise: float, choose: Choose) -> None:
    for seed in range(3):
        X = make_low_rank(60, 40, rank=5, noise=noise, random_state=seed)[0]
        estimate = choose(X)
        probability = estimate.evidence["probability"]
        assert estimate.rank in estimate.plausible
        for rank in range(1, len(probability) + 1):
            assert (rank in estimate.plausible) == (3.0 * probability[rank - 1] >= probability.max())
        assert list(estimate.plausible) == sorted(estimate.plausible)


# Well-known matrices


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rank", range(2, 7))
@pytest.mark.parametrize("shape", [(60, 40), (40, 60), (30, 30)])
def test_data_without_noise(shape: tuple[int, int], rank: int, dtype: type, choose: Choose) -> None:
    X = make_low_rank(*shape, rank=rank, noise=0.0, random_state=rank)[0].astype(dtype)
    assert np.linalg.matrix_rank(X) == rank
    estimate = choose(X)
    assert estimate.rank == rank
    assert estimate.plausible == (rank,)
    assert estimate.warnings == ()
    assert estimate.why.startswith(f"component {rank} is ")
    assert estimate.why.endswith(f"and what {rank} components leave of X looks like noise")


@pytest.mark.parametrize(
    "dtype",
    [
        np.float64,
        np.float32,
    ],
)
def test_rank_one_without_noise(dtype: type, choose: Choose) -> None:
    """Products of two vectors, and constant matrices, of many shapes."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(30):
        n, m = rng.integers(2, 40, 2)
        for X in (np.outer(rng.random(n) + 0.01, rng.random(m) + 0.01), np.full((n, m), rng.random() + 0.01)):
            found.append(choose(X.astype(dtype)).rank)
    assert found == [1] * len(found)


@pytest.mark.parametrize("rank", [2, 3, 5])
def test_repeated_columns_and_rows_do_not_count(rank: int, choose: Choose) -> None:
    X = make_low_rank(60, 40, rank=rank, noise=0.0, random_state=rank)[0]
    assert choose(np.hstack([X, X])).rank == rank
    assert choose(np.vstack([X, X, X])).rank == rank


@pytest.mark.parametrize("rank", [2, 3, 5])
@pytest.mark.parametrize("stack", [(1, 2), (3, 1)])
def test_repeated_noise_is_never_sure(rank: int, stack: tuple[int, int], choose: Choose) -> None:
    """Noise that is repeated is not independent, as the rule assumes: a pattern of its own, if a weak one."""
    X = make_low_rank(60, 40, rank=rank, random_state=rank)[0]
    estimate = choose(np.tile(X, stack))
    assert rank <= estimate.rank <= rank + 2
    assert estimate.confidence is not None
    assert estimate.confidence < 0.6


@pytest.mark.parametrize("rank", [2, 3, 5])
def test_nothing_is_claimed_of_repeated_noise(rank: int, choose: Choose) -> None:
    X = make_low_rank(60, 40, rank=rank, random_state=rank)[0]
    for stack in ((1, 2), (3, 1)):
        estimate = choose(np.tile(X, stack))
        assert estimate.confidence < 0.5
        assert any("the data do not determine one rank" in text for text in estimate.warnings)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_claimed_where_components_fade_away_without_noise(seed: int, choose: Choose) -> None:
    """Energies that fall by 0.36 per component down to rounding errors: the last of them is no end."""
    rng = np.random.default_rng(seed)
    X = (rng.gamma(0.5, 1.0, (120, 40)) * 0.6 ** np.arange(40)) @ np.abs(rng.standard_normal((40, 90)))
    assert choose(X).confidence < 0.9


def test_blocks(choose: Choose) -> None:
    """Four blocks of ones, and a little noise everywhere."""
    X = block_diag(*(np.ones((side, side - 2)) for side in (20, 15, 12, 10)))
    assert choose(X + 0.05 * np.random.default_rng(0).random(X.shape)).rank == 4


@pytest.mark.parametrize("blocks", [51, 60, 80])
def test_more_blocks_than_ranks_are_not_noise(blocks: int, choose: Choose) -> None:
    """What one component leaves has a flat spectrum, at the edge of noise, but one that ends."""
    estimate = choose(np.kron(np.eye(blocks), np.ones((5, 5))))
    assert estimate.rank > 1
    assert estimate.confidence < 0.2
    assert "the data do not determine one rank" in " ".join(estimate.warnings)


@pytest.mark.parametrize("seed", range(4))
def test_drops_that_are_negligible_make_no_elbow(seed: int, choose: Choose) -> None:
    rng = np.random.default_rng(10 + seed)
    n, m = 300 + 100 * seed, 200 + 50 * seed
    X = rng.gamma(0.5, 1.0, (n, 2)) @ rng.gamma(0.5, 1.0, (m, 2)).T
    for random_state in range(3):
        estimate = choose(X, random_state=random_state)
        assert (estimate.rank, estimate.plausible) == (2, (2,))


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 2), (2, 9)])
def test_one_rank_only(shape: tuple[int, int]) -> None:
    """Half of the shorter side is one: there is nothing to choose, and no confidence in it."""
    estimate = AutoNMF(random_state=0).fit(np.random.default_rng(0).random(shape) + 0.1).rank_estimate_
    assert estimate.rank == 1
    assert estimate.plausible == (1,)
    assert estimate.confidence is None
    assert estimate.warnings == ("the path has one rank only, so nothing was chosen",)


@pytest.mark.parametrize("max_rank", [1, 2, 3, None])
@pytest.mark.parametrize("shape", [(3, 3), (3, 8), (4, 4), (5, 4)])
def test_tiny_matrices(shape: tuple[int, int], max_rank: int | None, choose: Choose) -> None:
    for seed in range(3):
        X = np.random.default_rng(seed).random(shape)
        estimate = choose(X, max_rank=max_rank)
        assert 1 <= estimate.rank <= min(shape)
        assert_allclose(estimate.evidence["probability"].sum(), 1.0)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 40])
def test_the_identity_has_no_elbow(n: int, choose: Choose) -> None:
    """Every component brings the same: no rank below n is better than another, and none is claimed to be."""
    estimate = choose(np.eye(n))
    assert estimate.warnings
    assert estimate.confidence is None or estimate.confidence < 0.9


@pytest.mark.parametrize("largest", [*range(4, 7), 7, *range(8, 12)])
def test_the_largest_rank_decides_nothing(largest: int, choose: Choose) -> None:
    """Noise has rank one and clear data their own rank, from wherever the path starts."""
    noise = np.random.default_rng(0).random((120, 80))
    assert choose(noise, max_rank=largest).rank == 1
    for rank in range(3, min(largest, 6)):
        assert choose(make_low_rank(120, 80, rank=rank, random_state=rank)[0], max_rank=largest).rank == rank


def test_ranks_that_were_jumped_over_make_no_elbow(choose: Choose) -> None:
    """Noise along the paper's grid, which visits few ranks."""
    found = [
        choose(np.random.default_rng(seed).random((200, 30)), grid="adaptive", random_state=seed).rank
        for seed in range(3)
    ]
    assert found == [1, 1, 1]


# Any evidence at all


@st.composite
def evidences(draw: st.DrawFn) -> Evidence:
    largest = draw(st.integers(1, 40))
    ranks = np.array(sorted({largest, *draw(st.lists(st.integers(1, largest), max_size=largest))}))
    fraction = st.one_of(st.just(0.0), st.floats(-30, 0).map(lambda x: 10.0**x))

    def losses() -> np.ndarray:
        return np.array(draw(st.lists(fraction, min_size=len(ranks), max_size=len(ranks))))

    def spectrum() -> np.ndarray:
        values = np.sort([draw(st.floats(1e-9, 1)), *draw(st.lists(fraction, max_size=largest + 10))])[::-1]
        return np.asarray(values / values.sum() * draw(st.sampled_from([1.0, 0.999, 0.5])))

    shape = (draw(st.integers(largest, 500)), draw(st.integers(largest, 500)))
    whitened = WhitenedSpectrum(shape, spectrum(), draw(st.booleans()))
    return Evidence(shape, ranks, losses(), spectrum(), whitened, draw(st.booleans()))


@settings(deadline=None, max_examples=150)
@given(evidence=evidences())
def test_any_evidence_has_an_answer(evidence: Evidence) -> None:
    """No error, no warning from NumPy, and a rank that can be had."""
    estimate = select_rank(evidence, "auto")
    table = estimate.evidence
    assert estimate.rank in {1, *evidence.ranks.tolist()}
    assert set(estimate.plausible) <= {1, *evidence.ranks.tolist()}
    assert estimate.rank in estimate.plausible
    assert {len(column) for column in table.values()} == {evidence.ranks[-1]}
    assert np.isfinite(table["probability"]).all()
    assert_allclose(table["probability"].sum(), 1.0)
    for name in ("loss", "drop", "elbow", "noise_ratio"):
        assert np.isfinite(table[name]).all()
    assert not (table["drop_ratio"] < 0).any()
    assert ("the path is incomplete" in estimate.warnings) == (not evidence.complete)
    assert len(estimate.why) > 10
    assert "nan" not in estimate.why
