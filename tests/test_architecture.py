"""The layers of the package, checked on its source: an import may only point down."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import autonmf

ROOT = Path(autonmf.__file__).parent
HEAVY = {
    "anndata", "dask", "h5py", "matplotlib", "pandas", "plotly", "pooch", "pyarrow", "requests", "rich",
    "sklearn", "typer", "zarr",
}  # fmt: skip

# From the top. A module may import from any row below its own, and from its own package: no exemption.
LAYERS = (
    ("__main__",),
    ("cli", "anndata"),  # what people type
    ("adapters",),  # other libraries
    ("estimator", "compare"),  # scikit-learn contract; every method side by side
    ("report",),  # the page
    ("unmixing",),  # materials of spectral images
    ("_callbacks", "saving"),  # progress of a fit; models in files
    ("stability",),  # how well components are found again
    ("fit", "baselines"),  # the whole job; what we compare with
    ("selection",),  # from evidence to a rank
    ("path",),  # the search
    ("solvers",),  # one step per algorithm, one driver
    ("losses",),  # one object per loss
    ("model",),  # the mathematics that losses share
    ("datasets",),  # loaders
    ("io",),  # readers of files
    ("distributed",),  # all that knows Dask
    ("data",),  # what X may be
    ("kernels", "metrics", "plotting"),  # hot loops; displays of plain arrays
    ("_threads", "_files"),  # how many threads compute; files that are complete or missing
    ("_types", "_warnings"),
)
HEIGHT = {name: -depth for depth, row in enumerate(LAYERS) for name in row}

MODULES = {
    ".".join(("autonmf", *file.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): file
    for file in sorted(ROOT.rglob("*.py"))
}
TREES = {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in MODULES.items()}


def part(module: str) -> str:
    """The package below ``autonmf`` that a module belongs to."""
    return module.split(".")[1]


def targets(module: str, node: ast.AST) -> Iterator[str]:
    """The modules of this project that an import statement names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in MODULES)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            package = module.split(".") if MODULES[module].name == "__init__.py" else module.split(".")[:-1]
            base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [base])])
        for alias in node.names:
            name = f"{base}.{alias.name}"
            if name in MODULES or base in MODULES:
                yield name if name in MODULES else base


def imports(module: str) -> set[str]:
    """Every module imported anywhere in the file, inside functions too."""
    return {target for node in ast.walk(TREES[module]) for target in targets(module, node)}


def imports_at_start(module: str) -> set[str]:
    """Those that run when the module is imported: not inside functions, not for type checkers only."""
    pending: list[ast.AST] = [TREES[module]]
    found: set[str] = set()
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        found.update(targets(module, node))
        pending.extend(ast.iter_child_nodes(node))
    return found


def allowed(importer: str, imported: str) -> bool:
    return importer == imported or HEIGHT[imported] < HEIGHT[importer]


def public(nodes: list[ast.stmt], kinds: type | tuple[type, ...]) -> Iterator[ast.stmt]:
    for node in nodes:
        if isinstance(node, kinds) and not node.name.startswith("_") and not is_overload(node):
            yield node


def is_overload(node: ast.stmt) -> bool:
    return any("overload" in ast.unparse(decorator) for decorator in node.decorator_list)


def missing_hints(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [star for star in (arguments.vararg, arguments.kwarg) if star]
    missing = [a.arg for a in named if a.annotation is None and a.arg not in ("self", "cls")]
    return missing + ([] if function.returns else ["return"])


def test_every_part_has_a_layer() -> None:
    parts = {part(module) for module in MODULES if module != "autonmf"}
    assert parts <= set(HEIGHT)


@pytest.mark.parametrize("module", [m for m in MODULES if m != "autonmf"])
def test_imports_point_down(module: str) -> None:
    upwards = [t for t in imports(module) if t != "autonmf" and not allowed(part(module), part(t))]
    assert not upwards, f"{module} may not import {upwards}"


def test_no_import_cycles() -> None:
    TopologicalSorter({module: imports_at_start(module) for module in MODULES}).prepare()


@pytest.mark.parametrize("module", ["autonmf", "autonmf.path", "autonmf.selection", "autonmf.datasets"])
def test_import_is_light(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(loaded.stdout.split())


@pytest.mark.parametrize("module", MODULES)
def test_documented_and_typed(module: str) -> None:
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    body = TREES[module].body
    assert ast.get_docstring(TREES[module]) or not body, f"{module} has no docstring"
    for node in public(body, (functions, ast.ClassDef)):
        assert ast.get_docstring(node), f"{module}.{node.name} has no docstring"
    typed = list(public(body, functions))
    for owner in public(body, ast.ClassDef):
        typed += public(owner.body, functions)
        typed += [n for n in owner.body if isinstance(n, functions) and n.name == "__init__"]
    for node in typed:
        assert not missing_hints(node), f"{module}: {node.name} has no type for {missing_hints(node)}"


@pytest.mark.parametrize("module", [m for m in MODULES if not m.endswith("__main__")])
def test_all_is_right(module: str) -> None:
    if module.startswith("autonmf.cli."):
        pytest.importorskip("typer", reason="the command line needs typer and rich")
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", None)
    if names is None:
        return
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(loaded, name)] == []
    if MODULES[module].name != "__init__.py":
        return
    passed_on = {
        alias.asname or alias.name
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.ImportFrom) and list(targets(module, node))
        for alias in node.names
        if f"{module}.{alias.name}" not in MODULES
    }
    assert {name for name in passed_on if not name.startswith("_")} <= set(names)


def test_public_names() -> None:
    designed = {"AutoNMF", "rank_path", "select_rank", "RankPath", "PathPoint", "RankEstimate", "__version__"}
    assert designed <= set(autonmf.__all__) == set(dir(autonmf))
    with pytest.raises(AttributeError, match="no attribute 'rank_paths'"):
        _ = autonmf.rank_paths
