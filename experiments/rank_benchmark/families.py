"""What a family is, and the register of all of them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from autonmf._types import Array

GROUPS = ("paper", "synthetic", "semi", "real")
DESIGN_SEEDS = range(0, 5)
"""For designing a rule, together with the families that are not held out."""
FINAL_SEEDS = range(1000, 1005)
"""For the final comparison, together with every family."""


@dataclass(frozen=True)
class Instance:
    """A matrix and its number of components."""

    X: Any  # n x m, nonnegative: an array, or CSR
    rank: int
    U: Array | None = None  # n x rank and m x rank with E X = U Vᵀ, where known
    V: Array | None = None
    note: str = ""  # what was drawn, and whether the parts are real
    units: tuple[Array, Array] | None = None  # of rows and columns, where noise is even only without them


@dataclass(frozen=True)
class Family:
    """Instances of one kind, by seed."""

    name: str
    group: str
    generate: Callable[[int], Instance]  # the same seed, the same bits
    hard: str  # what makes it hard
    held_out: bool = False  # not to be looked at while a rule is designed
    large: bool = False  # left out of quick runs
    seeds: tuple[int, ...] | None = None  # the only seeds there are, for data that are not drawn
    available: Callable[[], bool] = lambda: True  # whether the data are there

    def seeds_of(self, wanted: Iterable[int]) -> list[int]:
        """The seeds to run when these are wanted."""
        return list(wanted if self.seeds is None else self.seeds)


_FAMILIES: dict[str, Family] = {}


def register(family: Family) -> Family:
    """Make a family known by its name."""
    if family.group not in GROUPS:
        raise ValueError(f"unknown group {family.group!r}; choose one of {', '.join(GROUPS)}")
    if family.name in _FAMILIES:
        raise ValueError(f"there already is a family {family.name!r}")
    _FAMILIES[family.name] = family
    return family


Draw = Callable[[np.random.Generator], Instance]


def drawn(name: str, group: str, *, hard: str, held_out: bool = False) -> Callable[[Draw], Draw]:
    """Register a function from a random generator to an instance as a family.

    Each family has its own stream of random numbers, so that adding one changes no other.
    """

    def decorate(draw: Draw) -> Draw:
        def generate(seed: int) -> Instance:
            return draw(np.random.default_rng([zlib.crc32(name.encode()), seed]))

        register(Family(name, group, generate, hard, held_out=held_out))
        return draw

    return decorate


@cache
def all_families() -> dict[str, Family]:
    """Every family by name, by group: the modules that hold them register their own."""
    from experiments.rank_benchmark import design, held_out, real  # noqa: F401

    found = sorted(_FAMILIES.values(), key=lambda family: GROUPS.index(family.group))
    return {family.name: family for family in found}


def choose_families(which: str | Iterable[str] = "design") -> list[Family]:
    """Families by name, by group, or by "design", "held-out" or "all".

    A group, like "design", leaves out what is held out: "held-out", "all" and a family's own name give that.
    """
    wanted = [which] if isinstance(which, str) else list(which)
    families = all_families()
    known = {*families, *GROUPS, "design", "held-out", "all"}
    if unknown := [word for word in wanted if word not in known]:
        raise ValueError(
            f"unknown families: {', '.join(unknown)}. There are design, held-out and all, the groups "
            f"{', '.join(GROUPS)}, and the families {', '.join(families)}"
        )
    return [family for family in families.values() if any(_means(word, family) for word in wanted)]


def _means(word: str, family: Family) -> bool:
    if word in ("all", family.name):
        return True
    if word == "held-out":
        return family.held_out
    return word in ("design", family.group) and not family.held_out
