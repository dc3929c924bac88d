"""How to get the same result in code."""

from __future__ import annotations

import inspect
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

LIBRARIES = ("autonmf", "numpy", "scipy", "scikit-learn")

UNSEEDED = "# random_state was no number: another run starts elsewhere and may differ"


@dataclass(frozen=True)
class Recipe:
    """Code that computes the model of a report."""

    python: str  # up to the fitted model
    shell: str | None  # the same as one command
    versions: str


def recipe_of(model: Any) -> Recipe:
    """The code that made a fitted `AutoNMF` from X."""
    defaults = inspect.signature(type(model).__init__).parameters
    given = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if not _same(value, defaults[name].default)
    }
    return from_settings(given)


def from_settings(given: dict[str, Any], loading: tuple[str, ...] = (), shell: str | None = None) -> Recipe:
    """The code for settings of `AutoNMF` that are not its defaults; ``loading`` are lines that make X."""
    imports = ["from autonmf import AutoNMF"]
    imports += [line for line in loading if line.startswith(("from ", "import "))]
    lines = [*imports, "", *(line for line in loading if line not in imports)]
    if not isinstance(given.get("random_state"), int):
        lines.append(UNSEEDED)
    arguments = ", ".join(f"{name}={_written(name, value)}" for name, value in given.items())
    lines.append(f"model = AutoNMF({arguments}).fit(X)")
    return Recipe("\n".join(lines), shell, versions())


def versions() -> str:
    """What results depend on."""
    libraries = (f"{library} {version(library)}" for library in LIBRARIES)
    return ", ".join([*libraries, f"Python {platform.python_version()}"])


def _same(value: Any, default: Any) -> bool:
    return value is default or (_is_plain(value) and value == default)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _written(name: str, value: Any) -> str:
    """A value as code; an object by its name, which the reader has to fill in."""
    return repr(value) if _is_plain(value) else name
