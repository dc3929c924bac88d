"""The site builds without a warning, knows every public name, and needs no network to be read.

The examples are not run here: `test_examples` does, and ``make docs`` shows their pictures.
"""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

for needed in ("sphinx", "furo", "myst_parser", "numpydoc", "sphinx_gallery", "sphinx_copybutton"):
    pytest.importorskip(needed, reason=f"the site needs {needed}: pip install 'autonmf[docs]'")

ROOT = Path(__file__).parents[2]
GENERATED = shutil.ignore_patterns("_build", "reference", "__pycache__")
MODULES = ("autonmf", "autonmf.datasets", "autonmf.plotting", "autonmf.report")
NOT_IN_THE_REFERENCE = {"autonmf.__version__"}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of what the site is made from: a build leaves files beside its sources."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=GENERATED)
    shutil.rmtree(tmp_path / "docs" / "examples", ignore_errors=True)
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=GENERATED)
    answers = (f"experiments/results/order/{name}" for name in ("page.md", "order.png"))
    for file in ("CHANGELOG.md", "CONTRIBUTING.md", *answers):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path / "docs"


def build(sources: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-D", "plot_gallery=0"]
    command += ["-D", "suppress_warnings=image.not_readable"]  # the pictures of the gallery, which is not run
    target = sources / "_build" / "html"
    return subprocess.run([*command, *options, sources, target], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_site(sources: Path) -> None:
    done = build(sources)
    assert done.returncode == 0, done.stderr
    site = sources / "_build" / "html"
    has_a_page_for_everything(sources, site)
    documents_every_public_name(site)
    loads_nothing_from_elsewhere(site)
    assert r"\tfrac12" in (site / "theory.html").read_text("utf-8")
    assert 'class="math' in (site / "theory.html").read_text("utf-8")


def has_a_page_for_everything(sources: Path, site: Path) -> None:
    pages = {page.stem for page in sources.glob("*.md")}
    pages |= {f"examples/{example.stem}" for example in (ROOT / "examples").glob("plot_*.py")}
    assert [page for page in sorted(pages) if not (site / f"{page}.html").is_file()] == []


def documents_every_public_name(site: Path) -> None:
    public = {
        f"{module}.{name}" for module in MODULES for name in importlib.import_module(module).__all__
    } - NOT_IN_THE_REFERENCE
    assert [name for name in sorted(public) if not (site / "reference" / f"{name}.html").is_file()] == []


def loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*\"")
    found = {
        page.name: hits for page in site.rglob("*.html") if (hits := loaded.findall(page.read_text("utf-8")))
    }
    assert found == {}
    (script,) = set(re.findall(r'src="([^"]*mathjax[^"?]*)', (site / "theory.html").read_text("utf-8")))
    assert (site / script).is_file()


def test_a_broken_link_is_an_error(sources: Path) -> None:
    shutil.rmtree(sources.parent / "examples")
    for page in sources.glob("*.md"):
        page.unlink()
    (sources / "index.md").write_text("# Title\n\n[nowhere](missing.md)\n", "utf-8")
    done = build(sources, "-D", "extensions=myst_parser")
    assert done.returncode != 0
    assert "missing.md" in done.stderr
