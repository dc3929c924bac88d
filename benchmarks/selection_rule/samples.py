"""The evidence of matrices whose rank is known: collected once, kept in a file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from autonmf.bench.order import FINAL_SEEDS, Family, choose_families
from autonmf.bench.order.code import code_digest
from autonmf.bench.order.datasets.paper import SIZES
from autonmf.data import as_data
from autonmf.path import Evidence, PathOptions, explore, explore_evened

DRAWN = (*range(5), *range(100, 115))
SEEDS = {"paper": (0, 1), "synthetic": DRAWN, "semi": DRAWN, "real": (0,)}
MOST_ENTRIES = 3_000_000
"""Larger matrices of the paper are left out: they are alike, and the smaller ones are harder."""


@dataclass(frozen=True)
class Sample:
    """One matrix, as a rule sees it."""

    family: str
    group: str
    seed: int
    truth: int  # of real data: the reference
    evened: Evidence  # of the path of the evened copy Y
    plain: Evidence  # of a path of X alone: X stands in for Y
    code: str  # the state of the code that searched the paths

    @property
    def kind(self) -> str:
        """What is left out at a time: the configurations of the paper are one family."""
        return self.group if self.group == "paper" else self.family


def design_families() -> list[Family]:
    """The families that a rule may be designed on, where their data are at hand."""
    small = [f"-{n}x{m}-" for n, m in SIZES if n * m <= MOST_ENTRIES]
    chosen = [
        family
        for family in choose_families("design")
        if family.available() and (family.group != "paper" or any(size in family.name for size in small))
    ]
    assert not any(family.held_out for family in chosen)
    assert not set(FINAL_SEEDS) & {seed for seeds in SEEDS.values() for seed in seeds}
    return chosen


def collect(families: list[Family], cache: Path | None) -> list[Sample]:
    """The samples of these families; those in the cache are read from there, others are added to it."""
    known = {} if cache is None or not cache.exists() else _read(cache)
    samples = []
    for family in families:
        missing = False
        for seed in family.seeds_of(SEEDS[family.group]):
            if (family.name, seed) not in known:
                known[family.name, seed], missing = observe(family, seed), True
            samples.append(known[family.name, seed])
        if missing and cache is not None:
            _write(known, cache)
    return samples


def observe(family: Family, seed: int) -> Sample:
    """Search both paths of one matrix."""
    instance, options = family.generate(seed), PathOptions(random_state=seed)
    data = as_data(instance.X)
    evened, plain = explore_evened(data, options).path.evidence, explore(data, options).path
    assert evened is not None
    of_X = replace(
        evened,
        ranks=plain.ranks,
        losses=plain.relative_losses,
        losses_of_X=plain.relative_losses,
        spectrum=evened.spectrum_of_X,
    )
    return Sample(family.name, family.group, seed, instance.rank, evened, of_X, code_digest())


def _read(cache: Path) -> dict[tuple[str, int], Sample]:
    samples = [
        Sample(**one | {name: _evidence(one[name]) for name in ("evened", "plain")})
        for one in json.loads(cache.read_text(encoding="utf-8"))
    ]
    return {(sample.family, sample.seed): sample for sample in samples}


def _evidence(stored: dict[str, Any]) -> Evidence:
    arrays = {name: np.array(value) for name, value in stored.items() if isinstance(value, list)}
    return Evidence(**stored | arrays | {"shape": tuple(stored["shape"])})


def _write(known: dict[tuple[str, int], Sample], cache: Path) -> None:
    content = [asdict(sample) for sample in known.values()]
    part = cache.with_name(cache.name + ".part")
    part.write_text(json.dumps(content, default=np.ndarray.tolist), encoding="utf-8")
    part.replace(cache)
