"""`autonmf fit`: results, options and messages."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse

from autonmf import AutoNMF, RankPath
from autonmf.cli.arguments import Input, Look, Page, Search
from autonmf.cli.fit import FILES
from autonmf.cli.report import write_recipe
from autonmf.data.validation import MISSING
from autonmf.io import NORMALIZATIONS, normalize, read_matrix
from autonmf.losses import LOSSES
from autonmf.path import GRIDS, PathOptions
from autonmf.selection import RULES
from autonmf.solvers import SOLVERS


def test_says_what_it_found(run, counts: Path) -> None:
    result = run("fit", counts)
    assert result.code == 0
    assert "counts.csv: 60 x 40" in result.out
    assert re.search(r"^rank 3 .confidence 99%.: component 3 is .* times what", result.out, re.MULTILINE)
    assert "add --out FOLDER" in result.out
    assert result.err.startswith("note: Read as text with cells separated by ',', a header, row labels")
    assert sorted(counts.parent.iterdir()) == [counts]


def test_json(run, counts: Path) -> None:
    result = run("fit", counts, "--json", "--seed", 5)
    found = json.loads(result.out)
    assert (found["rank"], found["shape"], found["settings"]["seed"]) == (3, [60, 40], 5)
    assert found["plausible"][0] == 3
    assert 0 < found["relative_loss"] < 0.01
    assert [point["rank"] for point in found["path"]][:4] == [1, 2, 3, 4]
    assert "folder" not in found


def test_quiet(run, counts: Path) -> None:
    assert run("fit", counts, "--quiet") == (0, "3\n", "")


def test_same_answer_as_the_estimator(run, counts: Path, low_rank: np.ndarray) -> None:
    out = counts.parent / "out"
    assert run("fit", counts, "--out", out, "--seed", 7, "-q").code == 0
    model = AutoNMF(random_state=7)
    W = model.fit_transform(low_rank)
    np.testing.assert_allclose(np.load(out / "H.npy"), model.components_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.load(out / "W.npy"), W, rtol=1e-6, atol=1e-9)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["reconstruction_error"] == pytest.approx(model.reconstruction_err_)


def test_files(run, counts: Path) -> None:
    out = counts.parent / "deep" / "results"
    result = run("fit", counts, "--out", out)
    assert result.code == 0
    assert f"Written to {out}: {', '.join(FILES)}" in result.out
    assert sorted(file.name for file in out.iterdir()) == sorted(FILES)
    W, H = read_matrix(out / "W.csv"), read_matrix(out / "H.csv")
    parts = ["component_1", "component_2", "component_3"]
    assert (W.row_names[:2], W.column_names) == (["g0", "g1"], parts)
    assert (H.row_names, H.column_names[:2]) == (parts, ["cell0", "cell1"])
    np.testing.assert_array_equal(W.X, np.load(out / "W.npy"))
    np.testing.assert_array_equal(H.X, np.load(out / "H.npy"))
    assert RankPath.load(out / "path.npz").ranks.tolist()[:4] == [1, 2, 3, 4]
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["rank"], summary["folder"], summary["files"]) == (3, str(out), list(FILES))


def test_transposed_without_names(run, tmp_path: Path, low_rank: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", low_rank)
    assert "40 x 60, transposed" in run("fit", tmp_path / "x.npy", "--transpose", "--out", tmp_path / "o").out
    W, H = (read_matrix(tmp_path / "o" / name) for name in ("W.csv", "H.csv"))
    assert (W.X.shape, H.X.shape) == ((40, 3), (3, 60))
    assert (W.row_names[-1], H.column_names[-1]) == ("row_40", "column_60")


def test_does_not_overwrite_unasked(run, counts: Path) -> None:
    out = counts.parent / "out"
    out.mkdir()
    (out / "W.npy").write_text("mine")
    (out / "other").write_text("mine")
    result = run("fit", counts, "--out", out)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {out} already has W.npy: choose another folder, or add --force")
    assert (out / "W.npy").read_text() == "mine"
    result = run("fit", counts, "--out", out, "--force")
    assert (result.code, "Overwritten: W.npy" in result.out) == (0, True)
    assert (out / "other").read_text() == "mine"
    assert np.load(out / "W.npy").shape == (60, 3)


def test_no_folder_where_the_file_is_bad(run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1,2\n3\n4,5\n")
    assert run("fit", tmp_path / "x.csv", "--out", tmp_path / "out").code == 1
    assert not (tmp_path / "out").exists()


def test_given_rank(run, counts: Path) -> None:
    assert "rank 7: this rank was requested" in run("fit", counts, "--n-components", 7).out
    assert "rank 4: this rank was requested" in run("fit", counts, "--rank", 4).out
    found = json.loads(run("fit", counts, "-k", 12, "--json").out)
    assert (found["rank"], found["path"][0]["rank"], found["plausible"]) == (12, 12, None)


def test_options_reach_the_search(run, counts: Path) -> None:
    options = ("--max-rank", 6, "--solver", "ipalm", "--grid", "adaptive", "--n-starts", 2, "--tau", 3)
    found = json.loads(run("fit", counts, *options, "--json").out)
    wanted = {"max_rank": 6, "solver": "ipalm", "grid": "adaptive", "n_starts": 2, "tau": 3.0}
    assert {key: found["settings"][key] for key in wanted} == wanted
    assert found["path"][-1]["rank"] <= 6


def test_the_loss_for_counts(run, counts: Path) -> None:
    given = ("fit", counts, "--beta-loss", "kullback-leibler", "--json")
    found = json.loads(run(*given).out)
    assert found["settings"]["beta_loss"] == "kullback-leibler"
    assert found["rank"] == 3
    result = run(*given, "--grid", "adaptive")
    assert result.code == 2
    assert "has no λ" in result.err


@pytest.mark.parametrize(
    ("option", "names", "default"),
    [
        ("--solver", SOLVERS, PathOptions.solver),
        ("--beta-loss", LOSSES, PathOptions.beta_loss),
        ("--grid", GRIDS, PathOptions.grid),
        ("--rule", RULES, AutoNMF().rule),
        ("--normalize", NORMALIZATIONS, None),
        ("--missing", MISSING, None),
    ],
)
def test_help_lists_what_can_be_chosen(run, option: str, names: list[str], default: str | None) -> None:
    help_text = re.sub(r"[\s│]+", " ", run("fit", "--help").out)
    text = help_text.partition(f"{option} NAME ")[2].partition(" --")[0]
    assert all(re.search(rf"\b{name}\b", text) for name in names)
    assert default is None or f"{default} (default)" in text


def test_what_is_not_given_is_left_to_the_path() -> None:
    assert Search().path_options() == PathOptions(random_state=0)
    assert Search().rule_options() == {}
    assert Search(n_starts=3, grid="adaptive", seed=4).path_options() == PathOptions(
        n_starts=3, grid="adaptive", random_state=4
    )


def test_jumped_over(run, counts: Path) -> None:
    for rank in range(4, 19):
        result = run("fit", counts, "-k", rank, "--grid", "adaptive")
        if result.code:
            assert f"rank {rank} is not on this path; it visited " in result.err
            return
    pytest.fail("the adaptive grid visited every rank")


@pytest.mark.parametrize("matrix", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix])
def test_sparse(run, tmp_path: Path, low_rank: np.ndarray, matrix: type) -> None:
    X = matrix(np.where(low_rank > 0.5, low_rank, 0))
    sparse.save_npz(tmp_path / "x.npz", X)
    io.mmwrite(tmp_path / "x.mtx", X)
    found = [json.loads(run("fit", tmp_path / name, "--json").out) for name in ("x.npz", "x.mtx")]
    assert found[0]["rank"] == found[1]["rank"]


def test_variable(run, tmp_path: Path, low_rank: np.ndarray) -> None:
    io.savemat(tmp_path / "x.mat", {"A": low_rank, "B": low_rank.T})
    result = run("fit", tmp_path / "x.mat")
    assert result.code == 1
    assert "choose one with --var NAME; it holds A (60 x 40 double), B (40 x 60 double)" in result.err
    assert json.loads(run("fit", tmp_path / "x.mat", "--var", "B", "--json").out)["shape"] == [40, 60]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "1,2\n-3,4\n",
            "data: shift all of them, set negative ones to zero or take magnitudes, in the file.",
        ),
        ("a,b\n1,\n3,4\n", "note: One number is missing, at line 2, column 2 (b)."),
        (
            "a,b\n1,NA\n3,4\n",
            "cannot factorise the matrix: X contains NaN. Use --missing mask to leave these",
        ),
        ("1,inf\n3,4\n", "X contains infinity"),
        ("0,0\n0,0\n", "X is all zeros"),
        ("1e200,2\n3,4\n", "do not fit double precision. Use --normalize max;"),
        ("1,2\n3\n4,5\n", "line 2: 1 cells where 2 are expected"),
        ("", "is empty"),
    ],
)
def test_bad_data(run, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "x.csv").write_text(content)
    result = run("fit", tmp_path / "x.csv", "--json")
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert not re.search(r"sklearn|X\.|missing=", result.err)
    assert sum(line.startswith("error: ") for line in result.err.splitlines()) == 1
    assert all(line.startswith(("error: ", "note: ")) for line in result.err.splitlines())


@pytest.mark.parametrize("array", [np.ones((2, 2), dtype=complex), np.array([["a"]]), np.ones(4)])
def test_bad_arrays(run, tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", array)
    result = run("fit", tmp_path / "x.npy")
    assert result.code == 1
    assert re.fullmatch("error: .*\n", result.err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'FILE'"),
        (["--nonsense"], "No such option"),
        (["--tau", "0"], "--tau must be positive, got 0.0"),
        (["--tau", "nan"], "--tau must be positive, got nan"),
        (["--n-components", "0"], "--n-components"),
        (["--n-starts", "many"], "--n-starts"),
        (["--n-starts", "0"], "--n-starts must be a positive integer, got 0"),
        (["--max-rank", "-1"], "--max-rank must be a positive integer, got -1"),
        (["--solver", "magic"], "'magic' is not one of"),
        (["--n-components", "41"], "use 40 or less"),
        (["--n-components", "9", "--max-rank", "5"], "raise --max-rank"),
        (["--out", "counts.csv"], "is a file; name a folder"),
        (["--out", "-", "--json"], "choose one of them"),
        (["--rule", "auto", "--tau", "3"], "has no threshold"),
        (["--rule", "elbow"], "'elbow' is not one of 'auto', 'marginal'"),
        (["--normalize", "zscore"], "'zscore' is not one of 'log1p', 'tfidf', 'max'"),
    ],
)
def test_bad_usage(
    run, counts: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(counts.parent)
    result = run("fit", *(["counts.csv", *arguments] if arguments else []))
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.splitlines()[-1].startswith("error: ")


def test_warnings_are_lines(run, counts: Path) -> None:
    result = run("fit", counts, "--max-rank", 99, "--quiet")
    assert result.out == "3\n"
    assert re.fullmatch(r"warning: --max-rank 99 is more than .*\n", result.err)


def test_no_memory(run, counts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("autonmf.cli.factorise.read_matrix", exhausted)
    result = run("fit", counts)
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert "not enough memory" in result.err


def test_interrupted_while_reading(run, counts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("autonmf.cli.factorise.read_matrix", interrupted)
    result = run("fit", counts)
    assert (result.code, result.out, result.err.strip()) == (130, "", "error: interrupted")


@pytest.mark.parametrize("how", NORMALIZATIONS)
@pytest.mark.parametrize("transposed", [False, True])
def test_normalised(run, counts: Path, low_rank: np.ndarray, how: str, transposed: bool) -> None:
    out = counts.parent / "out"
    options = ("--transpose",) if transposed else ()
    result = run("fit", counts, "--normalize", how, "--out", out, *options)
    assert result.code == 0
    assert f"{', transposed' if transposed else ''}, {how}\n" in result.out
    model = AutoNMF(random_state=0).fit(normalize(low_rank.T if transposed else low_rank, how))
    np.testing.assert_allclose(np.load(out / "H.npy"), model.components_, rtol=1e-5, atol=1e-8)
    assert json.loads((out / "summary.json").read_text())["normalized"] == how


def test_what_cannot_be_normalised(run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1,-2\n3,4\n")
    result = run("fit", tmp_path / "x.csv", "--normalize", "log1p", "-q")
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        "error: cannot normalise x.csv (log1p): X has negative entries; only nonnegative numbers can be "
        "normalised\n"
    )


def test_the_rules(run, counts: Path) -> None:
    auto, marginal, with_tau = (
        json.loads(run("fit", counts, "--json", *options).out)
        for options in (("--rule", "auto"), ("--rule", "marginal"), ("--tau", "5"))
    )
    rules = [found["settings"]["rule"] for found in (auto, marginal, with_tau)]
    assert rules == ["auto", "marginal", "marginal"]
    assert marginal["why"] == with_tau["why"] != auto["why"]


def test_components_on_the_standard_output(run, counts: Path, tmp_path: Path) -> None:
    result = run("fit", counts, "--out", "-")
    (tmp_path / "H.csv").write_text(result.out)
    H = read_matrix(tmp_path / "H.csv")
    assert (H.X.shape, H.row_names[0], H.column_names[0]) == ((3, 40), "component_1", "cell0")
    assert "rank 3 (confidence" in result.err
    quiet = run("fit", counts, "--out", "-", "--quiet")
    assert (quiet.out, quiet.err) == (result.out, "")


def test_numbers_in_the_header_are_pointed_out(run, tmp_path: Path, low_rank: np.ndarray) -> None:
    axis = np.linspace(400, 790, 40)
    np.savetxt(tmp_path / "s.csv", low_rank, delimiter=",", header=",".join(map(str, axis)), comments="")
    result = run("fit", tmp_path / "s.csv", "--json", "--quiet")
    found = json.loads(result.out)
    assert found["shape"] == [60, 40]
    assert "warning: The first line, 400.0 to 790.0, is read as column names" in result.err
    assert any("--no-header" in note for note in found["notes"])
    assert json.loads(run("fit", tmp_path / "s.csv", "--json", "--no-header").out)["shape"] == [61, 40]


@pytest.mark.parametrize("how", NORMALIZATIONS)
def test_the_recipe_of_a_normalised_matrix_is_true(run, counts: Path, how: str) -> None:
    given = Input(file=counts, transpose=True, normalize=how)
    recipe = write_recipe(given, Search(max_rank=6, rule="marginal"), Look(), Page())
    names: dict[str, AutoNMF] = {}
    exec(recipe.python, names)
    _, _, *options = shlex.split(recipe.shell)
    found = json.loads(run("fit", *options, "--json").out)
    assert (found["rank"], found["normalized"]) == (names["model"].n_components_, how)
    assert found["reconstruction_error"] == pytest.approx(names["model"].reconstruction_err_, rel=1e-6)


def test_annotation_columns(run, tmp_path: Path, low_rank: np.ndarray) -> None:
    lines = ["gene,chrom," + ",".join(f"c{j}" for j in range(40))]
    lines += [f"g{i},X," + ",".join(map(repr, row)) for i, row in enumerate(low_rank.tolist())]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    refused = run("fit", tmp_path / "x.csv", "-k", 1)
    assert refused.code == 1
    assert "line 2, column 2 (chrom): 'X' is not a number" in refused.err
    assert "leave that column out with --annotations 2." in refused.err
    for given in ("2", "chrom"):
        result = run("fit", tmp_path / "x.csv", "--annotations", given, "-k", 3)
        assert result.code == 0
        assert "note: Annotation columns, which are not factorised: chrom." in result.err
        assert "x.csv: 60 x 40" in result.out


@pytest.fixture
def decay(tmp_path: Path) -> Path:
    """A file without a rank that stands out."""
    place = np.arange(40)
    file = tmp_path / "decay matrix.npy"
    np.save(file, np.exp(-np.abs(place[:, None] - place) / 8))
    return file


def test_an_uncertain_rank_leads_to_the_tree(run, decay: Path, counts: Path) -> None:
    result = run("fit", decay, "--seed", 3)
    says, command = re.search(
        r"^(The data do not .* tree .*): (autonmf .*)$", result.out, re.MULTILINE
    ).groups()
    assert says == "The data do not determine one rank; for a tree of these levels"
    assert shlex.split(command) == ["autonmf", "report", str(decay), "--seed", "3"]
    page = run(*shlex.split(command)[1:], "--out", decay.parent / "page.html")
    assert page.code == 0
    assert "the tree of components on the page shows the levels" in page.out
    assert "tree" not in run("fit", counts).out
    assert run("fit", decay, "--quiet").out == "4\n"


def test_warnings_name_options(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", rng.poisson(6 * rng.gamma(0.1, 1.0, (80, 3)) @ rng.gamma(0.1, 1.0, (3, 30))))
    assert "consider --beta-loss kullback-leibler, which" in run("fit", tmp_path / "X.npy").err


def test_the_bound_is_named_as_an_option(run, counts: Path) -> None:
    assert "raise --max-rank above 2" in run("fit", counts, "--max-rank", 2).err


def test_python_warnings_name_options(run, counts: Path) -> None:
    result = run("fit", counts, "--max-rank", 80)
    assert "--max-rank 80 is more than" in result.err
    assert " max_rank" not in result.err


def test_one_column(run, tmp_path: Path) -> None:
    file = tmp_path / "one.csv"
    file.write_text("1.5\n2\n0.5\n")
    assert "Read as text with one column, no header" in run("fit", file).err


@pytest.mark.parametrize("name", ["page.pdf", "page.png"])
def test_a_report_is_html(run, counts: Path, name: str) -> None:
    result = run("report", counts, "--out", counts.parent / name)
    assert result.code == 2
    assert f"name it {counts.parent / 'page.html'}" in result.err
    assert sorted(counts.parent.iterdir()) == [counts]
