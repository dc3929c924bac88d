"""The paper's numbers, read again from its source."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from autonmf.metrics import recovery_error
from experiments.paper.paper_numbers import (
    DIMENSIONS,
    METHODS_1,
    METHODS_2,
    ORDERS,
    PATH_SECONDS,
    TABLE_1,
    TABLE_2,
    Answer,
    contradictions,
    error_bounds,
    impossible_errors,
    path_ratios,
)  # fmt: skip


@pytest.fixture(scope="module")
def source(real_home: Path) -> str:
    file = real_home.parent / "paper.tex"
    if not file.is_file():
        pytest.skip(f"no {file.name} beside {real_home}")
    return file.read_text(encoding="utf-8")


def number(text: str) -> float | None:
    return None if text.strip() == "-" else float(text)


def test_table_1(source: str) -> None:
    blocks = re.findall(r"\\begin\{filecontents\*\}\{NMF_\w+\.csv\}\n(.*?)\\end\{filecontents", source, re.S)
    lines = [line.split(",") for block in blocks for line in block.strip().splitlines()[1:]]
    assert len(lines) == len(TABLE_1) == 24
    for fields, (config, answers) in zip(lines, TABLE_1.items(), strict=True):
        assert tuple(map(float, fields[:4])) == config
        for i, method in enumerate(METHODS_1):
            assert tuple(map(number, fields[4 + 3 * i : 7 + 3 * i])) == answers[method]


def test_table_2(source: str) -> None:
    titles = {
        "PBMC3K": "pbmc3k", "Swimmer": "swimmer", r"AT\&T Faces": "olivetti", "Web of Science": "wos",
        "Samson": "samson", "Jasper Ridge": "jasper-ridge", "Urban": "urban",
    }  # fmt: skip
    body = source[source.index(r"\label{tab:performance_comparison}") :]
    body = body[body.index(r"\midrule") + len(r"\midrule") : body.index(r"\bottomrule")]
    rows = [row for row in body.split(r"\\") if "&" in row]
    assert len(rows) == len(TABLE_2) == 7
    for row in rows:
        title, size, order, *fields = (cell.strip() for cell in re.split(r"(?<!\\)&", row))
        data = titles[title]
        assert tuple(map(int, re.findall(r"\d+", size))) == DIMENSIONS[data]
        assert int(order) == ORDERS[data]
        for i, method in enumerate(METHODS_2):
            assert tuple(map(number, fields[3 * i : 3 * i + 3])) == TABLE_2[data][method]


def test_times_of_paths(source: str) -> None:
    section = source[source.index(r"\label{sec:lambda_path_analysis}") :]
    said = re.findall(r"\$(\d+\.\d+)\$", section[: section.index(r"\label{sec:scale_balancing_experiment}")])
    assert tuple(map(float, said)) == (*PATH_SECONDS["synthetic"], *PATH_SECONDS["swimmer"])


@pytest.mark.parametrize(
    "phrase",
    [
        "by only a single rank", "overwhelming advantage", "1024 stick-figure images", "contains ten "
        "subjects",
        "systematic rank overestimation as dimensions scale up", r"$10^{-2}$ to $10^{-1}$",
        r"r=\min(\lceil0.5\min(n,m)\rceil,50)", "an overestimated rank $r = 30$", "$m=100$, $n=80$",
        "$n = 100, m = 80$", "Across all experiments", "relative error is not applicable",
    ],
)  # fmt: skip
def test_what_contradicts_is_said(source: str, phrase: str) -> None:
    assert phrase in " ".join(source.split())


def test_ratios() -> None:
    assert path_ratios("synthetic") == pytest.approx((5.24, 5.12), abs=0.01)
    assert path_ratios("swimmer") == pytest.approx((3.41, 3.01), abs=0.01)


@pytest.mark.parametrize(("rank", "order"), [(3, 3), (5, 3), (2, 4), (1, 6), (6, 1)])
def test_bounds_of_the_recovery_error(rank: int, order: int) -> None:
    low, high = error_bounds(rank, order)
    rng = np.random.default_rng(0)
    for _ in range(200):
        U, W = (rng.random((8, r)) ** rng.integers(1, 40) for r in (order, rank))
        assert low - 1e-9 <= recovery_error(U, W) <= high + 1e-9
    apart = np.eye(order + rank)
    assert recovery_error(apart[:, :order], apart[:, order:]) == pytest.approx(high)
    alike = np.eye(max(order, rank))
    assert recovery_error(alike[:, :order], alike[:, :rank]) == pytest.approx(low)


def test_one_error_is_impossible() -> None:
    (found,) = impossible_errors()
    assert "olivetti" in found
    assert "6.0507" in found
    assert "4.472" in found


def test_contradictions_quote_the_tables() -> None:
    text = " ".join(contradictions([]))
    slower = sum(by["pasm"].seconds > by["ipalm"].seconds for by in TABLE_1.values())
    assert f"slower than iPALM in {slower} of 24 lines" in text
    assert "it has 22 for 20 at 3000x1000" in text
    assert "Prop. 4" not in text  # needs measurements


def test_answers_are_whole() -> None:
    assert TABLE_1[5000, 4000, 0.3, 20]["cv"] == Answer(None, None, None)
    assert TABLE_1[3000, 1000, 0.3, 20]["ipalm"] == Answer(22, 1.965367, 4.10)
