"""The runner and its page, with methods that cost nothing; and our own on one small matrix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autonmf import RankEstimate
from experiments.rank_benchmark import Row, find_methods, run, run_order
from experiments.rank_benchmark.run import FILE, SLOW


class Counting:
    """Answers three, and counts how often it is asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[int, int], int, int]] = []

    def __call__(self, X: Any, max_rank: int, seed: int) -> int:
        self.calls.append((X.shape, max_rank, seed))
        return 3


def unsure(X: Any, max_rank: int, seed: int) -> RankEstimate:
    return RankEstimate(2, "test", "because", {}, plausible=(2, 3), confidence=0.4, warnings=("unsure",))


def broken(X: Any, max_rank: int, seed: int) -> int:
    raise ZeroDivisionError("no answer")


def test_rows_say_what_was_answered() -> None:
    (three,) = run_order("small", {"three": Counting()}, [1], show=False)
    assert (three.family, three.group, three.seed, three.method) == ("small", "synthetic", 1, "three")
    assert (three.n, three.m, three.max_rank, three.rank, three.plausible) == (60, 40, 20, 3, (3,))
    (careful,) = run_order("small", {"unsure": unsure}, [1], show=False)
    assert (careful.plausible, careful.confidence, careful.warnings) == ((2, 3), 0.4, ("unsure",))


def test_resumes(tmp_path: Path) -> None:
    method = Counting()
    first = run_order("small", {"three": method}, [0, 1], tmp_path, show=False)
    assert [call[2] for call in method.calls] == [0, 1]
    again = run_order(["small", "few"], {"three": method, "unsure": unsure}, [0, 1, 2], tmp_path, show=False)
    assert len(method.calls) == 6  # small seed 2, few seeds 0 to 2
    assert len(again) == 12
    assert [row for row in again if row in first] == first
    assert len((tmp_path / FILE).read_text().splitlines()) == 12
    run_order("small", {"three": method}, [0], tmp_path, fresh=True, show=False)
    assert len(method.calls) == 7


def test_resumes_after_a_line_cut_short(tmp_path: Path) -> None:
    run_order("small", {"three": Counting()}, [0, 1], tmp_path, show=False)
    file = tmp_path / FILE
    whole = file.read_text()
    file.write_text(whole[:-30])
    method = Counting()
    rows = run_order("small", {"three": method}, [0, 1], tmp_path, show=False)
    assert len(method.calls) == 1
    assert [json.loads(line)["seed"] for line in file.read_text().splitlines()] == [0, 1]
    assert len(rows) == 2
    file.write_text(whole[:-1])  # whole but for its end
    run_order("small", {"three": method}, [0, 1, 2], tmp_path, show=False)
    assert len(file.read_text().splitlines()) == 3
    file.write_text("nonsense\n" + whole)
    with pytest.raises(ValueError, match="line 1: not a row"):
        run_order("small", {"three": method}, [0], tmp_path, show=False)


def test_a_method_that_fails_does_not_stop_the_run(tmp_path: Path) -> None:
    rows = run_order("small", {"broken": broken, "three": Counting()}, [0], tmp_path, show=False)
    assert [row.rank for row in rows] == [None, 3]
    assert rows[0].error == "ZeroDivisionError: no answer"
    assert "small seed 0, broken: ZeroDivisionError: no answer" in (tmp_path / "page.md").read_text()


def test_quick_and_missing_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUTONMF_DATA", str(tmp_path))
    rows = run_order(["small", "real", "paper-5000x4000-0.1-r10"], {"three": Counting()}, [7, 8], quick=True)
    assert [(row.family, row.seed) for row in rows] == [("small", 7)]
    printed = capsys.readouterr().out
    assert "samson: skipped, its file is not in the data home" in printed
    assert "Rank selection" in printed
    assert "small seed 7 three: 3" in printed


def test_quick_leaves_out_slow_methods_unless_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Package:
        METHODS = {name: lambda X: 3 for name in ("svht", *SLOW)}  # noqa: RUF012

    assert set(SLOW) <= set(find_methods())
    monkeypatch.setattr(run, "import_module", lambda name: Package)
    quick = run_order("small", None, [0, 1], quick=True, show=False)
    assert [row.method for row in quick] == ["auto", "marginal-2", "marginal-5", "svht"]
    named = run_order("small", ["ard"], [0, 1], quick=True, show=False)
    assert [(row.method, row.seed) for row in named] == [("ard", 0)]


def test_a_watcher_is_told_everything(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Noting:
        def __init__(self) -> None:
            self.notes: list[Any] = []

        def begins(self, answers: int) -> None:
            self.notes.append(answers)

        def skips(self, family: str) -> None:
            self.notes.append(("skips", family))

        def asks(self, family: str, seed: int, method: str) -> None:
            self.notes.append(("asks", family, seed, method))

        def answered(self, row: Row) -> None:
            self.notes.append((row.family, row.seed, row.method, row.rank))

    monkeypatch.setenv("AUTONMF_DATA", str(tmp_path))
    run_order("small", {"three": Counting()}, [0], tmp_path, show=False)
    watcher = Noting()
    run_order(["small", "samson"], {"three": Counting()}, [0, 1], tmp_path, watcher=watcher)
    told = [("skips", "samson"), 1, ("asks", "small", 1, "three"), ("small", 1, "three", 3)]
    assert watcher.notes == told
    assert capsys.readouterr().out == ""


def test_our_methods() -> None:
    assert {"marginal-2", "marginal-5"} <= set(find_methods())
    rows = run_order("few", ["marginal-2", "marginal-5"], [4], show=False)
    assert [row.rank for row in rows] == [3, 3]
    with pytest.raises(ValueError, match="unknown methods: nonsense"):
        find_methods(["nonsense"])


def test_baselines_are_adapted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Package:
        METHODS = {  # noqa: RUF012
            "plain": lambda X: 1,
            "bounded": lambda X, max_rank: max_rank,
            "seeded": lambda X, *, random_state=None: random_state,
            "any": lambda X, **given: given,
            "marginal-2": lambda X: 99,  # our own name stays ours
        }

    monkeypatch.setattr(run, "import_module", lambda name: Package)
    found = find_methods()
    assert [found[name](None, 20, 7) for name in ("plain", "bounded", "seeded")] == [1, 20, 7]
    assert found["any"](None, 20, 7) == {"max_rank": 20, "random_state": 7}
    assert list(found)[:3] == ["auto", "marginal-2", "marginal-5"]
    assert found["marginal-2"].__module__ == run.__name__


def test_no_baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(run, "import_module", absent)
    assert {"marginal-2", "marginal-5"} <= set(find_methods())
