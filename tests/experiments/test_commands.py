"""`python -m experiments`: commands, their options, errors and progress."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from experiments.__main__ import COMMANDS, find_command, main
from experiments.rank_benchmark import __main__ as order
from experiments.rank_benchmark import consistency
from experiments.rank_benchmark.run import FILE
from experiments.shared import data_home


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run `python -m experiments` with these arguments."""

    def invoke(*arguments: object) -> Result:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code
        return Result(code, *capsys.readouterr())

    return invoke


def answered(folder: Path) -> list[tuple[str, int, str]]:
    rows = [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
    return [(row["family"], row["seed"], row["method"]) for row in rows]


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_lists_everything(run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.code == 0
    assert all(re.search(rf"\b{name} ", result.out) for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_has_help(run, name: str) -> None:
    result = run(name, "--help")
    assert (result.code, "usage: python -m experiments" in result.out) == (0, True)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_can_be_found(name: str) -> None:
    assert callable(find_command(name))


def test_an_unknown_name(run) -> None:
    result = run("magic")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: unknown experiment 'magic': choose from reproduce, order, ")


def test_kernels(run, tmp_path: Path) -> None:
    result = run("kernels", "--quick", "--out", tmp_path / "new")
    assert result.code == 0
    timings = json.loads((tmp_path / "new" / "kernels.json").read_text())
    assert all(str(timing["n"]) in result.out for timing in timings)
    assert all(timing["ours"] > 0 for timing in timings)
    assert timings


def test_order_prints_and_writes(run, tmp_path: Path) -> None:
    result = run(
        "order", "--families", "few, small", "--methods", "svht", "--methods", "marginal-5",
        "--seeds", "4,2", "--out", tmp_path / "results",
    )  # fmt: skip
    assert result.code == 0
    assert result.out.isascii()
    assert re.search(r"^ *svht +\d+% ", result.out, re.M)
    assert re.search(r"^ *marginal-5 +\d+% ", result.out, re.M)
    assert f"Written to {tmp_path / 'results' / 'page.md'}" in result.out
    asked = {(f, s, m) for f in ("few", "small") for s in (2, 4) for m in ("svht", "marginal-5")}
    assert set(answered(tmp_path / "results")) == asked
    assert "4 instances of 2 families, seeds 2, 4" in (tmp_path / "results" / "page.md").read_text()


def test_order_goes_on_and_starts_afresh(run, tmp_path: Path) -> None:
    command = ("order", "--families", "small", "--methods", "svht", "--out", tmp_path)
    run(*command, "--seeds", "1")
    run(*command, "--seeds", "1", "--seeds", "2")
    assert answered(tmp_path) == [("small", 1, "svht"), ("small", 2, "svht")]
    run(*command, "--seeds", "1", "--fresh")
    assert answered(tmp_path) == [("small", 1, "svht"), ("small", 2, "svht"), ("small", 1, "svht")]


def test_quick_order_takes_the_first_design_seed(run, tmp_path: Path) -> None:
    result = run("order", "--families", "small", "--methods", "svht", "--quick", "--out", tmp_path)
    assert result.code == 0
    assert answered(tmp_path) == [("small", 0, "svht")]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--families", "small,fly", r"unknown families: fly\. There are design, .*"),
        ("--methods", "svht,magic", r"unknown methods: magic; choose from auto, .*"),
        ("--seeds", "1,two", r"unknown seed 'two': give numbers, design or final"),
        ("--seeds", "-1", r"unknown seed '-1': give numbers, design or final"),
        ("--families", ",", r"no families, no methods or no seeds to run"),
        ("--out", __file__, r"--out .*test_commands.py is a file; give a folder"),
    ],
)
def test_order_says_what_is_wrong_with_the_command(run, option: str, value: str, message: str) -> None:
    result = run("order", option, value)
    assert (result.code, result.out) == (2, "")
    assert re.fullmatch(f"error: {message}\n", result.err)


def test_order_says_what_is_wrong_with_the_folder(run, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("nonsense\n")
    result = run("order", "--families", "small", "--methods", "svht", "--out", tmp_path)
    assert (result.code, result.out) == (1, "")
    assert "line 1: not a row of this benchmark" in result.err


def test_order_without_data(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTONMF_DATA", str(tmp_path))
    result = run("order", "--families", "samson", "--methods", "svht")
    assert (result.code, result.out) == (1, "")
    assert "note: samson: skipped, its file is not in the data home" in result.err
    assert "error: nothing was run" in result.err


def test_an_interrupt_keeps_the_answers(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: order.Progress, family: str, seed: int, method: str) -> None:
        if seed == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(order.Progress, "asks", interrupt)
    result = run("order", "--families", "small", "--methods", "svht", "--out", tmp_path)
    assert (result.code, result.out) == (130, "")
    assert result.err == (
        f"note: answers so far are kept in {tmp_path}: the same command continues from there\n"
        "error: interrupted\n"
    )
    assert answered(tmp_path) == [("small", 0, "svht")]


def test_order_in_a_log(run, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("order", "--families", "small", "--methods", "svht", "--seeds", "0,1")
    assert run(*command).err == ""
    monkeypatch.setattr(order, "LOG_EVERY", 0.0)
    first, second = run(*command).err.splitlines()
    assert first.startswith("1 of 2: small seed 0 svht: ")
    assert second.startswith("2 of 2: small seed 1 svht: ")


def test_json(run, tmp_path: Path) -> None:
    result = run("kernels", "--quick", "--json", "--out", tmp_path)
    assert json.loads(result.out) == json.loads((tmp_path / "kernels.json").read_text())
    result = run("order", "--families", "small", "--methods", "svht", "--seeds", "1", "--json")
    (answer,) = json.loads(result.out)["answers"]
    assert (answer["family"], answer["seed"], answer["method"]) == ("small", 1, "svht")


def test_the_data_home_is_the_one_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AUTONMF_DATA", str(tmp_path))
    assert data_home() == tmp_path
    monkeypatch.setenv("AUTONMF_DATA", str(tmp_path / "none"))
    assert data_home() is None


def test_consistency_is_written_for_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All matrices in five orders, some of them with five seeds."""
    families = consistency.choose_families(["synthetic"])[:2]
    monkeypatch.setattr(consistency, "choose_families", lambda _: families)
    monkeypatch.setattr(consistency, "fit", lambda X, seed: consistency.Answer(3 + seed % 2, 0.95))
    consistency.main(["--matrices", "3", "--seeded", "1", "--out", str(tmp_path / "file")])
    written = json.loads((tmp_path / "file").read_text())
    rows = [["seed", "2", "2", "10", "10"], ["order of rows and columns", "6", "0", "30", "0"]]
    assert (written["head"], written["rows"]) == (list(consistency.HEAD), rows)
