"""`--known FILE`: known components on the command line."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autonmf import AutoNMF
from autonmf.io import read_matrix

NAMES = [f"f{j}" for j in range(20)]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, np.ndarray, np.ndarray]:
    """A matrix with names, two of its four components with their columns reversed; both as arrays."""
    rng = np.random.default_rng(0)
    H = rng.gamma(0.3, 1.0, (4, 20)).round(6)
    X = rng.poisson(rng.gamma(0.5, 20.0, (80, 4)) @ H).astype(float)
    pd.DataFrame(X, columns=NAMES).to_csv(tmp_path / "X.csv", index=False)
    pd.DataFrame(H[:2], columns=NAMES)[NAMES[::-1]].to_csv(tmp_path / "known.csv", index=False)
    return tmp_path / "X.csv", tmp_path / "known.csv", X, H


def test_fit(run, files) -> None:
    matrix, known, X, H = files
    out = matrix.parent / "out"
    result = run("fit", matrix, "--known", known, "--out", out)
    assert result.code == 0, result.err
    assert "2 components beyond the 2 known ones" in result.out
    model = AutoNMF(fixed_components=H[:2], random_state=0).fit(X)
    found = np.load(out / "H.npy")
    np.testing.assert_array_equal(found[:2], H[:2])
    np.testing.assert_allclose(found, model.components_, rtol=1e-6, atol=1e-9)
    assert json.loads((out / "summary.json").read_text())["n_known"] == 2


def test_a_component_that_is_not_used(run, files) -> None:
    matrix, known, _, H = files
    pd.DataFrame(np.vstack([H, H[0, ::-1]]), columns=NAMES).to_csv(known, index=False)
    result = run("fit", matrix, "--known", known, "--rank", 5, "--json")
    assert json.loads(result.out)["unused"] == [5]
    assert "warning: known component 5 is not used: the others fit X as well" in result.err


def test_report(run, files) -> None:
    pytest.importorskip("plotly", reason="reports need plotly")
    matrix, known, _, _ = files
    page = matrix.parent / "page.html"
    assert run("report", matrix, "--known", known, "--out", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert "4 components, 2 of them known" in text
    assert text.count('"known":true') >= 2
    assert f"--known {known}" in text
    assert "AutoNMF(fixed_components=fixed_components" in text


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ([*NAMES[:-1], "g"], "no column for 'f19' and columns that X does not have: 'g'"),
        (NAMES[:-1], "no column"),
    ],
)
def test_names_that_do_not_match(run, files, columns: list[str], said: str) -> None:
    matrix, known, _, H = files
    pd.DataFrame(H[:2, : len(columns)], columns=columns).to_csv(known, index=False)
    result = run("fit", matrix, "--known", known)
    assert result.code == 2
    assert said in result.err
    assert "--known" in result.err


def test_components_in_columns(run, files) -> None:
    matrix, known, _, H = files
    pd.DataFrame(H[:2].T, index=NAMES, columns=["SBS1", "SBS5"]).to_csv(known)
    result = run("fit", matrix, "--known", known)
    assert result.code == 2
    assert f"--known {known} is 20 x 2, but X has 20 features: exchange its rows and columns" in result.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-k", 1), "--n-components 1 is less than the 2 known components"),
        (("--max-rank", 1), "--max-rank 1 is less than the 2 known components"),
        (("--solver", "palm"), "leave out --solver or --known"),
        (("--grid", "adaptive"), "use --grid exact"),
    ],
)
def test_options_that_contradict(run, files, options: tuple[str, object], said: str) -> None:
    matrix, known, _, _ = files
    result = run("fit", matrix, "--known", known, *options)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_names_of_known_components(run, files) -> None:
    matrix, known, _, H = files
    names = ["SBS1", "<b>5</b>"]
    pd.DataFrame(H[:2], columns=NAMES, index=names).to_csv(known)
    out = matrix.parent / "out"
    assert run("fit", matrix, "--known", known, "--out", out).code == 0
    everything = [*names, "component_3", "component_4"]
    assert read_matrix(out / "H.csv").row_names == everything
    assert read_matrix(out / "W.csv").column_names == everything
    pytest.importorskip("plotly", reason="reports need plotly")
    page = matrix.parent / "page.html"
    assert run("report", matrix, "--known", known, "--out", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert '"known":"SBS1"' in text
    assert "<b>5</b>" not in text


def test_the_code_of_a_report_matches_names(run, files) -> None:
    pytest.importorskip("plotly", reason="reports need plotly")
    matrix, known, X, H = files
    page = matrix.parent / "page.html"
    assert run("report", matrix, "--known", known, "--out", page).code == 0
    code = re.search(r"<pre[^>]*>(from autonmf import.*?)</pre>", page.read_text(encoding="utf-8"), re.S)
    given: dict[str, Any] = {}
    exec(unescape(code[1]), given)
    np.testing.assert_array_equal(given["fixed_components"], H[:2])
    np.testing.assert_array_equal(given["X"], X)
    assert given["model"].n_components_ == 4


def test_a_first_line_that_may_be_names(run, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((30, 5)))
    (tmp_path / "known.csv").write_text(
        "400,410,420,430,440\n.1,.5,.2,.4,.3\n.2,.1,.9,.3,.5\n.7,.1,.3,.2,.8\n"
    )
    result = run("fit", tmp_path / "X.npy", "--known", tmp_path / "known.csv", "-k", 3)
    assert result.code == 0
    assert "known.csv: The first line, 400 to 440, is read as column names" in result.err
    assert "--no-header" not in result.err


def test_no_such_file(run, files) -> None:
    matrix, _, _, _ = files
    result = run("fit", matrix, "--known", matrix.parent / "nothing.csv")
    assert result.code != 0
    assert "nothing.csv" in result.err
