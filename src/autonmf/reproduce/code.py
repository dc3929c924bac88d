"""Which source a result depends on: the modules that its function imports, and those that they import."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import autonmf

ROOT = Path(autonmf.__file__).parent
COMPILED = (".c", ".h")


def digest_of(function: Callable[..., Any]) -> str:
    """Eight digits that change with the code that ``function`` may run, not with comments or docstrings."""
    while hasattr(function, "func"):  # a partial
        function = function.func
    return _digest(function.__module__)


@cache
def _digest(module: str) -> str:
    digest = hashlib.sha256()
    for name in sorted(_closure(module)):
        digest.update(name.encode() + b"\0" + _source(name))
    return digest.hexdigest()[:8]


def _closure(module: str) -> set[str]:
    found: set[str] = set()
    pending = [module]
    while pending:
        name = pending.pop()
        if name in found:
            continue
        found.add(name)
        pending.extend(_imported(name))
    return found


@cache
def _source(module: str) -> bytes:
    """The code of a module; of a package with compiled files those, too."""
    file = _file(module)
    if file is None:
        return b""
    code = ast.dump(_without_docstrings(ast.parse(file.read_text(encoding="utf-8")))).encode()
    if file.name == "__init__.py":
        for other in sorted(file.parent.iterdir()):
            if other.suffix in COMPILED:
                code += other.read_bytes()
    return code


@cache
def _imported(module: str) -> tuple[str, ...]:
    file = _file(module)
    if file is None:
        return ()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return tuple(dict.fromkeys(name for node in ast.walk(tree) for name in _named(node)))


def _named(node: ast.AST) -> Iterator[str]:
    """The modules below the package's root that an import statement names."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    else:
        return
    yield from (name for name in names if name.startswith("autonmf.") and _file(name) is not None)


@cache
def _file(module: str) -> Path | None:
    if not module.startswith("autonmf."):
        named = getattr(sys.modules.get(module), "__file__", None)
        return Path(named) if named else None
    place = ROOT.joinpath(*module.split(".")[1:])
    return next((f for f in (place.with_suffix(".py"), place / "__init__.py") if f.is_file()), None)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    documented = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return tree
