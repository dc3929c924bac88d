"""Fields of dataclasses in the reference, described by the comments that follow them in the source."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

FIELD = re.compile(r"^    (?P<name>[a-z]\w*): (?P<type>[^=#]+?)(?: = [^#]+?)?(?:  # (?P<comment>.*))?$", re.I)


def described(owner: type) -> Iterator[str]:
    """The lines of a numpydoc section, a field each, with the public fields of a class and its bases."""
    for kind in reversed(owner.__mro__):
        if "__annotations__" not in vars(kind) or kind.__module__.partition(".")[0] != "autonmf":
            continue
        for line in inspect.getsource(kind).splitlines():
            if found := FIELD.match(line):
                yield f"{found['name']} : {found['type'].strip()}"
                if found["comment"]:
                    yield textwrap.indent(found["comment"], "    ")


def add_fields(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Append the section to docstrings of records that have none."""
    is_record = inspect.isclass(obj) and (dataclasses.is_dataclass(obj) or hasattr(obj, "_fields"))
    if is_record and not {"Attributes", "Parameters"} & {line.strip() for line in lines}:
        lines += ["", "Attributes", "----------", *described(obj)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx. numpydoc reads the docstring after us."""
    app.connect("autodoc-process-docstring", add_fields, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
