"""Links to files beside the docs, which work in a checkout, lead to the pages that show these files.

``../examples/plot_x.py`` has a page in the gallery, and ``../CONTRIBUTING.md`` is included by a page.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

EXAMPLE = re.compile(r"\]\(\.\./(examples/\w+)\.py\)")
INCLUDE = re.compile(r"^```\{include\} (\.\./\S+)", re.MULTILINE)


def included(folder: Path) -> dict[str, str]:
    """The page that includes a file, by the path of the file."""
    pages = {page.name: page.read_text("utf-8") for page in folder.glob("*.md")}
    return {file: name for name, text in pages.items() for file in INCLUDE.findall(text)}


def rewrite(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the links of a page that has been read."""
    if "/" in page:
        return
    text = EXAMPLE.sub(r"](\1.rst)", source[0])
    for file, name in included(Path(app.srcdir)).items():
        text = text.replace(f"]({file})", f"]({name})")
    source[0] = text


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
