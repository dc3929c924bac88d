"""The examples of docs/ecosystem.md that need another library give what they show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "ecosystem.md"
NEEDED = {
    "scikit-learn": ("sklearn.callback", "rich"),
    "Data frames": ("pandas",),
    "Single cells": ("anndata",),
    "Labelled arrays": ("xarray",),
    "HyperSpy": ("hyperspy",),
    "Sound": ("librosa",),
}


def blocks() -> dict[str, list[str]]:
    """The Python examples below each heading; those with prompts are doctests and run elsewhere."""
    found = {}
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        plain = [code for code in re.findall(r"```python\n(.*?)```", text, re.S) if ">>>" not in code]
        if plain:
            found[heading] = plain
    return found


def shown(code: str) -> list[tuple[str, str]]:
    """Every ``expression   # its value`` of an example."""
    return re.findall(r"^((?![\w, ]+ = )\S.*?) {2,}# (.+)$", code, re.M)


def test_every_example_is_run() -> None:
    assert blocks().keys() == NEEDED.keys()


@pytest.mark.filterwarnings("ignore:the polish at rank:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("heading", NEEDED)
def test_examples(heading: str) -> None:
    for library in NEEDED[heading]:
        pytest.importorskip(library, reason=f"{library} is not installed")
    names: dict[str, Any] = {}
    for code in blocks()[heading]:
        exec(compile(code, str(PAGE), "exec"), names)
        for expression, value in shown(code):
            assert repr(eval(expression, names)) == value
    assert any(shown(code) for code in blocks()[heading])
