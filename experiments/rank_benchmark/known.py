"""Known components: how often the number of the others is right where some of the true ones are given.

    python -m experiments known                     # five final matrices of each family
    python -m experiments known --seeds 0 1 2       # other matrices

Half of the true components, drawn at random, are given as ``fixed_components``; then all of them, where the
answer is that nothing else is needed; then all of them and one that is not in X (the first one with its
features in reverse order), where nothing else is needed either and only that one is to be reported as not
used; the last column counts matrices where a true one is. Counts are fitted with both losses. The families
are the signatures and the spectra of the benchmark.

A second table is about simulated catalogues of mutations (`autonmf.datasets.fetch_signatures`), if
AUTONMF_DATA names the folder with their files: every other signature is given, and the components beyond them
are compared with the signatures that were not.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from autonmf import AutoNMF, UncertainRankWarning
from autonmf.datasets import DataUnavailableError, fetch_signatures
from autonmf.datasets.genomics import Kind, Noise
from autonmf.metrics import unit_columns
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

COLUMNS = (
    "family",
    "loss",
    "matrices",
    "none given",
    "half given",
    "all given",
    "and one more",
    "reported",
    "wrongly",
)


CATALOGUE_COLUMNS = ("catalogue", "signatures", "given", "others found", "of them true", "confidence")
TRUE = 0.9  # cosine from which a component is a true signature, as in `experiments.rank_benchmark.signatures`


class Right(NamedTuple):
    """Which answers for one matrix are right."""

    none: bool  # the number of components, with none given
    half: bool  # with half of them
    all: bool  # with all of them
    more: bool  # with all of them and one that is not in X
    reported: bool  # that one, and no other, as not used
    wrongly: bool  # whether a true one is reported as not used, in any of these fits


def judge(instance: Instance, beta_loss: str, seed: int) -> Right:
    """Fit a matrix with different components given."""
    assert instance.V is not None
    H, rank = instance.V.T, instance.rank
    half = np.sort(np.random.default_rng(seed).permutation(rank)[: rank // 2])
    more = np.vstack([H, H[:1, ::-1]])
    models = [
        AutoNMF(fixed_components=known, beta_loss=beta_loss, random_state=0).fit(instance.X)
        for known in (None, H[half], H, more)
    ]
    none, some, every, beside = (model.n_components_ for model in models)
    reported = models[-1].unused_components_ == (rank,)
    wrongly = any(set(model.unused_components_) - {rank} for model in models)
    return Right(none == rank, some == rank, every == rank, beside == rank + 1, reported, wrongly)


def measure(seeds: Iterable[int]) -> list[tuple[str, str, list[Right]]]:
    """Which answers are right, by family and loss."""
    rows = []
    for family in choose_families(list(FAMILIES)):
        instances = [(seed, family.generate(seed)) for seed in family.seeds_of(seeds)]
        for loss in FAMILIES[family.name]:
            rows.append((family.name, loss, [judge(one, loss, seed) for seed, one in instances]))
            say(f"{family.name}, {loss}: {[tuple(map(int, right)) for right in rows[-1][2]]}")
    return rows


def tabulate(rows: list[tuple[str, str, list[Right]]]) -> list[tuple[str, ...]]:
    """The rows of the table, and their sums."""
    everything = [right for _, _, found in rows for right in found]
    return [
        (family, loss, str(len(found)), *(str(sum(column)) for column in zip(*found, strict=True)))
        for family, loss, found in [*rows, ("all", "", everything)]
    ]


def measure_catalogues() -> list[tuple[str, ...]]:
    """What is found in the catalogues beside every other signature; nothing without their files."""
    rows: list[tuple[str, ...]] = []
    kinds: tuple[Kind, ...] = ("sbs", "indel")
    noises: tuple[Noise, ...] = ("moderate", "realistic")
    for kind, noise in product(kinds, noises):
        try:
            catalogue = fetch_signatures(kind=kind, noise=noise)
        except DataUnavailableError as error:
            say(f"left out: {error}")
            return []
        H = np.asarray(catalogue.V).T
        model = AutoNMF(fixed_components=H[::2], beta_loss="kullback-leibler", random_state=0).fit(
            catalogue.X
        )
        others, known = H[1::2], len(H[::2])
        cosines = unit_columns(model.components_[known:].T).T @ unit_columns(others.T)
        true = int(np.count_nonzero(cosines.max(axis=0, initial=0.0) >= TRUE))
        estimate = model.rank_estimate_
        assert estimate is not None
        found = f"{model.n_components_ - known} of {len(others)}"
        sure = f"{estimate.confidence:.2f}"
        rows.append((f"{kind}, {noise}", str(len(H)), str(known), found, str(true), sure))
        say(f"{kind}, {noise}: {estimate.why}")
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m experiments known", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="*", default=list(FINAL_SEEDS), help="of the matrices")
    options = parser.parse_args(arguments)
    for category in (UncertainRankWarning, ConvergenceWarning):
        warnings.simplefilter("ignore", category)
    print_table(COLUMNS, tabulate(measure(options.seeds)) if options.seeds else [])
    print_table(CATALOGUE_COLUMNS, measure_catalogues())
