"""Known signatures: how they are counted, and the command on small catalogues of the same layout."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from experiments.rank_benchmark import signatures
from experiments.rank_benchmark.signatures import count_found, main
from experiments.shared import BEGIN, END


def brute_force(cosines: np.ndarray) -> int:
    """The largest number of pairs at 0.9 or more, each signature and each component in one pair."""
    many = cosines if len(cosines) >= cosines.shape[1] else cosines.T
    return max(
        sum(many[row, column] >= 0.9 for column, row in enumerate(rows))
        for rows in permutations(range(len(many)), many.shape[1])
    )


@pytest.mark.parametrize("sizes", [(3, 5), (5, 3), (4, 4)])
def test_pairs_are_counted_one_to_one(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(20):
        base = rng.random((1, 8))
        components, truth = (base + rng.uniform(1.0, 5.0) * rng.random((size, 8)) for size in sizes)
        norms = np.linalg.norm(components, axis=1)[:, None] * np.linalg.norm(truth, axis=1)
        found = count_found(components, truth.T)
        assert found == brute_force(components @ truth.T / norms)
        seen.add(found)
    assert len(seen) > 1


def test_a_close_pair_does_not_cost_a_match() -> None:
    """The sum of cosines is larger with one pair at 1 and one at 0.89 than with two at 0.93 or so."""
    angles = np.array([0.0, 0.38])
    truth = np.array([np.cos(angles), np.sin(angles)])
    components = np.array([[np.cos(a), np.sin(a)] for a in (0.38, 0.76)])
    assert count_found(components, truth) == 2
    assert count_found(np.zeros((1, 2)), truth) == 0


def write_catalogues(folder: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.full(30, 0.1), 3).T
    exposures = rng.gamma(0.5, 2000.0, (3, 80))
    for noise in ("noiseless", "realistic"):
        X = np.rint(truth @ exposures) if noise == "noiseless" else rng.poisson(truth @ exposures)
        np.savez(
            folder / f"signatures_sbs_{noise}.npz", X=X.astype(float), signatures=truth, exposures=exposures
        )


def test_the_command_writes_figures_and_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUTONMF_DATA", str(tmp_path))
    write_catalogues(tmp_path)
    page, out = tmp_path / "page.md", tmp_path / "figures.json"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert main(["--seeds", "1", "--page", str(page), "--out", str(out)]) == 0
    tables = capsys.readouterr().out
    written = page.read_text()
    assert written.startswith(f"before\n{BEGIN}\n\n")
    assert written.endswith(f"{END}\nafter\n")
    assert "old" not in written
    assert tables.strip() in written
    fits = json.loads(out.read_text())["fits"]
    assert [(fit["noise"], fit["loss"]) for fit in fits] == [
        ("noiseless", "kullback-leibler"), ("noiseless", "frobenius"),
        ("realistic", "kullback-leibler"), ("realistic", "frobenius"),
    ]  # fmt: skip
    assert all(fit["truth"] == 3 and fit["true_positives_given_rank"] == 3 for fit in fits)
    assert all(0 < fit["true_positives"] <= fit["rank"] for fit in fits)
    assert "| SigProfilerExtractor | 21-22 (19-21) | 18-21 (18-19) | 16-18 (14-18) | 9.2 days |" in tables
    assert "indel" not in tables


def test_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUTONMF_DATA", str(tmp_path))
    page = tmp_path / "page.md"
    page.write_text("no marks\n")
    assert main(["--page", str(page)]) == 2
    assert "error: the page has no region between" in capsys.readouterr().err
    assert main(["--seeds", "0"]) == 2
    assert main(["--out", str(tmp_path / "figures.json")]) == 1
    assert "no catalogue is in the data home: set AUTONMF_DATA" in capsys.readouterr().err
    assert not (tmp_path / "figures.json").exists()


def test_published_figures_are_possible() -> None:
    truth = {"sbs": 23, "indel": 11}
    for tool in signatures.PUBLISHED:
        for (kind, _), (numbers, true) in tool.found.items():
            assert len(numbers) == len(true) == 5
            assert all(t <= min(n, truth[kind]) for n, t in zip(numbers, true, strict=True))
            assert kind in tool.seconds
