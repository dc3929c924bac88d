"""Finished cells on the disk, one file each, and the source code that each of them depends on."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import autonmf
from experiments.paper.experiment import Cell, Done
from experiments.shared import ROOT, replace_file

FOLDER = "cells"
COMPILED = (".c", ".h")
PACKAGE = Path(autonmf.__file__).parent
WHOLE = "*"
"""Stands for everything in a module."""


class Store:
    """The finished cells of a folder."""

    def __init__(self, out: Path) -> None:
        self.folder = out / FOLDER

    def get(self, cell: Cell) -> Done | None:
        """What is stored of a cell, whatever code it was computed with; see `is_fresh`."""
        try:
            return Done(**json.loads(self._file(cell).read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError, TypeError):  # none, or not one of ours
            return None

    def put(self, cell: Cell, done: Done) -> None:
        """Keep a result."""
        file = self._file(cell)
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, json.dumps(asdict(done), allow_nan=False) + "\n")

    def _file(self, cell: Cell) -> Path:
        return self.folder / cell.experiment / f"{cell.key}.json"


def is_fresh(cell: Cell, done: Done) -> bool:
    """Whether a result was computed by the code as it is now."""
    return done.code == digest_of(cell.function)


def digest_of(function: Callable[..., Any]) -> str:
    """Eight digits that change with the code that ``function`` may run, not with comments or docstrings.

    Of the experiments only those definitions count that the function uses, directly or not: a change of a
    table or a drawing in the same file computes nothing again. Of the package every module counts that one of
    them imports.
    """
    while hasattr(function, "func"):  # a partial
        function = function.func
    return _digest(function.__module__, function.__qualname__)


@cache
def _digest(module: str, name: str) -> str:
    digest = hashlib.sha256()
    for key in sorted(_closure(module, name)):
        digest.update(":".join(key).encode() + b"\0" + _source(*key))
    return digest.hexdigest()[:8]


def _closure(module: str, name: str) -> set[tuple[str, str]]:
    """Modules and names in them, or `WHOLE`, that a definition depends on, itself included."""
    found: set[tuple[str, str]] = set()
    pending = [(module, name)]
    while pending:
        key = pending.pop()
        if key not in found and (statements := _statements(*key)):
            found.add(key)
            pending.extend(used for node in statements for used in _used(key[0], node))
    return found


@cache
def _source(module: str, name: str) -> bytes:
    """The code of a definition or a module; of a package with compiled files those, too."""
    code = "".join(ast.dump(node) for node in _statements(module, name)).encode()
    file = _file(module)
    if name == WHOLE and file is not None and file.name == "__init__.py":
        code += b"".join(f.read_bytes() for f in sorted(file.parent.iterdir()) if f.suffix in COMPILED)
    return code


@cache
def _statements(module: str, name: str) -> tuple[ast.stmt, ...]:
    """The statements at the top of a module that define a name; all of them for `WHOLE`."""
    file = _file(module)
    if file is None:
        return ()
    tree = without_docstrings(ast.parse(file.read_text(encoding="utf-8")))
    return tuple(node for node in _one_by_one(tree.body) if name == WHOLE or name in _defined(node))


def _one_by_one(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, with one import per name."""
    for node in statements:
        if isinstance(node, ast.Import):
            yield from (ast.Import([alias]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (ast.ImportFrom(node.module, [alias], node.level) for alias in node.names)
        else:
            yield node


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)
    else:
        assigned = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
        yield from (part.id for target in assigned for part in ast.walk(target) if isinstance(part, ast.Name))


def _used(module: str, statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """What a statement depends on: names of its own module, and what it imports."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and not _is_of_package(module):
            yield module, node.id
        elif isinstance(node, ast.Import):
            yield from ((alias.name, WHOLE) for alias in node.names if _is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module == "autonmf":
            yield from ((_home(alias.name), WHOLE) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module):
            for alias in node.names:
                yield f"{node.module}.{alias.name}", WHOLE  # a module; nothing if there is none
                yield node.module, WHOLE if _is_of_package(node.module) else alias.name


def _home(name: str) -> str:
    """The module that a public name of the package comes from."""
    value = getattr(autonmf, name, None)
    return str(getattr(value, "__module__", None) or f"autonmf.{name}")


def _is_of_package(module: str) -> bool:
    return module.startswith("autonmf.")


def _is_ours(module: str) -> bool:
    return module.startswith(("autonmf.", "experiments."))


@cache
def _file(module: str) -> Path | None:
    if not _is_ours(module):
        named = getattr(sys.modules.get(module), "__file__", None)
        return Path(named) if named else None
    place = (PACKAGE.parent if _is_of_package(module) else ROOT).joinpath(*module.split("."))
    return next((f for f in (place.with_suffix(".py"), place / "__init__.py") if f.is_file()), None)


def without_docstrings(tree: ast.Module) -> ast.Module:
    """The code that runs."""
    documented = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return tree
