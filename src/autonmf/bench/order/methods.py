"""Methods by name: callables from (X, max_rank, seed) to something with a ``rank``.

A method sees neither the truth nor the family. What it returns is a `RankEstimate`, or anything like it:
``rank`` is needed; ``plausible``, ``confidence`` and ``warnings`` are recorded where present. An int will do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from autonmf.selection import RankEstimate

Method = Callable[[Any, int, int], Any]


def find_methods(names: Iterable[str] | None = None) -> dict[str, Method]:
    """The methods with these names, by default all: our rules, then the baselines if they are installed."""
    known = {
        "auto": _ours("auto"),
        "marginal-2": _ours("marginal", 2.0),
        "marginal-5": _ours("marginal", 5.0),
    }
    known |= {name: method for name, method in _baselines().items() if name not in known}
    wanted = list(known) if names is None else list(names)
    if unknown := [name for name in wanted if name not in known]:
        raise ValueError(f"unknown methods: {', '.join(unknown)}; choose from {', '.join(known)}")
    return {name: known[name] for name in wanted}


def _ours(rule: str, tau: float | None = None) -> Method:
    """What `AutoNMF` answers with this rule and its defaults."""

    def choose(X: Any, max_rank: int, seed: int) -> RankEstimate:
        from autonmf import AutoNMF

        model = AutoNMF(max_rank=max_rank, rule=rule, tau=tau, random_state=seed).fit(X)
        estimate = model.rank_estimate_
        assert estimate is not None
        return estimate

    return choose


def _baselines() -> dict[str, Method]:
    try:
        package = import_module("autonmf.baselines")
    except ImportError:
        return {}
    found: dict[str, Callable[..., Any]] = getattr(package, "METHODS", {})
    return {name: adapted(method) for name, method in found.items()}


def adapted(method: Callable[..., Any]) -> Method:
    """A function of X that is given ``max_rank``, ``seed`` and ``random_state`` by name, if it has them."""
    parameters = inspect.signature(method).parameters
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())

    def choose(X: Any, max_rank: int, seed: int) -> Any:
        named = {"max_rank": max_rank, "seed": seed, "random_state": seed}
        if anything and "seed" not in parameters:
            del named["seed"]
        return method(X, **{name: value for name, value in named.items() if anything or name in parameters})

    return choose
