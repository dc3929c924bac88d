"""Whether the rank depends on what it must not depend on: the seed, and the order of rows and columns.

    python -m experiments consistency                # every generated family, two matrices each
    python -m experiments consistency --matrices 5 --seeded 1 --out experiments/results/consistency.json

Each matrix is fitted with five seeds, and with its rows and columns in five random orders. An answer with a
confidence of at least 0.9 is contradicted if another one of the same matrix has another rank. The page of
`python -m experiments.reliability` shows what ``--out`` wrote.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from autonmf import AutoNMF, UncertainRankWarning
from experiments.rank_benchmark.families import choose_families
from experiments.rank_benchmark.scores import SURE
from experiments.shared import machine_facts, print_table, replace_file, say

HEAD = ("changed", "matrices", "with several ranks", "sure answers", "contradicted")
FITS = 5
FIRST_SEED = 2000
"""Of the matrices: neither those that the rule was designed on nor the final ones."""


class Answer(NamedTuple):
    """The rank of one fit."""

    rank: int
    confidence: float


def fit(X: Any, seed: int) -> Answer:
    model = AutoNMF(random_state=seed).fit(X)
    estimate = model.rank_estimate_
    assert estimate is not None
    return Answer(estimate.rank, estimate.confidence or 0.0)


def fit_permuted(X: Any, seed: int) -> Answer:
    """The answer for X with its rows and columns in another order."""
    rng = np.random.default_rng(seed)
    return fit(X[rng.permutation(X.shape[0])][:, rng.permutation(X.shape[1])], 0)


def count_contradictions(answers: Iterable[Sequence[Answer]]) -> tuple[int, int, int, int]:
    """Matrices, those with several ranks, sure answers, and those that another one contradicts."""
    matrices = several = sure = contradicted = 0
    for of_matrix in answers:
        differs = len({answer.rank for answer in of_matrix}) > 1
        certain = sum(answer.confidence >= SURE for answer in of_matrix)
        matrices, several = matrices + 1, several + differs
        sure, contradicted = sure + certain, contradicted + differs * certain
    return matrices, several, sure, contradicted


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m experiments consistency", description=__doc__.splitlines()[0])
    parser.add_argument("--matrices", type=int, default=2, help="of each family")
    parser.add_argument("--seeded", type=int, help="of them with five seeds; default: all")
    parser.add_argument("--out", type=Path, help="a JSON file for the table")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", UncertainRankWarning)
    seeds: list[list[Answer]] = []
    orders: list[list[Answer]] = []
    seeded = options.matrices if options.seeded is None else options.seeded
    for family in choose_families(["synthetic", "semi", "held-out"]):
        for number in range(options.matrices):
            X = family.generate(FIRST_SEED + number).X
            asked = [("order", orders, fit_permuted), ("seed", seeds, fit)][: 2 if number < seeded else 1]
            for what, found, ask in asked:
                answers = [ask(X, seed) for seed in range(FITS)]
                found.append(answers)
                if len({answer.rank for answer in answers}) > 1:
                    told = ", ".join(f"{rank} ({confidence:.2f})" for rank, confidence in answers)
                    say(f"{family.name} {FIRST_SEED + number} changes with the {what}: {told}")
    rows = [
        (what, *map(str, count_contradictions(answers)))
        for what, answers in (("seed", seeds), ("order of rows and columns", orders))
    ]
    print_table(HEAD, rows)
    if options.out:
        content = {"head": HEAD, "rows": rows, "machine": machine_facts()}
        replace_file(options.out, json.dumps(content, indent=1) + "\n")
