"""The marginal rule on paths made by hand, and on data where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from autonmf import AutoNMF, PathPoint, RankPath, rank_path, select_rank
from autonmf.datasets import load_swimmer, make_low_rank

ENERGY = 100.0  # ½‖X‖² of the paths made by hand
RANK_ONE = 60.0  # ½(‖X‖² - σ₁²)
SOLVERS = ("pasm", "s-ipalm", "ipalm", "palm")


def path_of(ranks: list[int], losses: list[float], *, complete: bool = True) -> RankPath:
    """A path with these losses; the exact rank-one loss is RANK_ONE whatever they say."""
    points = tuple(
        PathPoint(np.zeros((9, rank)), np.zeros((8, rank)), loss, 0.0, 1)
        for rank, loss in zip(ranks, losses, strict=True)
    )
    return RankPath(
        points=points,
        visits=(),
        shape=(9, 8),
        squared_norm=2 * ENERGY,
        rank_one_loss=RANK_ONE,
        energy=ENERGY,
        mu=0.0,
        delta=0.0,
        complete=complete,
        settings={},
    )


# Rank 4 was jumped over, so the step from 3 to 5 counts per component. The path's own rank one (61) gives way
# to the exact 60.
WORKED = path_of([1, 2, 3, 5, 6], [61.0, 40.0, 10.0, 6.0, 5.9])
#                drops             -     20    30    2    0.1
#                ratios            -    2/3    15    20    -


def test_worked_example_by_hand() -> None:
    estimate = select_rank(WORKED, rule="marginal", tau=5.0)
    assert estimate.rank == 3
    assert estimate.plausible == (3, 5)
    assert estimate.warnings == ()
    table = estimate.evidence
    assert_array_equal(table["rank"], [1, 2, 3, 5, 6])
    assert_allclose(table["loss"], [60, 40, 10, 6, 5.9])
    assert_allclose(table["drop"], [np.nan, 20, 30, 2, 0.1])
    assert_allclose(table["drop_ratio"], [np.nan, 2 / 3, 15, 20, np.nan])
    assert "component 3" in estimate.why
    assert "15 times" in estimate.why
    assert str(estimate).startswith("rank 3: ")


@pytest.mark.parametrize(("tau", "rank"), [(0.5, 2), (2 / 3 + 1e-9, 3), (14.9, 3), (15.1, 5), (19.9, 5)])
def test_first_ratio_above_tau(tau: float, rank: int) -> None:
    assert select_rank(WORKED, tau=tau).rank == rank


def test_default_tau_is_that_of_synthetic_data() -> None:
    assert str(select_rank(WORKED)) == str(select_rank(WORKED, tau=5.0)) != str(select_rank(WORKED, tau=2.0))


def test_estimates_can_be_compared() -> None:
    """Tables of arrays have no truth value; `==` and sets of estimates must work all the same."""
    estimate = select_rank(WORKED)
    assert estimate == estimate
    assert estimate != select_rank(WORKED, tau=16.0)
    assert len({estimate, estimate}) == 1


def test_ratio_equal_to_tau_is_not_above_it() -> None:
    assert select_rank(path_of([2, 3, 4], [50.0, 48.0, 47.9]), tau=5.0).rank == 3


def test_nothing_above_tau_keeps_the_largest_rank_and_says_so() -> None:
    estimate = select_rank(WORKED, tau=100.0)
    assert estimate.rank == 6
    assert "max_rank" in " ".join(estimate.warnings)
    assert "tau" in " ".join(estimate.warnings)


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param([10.0, 10.0, 10.0], id="equal"),
        pytest.param([10.0, 10.0 + 1e-11, 10.0 + 3e-11], id="rounded up"),
        pytest.param([10.0, 10.0 - 1e-11, 10.0 - 3e-11], id="rounded down"),
        pytest.param([0.0, 0.0, 0.0], id="zero"),
        pytest.param([0.0, 1e-14, 0.0], id="zero but for rounding"),
    ],
)
def test_components_that_do_not_lower_the_loss(tail: list[float]) -> None:
    estimate = select_rank(path_of([1, 2, 3, 4, 5], [RANK_ONE, 40.0, *tail]), tau=5.0)
    assert estimate.rank == 3
    assert "do not lower" in estimate.why


def test_a_loss_worse_than_that_of_a_smaller_rank_is_no_evidence() -> None:
    """A badly converged rank 4 is above rank 3: it is left out, and rank 5 counts from rank 3."""
    estimate = select_rank(path_of([1, 2, 3, 4, 5, 6], [RANK_ONE, 40.0, 10.0, 30.0, 9.9, 9.8]), tau=5.0)
    assert estimate.rank == 3
    assert estimate.plausible == (3,)
    assert_array_equal(estimate.evidence["rank"], [1, 2, 3, 5, 6])
    assert_allclose(estimate.evidence["drop"], [np.nan, 20, 30, 0.05, 0.1])


def test_unconverged_ranks_at_the_top_are_no_elbow() -> None:
    """High ranks have few iterations: losses that rise there say nothing."""
    estimate = select_rank(path_of([1, 2, 3, 4, 5], [RANK_ONE, 40.0, 21.0, 21.5, 22.0]), tau=5.0)
    assert estimate.rank == 3
    assert "no elbow" in estimate.warnings[0]


@pytest.mark.parametrize("losses", [[60.0] * 4, [60.0, 61.0, 62.0, 63.0], [60.0, 61.0, 62.0, 61.5]])
def test_nothing_beyond_rank_one(losses: list[float]) -> None:
    estimate = select_rank(path_of([1, 2, 3, 4], losses), tau=5.0)
    assert estimate.rank == 1
    assert estimate.warnings


def test_the_rule_does_not_answer_one_while_anything_lowers_the_loss() -> None:
    """Index 0 has no drop of its own, so even a huge step to rank one cannot be chosen."""
    estimate = select_rank(path_of([1, 2, 3], [RANK_ONE, RANK_ONE - 1e-3, RANK_ONE - 2e-3]), tau=2.0)
    assert estimate.rank > 1


@pytest.mark.parametrize("loss", [RANK_ONE, 0.0])
def test_path_of_rank_one_alone(loss: float) -> None:
    estimate = select_rank(path_of([1], [loss]))
    assert estimate.rank == 1
    assert "nothing was chosen" in estimate.warnings[0]


def test_path_without_rank_one() -> None:
    """A path that ended early still starts from the exact rank-one loss."""
    estimate = select_rank(path_of([3, 4], [5.0, 4.9], complete=False))
    assert_array_equal(estimate.evidence["rank"], [1, 3, 4])
    assert estimate.rank == 3
    assert "the path is incomplete" in estimate.warnings


@pytest.mark.parametrize("tau", [0, -1, -np.inf, np.nan])
def test_invalid_tau(tau: float) -> None:
    with pytest.raises(ValueError, match="tau must be positive"):
        select_rank(WORKED, tau=tau)


@pytest.mark.parametrize("rule", ["elbow", "", None, 3])
def test_unknown_rule_lists_the_rules(rule: object) -> None:
    with pytest.raises(ValueError, match=r"unknown rule .* marginal"):
        select_rank(WORKED, rule=rule)


@pytest.mark.parametrize("factor", [1e-20, 1e20])
def test_units_do_not_matter(factor: float) -> None:
    X = make_low_rank(30, 20, rank=3, random_state=0)[0]
    estimates = [select_rank(rank_path(c * X, max_rank=8, random_state=0)) for c in (1.0, factor)]
    assert estimates[0].rank == estimates[1].rank
    assert_allclose(estimates[0].evidence["drop_ratio"], estimates[1].evidence["drop_ratio"], rtol=1e-6)


@pytest.mark.parametrize("grid", ["exact", "adaptive"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_pure_rank_one_data(solver: str, grid: str) -> None:
    X = np.outer(np.arange(1.0, 13), np.arange(1.0, 11))
    for seed in range(3):
        path = rank_path(X, solver=solver, grid=grid, random_state=seed)
        assert select_rank(path).rank == 1
    assert AutoNMF(solver=solver, grid=grid, random_state=0).fit(X).n_components_ == 1


@pytest.mark.parametrize("grid", ["exact", "adaptive"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_losses_of_exact_data_are_not_negative(solver: str, grid: str) -> None:
    X = make_low_rank(50, 40, rank=4, noise=0.0, random_state=1)[0]
    path = rank_path(X, solver=solver, grid=grid, max_rank=10, random_state=0, max_iter=200)
    assert (path.losses >= 0).all()
    evidence = select_rank(path).evidence
    assert (evidence["loss"] >= 0).all()
    assert (evidence["drop"][1:] >= 0).all()


def test_losses_of_the_noise_free_swimmer_are_not_negative() -> None:
    path = rank_path(load_swimmer(), max_rank=20, engine="direct", random_state=0)
    assert (path.losses >= 0).all()
    for point in path.points[-6:]:
        residual = np.linalg.norm(load_swimmer() - point.U @ point.V.T)
        assert_allclose(point.loss, 0.5 * residual**2, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("rank", [2, 3, 5])
def test_synthetic_rank_is_found(rank: int, noise: float) -> None:
    X = make_low_rank(120, 90, rank=rank, noise=noise, random_state=rank)[0]
    path = rank_path(X, max_rank=12, random_state=0)
    assert select_rank(path, tau=5.0).rank == rank
