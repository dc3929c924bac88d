"""Where floating point is thin, and what must not change the answer."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from autonmf import AutoNMF, rank_path
from autonmf.datasets import make_low_rank
from experiments.core import Array, equilibrate
from experiments.reliability.faults import Fault, check_model, check_path, documented_warnings, require, same


def drawn(seed: int, *, noise: float = 0.05) -> tuple[Array, int]:
    """A matrix of known rank, tall or wide."""
    rng = np.random.default_rng(seed)
    n, m = (int(side) for side in rng.integers(30, 90, size=2))
    rank = int(rng.integers(2, 6))
    return make_low_rank(n, m, rank, noise, random_state=seed)[0], rank


def rank_of(X: Array, **options: Any) -> int:
    """The answer, after the usual checks."""
    with documented_warnings():
        model = AutoNMF(random_state=0, **options)
        check_model(model, model.fit_transform(X))
    return model.n_components_


@cache
def _known(seed: int) -> int:
    return rank_of(drawn(seed)[0])


def _agree(what: str, first: int, second: int) -> str:
    require(first == second, f"rank {first}, {what} {second}")
    return "the same rank"


def scaled(factor: float, seed: int) -> str:
    return _agree(f"times {factor:g}", _known(seed), rank_of(factor * drawn(seed)[0]))


def transposed(seed: int) -> str:
    return _agree("transposed", _known(seed), rank_of(drawn(seed)[0].T))


def transposed_square(seed: int) -> str:
    X = make_low_rank(60, 60, 2 + seed % 4, 0.05, random_state=seed)[0]
    return _agree("transposed", rank_of(X), rank_of(X.T))


def permuted(seed: int) -> str:
    X, _ = drawn(seed)
    rng = np.random.default_rng(seed)
    return _agree(
        "permuted", _known(seed), rank_of(X[rng.permutation(len(X))][:, rng.permutation(X.shape[1])])
    )


def single(seed: int) -> str:
    return _agree("in single precision", _known(seed), rank_of(drawn(seed)[0].astype(np.float32)))


def wide_range(seed: int) -> str:
    """Rows and columns over three decades each."""
    X, _ = drawn(seed)
    rng = np.random.default_rng(seed)
    rows, columns = (10.0 ** rng.uniform(-1.5, 1.5, side) for side in X.shape)
    X = rows[:, None] * X * columns
    return _agree("in single precision", rank_of(X), rank_of(X.astype(np.float32)))


def near_duplicates(seed: int) -> str:
    """Every column again, but for one part in 10⁹."""
    X, rank = drawn(seed, noise=0.0)
    rng = np.random.default_rng(seed)
    twice = np.hstack([X, X * (1 + 1e-9 * rng.random(X.shape))])
    with documented_warnings():
        check_path(rank_path(twice, random_state=0))
    require((found := rank_of(twice)) <= rank, f"rank {found} of a matrix of rank {rank}")
    return "no rank above the true one"


def constant(seed: int) -> str:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 60, size=2)
    found = rank_of(np.full((n, m), 10.0 ** rng.uniform(-100, 100)))
    require(found == 1, f"rank {found}")
    return "rank one"


def outer(seed: int) -> str:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 60, size=2)
    found = rank_of(np.outer(rng.random(n), rng.random(m)))
    require(found == 1, f"rank {found}")
    return "rank one"


def deficient(seed: int) -> str:
    """No noise, and fewer components than the path begins with."""
    X, rank = drawn(seed, noise=0.0)
    require((found := rank_of(X)) <= rank, f"rank {found} of a matrix of rank {rank}")
    return "no rank above the true one"


def again(seed: int) -> str:
    X, _ = drawn(seed)
    options = equilibrate(bool(seed % 2)) | {"random_state": seed}
    require(same(rank_path(X, **options), rank_path(X, **options)), "other bits")
    return "bitwise identical"


def threads(seed: int) -> str:
    """Large enough for products in blocks."""
    X = make_low_rank(1300, 820, 4, random_state=seed)[0]
    found = []
    for count in (1, 2):
        with threadpool_limits(count, user_api="blas"):
            found.append(rank_path(X, 8, random_state=0))
    require(same(*found), "other bits")
    return "bitwise identical"


def dominated(which: str, seed: int) -> str:
    """A row, a column or both are a million times as large as the others."""
    X, _ = drawn(seed)
    rng = np.random.default_rng(seed)
    row, column = (int(rng.integers(side)) for side in X.shape)
    X = X.copy()
    X[row] *= 1.0 if which == "column" else 1e6
    X[:, column] *= 1.0 if which == "row" else 1e6
    return _agree(f"with a {which} times a million", _known(seed), rank_of(X))


RANK = "the same rank"
_LINES = [
    Fault("X times 1e8", RANK, lambda seed: scaled(1e8, seed), 3, 25),
    Fault("X times 1e-8", RANK, lambda seed: scaled(1e-8, seed), 3, 25),
    Fault("X times 1e100", RANK, lambda seed: scaled(1e100, seed), 3, 25),
    Fault("X times 1e-100", RANK, lambda seed: scaled(1e-100, seed), 3, 25),
    Fault("X transposed", RANK, transposed, 3, 25),
    Fault("a square X transposed", RANK, transposed_square, 3, 25),
    Fault("rows and columns permuted", RANK, permuted, 3, 25),
    Fault("single instead of double precision", RANK, single, 3, 25),
    Fault("single precision, entries over six orders of magnitude", RANK, wide_range, 3, 25),
    Fault("one row times 1e6", RANK, partial(dominated, "row"), 3, 25),
    Fault("one column times 1e6", RANK, partial(dominated, "column"), 3, 25),
    Fault("one row and one column times 1e6", RANK, partial(dominated, "row and column"), 3, 25),
    Fault("every column nearly duplicated", "no rank above the true one", near_duplicates, 3, 25),
    Fault("a constant matrix, from 1e-100 to 1e100", "rank one", constant, 5, 60),
    Fault("rank one without noise", "rank one", outer, 5, 60),
    Fault("low rank without noise", "no rank above the true one", deficient, 3, 25),
    Fault("two runs with the same seed", "bitwise identical", again, 3, 25),
    Fault("one and two BLAS threads", "bitwise identical", threads, 1, 5),
]
EDGES = [replace(line, counted="inputs") for line in _LINES]
