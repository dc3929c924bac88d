"""Names in the reference, as they are written in docstrings.

A name between single backquotes that has no page of its own, such as a parameter, is set as code. A name that
ends in an underscore, as scikit-learn's fitted attributes do, is no link. Of what a class inherits only
our own is shown.
"""

from __future__ import annotations

import re
from typing import Any

from docutils.nodes import Element
from sphinx.application import Sphinx

FIELD = re.compile(r"^\s*\w+ : ")
QUOTED_OR_ENDING = re.compile(r"(`+[^`]*`+)|(\w)_(?!\w)")


def as_code(app: Sphinx, env: Any, node: Element, content: Element) -> Element | None:
    """What stands in place of a link from the default role that leads nowhere."""
    return content if node["reftype"] == "obj" else None


def escape_underscores(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape last underscores outside of quoted names, of names that are described, and of code."""
    for number, line in enumerate(lines):
        if line.strip() == "Examples":
            return
        start = found.end() if (found := FIELD.match(line)) else 0
        lines[number] = line[:start] + QUOTED_OR_ENDING.sub(
            lambda match: match[1] or match[2] + r"\_", line[start:]
        )


def skip_foreign(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class inherits from other libraries, and scikit-learn's ``set_fit_request``."""
    function = getattr(obj, "fget", obj)
    home = getattr(function, "__module__", None) or getattr(function, "__objclass__", object).__module__
    return None if home.partition(".")[0] == "autonmf" else True


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx. numpydoc reads the docstrings after us."""
    app.connect("missing-reference", as_code)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-docstring", escape_underscores, priority=450)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
