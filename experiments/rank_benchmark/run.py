"""The runner: families x seeds x methods, and the rows that it keeps.

A method is a callable from (X, max_rank, seed) to something with a ``rank``; it sees neither the truth nor
the family. What it returns is a `RankEstimate`, or anything like it: ``rank`` is needed; ``plausible``,
``confidence`` and ``warnings`` are recorded where present. An int will do.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import autonmf
from autonmf import AutoNMF, RankEstimate
from experiments.core import default_max_rank
from experiments.rank_benchmark.families import DESIGN_SEEDS, Family, Instance, choose_families
from experiments.rank_benchmark.page import print_scores, write_page
from experiments.rank_benchmark.scores import Row

Method = Callable[[Any, int, int], Any]


def find_methods(names: Iterable[str] | None = None) -> dict[str, Method]:
    """The methods with these names, by default all: our rules, then the baselines if they are installed."""
    known = {
        "auto": _ours("auto"),
        "marginal-2": _ours("marginal", 2.0),
        "marginal-5": _ours("marginal", 5.0),
    }
    known |= {name: method for name, method in _baselines().items() if name not in known}
    wanted = list(known) if names is None else list(names)
    if unknown := [name for name in wanted if name not in known]:
        raise ValueError(f"unknown methods: {', '.join(unknown)}; choose from {', '.join(known)}")
    return {name: known[name] for name in wanted}


def _ours(rule: str, tau: float | None = None) -> Method:
    """What `AutoNMF` answers with this rule and its defaults."""

    def choose(X: Any, max_rank: int, seed: int) -> RankEstimate:
        model = AutoNMF(max_rank=max_rank, rule=rule, tau=tau, random_state=seed).fit(X)
        estimate = model.rank_estimate_
        assert estimate is not None
        return estimate

    return choose


def _baselines() -> dict[str, Method]:
    try:
        package = import_module("autonmf.baselines")
    except ImportError:
        return {}
    found: dict[str, Callable[..., Any]] = getattr(package, "METHODS", {})
    return {name: adapt(method) for name, method in found.items()}


def adapt(method: Callable[..., Any]) -> Method:
    """A function of X that is given ``max_rank``, ``seed`` and ``random_state`` by name, if it has them."""
    parameters = inspect.signature(method).parameters
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())

    def choose(X: Any, max_rank: int, seed: int) -> Any:
        named = {"max_rank": max_rank, "seed": seed, "random_state": seed}
        if anything and "seed" not in parameters:
            del named["seed"]
        return method(X, **{name: value for name, value in named.items() if anything or name in parameters})

    return choose


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
    told = watcher or Watcher(show)
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
            found = _as_fields(method(instance.X, max_rank, seed))
    except Exception as error:
        found = {"rank": None, "error": f"{type(error).__name__}: {error}"}
    return Row(
        family=family.name, group=family.group, held_out=family.held_out, seed=seed, method=name,
        n=n, m=m, truth=instance.rank, max_rank=max_rank, note=instance.note, code=code_digest(),
        seconds=round(time.perf_counter() - began, 3), **found,
    )  # fmt: skip


def _as_fields(estimate: Any) -> dict[str, Any]:
    rank = int(getattr(estimate, "rank", estimate))
    confidence = getattr(estimate, "confidence", None)
    return {
        "rank": rank,
        "confidence": None if confidence is None else float(confidence),
        "plausible": tuple(int(r) for r in getattr(estimate, "plausible", (rank,))),
        "warnings": tuple(str(text) for text in getattr(estimate, "warnings", ())),
    }


FILE = "rows.jsonl"


class Store:
    """The rows of a folder, or of none: in memory only. Of two rows about the same the later counts."""

    def __init__(self, folder: Path | None) -> None:
        self.file = None if folder is None else folder / FILE
        self._rows: dict[tuple[str, int, str], Row] = {}
        if self.file is None:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if self.file.exists():
            self._read(self.file)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __getitem__(self, key: tuple[str, int, str]) -> Row:
        return self._rows[key]

    @property
    def rows(self) -> list[Row]:
        """Every row."""
        return list(self._rows.values())

    def add(self, row: Row) -> None:
        """Keep a row, on the disk at once."""
        self._rows[row.key] = row
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row.as_dict()) + "\n")

    def _read(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(keepends=True), 1):
            try:
                row = Row.from_dict(json.loads(line))
            except (ValueError, TypeError) as error:
                if line.endswith("\n"):
                    raise ValueError(f"{file}, line {number}: not a row of this benchmark") from error
                file.write_text(text[: -len(line)], encoding="utf-8")  # the line that an interrupt cut short
                return
            self._rows[row.key] = row
        if text and not text.endswith("\n"):
            file.write_text(text + "\n", encoding="utf-8")


class Watcher:
    """Is told how far a run is; prints a line per answer, or nothing."""

    def __init__(self, show: bool = True) -> None:
        self.show = show

    def begins(self, answers: int) -> None:
        """So many answers are to be computed."""

    def skips(self, family: str) -> None:
        """The data of a family are not there."""
        if self.show:
            print(skipped(family))

    def asks(self, family: str, seed: int, method: str) -> None:
        """A method is asked now."""

    def answered(self, row: Row) -> None:
        """It answered."""
        if self.show:
            print(describe(row))


def skipped(family: str) -> str:
    """Why a family has no rows."""
    return f"{family}: skipped, its file is not in the data home"


def describe(row: Row) -> str:
    """An answer in a few words."""
    verdict = "right" if row.missed_by == 0 else row.error or f"truth {row.truth}"
    return f"{row.family} seed {row.seed} {row.method}: {row.rank} ({verdict}), {row.seconds:.1f} s"


OUTSIDE = ("adapters", "cli", "io", "plotting", "readers", "report")  # parts that no answer depends on


@cache
def code_digest() -> str:
    """Eight digits that change with the source of the package, read when first asked for."""
    root = Path(autonmf.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*")):
        place = file.relative_to(root)
        if file.suffix in (".py", ".c", ".h") and place.parts[0] not in OUTSIDE:
            digest.update(place.as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:8]
