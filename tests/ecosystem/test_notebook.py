"""What a notebook shows of an estimator, with a link to a page that the documentation has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from autonmf import AutoNMF

DOCS = Path(__file__).parents[2] / "docs"


class Mine(AutoNMF):
    """Someone else's estimator, which our documentation does not describe."""


def test_the_diagram_links_to_the_reference() -> None:
    html = AutoNMF(max_rank=7)._repr_html_()
    link = AutoNMF()._get_doc_link()
    links = re.findall(r'href="([^"]*)"', html)
    assert link in links
    assert {found.partition("#")[0] for found in links if "autonmf" in found} == {link}
    assert "max_rank" in html
    assert link in make_pipeline(MaxAbsScaler(), AutoNMF())._repr_html_()


def test_the_page_exists() -> None:
    """The reference makes one page for each name that a list of it has."""
    folder, page = AutoNMF()._get_doc_link().split("/")[-2:]
    assert page == "autonmf.AutoNMF.html"
    lists = re.findall(
        r"\.\. autosummary::\n((?:   .*\n|\n)+)", (DOCS / "api.md").read_text(encoding="utf-8")
    )
    (ours,) = (names for names in lists if re.search(r"^   AutoNMF$", names, re.M))
    assert f":toctree: {folder}" in ours


def test_others_get_no_link_of_ours() -> None:
    assert Mine()._get_doc_link() == ""


@pytest.mark.parametrize("fitted", [False, True])
def test_the_diagram_says_whether_it_is_fitted(fitted: bool) -> None:
    model = AutoNMF(1)
    if fitted:
        model.fit([[1.0, 2.0], [3.0, 4.0]])
    assert (">Fitted<" in model._repr_html_()) == fitted
