"""The README and the pages: their examples run, and their links lead somewhere."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def test_the_python_example_runs_and_finds_the_rank_it_says():
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    namespace = {}
    exec(compile(code, "README.md", "exec"), namespace)
    model = namespace["model"]
    (said,) = re.findall(r"model\.n_components_ +# (\d+)", code)
    assert model.n_components_ == int(said)
    (line,) = re.findall(r"print\(model\.rank_estimate_\) +# (.*) \.\.\.", code)
    assert str(model.rank_estimate_).startswith(line)
    assert line.startswith(f"rank {said}: ")
    assert namespace["W"].shape == (1000, model.n_components_)


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md")), ids=lambda p: p.name
)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_examples_of_the_docs_give_what_they_show(page: Path) -> None:
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
