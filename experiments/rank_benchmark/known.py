"""Known components: is the number of the others right where some of the true ones are given?

    python -m experiments known                     # five final matrices of each family
    python -m experiments known --seeds 0 1 2       # other matrices
    python -m experiments known --page docs/known.md

Half of the true components, drawn at random, are given as ``fixed_components``; then all of them, where the
answer is that nothing else is needed; then one that is not in X beside all, which has to be reported as not
used. Counts are fitted with both losses. Families are the signatures and the spectra of the benchmark.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from autonmf import AutoNMF, UncertainRankWarning
from autonmf._types import Array
from experiments.rank_benchmark.families import FINAL_SEEDS, Instance, choose_families
from experiments.shared import print_table, say

FAMILIES = {
    "signatures": ("frobenius", "kullback-leibler"),
    "dispersed-signatures": ("frobenius", "kullback-leibler"),
    "collinear-spectra": ("frobenius",),
    "collinear-lines": ("frobenius",),
    "endmembers": ("frobenius",),
    "smooth-spectra": ("frobenius",),
    "varying-spectra": ("frobenius",),
    "drifting-peaks": ("frobenius",),
}
"""The losses that each family is fitted with."""

COLUMNS = ("family", "loss", "matrices", "none given", "half given", "all given")


class Counts(NamedTuple):
    """Of so many matrices, for how many the number of components is right."""

    none: int
    half: int
    all: int


def fit(X: Any, known: Array | None, beta_loss: str) -> AutoNMF:
    return AutoNMF(fixed_components=known, beta_loss=beta_loss, random_state=0).fit(X)


def count_right(instance: Instance, beta_loss: str, seed: int) -> Counts:
    """Whether the number is right with no component given, with half of them, and with all."""
    assert instance.V is not None
    H, rank = instance.V.T, instance.rank
    half = np.sort(np.random.default_rng(seed).permutation(rank)[: rank // 2])
    found = [fit(instance.X, known, beta_loss).n_components_ for known in (None, H[half], H)]
    return Counts(*(int(one == rank) for one in found))


def measure(seeds: Iterable[int]) -> list[tuple[str, str, list[Counts]]]:
    """For every family and loss, which answers are right."""
    rows = []
    for family in choose_families(list(FAMILIES)):
        instances = [(seed, family.generate(seed)) for seed in family.seeds_of(seeds)]
        for loss in FAMILIES[family.name]:
            rows.append((family.name, loss, [count_right(one, loss, seed) for seed, one in instances]))
            say(f"{family.name}, {loss}: {rows[-1][2]}")
    return rows


def tabulate(rows: list[tuple[str, str, list[Counts]]]) -> list[tuple[str, ...]]:
    """The rows of the table, and their sums."""
    everything = [one for _, _, of_family in rows for one in of_family]
    return [
        (family, loss, str(len(found)), *(str(sum(column)) for column in zip(*found, strict=True)))
        for family, loss, found in [*rows, ("all", "", everything)]
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m experiments known", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(FINAL_SEEDS), help="of the matrices")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", UncertainRankWarning)
    print_table(COLUMNS, tabulate(measure(options.seeds)))


__all__ = ["Path"]
