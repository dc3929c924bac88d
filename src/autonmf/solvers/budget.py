"""How long the exact path stays at a rank."""

from __future__ import annotations

from typing import NamedTuple


class Budget(NamedTuple):
    """Iterations at a rank: between ``fewest`` and ``most``, as long as they make progress."""

    fewest: int
    most: int
