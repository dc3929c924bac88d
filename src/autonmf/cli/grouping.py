"""Commands whose parameters are groups of options."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import MISSING, fields
from inspect import Parameter, Signature
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes dataclasses, as one that takes an option for each of their fields.

    What several commands share is then written once: ``def fit(source: Input, search: Search)``.
    """
    groups = {name: kind for name, kind in get_type_hints(command).items() if name != "return"}
    parameters = [parameter for kind in groups.values() for parameter in _parameters(kind)]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        command(
            **{
                name: kind(**{field.name: given[field.name] for field in fields(kind)})
                for name, kind in groups.items()
            }
        )

    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    with_options.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return with_options


def _parameters(kind: Any) -> list[Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(kind)
    ]
