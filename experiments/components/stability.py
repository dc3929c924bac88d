"""Whether the stability of a component tells if it is true: `python -m experiments stability`.

Matrices of the rank benchmark with known factors are fitted, counts with the Kullback-Leibler loss. Their
components at the true rank r* and at r* + 3 are compared with true ones by the cosine between the matrices
U_j V_jᵀ: a component matches a true one if it is above 0.9, and none if it is below 0.8 for all of them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from autonmf import AutoNMF
from autonmf.datasets import fetch_pbmc3k, fetch_samson, fetch_signatures, make_low_rank
from autonmf.metrics import unit_columns
from experiments.core import Array
from experiments.rank_benchmark.families import FINAL_SEEDS, Instance, choose_families
from experiments.shared import data_home, print_table, run_command, say

HIGH, LOW = 0.9, 0.8
"""For the cosine with a true component as for the stability."""

EXTRA = 3
BINS = (0.0, 0.5, 0.8, 0.9, 0.95, 1.0)


class Case(NamedTuple):
    """A component of a fit."""

    family: str
    extra: int  # components of the fit beyond the true rank
    match: float  # largest cosine with a true component
    stability: float


def is_count(X: Any) -> bool:
    """Whether X holds integers, and not only zeros and ones."""
    entries = cast(Any, X).data if sparse.issparse(X) else X
    return bool(np.array_equal(entries, np.rint(entries)) and entries.max() > 1)


def largest_cosines(factors: tuple[Array, Array], truth: tuple[Array, Array]) -> Array:
    """The largest cosine of each component with a true one."""
    products = [unit_columns(a).T @ unit_columns(b) for a, b in zip(factors, truth, strict=True)]
    return np.asarray((products[0] * products[1]).max(axis=1))


def measure(family: str, instance: Instance, n_resamples: int) -> list[Case]:
    """The components of one matrix at the true rank, and at some more."""
    X, rank = instance.X, instance.rank
    assert instance.U is not None
    assert instance.V is not None
    loss = "kullback-leibler" if is_count(X) else "frobenius"
    model = AutoNMF(beta_loss=loss, random_state=0).fit(X)
    cases = []
    for extra in (0, EXTRA):
        if rank + extra not in model.path_.ranks:
            continue
        other = model.at_rank(rank + extra, X)
        found = other.component_stability(X, n_resamples=n_resamples)
        matches = largest_cosines((other.transform(X), other.components_.T), (instance.U, instance.V))
        cases += [
            Case(family, extra, *map(float, pair)) for pair in zip(matches, found.stability, strict=True)
        ]
    return cases


def collect(which: Sequence[str], seeds: Sequence[int], n_resamples: int) -> list[Case]:
    """The components of all matrices of some families whose factors are known."""
    cases = []
    for family in choose_families(which):
        if not family.available() or family.group == "real":
            continue
        for seed in family.seeds_of(seeds):
            instance = family.generate(seed)
            if instance.U is not None and instance.V is not None and instance.rank > 1:
                cases += measure(family.name, instance, n_resamples)
        say(f"{family.name}: done")
    return cases


def percent(flags: Sequence[bool]) -> str:
    """The percentage of flags that are set, and their number."""
    return f"{100 * np.mean(flags):.0f} % of {len(flags)}" if len(flags) else "none"


def print_calibration(cases: list[Case]) -> None:
    """How often stable components are true, by family and by stability."""
    rows = []
    held_out = {family.name for family in choose_families("held-out")}
    names = list(dict.fromkeys(case.family for case in cases))
    groups = {name: {name} for name in names}
    groups |= {"design": {*names} - held_out, "held out": {*names} & held_out, "all": {*names}}
    for name, families in groups.items():
        here = [case for case in cases if case.family in families]
        matching = [case.stability > HIGH for case in here if case.extra == 0 and case.match > HIGH]
        others = [case.stability < LOW for case in here if case.extra and case.match < LOW]
        rows.append((name, percent(matching), percent(others)))
    header = ("family", f"match, at r*: above {HIGH}", f"none, at r* + {EXTRA}: below {LOW}")
    print_table(header, rows, "Stability of components that match a true one, and of those that match none")
    bins = []
    for low, high in pairwise(BINS):
        inside = [case for case in cases if low <= case.stability < high or case.stability == high == 1.0]
        known = [percent([c.match > HIGH for c in inside if c.extra == extra]) for extra in (0, EXTRA)]
        bins.append([f"{low:g} to {high:g}", *known])
    title = "How many components match a true one, by stability"
    print_table(("stability", "at r*", f"at r* + {EXTRA}"), bins, title)


def print_costs(repeats: int = 3) -> None:
    """Seconds of 20 resamples over those of a default fit."""
    home = data_home()
    cases: dict[str, tuple[Any, str]] = {
        "1000 x 400": (make_low_rank(1000, 400, 10, random_state=0)[0], "frobenius")
    }
    if home is not None:
        cases["Samson"] = fetch_samson(data_home=home).X, "frobenius"
        cases["PBMC3K, normalised"] = fetch_pbmc3k(data_home=home, normalize=True).X, "frobenius"
        cases["signatures"] = fetch_signatures(data_home=home).X, "kullback-leibler"
    rows = []
    for name, (X, loss) in cases.items():
        fits, resamples = [], []
        for _ in range(repeats):
            began = time.perf_counter()
            model = AutoNMF(beta_loss=loss, random_state=0).fit(X)
            fitted = time.perf_counter()
            model.component_stability(X)
            fits.append(fitted - began)
            resamples.append(time.perf_counter() - fitted)
        ratio = median(b / a for a, b in zip(fits, resamples, strict=True))
        rows.append(
            (
                name,
                str(model.n_components_),
                f"{median(fits):.2f} s",
                f"{median(resamples):.2f} s",
                f"{ratio:.1f}",
            )
        )
    print_table(
        ("data", "rank", "fit", "20 resamples", "in fits"), rows, "Cost of the stability of components"
    )


def run(arguments: Sequence[str] | None) -> None:
    parser = argparse.ArgumentParser("python -m experiments stability", description=__doc__)
    parser.add_argument("--families", nargs="+", default=["synthetic", "semi", "held-out"])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(FINAL_SEEDS[:3]))
    parser.add_argument("--resamples", type=int, default=20)
    parser.add_argument("--cost", action="store_true", help="measure the time instead")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if given.cost:
        print_costs()
    else:
        print_calibration(collect(given.families, given.seeds, given.resamples))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    return run_command(run, arguments)
