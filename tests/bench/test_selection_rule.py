"""The script that fits the weights of the default rule: its fit, its folds, its samples and its tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from autonmf.bench.order import FINAL_SEEDS, choose_families
from autonmf.selection.automatic import WEIGHTS, auto_rule, columns_of
from autonmf.selection.features import NO_STEP, features_of

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "selection_rule"
MODULES = ("samples", "logit", "variants", "folds", "tables")


@pytest.fixture(scope="module")
def script() -> Iterator[SimpleNamespace]:
    """The modules of the script, which import each other by their bare names."""
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    sys.path.insert(0, str(SCRIPT))
    try:
        yield SimpleNamespace(main=_main(), **{name: import_module(name) for name in MODULES})
    finally:
        sys.path.remove(str(SCRIPT))
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def _main() -> ModuleType:
    spec = spec_from_file_location("selection_rule_main", SCRIPT / "__main__.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def samples(script: SimpleNamespace) -> list:
    """Three families, three matrices each; one of them has rank one."""
    families = choose_families(["small", "clipped", "few"])
    return [script.samples.observe(family, seed) for family in families for seed in range(3)]


def test_two_candidates_are_a_logistic_regression(script: SimpleNamespace) -> None:
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((200, 2, 3))
    right = (rng.random(200) < 1 / (1 + np.exp(-(columns[:, 0] - columns[:, 1]) @ [1.0, -2.0, 0.5]))).astype(
        int
    )
    shares = rng.uniform(0.5, 1.5, 200)
    choices = [script.logit.Choice(x, 1 - int(r), w) for x, r, w in zip(columns, right, shares, strict=True)]
    peer = LogisticRegression(fit_intercept=False, C=1 / 0.01, tol=1e-10)
    peer.fit(columns[:, 0] - columns[:, 1], right, sample_weight=shares / shares.sum())
    np.testing.assert_allclose(script.logit.fit(choices, ridge=0.01), peer.coef_[0], rtol=1e-3)


def test_the_fit_is_a_minimum_with_candidates_of_different_number(script: SimpleNamespace) -> None:
    rng = np.random.default_rng(1)
    choices = [
        script.logit.Choice(rng.standard_normal((n, 2)), int(rng.integers(n)), 1.0) for n in (3, 5, 9, 4)
    ]

    def objective(w: np.ndarray) -> float:
        losses = [np.log(np.exp(c.columns @ w).sum()) - c.columns[c.right] @ w for c in choices]
        return float(np.mean(losses) + 0.5 * 0.1 * w @ w)

    found = script.logit.fit(choices, ridge=0.1)
    for step in (*1e-3 * np.eye(2), *-1e-3 * np.eye(2)):
        assert objective(found) < objective(found + step)


def test_no_family_is_held_out_and_no_seed_final(script: SimpleNamespace) -> None:
    chosen = script.samples.design_families()
    held_out = {family.name for family in choose_families("held-out")}
    assert not held_out & {family.name for family in chosen}
    assert not set(FINAL_SEEDS) & {seed for seeds in script.samples.SEEDS.values() for seed in seeds}
    drawn = {family.name for family in choose_families(["synthetic", "semi"])}
    assert drawn <= {family.name for family in chosen}
    paper = [family.name for family in chosen if family.group == "paper"]
    assert {name.split("-")[1] for name in paper} == {"1000x400", "1000x800", "3000x1000"}
    assert len(paper) == 12


def test_evidence_is_kept(script: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(script.samples.SEEDS, "synthetic", (3,))
    families, cache = choose_families(["small"]), tmp_path / "evidence.json"
    (first,) = script.samples.collect(families, cache)
    assert [file.name for file in tmp_path.iterdir()] == ["evidence.json"]
    monkeypatch.setattr(script.samples, "observe", None)  # would fail if it were called
    (again,) = script.samples.collect(families, cache)
    assert (again.family, again.seed, again.truth, again.code) == ("small", 3, first.truth, first.code)
    for kind in ("evened", "plain"):
        one, other = getattr(first, kind), getattr(again, kind)
        assert other.shape == one.shape == (60, 40)
        for name in ("ranks", "losses", "losses_of_X", "spectrum", "spectrum_of_X"):
            np.testing.assert_array_equal(getattr(other, name), getattr(one, name))


def test_the_weights_in_use_give_the_answers_of_the_rule(script: SimpleNamespace, samples: list) -> None:
    for sample in samples:
        view = script.folds.View.of(sample, script.variants.Variant())
        found, rule = script.folds.answer(view, np.array(WEIGHTS)), auto_rule(sample.evened)
        assert (found.rank, found.plausible) == (rule.rank, rule.plausible)
        assert found.confidence == rule.evidence["probability"].max()


def test_a_family_does_not_vote_on_its_own_weights(script: SimpleNamespace, samples: list) -> None:
    views = [script.folds.View.of(sample, script.variants.Variant()) for sample in samples]
    _, weights = script.folds.leave_one_out(views)
    changed = [
        view._replace(sample=replace(view.sample, truth=7)) if view.sample.family == "small" else view
        for view in views
    ]
    _, after = script.folds.leave_one_out(changed)
    np.testing.assert_array_equal(weights["small"], after["small"])
    assert not np.allclose(weights["clipped"], after["clipped"])


def test_figures_by_hand(script: SimpleNamespace) -> None:
    def answer(truth: int, rank: int, confidence: float, plausible: tuple[int, ...]):
        sample = SimpleNamespace(truth=truth, kind="a")
        return script.folds.Answer(sample, rank, confidence, plausible)

    answers = [
        answer(3, 3, 0.95, (3,)),
        answer(3, 4, 0.9, (4,)),
        answer(3, 4, 0.5, (3, 4)),
        answer(3, 6, 0.2, (6,)),
    ]
    assert script.folds.figures(answers) == {
        "matrices": 4, "exact": 0.25, "within one": 0.75, "sure": 0.5, "exact if sure": 0.5, "covered": 0.5,
    }  # fmt: skip
    assert script.folds.figures(answers[2:])["exact if sure"] is None
    low, high = script.folds.calibration(answers, parts=2)
    assert (low["from"], low["to"], low["exact"]) == (0.2, 0.5, 0.0)
    assert (high["from"], high["to"], high["exact"]) == (0.9, 0.95, 0.5)


def test_ablations_take_away_what_they_say(script: SimpleNamespace, samples: list) -> None:
    evidence = samples[0].evened
    whole = columns_of(features_of(evidence))
    for index, name in enumerate(("step", "bend", "remainder", "before")):
        less = columns_of(script.variants.without(name).features(evidence))
        assert np.ptp(less[:, index]) == 0.0
        assert np.ptp(whole[:, index]) > 0.0
        others = np.arange(4) != index
        np.testing.assert_array_equal(less[:, others], whole[:, others])
        alone = columns_of(script.variants.only(name).features(evidence))
        np.testing.assert_array_equal(alone[:, index], whole[:, index])
        assert np.ptp(alone[:, others], axis=0).tolist() == [0.0] * 3
    of_Y = script.variants.step_of_Y(evidence).step
    assert (of_Y.min(), of_Y.max()) == (np.log10(NO_STEP), np.log10(5.0))
    assert np.abs(script.variants.without_floor(evidence).step - features_of(evidence).step).max() > 0.0
    np.testing.assert_array_equal(features_of(evidence).step, whole[:, 0])  # the floor is back


def test_main_prints_and_writes(
    script: SimpleNamespace,
    samples: list,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    real = replace(samples[0], family="photograph", group="real")
    monkeypatch.setattr(script.main, "collect", lambda families, cache: [*samples, real])
    monkeypatch.setattr(sys, "argv", ["selection_rule", "--out", str(tmp_path / "figures.json")])
    script.main.main()
    printed = capsys.readouterr().out
    assert f"| in use | {' | '.join(f'{w:.1f}' for w in WEIGHTS)} |" in printed
    assert f"photograph ({real.truth})" in printed
    stored = json.loads((tmp_path / "figures.json").read_text())
    assert stored["variants"].keys() == script.variants.VARIANTS.keys()
    assert all(f"| {name} |" in printed for name in script.variants.VARIANTS)
    whole = stored["variants"][script.variants.AS_IT_IS]
    assert whole["by family"].keys() == {"small", "clipped", "few"}
    assert whole["overall"]["matrices"] == len(samples)
    assert {"numpy", "scipy", "python", "autonmf"} == stored["versions"].keys()
    assert str(tmp_path) not in json.dumps(stored)
