"""`autonmf report`: the page, its default name, and messages."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from autonmf import AutoNMF
from autonmf.cli import main
from autonmf.datasets import load_swimmer

pytest.importorskip("typer", reason='the command line needs typer and rich: pip install "autonmf[cli]"')


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable:
    """Run `autonmf report` in an empty folder: exit code, output and messages."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: object) -> tuple[int, str, str]:
        code = main(["report", *map(str, arguments)])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return invoke


@pytest.fixture
def counts(tmp_path: Path, low_rank: np.ndarray) -> Path:
    """A CSV file with names."""
    lines = [["gene", *(f"cell{j}" for j in range(40))]]
    lines += [[f"g{i}", *map(repr, row)] for i, row in enumerate(low_rank.tolist())]
    file = tmp_path / "counts.csv"
    file.write_text("\n".join(map(",".join, lines)))
    return file


def test_a_page_beside_the_reader(run: Callable, counts: Path, tmp_path: Path, stored) -> None:
    code, out, _ = run("counts.csv", "--max-rank", 6)
    assert code == 0
    assert re.search(r"^rank 3 \(confidence \d+%\): component 3 is", out, re.MULTILINE)
    assert re.search(r"Written to counts-report.html \(\d\.\d MB\)", out)
    found = stored(tmp_path / "counts-report.html")
    assert (found["title"], found["form"]["kind"], found["rank"]) == ("counts.csv", "words", 3)
    assert found["views"][2]["components"][0]["samples"][0].startswith("g")
    assert found["health"]["facts"]["Shape"] == "60 samples × 40 features"


def test_an_earlier_page_is_kept_without_force(run: Callable, counts: Path, tmp_path: Path) -> None:
    page = tmp_path / "counts-report.html"
    page.write_text("earlier")
    code, _, err = run("counts.csv", "--max-rank", 4)
    assert (code, page.read_text()) == (2, "earlier")
    assert "add --force" in err
    assert run("counts.csv", "--max-rank", 4, "--force", "-q") == (0, "counts-report.html\n", "")
    assert page.stat().st_size > 10**6


def test_pictures(run: Callable, tmp_path: Path, stored) -> None:
    np.save(tmp_path / "swimmer.npy", load_swimmer())
    code, out, _ = run(
        "swimmer.npy", "--image-shape", "32x32", "--out", "deep/er/page.html", "--title", "T & T", "-q"
    )
    assert (code, out) == (0, "deep/er/page.html\n")
    found = stored(tmp_path / "deep/er/page.html")
    assert (found["title"], found["form"]["shape"], found["rank"]) == ("T & T", [32, 32], 16)
    assert shlex.split(found["recipe"]["shell"])[3:] == [
        "--image-shape", "32x32", "--title", "T & T", "--out", "deep/er/page.html", "--force"
    ]  # fmt: skip


def test_the_code_and_the_command_on_the_page_lead_back(
    run: Callable, counts: Path, tmp_path: Path, stored
) -> None:
    run("counts.csv", "--transpose", "--max-rank", 5, "--tau", 4, "--solver", "s-ipalm", "--seed", 2,
        "--header", "--labels", "--n-top", 3, "-q")  # fmt: skip
    page = tmp_path / "counts-report.html"
    recipe = stored(page)["recipe"]
    first = page.read_bytes()
    assert main(shlex.split(recipe["shell"])[1:]) == 0
    assert page.read_bytes() == first
    names: dict[str, AutoNMF] = {}
    exec(recipe["python"], names)
    assert names["model"].n_components_ == stored(page)["rank"]
    assert unescape(recipe["python"]).count("rule='marginal', tau=4.0") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--image-shape", "9x9"], "--image-shape 9x9 does not match the 40 features"),
     (["--map-shape", "sixty"], "'sixty' is not ROWSxCOLUMNS, such as 32x32"),
     (["--kind", "image"], "images need --image-shape RxC"), (["--out", "."], "is a folder"),
     (["--n-top", "0"], "Invalid value for '--n-top'")],
)  # fmt: skip
def test_mistakes_in_the_command(run: Callable, counts: Path, arguments: list[str], message: str) -> None:
    code, out, err = run("counts.csv", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert sorted(file.name for file in counts.parent.iterdir()) == ["counts.csv"]


def test_materials_and_their_abundances(run: Callable, tmp_path: Path, stored) -> None:
    """Maps from 0 to 1: the brightest grey is an abundance of one."""
    rng = np.random.default_rng(0)
    A = np.vstack([np.eye(3), rng.dirichlet([0.5] * 3, 60 - 3)])
    np.save("scene.npy", A @ rng.random((3, 25)))
    code, _, err = run("scene.npy", "--rank", 3, "--map-shape", "6x10", "--unmix")
    assert (code, "warning" in err) == (0, False)
    found = stored(tmp_path / "scene-report.html")
    assert found["recipe"]["shell"].startswith(
        "autonmf report scene.npy --n-components 3 --map-shape 6x10 --unmix"
    )
    assert len(found["materials"]) == 3
    assert sum(material["mean"] for material in found["materials"]) == pytest.approx(1.0)
    means = np.sort([material["mean"] for material in found["materials"]])
    np.testing.assert_allclose(means, np.sort(A.mean(axis=0)), atol=0.02)
    assert run("scene.npy", "--rank", 3, "--force")[0] == 0
    assert "materials" not in stored(tmp_path / "scene-report.html")


def test_notes_about_maps(run: Callable) -> None:
    np.save("scene.npy", np.random.default_rng(0).random((60, 25)))
    draws_maps = "--map-shape RxC draws maps"
    assert draws_maps in run("scene.npy", "--rank", 2, "--unmix")[2]
    err = run("scene.npy", "--rank", 2, "--unmix", "--map-shape", "6x10", "--force")[2]
    assert "are shown as" not in err


def test_a_sparse_matrix_is_not_unmixed(run: Callable) -> None:
    sparse.save_npz("X.npz", sparse.random(30, 20, 0.3, format="csr", random_state=0))
    code, _, err = run("X.npz", "--rank", 2, "--unmix")
    assert (code, "error: --unmix is for spectra, but X.npz is a sparse matrix" in err) == (2, True)


def test_only_spectra_are_unmixed(run: Callable, counts: Path) -> None:
    code, _, err = run("counts.csv", "--kind", "words", "--unmix")
    assert (
        code,
        "--unmix is for spectra, but components are shown as words: add --kind spectrum" in err,
    ) == (2, True)
    np.save("constant.npy", np.ones((8, 5)))
    code, _, err = run("constant.npy", "--rank", 2, "--unmix")
    assert (code, "cannot unmix the matrix: the pixels of X are mixtures of 1 spectrum" in err) == (1, True)


def test_a_folder_that_is_a_file(run: Callable, counts: Path) -> None:
    code, _, err = run("counts.csv", "--out", "counts.csv/page.html")
    assert code == 1
    assert err.splitlines()[-1].startswith("error: cannot write to counts.csv: ")


def test_a_bad_file(run: Callable, tmp_path: Path) -> None:
    assert run("missing.csv") == (1, "", "error: missing.csv does not exist\n")


def test_spectra_by_their_header(run: Callable, tmp_path: Path, low_rank: np.ndarray, stored) -> None:
    axis = np.linspace(400, 790, 40)
    np.savetxt(tmp_path / "s.csv", low_rank, delimiter=",", header=",".join(map(str, axis)), comments="")
    assert run("s.csv", "--header", "--map-shape", "6x10", "--max-rank", 4, "-q")[0] == 0
    form = stored(tmp_path / "s-report.html")["form"]
    assert (form["kind"], form["map"], form["axis_label"]) == ("spectrum", True, "wavelength")
    assert form["axes"]["full"] == axis.tolist()


@pytest.mark.parametrize(
    ("name", "options", "label", "note"),
    [("{} nm", [], "nm", "note: Components are shown as curves over nm; --kind words lists names."),
     ("cm-1_{}", [], "cm-1", "note: Components are shown as curves over cm-1; --kind words lists names."),
     ("X{}", ["--kind", "spectrum"], "X", None)],
)  # fmt: skip
def test_numbers_with_units_are_an_axis(
    run: Callable,
    tmp_path: Path,
    low_rank: np.ndarray,
    stored,
    name: str,
    options: list[str],
    label: str,
    note,
) -> None:
    axis = np.linspace(790, 400, 40)
    header = ",".join(name.format(x) for x in axis)
    np.savetxt(tmp_path / "s.csv", low_rank, delimiter=",", header=header, comments="")
    code, _, err = run("s.csv", "--max-rank", 4, *options)
    assert code == 0
    assert [line for line in err.splitlines() if "shown as" in line] == ([note] if note else [])
    form = stored(tmp_path / "s-report.html")["form"]
    assert (form["kind"], form["axis_label"], form["axes"]["full"]) == ("spectrum", label, axis.tolist())


def test_names_that_only_count_are_words(run: Callable, counts: Path) -> None:
    note = "note: Components are shown as words; --kind spectrum draws curves.\n"
    assert note in run("counts.csv", "--max-rank", 4)[2]
    assert note not in run("counts.csv", "--max-rank", 4, "--force", "--kind", "words")[2]


def test_columns_without_names(run: Callable, tmp_path: Path, low_rank: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", low_rank)
    assert "shown as curves; --image-shape RxC draws images" in run("x.npy", "--max-rank", 4)[2]


def test_without_plotly_nothing_is_computed(tmp_path: Path, counts: Path) -> None:
    (tmp_path / "plotly.py").write_text("raise ImportError('not here')")
    done = subprocess.run(
        [sys.executable, "-m", "autonmf", "report", "counts.csv"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: reports need plotly")
    assert 'pip install "autonmf[report]"' in done.stderr


@pytest.fixture
def standard_input(monkeypatch: pytest.MonkeyPatch, counts: Path) -> None:
    """The CSV file comes from the standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(counts.read_bytes())))


@pytest.mark.usefixtures("standard_input")
def test_json_about_a_page_of_the_standard_input(run: Callable, tmp_path: Path, stored) -> None:
    code, out, _ = run("-", "--max-rank", 5, "--json")
    summary = json.loads(out)
    page = tmp_path / "standard-input-report.html"
    assert (code, summary["rank"], summary["page"]) == (0, 3, page.name)
    assert summary["bytes"] == page.stat().st_size
    assert "sys.stdin.buffer" in stored(page)["recipe"]["python"]


@pytest.mark.usefixtures("standard_input")
def test_a_page_for_the_standard_output(run: Callable, tmp_path: Path) -> None:
    code, out, err = run("-", "--max-rank", 5, "--out", "-")
    assert code == 0
    assert out.startswith("<!DOCTYPE html>")
    assert "rank 3" in err
    assert [file.name for file in tmp_path.iterdir()] == ["counts.csv"]


def test_the_standard_output_has_room_for_one_of_both(run: Callable, counts: Path) -> None:
    code, out, err = run("counts.csv", "--out", "-", "--json")
    assert (code, out) == (2, "")
    assert "choose one of them" in err


def test_a_page_is_not_printed_in_a_terminal(
    run: Callable, counts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    code, _, err = run("counts.csv", "--out", "-")
    assert code == 2
    assert "redirect it to a file" in err


def test_warnings_of_the_rule_are_shown(run: Callable, tmp_path: Path) -> None:
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).random((40, 30)))
    code, _, err = run("noise.npy", "--max-rank", 5)
    assert code == 0
    assert re.search("^warning: ", err, re.MULTILINE)


def test_without_plotly(run: Callable, counts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    code, out, err = run("counts.csv")
    assert (code, out) == (1, "")
    assert "reports need plotly" in err
    assert 'pip install "autonmf[report]"' in err


def test_groups_and_stability(run: Callable, counts: Path, tmp_path: Path, stored) -> None:
    """Groups from a column of the file, or from a table about its rows."""
    lines = counts.read_text().splitlines()
    with_kind = [
        line.replace(",", f",{'kind' if i == 0 else 'uv'[i % 2]},", 1) for i, line in enumerate(lines)
    ]
    (tmp_path / "own.csv").write_text("\n".join(with_kind))
    out = tmp_path / "page.html"
    assert run(tmp_path / "own.csv", "--groups", "kind", "--stability", 2, "--out", out)[0] == 0
    found = stored(out)
    assert found["samples"]["group_names"] == ["u", "v"]
    assert found["samples"]["group_sizes"] == [30, 30]
    assert found["stability"]["resamples"] == 2
    assert "--groups kind --stability 2" in found["recipe"]["shell"]
    table = tmp_path / "rows.tsv"
    table.write_text("name\tsex\n" + "".join(f"g{i}\t{'mf'[i % 2]}\n" for i in range(50)))
    _, _, said = run(counts, "--groups", "sex", "--metadata", table, "--out", out, "--force")
    assert "note: 10 of 60 rows have no group in rows.tsv." in said
    assert stored(out)["samples"]["group_sizes"] == [10, 25, 25]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metadata", "rows.tsv"], "--metadata needs --groups COLUMN"),
        (["--groups", "kind", "--transpose"], "use --metadata FILE"),
        (["--groups", "colour"], "has no column 'colour'"),
        (["--groups", "sex", "--metadata", "missing.tsv"], "missing.tsv does not exist"),
        (["--stability", "1"], "--stability needs at least 2 resamples"),
    ],
)
def test_mistakes_about_groups(run: Callable, counts: Path, options: list[str], message: str) -> None:
    code, _, said = run(counts, *options, "--out", counts.parent / "page.html")
    assert code != 0
    assert message in said
    assert not (counts.parent / "page.html").exists()
