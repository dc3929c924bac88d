"""What a shell offers behind options whose values are looked up: families, methods and seeds.

Values may have commas between them, so what is completed is the last of them.
"""

from __future__ import annotations

from collections.abc import Iterable


def families(incomplete: str) -> list[str]:
    """Families of matrices, and words for several."""
    from autonmf.bench.order.family import GROUPS, all_families

    return _continued(incomplete, ("design", "held-out", "all", *GROUPS, *all_families()))


def methods(incomplete: str) -> list[str]:
    """Methods of rank selection."""
    from autonmf.bench.order import find_methods

    return _continued(incomplete, find_methods(None))


def seeds(incomplete: str) -> list[str]:
    """Words for several seeds."""
    return _continued(incomplete, ("design", "final"))


def _continued(incomplete: str, names: Iterable[str]) -> list[str]:
    """What was typed, with each name in the place of its last word."""
    before, comma, last = incomplete.rpartition(",")
    taken = before.split(",")
    return [before + comma + name for name in names if name.startswith(last) and name not in taken]
