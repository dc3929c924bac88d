"""The workflows, and what a release says of itself. `tools/check_release.py` builds and tries its files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))


def load(file: Path) -> dict[Any, Any]:
    return yaml.safe_load(file.read_text("utf-8"))


def steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def versions() -> list[str]:
    """Those that the package claims to run on."""
    prefix = "Programming Language :: Python :: 3."
    return [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if line.startswith(prefix)]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_is_well_formed_and_may_only_read(file: Path) -> None:
    workflow = load(file)
    assert workflow["name"] == file.stem
    assert workflow[True]  # "on", which is true in YAML
    assert workflow["permissions"] == {"contents": "read"}
    assert "secrets." not in file.read_text("utf-8")
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_what_a_workflow_runs_is_there(file: Path) -> None:
    for step in steps(load(file)):
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"])
        for target in re.findall(r"\bmake ([a-z-]+)", step.get("run", "")):
            assert target in TARGETS
        for script in re.findall(r"\bpython (\S+\.py)", step.get("run", "")):
            assert (ROOT / script).is_file()


def test_every_version_that_is_claimed_is_tested_and_gets_a_wheel() -> None:
    tests, wheels = (load(ROOT / ".github" / "workflows" / f"{name}.yml") for name in ("tests", "wheels"))
    assert versions()[0] == PROJECT["requires-python"].removeprefix(">=")
    assert tests["jobs"]["test"]["strategy"]["matrix"]["python"] == versions()
    tags = wheels["jobs"]["wheels"]["env"]["CIBW_BUILD"].split()
    assert tags == [f"cp{version.replace('.', '')}-*" for version in versions()]


def test_the_oldest_versions_are_those_that_are_claimed() -> None:
    groups = PROJECT["optional-dependencies"]
    needed = [
        *PROJECT["dependencies"],
        *(one for name in ("test", "cli", "io", "plot", "data", "report") for one in groups[name]),
    ]
    bounds = {re.sub(r"\[.*\]", "", one).split(">=")[0]: one.split(">=")[1] for one in needed}
    pinned = dict(
        re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / "tools" / "oldest.txt").read_text("utf-8"), re.M)
    )
    del pinned["pyparsing"]  # matplotlib's, not ours
    assert pinned.keys() == bounds.keys()
    for name, version in pinned.items():
        assert re.fullmatch(rf"{re.escape(bounds[name])}(\.0)*", version), name


def test_variants_of_the_tests_are_make_commands() -> None:
    variants = load(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["variants"]["strategy"]["matrix"][
        "target"
    ]
    assert {"test-oldest", "test-core", "test-numpy"} == set(variants) <= TARGETS


def test_the_release_has_one_number() -> None:
    released = re.findall(r"^## (\d+\.\d+\.\d+) ", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    assert released[0] == tool["setuptools_scm"]["fallback_version"]
    assert released[0] == str(load(ROOT / "CITATION.cff")["version"])


def test_the_citation_is_well_formed() -> None:
    citation = load(ROOT / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["license"] == PROJECT["license"]
    assert citation["preferred-citation"]["authors"][0]["family-names"] == "He"


def test_the_changelog_begins_with_what_is_not_released() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[0] == "Unreleased"
    assert all(re.match(r"\d+\.\d+\.\d+ ", heading) for heading in headings[1:])
