"""What X may be, and may not be, for every entry point that takes one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from drawn import check_factor, documented_warnings, options
from entries import answer, baseline, compare, discrete, fit_given, path
from faults import Fault, require
from scipy import sparse

from autonmf import AutoNMF
from autonmf._types import Array
from autonmf.baselines import METHODS
from autonmf.datasets import make_low_rank

Entry = Callable[[Any, np.random.Generator], str]


def _fit(X: Any, rng: np.random.Generator) -> str:
    model = AutoNMF(**options(rng))
    W = model.fit_transform(X)
    check_factor(W, model.components_)
    require(np.isfinite(model.reconstruction_err_), "the error is not finite")
    return "answered"


TAKERS: tuple[Entry, ...] = (
    path, partial(path, evened=True), partial(path, grid="adaptive", n_points=8),
    _fit, fit_given, discrete, compare,
    *(partial(baseline, name) for name in METHODS),
)  # fmt: skip


def base(seed: int) -> Array:
    return make_low_rank(14, 11, rank=2, random_state=seed)[0]


def with_entry(X: Array, value: object, rng: np.random.Generator) -> Array:
    changed = X.astype(object if isinstance(value, str) or value is None else np.float64)
    changed[rng.integers(len(X)), rng.integers(X.shape[1])] = value
    return changed


def duplicated(X: Array) -> Any:
    """COO whose entries are in two halves."""
    half = sparse.coo_matrix(X / 2)
    indices = np.concatenate([half.row, half.row]), np.concatenate([half.col, half.col])
    return sparse.coo_matrix((np.concatenate([half.data, half.data]), indices), shape=X.shape)


def unsorted(X: Array) -> Any:
    """CSR whose indices decrease along each row."""
    matrix = sparse.csr_matrix(X)
    for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        matrix.indices[start:end] = matrix.indices[start:end][::-1].copy()
        matrix.data[start:end] = matrix.data[start:end][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


def wide_indices(X: Array) -> Any:
    matrix = sparse.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def explicit_zeros(X: Array) -> Any:
    matrix = sparse.csr_matrix(X)
    matrix.data[::3] = 0.0
    return matrix


def read_only(X: Array) -> Array:
    X = X.copy()
    X.setflags(write=False)
    return X


def frame(X: Array, text: bool) -> Any:
    import pandas as pd

    table = pd.DataFrame(X, columns=[f"gene {j}" for j in range(X.shape[1])])
    return table.assign(name="cell") if text else table


Make = Callable[[Array, np.random.Generator], Any]

REFUSED: dict[str, Make] = {
    "no rows": lambda X, rng: X[:0],
    "no columns": lambda X, rng: X[:, :0],
    "one dimension": lambda X, rng: X[0],
    "three dimensions": lambda X, rng: X[None],
    "NaN": lambda X, rng: with_entry(X, np.nan, rng),
    "infinity": lambda X, rng: with_entry(X, np.inf, rng),
    "a negative entry": lambda X, rng: with_entry(X, -1e-3, rng),
    "all zeros": lambda X, rng: 0 * X,
    "complex numbers": lambda X, rng: X + 1j,
    "strings": lambda X, rng: X.astype(str),
    "objects, one of them a word": lambda X, rng: with_entry(X, "high", rng),
    "objects, one of them None": lambda X, rng: with_entry(X, None, rng),
    "a ragged list": lambda X, rng: [[1.0, 2.0], [3.0]],
    "None": lambda X, rng: None,
    "a masked array": lambda X, rng: np.ma.array(X, mask=X > 1),
    "entries of 1e300": lambda X, rng: 1e300 * X,
    "entries of 1e-300": lambda X, rng: 1e-300 * X,
    "subnormal entries": lambda X, rng: 1e-310 * X,
    "sparse with NaN": lambda X, rng: sparse.csr_matrix(with_entry(X, np.nan, rng)),
    "sparse with a negative entry": lambda X, rng: sparse.csc_matrix(with_entry(X, -1.0, rng)),
    "sparse without entries": lambda X, rng: sparse.csr_matrix(X.shape),
    "a data frame with a column of text": lambda X, rng: frame(X, text=True),
}
ANSWERED: dict[str, Make] = {
    "rows of zeros": lambda X, rng: X * (rng.permutation(len(X)) > 4)[:, None],
    "columns of zeros": lambda X, rng: X * (rng.permutation(X.shape[1]) > 4),
    "integers": lambda X, rng: np.ceil(X).astype(np.int32),
    "bytes": lambda X, rng: np.ceil(X).astype(np.uint8),
    "booleans": lambda X, rng: X > 1,
    "float16": lambda X, rng: X.astype(np.float16),
    "float32": lambda X, rng: X.astype(np.float32),
    "longdouble": lambda X, rng: X.astype(np.longdouble),
    "big-endian": lambda X, rng: X.astype(">f8"),
    "objects that are numbers": lambda X, rng: X.astype(object),
    "read-only memory": lambda X, rng: read_only(X),
    "Fortran order": lambda X, rng: np.asfortranarray(X),
    "a view with strides": lambda X, rng: np.repeat(np.repeat(X, 2, 0), 3, 1)[::2, ::3],
    "a view backwards": lambda X, rng: X[::-1, ::-1],
    "a data frame": lambda X, rng: frame(X, text=False),
    "a list of lists": lambda X, rng: X.tolist(),
    "one huge entry, 1e100": lambda X, rng: with_entry(X, 1e100, rng),
    "sparse with explicit zeros": lambda X, rng: explicit_zeros(X),
    "sparse with duplicates": lambda X, rng: duplicated(X),
    "sparse with unsorted indices": lambda X, rng: unsorted(X),
    "sparse with 64-bit indices": lambda X, rng: wide_indices(X),
    **{f"sparse in {kind} format": lambda X, rng, kind=kind: sparse.csr_matrix(X).asformat(kind)
       for kind in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")},
}  # fmt: skip
EITHER: dict[str, Make] = {
    "one row": lambda X, rng: X[:1] + 0.1,
    "one column": lambda X, rng: X[:, :1] + 0.1,
    "one entry": lambda X, rng: np.array([[2.0]]),
    "two by two": lambda X, rng: X[:2, :2] + 0.1,
}


def attempt(make: Make, expected: str, first: int, seed: int) -> str:
    """Pass one such X to the entry point whose turn it is; kinds begin with different ones."""
    rng = np.random.default_rng(seed)
    X = make(base(seed), rng)
    turn = (first + seed) % len(TAKERS)
    with documented_warnings():
        said = answer(TAKERS[turn], X, rng)
    require(said.startswith(expected), f"{said} by entry point {turn}")
    return said


@cache
def fitted() -> AutoNMF:
    return AutoNMF(random_state=0).fit(base(0))


def rows_to_transform(seed: int) -> str:
    """New rows for a fitted model: strange ones are refused, zeros and any size are projected."""
    rng = np.random.default_rng(seed)
    X, model = base(0), fitted()
    bad = (with_entry(X, np.nan, rng), with_entry(X, np.inf, rng), with_entry(X, -1.0, rng), X[:, 1:], X + 1j)
    good = (0 * X[:2], 1e-100 * X, 1e100 * X, sparse.csr_matrix(X), X.astype(np.float32), X[:1])
    if seed % 2:
        said = answer(lambda rows, _: str(model.transform(rows)), bad[rng.integers(len(bad))], rng)
        require(said.startswith("refused"), "a strange row was projected")
        return said
    check_factor(model.transform(good[rng.integers(len(good))]))
    return "answered"


def _lines() -> list[Fault]:
    turns = len(TAKERS)
    kinds = [
        (REFUSED, "refused", "refused, by every entry point"),
        (ANSWERED, "answered", "a sound answer, by every entry point"),
        (EITHER, "", "a sound answer, or refused as too small"),
    ]
    lines = [
        Fault(name, promise, partial(attempt, make, expected, 3 * first),
              turns if expected == "refused" else 3, 2 * turns)
        for makers, expected, promise in kinds
        for first, (name, make) in enumerate(makers.items())
    ]  # fmt: skip
    new = "strange rows refused; zeros and any size projected"
    return [*lines, Fault("rows to transform", new, rows_to_transform, 20, 200)]


INPUTS = _lines()
