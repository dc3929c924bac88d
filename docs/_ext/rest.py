"""``AND-THE-REST`` in the contents stands for the pages it does not list: a new page appears by itself."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

MARK = "AND-THE-REST\n"
TOCTREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)
ENTRY = re.compile(r"^(?:.*<)?([\w/-]+)>?$", re.MULTILINE)


def unlisted(folder: Path, index: str) -> list[str]:
    """Pages of the folder that no table of contents names."""
    listed = {name for block in TOCTREE.findall(index) for name in ENTRY.findall(block)}
    return sorted({page.stem for page in folder.glob("*.md")} - listed - {"index"})


def fill_in(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the mark by the pages."""
    if MARK in source[0]:
        names = unlisted(Path(app.srcdir), source[0])
        source[0] = source[0].replace(MARK, "".join(f"{name}\n" for name in names))


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
