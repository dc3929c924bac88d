"""The largest rank that a method considers."""

from __future__ import annotations

from autonmf.path import PathOptions


def upper_bound(shape: tuple[int, int], max_rank: int | None) -> int:
    """``max_rank`` checked as `rank_path` checks it; by default min(⌈min(n, m)/2⌉, 50)."""
    return PathOptions(max_rank=max_rank).first_rank(shape)
