"""The script that fits the weights of the default rule: its fit, its folds, its samples and its tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from autonmf.selection.automatic import WEIGHTS, auto_rule, feature_columns
from autonmf.selection.features import compute_features
from experiments.rank_benchmark import FINAL_SEEDS, choose_families, fit_rule


@pytest.fixture(scope="module")
def samples() -> list:
    """Three families, three matrices each; one of them has rank one."""
    families = choose_families(["small", "clipped", "few"])
    return [fit_rule.observe(family, seed) for family in families for seed in range(3)]


def test_two_candidates_are_a_logistic_regression() -> None:
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((200, 2, 3))
    right = (rng.random(200) < 1 / (1 + np.exp(-(columns[:, 0] - columns[:, 1]) @ [1.0, -2.0, 0.5]))).astype(
        int
    )
    shares = rng.uniform(0.5, 1.5, 200)
    choices = [fit_rule.Choice(x, 1 - int(r), w) for x, r, w in zip(columns, right, shares, strict=True)]
    peer = LogisticRegression(fit_intercept=False, C=1 / 0.01, tol=1e-10)
    peer.fit(columns[:, 0] - columns[:, 1], right, sample_weight=shares / shares.sum())
    np.testing.assert_allclose(fit_rule.fit(choices, ridges=(0.01,) * 3), peer.coef_[0], rtol=1e-3)


def test_the_fit_is_a_minimum_with_candidates_of_different_number() -> None:
    rng = np.random.default_rng(1)
    choices = [fit_rule.Choice(rng.standard_normal((n, 2)), int(rng.integers(n)), 1.0) for n in (3, 5, 9, 4)]

    def objective(w: np.ndarray) -> float:
        losses = [np.log(np.exp(c.columns @ w).sum()) - c.columns[c.right] @ w for c in choices]
        return float(np.mean(losses) + 0.5 * 0.1 * w @ w)

    found = fit_rule.fit(choices, ridges=(0.1,) * 2)
    for step in (*1e-3 * np.eye(2), *-1e-3 * np.eye(2)):
        assert objective(found) < objective(found + step)


def test_no_family_is_held_out_and_no_seed_final() -> None:
    chosen = fit_rule.design_families()
    held_out = {family.name for family in choose_families("held-out")}
    assert not held_out & {family.name for family in chosen}
    assert not set(FINAL_SEEDS) & {seed for seeds in fit_rule.SEEDS.values() for seed in seeds}
    drawn = {family.name for family in choose_families(["synthetic", "semi"])}
    assert drawn <= {family.name for family in chosen}
    paper = [family.name for family in chosen if family.group == "paper"]
    assert {name.split("-")[1] for name in paper} == {"1000x400", "1000x800", "3000x1000"}
    assert len(paper) == 12


def test_evidence_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fit_rule.SEEDS, "synthetic", (3,))
    families, cache = choose_families(["small"]), tmp_path / "evidence.json"
    (first,) = fit_rule.collect(families, cache)
    assert [file.name for file in tmp_path.iterdir()] == ["evidence.json"]
    monkeypatch.setattr(fit_rule, "observe", None)  # would fail if it were called
    (again,) = fit_rule.collect(families, cache)
    assert (again.family, again.seed, again.truth, again.code) == ("small", 3, first.truth, first.code)
    one, other = first.evidence, again.evidence
    assert other.shape == one.shape == (60, 40)
    for name in ("ranks", "losses", "spectrum", "known_drops"):
        assert isinstance(getattr(other, name), np.ndarray)
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name))
    assert (other.whitened.shape, other.whitened.clipped) == (one.whitened.shape, one.whitened.clipped)
    np.testing.assert_array_equal(other.whitened.squares, one.whitened.squares)


def test_the_weights_in_use_give_the_answers_of_the_rule(samples: list) -> None:
    for sample in samples:
        view = fit_rule.View.of(sample, fit_rule.VARIANTS[fit_rule.AS_IT_IS])
        found, rule = fit_rule.answer(view, np.array(WEIGHTS)), auto_rule(sample.evidence)
        assert (found.rank, found.plausible) == (rule.rank, rule.plausible)
        assert found.confidence == rule.confidence


def test_a_family_does_not_vote_on_its_own_weights(samples: list) -> None:
    views = [fit_rule.View.of(sample, fit_rule.VARIANTS[fit_rule.AS_IT_IS]) for sample in samples]
    _, weights = fit_rule.leave_one_out(views)
    changed = [
        view._replace(sample=replace(view.sample, truth=7)) if view.sample.family == "small" else view
        for view in views
    ]
    _, after = fit_rule.leave_one_out(changed)
    np.testing.assert_array_equal(weights["small"], after["small"])
    assert not np.allclose(weights["clipped"], after["clipped"])


def test_figures_by_hand() -> None:
    def answer(truth: int, rank: int, confidence: float, plausible: tuple[int, ...]):
        sample = SimpleNamespace(truth=truth, kind="a")
        return fit_rule.Answer(sample, rank, confidence, plausible)

    answers = [
        answer(3, 3, 0.95, (3,)),
        answer(3, 4, 0.9, (4,)),
        answer(3, 4, 0.5, (3, 4)),
        answer(3, 6, 0.2, (6,)),
    ]
    assert fit_rule.figures(answers) == {
        "matrices": 4, "exact": 0.25, "within one": 0.75, "sure": 0.5, "exact if sure": 0.5, "covered": 0.5,
    }  # fmt: skip
    assert fit_rule.figures(answers[2:])["exact if sure"] is None
    low, high = fit_rule.calibration(answers, parts=2)
    assert (low["from"], low["to"], low["exact"]) == (0.2, 0.5, 0.0)
    assert (high["from"], high["to"], high["exact"]) == (0.9, 0.95, 0.5)


def test_ablations_take_away_what_they_say(samples: list) -> None:
    longest = max(samples, key=lambda sample: len(sample.evidence.ranks))  # short ones have no elbow
    whole = feature_columns(compute_features(longest.evidence))
    for used in fit_rule.VARIANTS.values():
        less = fit_rule.View.of(longest, used).columns
        others = [i for i in range(whole.shape[1]) if i not in used]
        np.testing.assert_array_equal(less[:, list(used)], whole[:, list(used)])
        assert not less[:, others].any()
        assert all(np.ptp(whole[:, i]) > 0.0 for i in others)


def test_main_prints_and_writes(
    samples: list,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    real = replace(samples[0], family="photograph", group="real")
    monkeypatch.setattr(fit_rule, "collect", lambda families, cache: [*samples, real])
    fit_rule.main(["--out", str(tmp_path / "figures.json")])
    printed = capsys.readouterr().out
    assert f"| in use | {' | '.join(f'{w:.1f}' for w in WEIGHTS)} |" in printed
    assert f"photograph ({real.truth})" in printed
    stored = json.loads((tmp_path / "figures.json").read_text())
    assert stored["variants"].keys() == fit_rule.VARIANTS.keys()
    assert all(f"| {name} |" in printed for name in fit_rule.VARIANTS)
    whole = stored["variants"][fit_rule.AS_IT_IS]
    assert whole["by family"].keys() == {"small", "clipped", "few"}
    assert whole["overall"]["matrices"] == len(samples)
    assert {"numpy", "scipy", "python", "autonmf"} == stored["versions"].keys()
    assert str(tmp_path) not in json.dumps(stored)
