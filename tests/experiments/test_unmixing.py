"""The unmixing experiment: its scenes, its measures and its command."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from experiments import unmixing
from experiments.shared import BEGIN, END
from experiments.unmixing import PURE, SCENES, draw_scene, main, score


@pytest.mark.parametrize("seed", range(SCENES))
def test_scenes_are_what_they_say(seed: int) -> None:
    scene = draw_scene(seed)
    X, clean = scene.draw(), scene.A @ scene.E
    np.testing.assert_allclose(scene.A.sum(axis=1), 1.0)
    assert ((scene.A == 1.0).sum(axis=0) >= PURE).all()
    assert scene.E.min() > 0
    noise = 10.0 * np.log10(np.mean(clean**2) / np.mean((X - clean) ** 2))
    assert noise == pytest.approx(scene.decibels, abs=0.3)  # a few negative entries are clipped
    assert 30.0 <= scene.decibels <= 40.0
    assert 3 <= scene.rank <= 6
    np.testing.assert_array_equal(draw_scene(seed).draw(), X)


def test_measures_do_not_depend_on_order_or_brightness() -> None:
    rng = np.random.default_rng(0)
    E, A = rng.random((4, 20)), rng.dirichlet(np.ones(4), 30)
    estimate, weights = E + 0.1 * rng.random(E.shape), rng.dirichlet(np.ones(4), 30)

    def mean_angle(order: tuple[int, ...]) -> float:
        pairs = zip(estimate[list(order)], E, strict=True)
        cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairs]
        return float(np.degrees(np.arccos(cosines)).mean())

    best = min(permutations(range(4)), key=mean_angle)
    expected = mean_angle(best), np.sqrt(np.mean((weights[:, list(best)] - A) ** 2))
    assert score(estimate, weights, E, A) == pytest.approx(expected)
    shuffled = rng.permutation(4)
    again = score(estimate[shuffled] * rng.uniform(1.0, 2.0, (4, 1)), weights[:, shuffled], E, A)
    assert again == pytest.approx(expected)
    np.testing.assert_allclose(score(E, A, E, A), 0.0, atol=1e-5)


@pytest.mark.slow
def test_the_command_writes_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(unmixing, "SCENES", 2)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert main(["--only", "drawn", "limits", "--page", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "unmix is better in both measures in 2 of 2" in printed
    assert printed.strip() in page.read_text()
    assert "old" not in page.read_text()


def test_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("no marks")
    assert main(["--page", str(page)]) == 2
    assert "no region between" in capsys.readouterr().err
    monkeypatch.setenv("AUTONMF_DATA", str(tmp_path / "nowhere"))
    assert main(["--only", "real"]) == 0
    assert "real scenes are left out: set AUTONMF_DATA" in capsys.readouterr().err
