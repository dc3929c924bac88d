"""The runner: families x seeds x methods."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from autonmf.bench.order.code import code_digest
from autonmf.bench.order.family import DESIGN_SEEDS, Family, Instance, choose_families
from autonmf.bench.order.methods import Method, find_methods
from autonmf.bench.order.objective import Row
from autonmf.bench.order.page import write_page
from autonmf.bench.order.store import Store
from autonmf.bench.order.terminal import print_scores
from autonmf.bench.order.watching import Printing, Silent, Watcher
from autonmf.path import default_max_rank

SLOW = ("cv-wold", "cv-bicv", "stability", "ard")
"""Methods that fit every rank several times: left out of quick runs."""


def run_order(
    families: str | Iterable[str] = "design",
    methods: Iterable[str] | Mapping[str, Method] | None = None,
    seeds: Iterable[int] = DESIGN_SEEDS,
    out: str | PathLike[str] | None = None,
    quick: bool = False,
    *,
    fresh: bool = False,
    show: bool = True,
    watcher: Watcher | None = None,
) -> list[Row]:
    """Run the benchmark.

    Parameters
    ----------
    families : str or list of str
        Names of families or of groups, or "design", "held-out" or "all"; see `choose_families`.
    methods : list of str or dict, optional
        Names, by default every method there is; or a dict from names to callables (X, max_rank, seed).
    seeds : iterable of int
        `DESIGN_SEEDS` while a rule is designed, `FINAL_SEEDS` in the end.
    out : path, optional
        A folder. Rows are appended to ``rows.jsonl`` there as they are computed, those that are there are not
        computed again, and ``page.md``, with a picture where matplotlib is installed, is written in the end.
        A method or a generator that changed needs ``fresh=True``, or another folder.
    quick : bool
        The first seed only, no large families, and no `SLOW` methods unless they are named.
    fresh : bool
        Compute rows again that are there.
    show : bool
        Print each row as it comes, and a table in the end.
    watcher : Watcher, optional
        Told of every step, instead of anything being printed.

    Returns
    -------
    list of Row
        What was asked for, computed now or before.
    """
    chosen = [family for family in choose_families(families) if not (quick and family.large)]
    callables = dict(methods) if isinstance(methods, Mapping) else find_methods(methods)
    if quick and methods is None:
        callables = {name: method for name, method in callables.items() if name not in SLOW}
    wanted = list(seeds)[: 1 if quick else None]
    told: Watcher = watcher or (Printing() if show else Silent())
    store = Store(None if out is None else Path(out))
    instances = list(_instances(chosen, wanted, told))
    missing = {
        (family.name, seed): [name for name in callables if fresh or (family.name, seed, name) not in store]
        for family, seed in instances
    }
    told.begins(sum(map(len, missing.values())))
    for family, seed in instances:
        if names := missing[family.name, seed]:
            instance = family.generate(seed)
            for name in names:
                told.asks(family.name, seed, name)
                row = answer(family, seed, instance, name, callables[name])
                store.add(row)
                told.answered(row)
    asked = [store[family.name, seed, name] for family, seed in instances for name in callables]
    if show and watcher is None and asked:
        print_scores(asked)
    if out is not None and store.rows:
        write_page(store.rows, Path(out))
    return asked


def _instances(families: Iterable[Family], wanted: list[int], told: Watcher) -> Iterable[tuple[Family, int]]:
    for family in families:
        if family.available():
            yield from ((family, seed) for seed in family.seeds_of(wanted))
        else:
            told.skips(family.name)


def answer(family: Family, seed: int, instance: Instance, name: str, method: Method) -> Row:
    """One method on one instance. A method that raises has failed; the run goes on."""
    n, m = instance.X.shape
    max_rank = default_max_rank((n, m))
    found: dict[str, Any]
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _read(method(instance.X, max_rank, seed))
    except Exception as error:
        found = {"rank": None, "error": f"{type(error).__name__}: {error}"}
    return Row(
        family=family.name, group=family.group, held_out=family.held_out, seed=seed, method=name,
        n=n, m=m, truth=instance.rank, max_rank=max_rank, note=instance.note, code=code_digest(),
        seconds=round(time.perf_counter() - began, 3), **found,
    )  # fmt: skip


def _read(estimate: Any) -> dict[str, Any]:
    rank = int(getattr(estimate, "rank", estimate))
    confidence = getattr(estimate, "confidence", None)
    return {
        "rank": rank,
        "confidence": None if confidence is None else float(confidence),
        "plausible": tuple(int(r) for r in getattr(estimate, "plausible", (rank,))),
        "warnings": tuple(str(text) for text in getattr(estimate, "warnings", ())),
    }
