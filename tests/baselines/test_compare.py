"""All methods in one call: the table, the agreement, and what happens when one fails."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from autonmf import RankPath, compare
from autonmf.baselines import METHODS, reads_path
from autonmf.compare import Answer, Comparison, compare_ranks
from autonmf.selection import RULES, RankEstimate

NAMES = {
    "svht",
    "cv-wold",
    "cv-bicv",
    "elbow",
    "bic",
    "stability",
    "parallel",
    "ard",
    "marginal-2",
    "marginal-5",
}


def answering(rank: int) -> Any:
    return lambda X, *, max_rank=None, random_state=None: RankEstimate(
        rank, "fake", f"says {rank}", {}, (rank,)
    )


def failing(X: Any, *, max_rank: int | None = None, random_state: Any = None) -> RankEstimate:
    raise FloatingPointError("nothing converged")


@pytest.fixture(scope="module")
def everything(easy: np.ndarray) -> Comparison:
    return compare_ranks(easy, max_rank=8, random_state=0)


def test_names() -> None:
    assert set(METHODS) - {"auto"} == NAMES
    assert ("auto" in METHODS) == ("auto" in RULES)
    readers = {name for name, method in METHODS.items() if reads_path(method)}
    assert readers - {"auto"} == {"elbow", "bic", "marginal-2", "marginal-5"}


def test_every_method_on_the_easy_case(everything: Comparison) -> None:
    assert list(everything.ranks) == list(METHODS)
    # The noise is clipped at zero and has a mean, which is a linear component of its own.
    assert everything.ranks.pop("svht") in (4, 5)
    others = {name: rank for name, rank in everything.ranks.items() if name != "svht"}
    assert set(others.values()) == {4}, others
    assert everything.median == 4
    assert everything.path_seconds > 0


@pytest.mark.parametrize("name", sorted(NAMES))
def test_estimates_are_complete(everything: Comparison, name: str) -> None:
    estimate = everything.estimates[name]
    assert estimate.rank in estimate.plausible
    assert all(isinstance(rank, int) for rank in (estimate.rank, *estimate.plausible))
    assert estimate.plausible == tuple(sorted(set(estimate.plausible)))
    assert estimate.confidence is None
    assert len(estimate.why) > 20
    lengths = {len(column) for column in estimate.evidence.values()}
    assert len(lengths) == 1
    assert "rank" in estimate.evidence
    assert str(estimate).startswith(f"rank {estimate.rank}: ")


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
def test_dense_and_sparse_agree(low_rank: np.ndarray, kind: Any) -> None:
    X = np.where(low_rank > 0.3, low_rank, 0)
    dense, stored = (compare_ranks(Z, max_rank=5, random_state=0) for Z in (X, kind(X)))
    assert dense.ranks == stored.ranks
    assert not [answer for answer in stored.answers if answer.failed]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_method_by_itself_says_the_same(low_rank: np.ndarray, name: str) -> None:
    alone = METHODS[name](low_rank, max_rank=6, random_state=3)
    together = compare_ranks(low_rank, [name], max_rank=6, random_state=3)
    assert together.ranks == {name: alone.rank}
    for column, values in alone.evidence.items():
        np.testing.assert_allclose(together.estimates[name].evidence[column], values, rtol=1e-6)


def test_one_path_for_all(low_rank: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[RankPath] = []
    original = compare.loss_curve

    def counted(*args: Any, **given: Any) -> RankPath:
        made.append(original(*args, **given))
        return made[-1]

    monkeypatch.setattr(compare, "loss_curve", counted)
    compare_ranks(low_rank, ["elbow", "bic", "marginal-2", "marginal-5"], max_rank=5, random_state=0)
    assert len(made) == 1
    compare_ranks(low_rank, ["svht"], random_state=0)
    assert len(made) == 1


def test_agreement_and_median(low_rank: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, rank in (("a", 7), ("b", 3), ("c", 3), ("d", 40)):
        monkeypatch.setitem(METHODS, name, answering(rank))
    comparison = compare_ranks(low_rank, ["a", "b", "c", "d"], random_state=0)
    assert comparison.agreement == {3: 2, 7: 1, 40: 1}
    assert list(comparison.agreement) == [3, 7, 40]
    assert comparison.median == 5.0
    assert comparison.path_seconds < 0.1


def test_a_failure_is_a_row(low_rank: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "broken", failing)
    monkeypatch.setitem(METHODS, "fine", answering(3))
    comparison = compare_ranks(low_rank, ["broken", "fine"], random_state=0)
    broken, fine = comparison.answers
    assert broken == Answer(
        "broken", None, broken.seconds, "FloatingPointError: nothing converged", failed=True
    )
    assert (fine.rank, fine.failed) == (3, False)
    assert comparison.ranks == {"fine": 3}
    assert comparison.agreement == {3: 1}
    assert "broken" not in comparison.estimates
    row = next(line for line in str(comparison).splitlines() if line.startswith("broken"))
    assert " - " in row
    assert "nothing converged" in row


def test_a_shared_path_that_fails_is_not_fatal(low_rank: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **given: Any) -> RankPath:
        raise MemoryError("too large")

    monkeypatch.setattr(compare, "loss_curve", broken)
    comparison = compare_ranks(low_rank, ["bic", "svht"], max_rank=5, random_state=0)
    assert set(comparison.ranks) == {"bic", "svht"}


def test_everything_fails(low_rank: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "broken", failing)
    comparison = compare_ranks(low_rank, "broken", random_state=0)
    assert np.isnan(comparison.median)
    assert comparison.agreement == {}
    assert "none" in str(comparison)
    assert comparison.to_dict()["median"] is None


def test_ctrl_c_is_not_a_failure(low_rank: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(X: Any, **given: Any) -> RankEstimate:
        raise KeyboardInterrupt

    monkeypatch.setitem(METHODS, "slow", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compare_ranks(low_rank, ["slow"], random_state=0)


def test_table(everything: Comparison) -> None:
    lines = str(everything).splitlines()
    assert lines[0].split() == ["method", "rank", "seconds", "why"]
    assert len(lines) == len(METHODS) + 3
    assert max(map(len, lines)) <= 110
    assert (
        len({line.index(answer.method) for line, answer in zip(lines[1:], everything.answers, strict=False)})
        == 1
    )
    assert "median 4" in lines[-1]
    assert "200 x 120" in lines[-2]


def test_to_dict_is_json(everything: Comparison) -> None:
    stored = json.loads(json.dumps(everything.to_dict()))
    assert stored["shape"] == [200, 120]
    assert stored["max_rank"] == 8
    assert {row["method"]: row["rank"] for row in stored["answers"]} == everything.ranks
    assert stored["agreement"] == {str(rank): count for rank, count in everything.agreement.items()}


def test_frozen(everything: Comparison) -> None:
    with pytest.raises(AttributeError):
        everything.max_rank = 3


def test_progress(low_rank: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
    shown = compare_ranks(low_rank, ["bic", "svht"], max_rank=5, random_state=0, progress=True)
    printed = capsys.readouterr().err
    assert [name for name in ("path", "bic", "svht", "done") if name not in printed] == []
    quiet = compare_ranks(low_rank, ["bic", "svht"], max_rank=5, random_state=0)
    assert capsys.readouterr() == ("", "")
    assert shown.ranks == quiet.ranks


@pytest.mark.parametrize("seed", [None, np.random.default_rng(0), np.random.RandomState(0)])
def test_other_seeds(low_rank: np.ndarray, seed: Any) -> None:
    assert compare_ranks(low_rank, ["bic", "stability"], max_rank=5, random_state=seed).median == 3


@pytest.mark.parametrize(
    ("methods", "message"), [("magic", "unknown method 'magic'"), (["bic", "x"], "'x'"), ([], "empty")]
)
def test_what_is_refused(low_rank: np.ndarray, methods: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare_ranks(low_rank, methods)


def test_bad_data_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "fine", answering(3))
    with pytest.raises(ValueError, match="Negative"):
        compare_ranks(-np.ones((3, 3)), ["fine"])
    with pytest.raises(ValueError, match="max_rank"):
        compare_ranks(np.ones((3, 3)), ["fine"], max_rank=0)
