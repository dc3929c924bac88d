"""The runner: families x seeds x methods."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from autonmf.bench.order.code import code_digest
from autonmf.bench.order.family import DESIGN_SEEDS, Family, Instance, choose_families
from autonmf.bench.order.methods import Method, find_methods
from autonmf.bench.order.objective import Row
from autonmf.bench.order.page import print_scores, write_page
from autonmf.bench.order.store import Store
from autonmf.path import default_max_rank

PAGE = "page.md"


def run_order(
    families: str | Iterable[str] = "design",
    methods: Iterable[str] | Mapping[str, Method] | None = None,
    seeds: Iterable[int] = DESIGN_SEEDS,
    out: str | PathLike[str] | None = None,
    quick: bool = False,
    *,
    fresh: bool = False,
    show: bool = True,
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
        computed again, and ``page.md`` is written in the end. A method or a generator that changed needs
        ``fresh=True``, or another folder.
    quick : bool
        The first seed only, and no large families.
    fresh : bool
        Compute rows again that are there.
    show : bool
        Print each row as it comes, and tables in the end.

    Returns
    -------
    list of Row
        What was asked for, computed now or before.
    """
    chosen = [family for family in choose_families(families) if not (quick and family.large)]
    callables = dict(methods) if isinstance(methods, Mapping) else find_methods(methods)
    wanted = list(seeds)[: 1 if quick else None]
    say: Callable[[str], None] = print if show else _silent
    store = Store(None if out is None else Path(out))
    asked = []
    for family in chosen:
        if not family.available():
            say(f"{family.name}: skipped, its file is not in the data home")
            continue
        for seed in family.seeds_of(wanted):
            keys = [(family.name, seed, name) for name in callables]
            missing = [name for _, _, name in keys if fresh or (family.name, seed, name) not in store]
            instance = family.generate(seed) if missing else None
            for name in missing:
                assert instance is not None
                row = answer(family, seed, instance, name, callables[name])
                store.add(row)
                say(_line(row))
            asked += [store[key] for key in keys]
    if show and asked:
        print_scores(asked)
    if out is not None and store.rows:
        write_page(store.rows, Path(out) / PAGE)
    return asked


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


def _line(row: Row) -> str:
    verdict = "right" if row.missed_by == 0 else row.error or f"truth {row.truth}"
    return f"{row.family} seed {row.seed} {row.method}: {row.rank} ({verdict}), {row.seconds:.1f} s"


def _silent(text: str) -> None:
    """Say nothing."""
