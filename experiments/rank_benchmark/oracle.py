"""Checks of the instances themselves: whether they are sane, and whether the truth is there to be found.

    python -m experiments oracle             # synthetic and semi, what is not held out
    python -m experiments oracle held-out

The oracle knows the rank: scikit-learn's NMF at r*, from the truth and from other initial points; the least
loss counts. An instance passes if that solution has the true components, both factors, up to an error of one
half per component (a cosine of about 0.87 to the truth). Where not even the least-squares solution resembles
the truth, a wrong rank says nothing about a method.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.metrics import recovery_error
from experiments.rank_benchmark.factors import comparable, visibility
from experiments.rank_benchmark.families import DESIGN_SEEDS, Family, Instance, choose_families

PASS = 0.5


@dataclass(frozen=True)
class Check:
    """What the oracle found on one instance."""

    family: str
    seed: int
    shape: tuple[int, int]
    rank: int
    visibility: float  # σ_r*(U Vᵀ) / ‖X - U Vᵀ‖₂
    held: float  # recovery error per component at the least loss found, the worse factor of the two
    found: float  # the same without the start at the truth
    note: str

    @property
    def passed(self) -> bool:
        return self.held < PASS


def problems(instance: Instance) -> list[str]:
    """What is wrong with an instance; empty if nothing."""
    X: Any = instance.X
    values: Array = X if isinstance(X, np.ndarray) else X.data
    n, m = X.shape
    found = []
    if not np.isfinite(values).all():
        found.append("X is not finite")
    if not (values >= 0).all():
        found.append("X has negative entries")
    if not values.any():
        found.append("X is zero")
    if not 1 <= instance.rank <= min(n, m) / 2:
        found.append(f"rank {instance.rank} is not between 1 and half of {min(n, m)}")
    for name, factor, size in (("U", instance.U, n), ("V", instance.V, m)):
        if factor is None:
            continue
        if factor.shape != (size, instance.rank):
            found.append(f"{name} has shape {factor.shape}")
        elif not (np.isfinite(factor).all() and (factor >= 0).all() and factor.any(axis=0).all()):
            found.append(f"{name} has entries that are negative or not finite, or an empty column")
    return found


def check(families: Iterable[Family], seeds: Iterable[int] = DESIGN_SEEDS) -> Iterator[Check]:
    """The oracle on every instance whose factors are known."""
    wanted = list(seeds)
    for family in families:
        for seed in family.seeds_of(wanted) if family.available() else []:
            instance = family.generate(seed)
            if wrong := problems(instance):
                raise ValueError(f"{family.name}, seed {seed}: {'; '.join(wrong)}")
            if instance.U is None or instance.V is None:
                continue
            held, found = oracle_errors(instance)
            yield Check(
                family.name,
                seed,
                instance.X.shape,
                instance.rank,
                visibility(instance),
                held,
                found,
                instance.note,
            )


def oracle_errors(instance: Instance, starts: int = 2) -> tuple[float, float]:
    """Recovery error per component at the least loss: with, and without, a start at the truth."""
    X, U, V = comparable(instance)
    assert U is not None
    assert V is not None
    balance = np.sqrt(np.linalg.norm(V, axis=0) / np.linalg.norm(U, axis=0))
    fits = [_fit(X, U * balance, V / balance)]
    fits += [_fit(X, rank=instance.rank, init="nndsvda")]
    fits += [_fit(X, rank=instance.rank, init="random", seed=seed) for seed in range(starts)]
    errors = [(loss, _error(U, V, W, H)) for loss, W, H in fits]
    return min(errors)[1], min(errors[1:])[1]


def _fit(
    X: Any,
    U: Array | None = None,
    V: Array | None = None,
    *,
    rank: int = 0,
    init: str = "custom",
    seed: int = 0,
) -> tuple[float, Array, Array]:
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    given = {} if U is None or V is None else {"W": np.ascontiguousarray(U), "H": np.ascontiguousarray(V.T)}
    model = NMF(rank if U is None else U.shape[1], init=init, tol=1e-5, max_iter=400, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        W = model.fit_transform(X, **given)
    return float(model.reconstruction_err_), W, model.components_.T


def _error(U: Array, V: Array, W: Array, H: Array) -> float:
    """Of the worse factor. √r* turns the Frobenius norm over components into one of a typical component."""
    return float(max(recovery_error(U, W), recovery_error(V, H)) / np.sqrt(U.shape[1]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per instance, and the families that fail."""
    failed: dict[str, list[int]] = defaultdict(list)
    for one in check(choose_families(arguments or ["synthetic", "semi"])):
        n, m = one.shape
        print(
            f"{one.family:18s} {one.seed:5d} {n:5d} x {m:<5d} r* {one.rank:3d}  "
            f"visibility {one.visibility:5.2f}  oracle {one.held:.2f} ({one.found:.2f})  "
            f"{'' if one.passed else 'FAILS  '}{one.note}",
            flush=True,
        )
        if not one.passed:
            failed[one.family].append(one.seed)
    print("failed:", dict(failed) or "none")
