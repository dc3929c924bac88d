"""Faults and their trials, each fault in a process of its own; and the matrices and checks they share."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import kl_div

from autonmf import AutoNMF, RankPath, UncertainRankWarning
from experiments.core import Array

PATIENCE = 300.0
"""Seconds without a word from a trial after which it counts as hung."""

SHOWN = 160
"""Characters of what went wrong."""


class Broken(AssertionError):
    """A promise that was not kept."""


def require(kept: object, what: str) -> None:
    """Raise `Broken` unless the promise was kept."""
    if not kept:
        raise Broken(what)


@dataclass(frozen=True)
class Fault:
    """One line of the page."""

    name: str  # what is done
    promise: str  # what must happen
    attempt: Callable[[int], str]  # a trial: from its seed to what happened; whatever it raises is a failure
    quick: int  # trials
    full: int
    counted: str = ""  # what a trial is one of, or several: inputs, kills, deaths
    times: int = 1  # how many of them a trial is
    in_turn: bool = False  # whether a trial depends on those before it


@dataclass
class Row:
    """The outcomes of the trials of a fault."""

    group: str
    fault: Fault
    seconds: float = 0.0
    commits: set[str] = field(default_factory=set)  # that the trials were made with
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)  # seed, what went wrong

    @property
    def trials(self) -> int:
        return self.outcomes.total() + len(self.failures)

    @property
    def green(self) -> bool:
        return not self.failures and self.trials > 0


def try_fault(group: str, fault: Fault, seeds: range, patience: float = PATIENCE) -> Row:
    """Run the trials with these seeds in a child, so that a crash or a hang is only counted.

    After either the rest of the seeds are tried in a new child.
    """
    row, began = Row(group, fault), time.monotonic()
    while row.trials < len(seeds):
        for seed, kept, what in _in_child(fault, seeds[row.trials :], patience):
            if kept:
                row.outcomes[what] += 1
            else:
                row.failures.append((seed, what))
    row.seconds = time.monotonic() - began
    return row


def _in_child(fault: Fault, seeds: range, patience: float) -> Iterator[tuple[int, bool, str]]:
    """What a child tells of its trials; at its early end, of the trial that it died of.

    The child leads a group of processes, none of which outlives it.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_tell, args=(fault, seeds, theirs))
    child.start()
    theirs.close()
    finished = False
    try:
        for seed in seeds:
            if not ours.poll(patience):
                yield seed, False, f"no answer in {patience:g} s"
                return
            try:
                yield ours.recv()
            except EOFError:
                child.join()
                yield seed, False, f"the process died: {_exit(child.exitcode)}"
                return
        finished = True
    finally:
        wait([child.sentinel], patience if finished else 0.0)
        if child.pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # and whatever it has started
        child.join()
        ours.close()


def _tell(fault: Fault, seeds: range, told: Connection) -> None:
    os.setsid()
    for seed in seeds:
        told.send((seed, *_outcome(fault, seed)))
    told.close()
    atexit._run_exitfuncs()  # a forked child has its own to run: temporary folders of joblib


def _outcome(fault: Fault, seed: int) -> tuple[bool, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UncertainRankWarning)  # documented; most small matrices have it
        try:
            return True, fault.attempt(seed)
        except Exception as error:
            message = " ".join(str(error).split())
            return False, f"{type(error).__name__}: {message}"[:SHOWN]


def _exit(code: int | None) -> str:
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"


SOLVERS = ("pasm", "s-ipalm", "ipalm", "palm")
GRIDS = ("exact", "adaptive")
COUNTS: dict[str, Any] = {"beta_loss": "kullback-leibler"}
ENGINES = ("auto", "direct", "compressed")
LARGEST_SIDE = 24
ROUNDING = 1e-6
"""Of ‖X‖²: how far losses in single precision may be off."""

Draw = Callable[[np.random.Generator, int, int], Array]


def _low_rank(rng: np.random.Generator, n: int, m: int) -> Array:
    rank = int(rng.integers(1, 5))
    return rng.random((n, rank)) @ rng.random((rank, m))


def _one_entry(rng: np.random.Generator, n: int, m: int) -> Array:
    X = np.zeros((n, m))
    X[rng.integers(n), rng.integers(m)] = 1.0
    return X


def _repeated(rng: np.random.Generator, n: int, m: int) -> Array:
    return rng.random((n, m))[rng.integers(n, size=n)][:, rng.integers(m, size=m)]


KINDS: dict[str, Draw] = {
    "uniform": lambda rng, n, m: rng.random((n, m)),
    "sparse": lambda rng, n, m: rng.random((n, m)) * (rng.random((n, m)) < 0.2),
    "counts": lambda rng, n, m: rng.poisson(1.0, (n, m)).astype(float),
    "of low rank": _low_rank,
    "with rows and columns repeated": _repeated,
    "with columns nearly repeated": lambda rng, n, m: _repeated(rng, n, m) * (1 + 1e-9 * rng.random((n, m))),
    "constant": lambda rng, n, m: np.full((n, m), 3.0),
    "of two blocks": lambda rng, n, m: np.kron(np.eye(2), rng.random((n, m))),
    "of one entry": _one_entry,
    "identity": lambda rng, n, m: np.eye(n, m),
    "over six decades": lambda rng, n, m: 10.0 ** rng.uniform(-6, 0, (n, m)),
}
STORAGES: tuple[Callable[[Array], Any], ...] = (
    np.ascontiguousarray,
    np.asfortranarray,
    lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    sparse.csr_matrix,
    sparse.csc_array,
    sparse.coo_matrix,
)
SCALES = (1.0, 1.0, 1e8, 1e-8, 1e100, 1e-100)


def matrix(rng: np.random.Generator, *, least: int = 1) -> Any:
    """A matrix that may be factorised, in any storage that may be passed."""
    X = np.zeros((1, 1))
    while not X.any():
        n, m = (int(side) for side in rng.integers(least, LARGEST_SIDE + 1, size=2))
        X = KINDS[list(KINDS)[rng.integers(len(KINDS))]](rng, n, m)
    scale = SCALES[rng.integers(len(SCALES))]
    single = 1e-10 < scale < 1e10 and rng.random() < 0.3
    X = (scale * X).astype(np.float32 if single else np.float64)
    return STORAGES[rng.integers(len(STORAGES))](X)


def options(rng: np.random.Generator, *, compressed: bool = True) -> dict[str, Any]:
    """Engine and initialisation; solvers and grids have lines of their own."""
    engines = ENGINES if compressed else ENGINES[:2]
    return {
        "engine": engines[rng.integers(len(engines))],
        "init": ("random", "random", "nndsvd", "nndsvda")[rng.integers(4)],
        "n_starts": int(rng.integers(1, 3)),
        "random_state": int(rng.integers(1000)),
    }


def check_factor(*factors: Array) -> None:
    for factor in factors:
        require(np.isfinite(factor).all(), "a factor is not finite")
        require(np.min(factor, initial=0.0) >= 0, "a factor is negative")


def check_path(path: RankPath, X: Any = None) -> None:
    """Finite, nonnegative, no component zero, and no loss above that of the best matrix of rank one.

    Factors of a compressed X are in single precision, where components that are 1e45 times smaller than
    others are zero. With X, the path's own loss of rank one is checked as well.
    """
    require(len(path.points) > 0, "the path is empty")
    require(np.isfinite(path.losses).all(), "a loss is not finite")
    for point in path.points:
        check_factor(point.U, point.V)
        nonzero = point.U.any(axis=0) & point.V.any(axis=0)
        require(nonzero.all() or path.settings["engine"] == "compressed", "a component is zero")
    check_loss(path.losses.max(), path, X)


def check_loss(loss: float, path: RankPath, X: Any = None) -> None:
    """No more than the best matrix of rank one leaves."""
    unit = 0.5 * path.squared_norm
    best = path.rank_one_loss
    if X is not None:
        best, unit = rank_one(X, path.beta_loss)
        off = abs(path.rank_one_loss - best) / unit
        require(off <= ROUNDING, f"the loss of rank one is off by {off:.3g}")
    require(loss / unit <= best / unit + ROUNDING, f"loss {loss / unit:.8g}, at rank one {best / unit:.8g}")


def rank_one(X: Any, beta_loss: str = "frobenius") -> tuple[float, float]:
    """The loss of the best matrix of rank one, by other means, and what losses are compared with."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if beta_loss == "frobenius":
        squares = np.linalg.svd(X, compute_uv=False) ** 2
        return 0.5 * squares[1:].sum(), 0.5 * squares.sum()
    expected = np.outer(X.sum(axis=1), X.sum(axis=0)) / X.sum()
    return float(kl_div(X, expected).sum()), float(X.sum())


def check_model(model: AutoNMF, *factors: Array, X: Any = None) -> None:
    """As a path; counts may be fitted with weights of their own, under which another matrix is the best."""
    check_factor(model.components_, *factors)
    require(np.isfinite(model.reconstruction_err_), "the error is not finite")
    if model.path_.beta_loss == "frobenius":
        check_loss(0.5 * model.reconstruction_err_**2, model.path_, X)


def same(first: RankPath, second: RankPath) -> bool:
    """Equal to the last bit."""
    return np.array_equal(first.ranks, second.ranks) and all(
        np.array_equal(p.U, q.U) and np.array_equal(p.V, q.V) and p.loss == q.loss
        for p, q in zip(first.points, second.points, strict=True)
    )


@contextmanager
def documented_warnings() -> Iterator[None]:
    """Those that say what to do about a fit: it has not converged, or needs fewer components."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", ".* components vanished on the path", UserWarning)
        yield
