"""Each warning of the default rule, on data that deserve it and not on others."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from autonmf import AutoNMF, RankEstimate, UncertainRankWarning, rank_path, select_rank
from autonmf.data.noise import WhitenedSpectrum
from autonmf.datasets import make_low_rank
from autonmf.path import Evidence, format_intervals

Choose = Callable[..., RankEstimate]
NOTHING = "no structure beyond rank one"
NOISES = {
    "uniform": lambda rng, shape: rng.random(shape),
    "Poisson": lambda rng, shape: rng.poisson(5.0, shape).astype(float),
    "sparse Poisson": lambda rng, shape: rng.poisson(0.3, shape).astype(float),
    "clipped": lambda rng, shape: np.maximum(rng.standard_normal(shape), 0.0),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("shape", [(100, 60), (60, 100), (300, 20)])
def test_noise_has_no_structure(shape: tuple[int, int], noise: str, seed: int, choose: Choose) -> None:
    estimate = choose(NOISES[noise](np.random.default_rng(seed), shape), random_state=seed)
    assert estimate.rank == 1
    assert estimate.warnings == (NOTHING,)
    assert "looks like noise" in estimate.why


@pytest.mark.parametrize("seed", range(3))
def test_clear_data_give_no_warning(seed: int, choose: Choose) -> None:
    estimate = choose(make_low_rank(100, 60, rank=4, random_state=seed)[0], random_state=seed)
    assert (estimate.rank, estimate.warnings) == (4, ())
    assert re.fullmatch(
        r"component 4 is \d+(\.\d+)? times what noise alone would show, "
        "and what 4 components leave of X looks like noise",
        estimate.why,
    )


@pytest.mark.parametrize("rank", [5, 10])
def test_the_rank_is_at_the_bound(rank: int, choose: Choose) -> None:
    for seed in range(3):
        X = make_low_rank(100, 60, rank=rank, random_state=seed)[0]
        estimate = choose(X, max_rank=rank)
        assert estimate.rank == rank
        assert f"the rank is at the bound: raise max_rank above {rank}" in estimate.warnings
        assert choose(X, max_rank=rank + 3).warnings == ()


@pytest.mark.parametrize("max_rank", [3, 4, 5, 6, 8, 9])
def test_a_bound_below_the_rank_is_reported(max_rank: int, choose: Choose) -> None:
    """No drop stands out before the bound, so any answer is poor: there must be a warning."""
    for seed in range(3):
        estimate = choose(make_low_rank(100, 60, rank=10, random_state=seed)[0], max_rank=max_rank)
        assert estimate.warnings
        assert estimate.evidence["noise_ratio"][-1] > 1.6


def test_no_elbow(choose: Choose, evidence_of: Callable[..., Evidence]) -> None:
    """The loss keeps falling: by hand with drops that shrink by a quarter each, and below a low bound."""
    drops = 0.75 ** np.arange(1, 31)
    smooth = select_rank(evidence_of(0.9 * drops / drops.sum()), "auto")
    assert smooth.confidence is not None
    assert smooth.confidence < 0.5
    assert len(smooth.plausible) > 1
    low = choose(make_low_rank(100, 60, rank=10, random_state=0)[0], max_rank=8)
    assert uncertain(smooth, "the last components are close to what noise alone would show")
    assert uncertain(low, "patterns above noise go on at higher ranks")
    assert smooth.why.endswith("times what noise alone would show")
    assert "without a clear break" in low.why


def test_never_sure_while_the_next_direction_is_above_the_edge() -> None:
    """A weak component in few rows and columns, which the estimated noise of these partly hides."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        strong = rng.gamma(2, 0.5, (120, 4)) @ rng.gamma(2, 0.5, (4, 120))
        patch = np.zeros((120, 120))
        patch[np.ix_(rng.permutation(120)[:12], rng.permutation(120)[:6])] = 1.0
        patch *= 2.0 * 2.0 * np.sqrt(120) / np.linalg.norm(patch)  # twice the edge of noise of variance one
        scale = np.linalg.svd(strong, compute_uv=False)[3] / (8 * 2.0 * np.sqrt(120))
        X = np.maximum(strong / scale + patch + rng.normal(size=(120, 120)), 0.0)
        estimate = AutoNMF(random_state=0).fit(X).rank_estimate_
        left = estimate.evidence["noise_ratio"][estimate.rank - 1]
        assert estimate.rank in (4, 5)
        assert estimate.confidence <= (0.85 if left > 1.0 else 0.99)
        assert (left > 1.0) == ("the strongest pattern beyond is" in estimate.why)


def uncertain(estimate: RankEstimate, reason: str) -> bool:
    """Whether the warning names all plausible ranks, and this reason."""
    told = f"the data do not determine one rank: {format_intervals(estimate.plausible)} are reasonable"
    return f"{told}, because {reason}" in estimate.warnings


def halves(depth: float, seed: int) -> np.ndarray:
    """Three groups of rows, each of two halves that differ as much as ``depth`` says."""
    rng = np.random.default_rng(seed)
    groups = rng.random((3, 90)) * (rng.random((3, 90)) < 0.4)
    kinds = groups[np.arange(6) // 2] * (1 + depth * rng.standard_normal((6, 90)))
    return np.maximum(kinds[np.repeat(np.arange(6), 25)] + 0.05 * rng.standard_normal((150, 90)), 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_two_ranks_are_equally_supported(seed: int, choose: Choose) -> None:
    """Between three components and six there are depths at which both are named, and neither is sure."""
    estimates = [choose(halves(depth, seed)) for depth in np.linspace(0.12, 0.3, 13)]
    ranks = [estimate.rank for estimate in estimates]
    assert set(ranks) == {3, 6}
    assert (ranks[0], ranks[-1]) == (3, 6)
    for i, (estimate, rank) in enumerate(zip(estimates, ranks, strict=True)):
        if 6 in ranks[:i] if rank == 3 else 3 in ranks[i:]:
            assert estimate.confidence < 0.9
    rivals = [e for e in estimates if np.sort(e.evidence["probability"])[-2] > 0.6 * e.confidence]
    assert rivals
    for estimate in rivals:
        assert {3, 6} <= set(estimate.plausible)
        said = "the data do not determine one rank: ", "two ranks are equally supported: "
        assert any(text.startswith(said) for text in estimate.warnings)


def test_two_ranks_are_named_where_no_others_are_likely(evidence_of: Callable[..., Evidence]) -> None:
    """Evidence by hand, from three components to five: on the way both are named, and only there."""
    noise = [0.0011] * 3
    estimates = [
        select_rank(evidence_of([0.5, 0.2, 0.2, x, x, *noise]), "auto") for x in np.linspace(0.002, 0.02, 200)
    ]
    ranks = [estimate.rank for estimate in estimates]
    assert ranks == sorted(ranks)
    assert (ranks[0], ranks[-1]) == (3, 5)
    named = 0
    for estimate in estimates:
        first, second = np.sort(estimate.evidence["probability"])[[-1, -2]]
        other = int(np.argsort(estimate.evidence["probability"])[-2]) + 1
        sentence = f"two ranks are equally supported: {estimate.rank} and {other}"
        assert (sentence in estimate.warnings) == (first >= 0.5 and second > 0.6 * first)
        named += sentence in estimate.warnings
    assert named


def test_incomplete(low_rank: np.ndarray, evidence_of: Callable[..., Evidence]) -> None:
    path = rank_path(low_rank, equilibrate=True, callback=lambda p: p.rank == 2, random_state=0)
    assert select_rank(path, "auto").warnings[-1] == "the path is incomplete"
    whole, part = (evidence_of([0.5, 0.2, 0.1, 0.01, 0.009, 0.008], complete=c) for c in (True, False))
    assert (*select_rank(whole, "auto").warnings, "the path is incomplete") == select_rank(
        part, "auto"
    ).warnings


def test_one_rank_only(low_rank: np.ndarray) -> None:
    model = AutoNMF(max_rank=1, random_state=0).fit(low_rank)
    assert model.rank_estimate_.warnings == ("the path has one rank only, so nothing was chosen",)
    assert model.rank_estimate_.confidence is None


@pytest.mark.parametrize("rank", [35, 40])
def test_what_is_said_of_a_large_rank(rank: int, choose: Choose) -> None:
    """From rank 25 up drop ratios are those of the spectrum: the path makes few iterations there."""
    for seed in range(4):
        estimate = choose(make_low_rank(200, 120, rank=rank, random_state=seed)[0])
        assert estimate.rank == rank
        assert estimate.warnings == ()
        assert "without a clear break" not in estimate.why
        assert "lowers the loss" not in estimate.why or estimate.evidence["drop"][rank - 1] > 0


def test_what_is_called_noise_is_near_its_edge(choose: Choose) -> None:
    for max_rank in (3, 4, 5, 6):
        for seed in range(3):
            X = make_low_rank(100, 60, rank=10, random_state=seed)[0]
            estimate = choose(X, max_rank=max_rank)
            noise = estimate.evidence["noise_ratio"][estimate.rank - 1] < 1.6
            assert noise or "looks like noise" not in estimate.why


def test_weak_evidence_is_reported(evidence_of: Callable[..., Evidence]) -> None:
    """A small drop ratio at two, and a long tail that is nothing like noise."""
    drops = np.append([0.5, 0.1], 0.02 * 0.8 ** np.arange(30))
    estimate = select_rank(evidence_of(drops, (2000, 1500)), "auto")
    assert estimate.rank == 2
    assert estimate.confidence < 0.5
    assert uncertain(estimate, "patterns above noise go on at higher ranks")
    assert len(estimate.warnings) == 1


# The warning of a fit


def topic_counts(seed: int) -> np.ndarray:
    """Counts of words in 200 texts: topics of decreasing weight, each text about some of them."""
    rng = np.random.default_rng(seed)
    words = rng.dirichlet(np.full(400, 0.05), 60)
    topics = rng.dirichlet(0.5 * 0.93 ** np.arange(60), 200)
    return rng.poisson(150 * topics @ words).astype(float)


def smooth_decay(seed: int) -> np.ndarray:
    """No noise, and squared singular values that fall by the same factor on and on."""
    rng = np.random.default_rng(seed)
    return rng.random((80, 50)) * 0.9 ** np.arange(50) @ rng.random((50, 50))


@pytest.mark.parametrize("make", [topic_counts, smooth_decay])
def test_a_fit_warns_where_the_rank_is_uncertain(make: Callable[[int], np.ndarray]) -> None:
    for seed in range(2):
        with pytest.warns(UncertainRankWarning, match="the data do not determine one rank") as caught:
            model = AutoNMF(random_state=0).fit(make(seed))
        assert model.rank_estimate_.confidence < 0.5
        told = [w for w in caught if w.category is UncertainRankWarning]
        assert len(told) == 1
        assert format_intervals(model.rank_estimate_.plausible) in str(told[0].message)
        assert "path_.tree() shows which component splits at each rank" in str(told[0].message)
        assert told[0].filename == __file__  # the caller's line, not one of scikit-learn's


def test_the_warning_can_be_filtered() -> None:
    X = smooth_decay(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UncertainRankWarning)
        AutoNMF(random_state=0).fit(X)
        warnings.simplefilter("error", UncertainRankWarning)
        with pytest.raises(UncertainRankWarning):
            AutoNMF(random_state=0).fit(X)


def test_clear_data_and_given_ranks_raise_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(3):
            AutoNMF(random_state=0).fit(make_low_rank(100, 60, rank=4, random_state=seed)[0])
        AutoNMF(n_components=3, random_state=0).fit(smooth_decay(0))
        AutoNMF(max_rank=1, random_state=0).fit(smooth_decay(0))


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ([4], "4"),
        ([4, 5], "4 and 5"),
        ([4, 5, 6], "4 to 6"),
        ([6, 4, 5], "4 to 6"),
        ([2, 4], "2 and 4"),
        ([2, 4, 5, 6, 9], "2, 4 to 6 and 9"),
        (range(1, 28), "1 to 27"),
        ([1, 2, 3, 7, 8, 9], "1 to 3 and 7 to 9"),
        ([2, 3, 5, 6], "2, 3, 5 and 6"),
        ([1, 3, 4, 6, 7, 8], "1, 3, 4 and 6 to 8"),
    ],
)
def test_intervals(ranks: Sequence[int], text: str) -> None:
    assert format_intervals(ranks) == text


@pytest.mark.parametrize(
    ("confidence", "uncertain"), [(None, False), (0.0, True), (0.49, True), (0.5, False)]
)
def test_no_confidence_is_not_the_smallest(confidence: float | None, uncertain: bool) -> None:
    estimate = RankEstimate(2, "auto", "why", {}, (2,), confidence)
    assert estimate.is_uncertain == uncertain


def test_what_remains_far_above_noise_is_said() -> None:
    """A clear break, and patterns that go on beyond it, as in spectra of real scenes."""
    ranks = np.arange(1, 25)
    drops = np.concatenate([[0.5, 0.4], 0.01 * 0.8 ** np.arange(22)])
    losses = 1.0 - np.cumsum(drops)
    spectrum = np.append(drops, drops[-1] * 0.8 ** np.arange(1, 12))
    whitened = WhitenedSpectrum((200, 100), np.append([0.5, 0.3], 0.03 * 0.9 ** np.arange(33)) * 0.8)
    estimate = select_rank(Evidence((200, 100), ranks, losses, spectrum, whitened), "auto")
    assert estimate.rank == 2
    assert estimate.confidence is not None
    assert 0.5 <= estimate.confidence <= 0.85
    assert estimate.warnings == ("patterns far above noise remain beyond rank 2: a larger rank may be right",)
