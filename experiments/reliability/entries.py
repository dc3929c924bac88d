"""Every entry point: on matrices of every kind, and on what X may and may not be."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from autonmf import AutoNMF, RankPath, compare_ranks, rank_path, select_rank
from autonmf.baselines import METHODS, discrete_path
from autonmf.datasets import make_low_rank
from experiments.core import Array, equilibrate
from experiments.reliability.faults import (
    COUNTS,
    GRIDS,
    SOLVERS,
    Fault,
    check_factor,
    check_model,
    check_path,
    documented_warnings,
    matrix,
    options,
    require,
    same,
)

SOUND = "a finite, nonnegative result, no worse than rank one"
FINITE = "a finite, nonnegative result"
HOLDING_BACK = ("cv-wold", "cv-bicv")
"""Methods that need enough data to hold some back."""
SLOW = ("stability", "cv-wold", "cv-bicv", "ard")


def call(entry: Callable[[Any, np.random.Generator], str], seed: int, *, may_refuse: bool = False) -> str:
    """One call, and its outcome: an answer, and only from some entry points an error that X is too small."""
    rng = np.random.default_rng(seed)
    X = matrix(rng)
    with documented_warnings():
        return answer(entry, X, rng) if may_refuse else entry(X, rng)


def answer(entry: Callable[[Any, np.random.Generator], str], X: Any, rng: np.random.Generator) -> str:
    """What an entry point says to X."""
    try:
        return entry(X, rng)
    except (ValueError, TypeError) as error:
        require(len(str(error)) > 20, f"{type(error).__name__} without an explanation: {error}")
        return f"refused: {type(error).__name__}"


def dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def smaller_side(X: Any) -> int:
    """Of a matrix; 2 of what is none."""
    shape = getattr(X, "shape", ())
    return max(min(shape), 1) if len(shape) == 2 else 2


def path(X: Any, rng: np.random.Generator, **fixed: Any) -> str:
    compressed = fixed.get("beta_loss") is None
    check_path(rank_path(X, **options(rng, compressed=compressed) | fixed), X)
    return "valid result"


def masked_path(X: Any, rng: np.random.Generator) -> str:
    holes = dense(X).astype(float)
    holes[rng.random(holes.shape) < 0.1] = np.nan
    if not np.nansum(holes):
        return "only zeros known, skipped"
    found = rank_path(
        holes,
        missing="mask",
        **equilibrate(bool(rng.integers(2))),
        random_state=0,
        solver=SOLVERS[rng.integers(4)],
    )
    check_path(found)
    return "valid result"


def weighted_path(X: Any, rng: np.random.Generator) -> str:
    X = dense(X)
    found = rank_path(
        X, weights=rng.uniform(0.1, 10, X.shape), **equilibrate(bool(rng.integers(2))), random_state=0
    )
    check_path(found)
    return "valid result"


def fit(X: Any, rng: np.random.Generator) -> str:
    return _check_fit(
        AutoNMF(solver=SOLVERS[rng.integers(4)], grid=GRIDS[rng.integers(2)], **options(rng)), X
    )


def fit_counts(X: Any, rng: np.random.Generator) -> str:
    return _check_fit(AutoNMF(**COUNTS, **options(rng, compressed=False)), X)


def _check_fit(model: AutoNMF, X: Any) -> str:
    W = model.fit_transform(X)
    check_model(model, W, X=X)
    check_factor(model.transform(X))
    for rank in (int(rank) for rank in model.path_.ranks):
        check_model(model.at_rank(rank), X=X)
        check_model(model.at_rank(rank, X), X=X)
    return "valid result"


def fit_given(X: Any, rng: np.random.Generator, **fixed: Any) -> str:
    rank = int(rng.integers(1, smaller_side(X) + 1))
    fixed = fixed or {"solver": SOLVERS[rng.integers(4)]}
    model = AutoNMF(rank, **fixed, random_state=0)
    check_model(model, model.fit_transform(X), X=X)
    require(model.components_.shape == (rank, np.shape(X)[1]), "another number of components")
    return "valid result"


def report(X: Any, rng: np.random.Generator) -> str:
    with tempfile.TemporaryDirectory() as folder:
        page = AutoNMF(random_state=0).fit(X).report(Path(folder, "report.html"), X=X)
        require(page.stat().st_size > 10_000, "the page is empty")
    return "valid result"


def choice(X: Any, rng: np.random.Generator, **fixed: Any) -> str:
    equilibrated = bool(rng.integers(2))
    found = rank_path(X, **equilibrate(equilibrated), **fixed, random_state=0)
    estimate = select_rank(found, "auto" if found.evidence is not None else "marginal")
    require(estimate.rank in {1, *found.ranks} and estimate.why, "no rank of the path, or no reason")
    require(estimate.rank in estimate.plausible, "the rank is not plausible")
    return "valid result"


def baseline(name: str, X: Any, rng: np.random.Generator) -> str:
    estimate = METHODS[name](X, random_state=int(rng.integers(1000)))
    require(0 <= estimate.rank <= min(np.shape(X)), f"rank {estimate.rank} of {np.shape(X)}")
    require(estimate.why, "no reason")
    return "valid result"


def discrete(X: Any, rng: np.random.Generator) -> str:
    direction: Any = ("increasing", "decreasing")[rng.integers(2)]
    found = discrete_path(X, range(1, min(smaller_side(X), 6) + 1), direction, random_state=0)
    for point in found.points:
        check_factor(point.U, point.V)
    return "valid result"


def compare(X: Any, rng: np.random.Generator) -> str:
    names = rng.choice(list(METHODS), 3, replace=False).tolist()
    comparison = compare_ranks(X, names, random_state=0)
    failed = [a.why for a in comparison.answers if a.failed]
    require(all(why.startswith("ValueError: ") for why in failed), " ".join(failed))
    return "valid result"


def saved(X: Any, rng: np.random.Generator, **fixed: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        found = rank_path(X, **equilibrate(bool(rng.integers(2))), **fixed, random_state=0)
        found.save(Path(folder, "path.npz"))
        require(same(RankPath.load(Path(folder, "path.npz")), found), "other bits")
    return "bitwise identical"


def generated(seed: int) -> str:
    rng = np.random.default_rng(seed)
    n, m, rank = (int(size) for size in rng.integers(-1, 30, size=3))
    noise = float(rng.choice([0.0, 0.1, 1e3, -1.0, np.nan]))
    try:
        X, U, V = make_low_rank(n, m, rank, noise, random_state=seed)
    except ValueError:
        require(min(n, m, rank) < 1 or not noise >= 0, "refused without need")
        return "refused: ValueError"
    require(X.shape == (n, m) and U.shape == (n, rank) and V.shape == (m, rank), "another shape")
    check_factor(X, U, V)
    return "valid result"


def _entry_lines() -> list[Fault]:
    lines = [
        Fault(f'rank_path, "{solver}", {grid} grid', SOUND,
              partial(call, partial(path, solver=solver, grid=grid)),
              3 if grid == "exact" else 1, 100 if grid == "exact" else 30)
        for solver in SOLVERS for grid in GRIDS
    ]  # fmt: skip
    hals, loss = 'rank_path, "hals", exact grid', "Kullback-Leibler loss"
    lines += [
        Fault(hals, SOUND, partial(call, partial(path, solver="hals")), 4, 200),
        Fault(f"rank_path, {loss}", SOUND, partial(call, partial(path, **COUNTS)), 4, 100),
        Fault(
            f"AutoNMF: fit, transform, at_rank of each rank, {loss}", FINITE, partial(call, fit_counts), 4, 60
        ),
        Fault(f"AutoNMF(n_components), {loss}", FINITE, partial(call, partial(fit_given, **COUNTS)), 4, 100),
        Fault(
            f"select_rank, {loss}",
            "a rank of the path, with a reason",
            partial(call, partial(choice, **COUNTS)),
            2,
            100,
        ),
        Fault(
            f"RankPath.save and load, {loss}",
            "bitwise identical",
            partial(call, partial(saved, **COUNTS)),
            2,
            50,
        ),
        Fault("rank_path, equilibrated", SOUND, partial(call, partial(path, **equilibrate())), 4, 120),
        Fault("rank_path(missing='mask'), 10 % missing", SOUND, partial(call, masked_path), 4, 120),
        Fault("rank_path(weights=...)", SOUND, partial(call, weighted_path), 4, 120),
        Fault("AutoNMF: fit, transform, at_rank of each rank", SOUND, partial(call, fit), 8, 120),
        Fault("AutoNMF(n_components)", SOUND, partial(call, fit_given), 4, 120),
        Fault("AutoNMF.report", "a page", partial(call, report), 1, 20),
        Fault("select_rank", "a rank of the path, with a reason", partial(call, choice), 4, 120),
        Fault("discrete_path", FINITE, partial(call, discrete), 3, 100),
        Fault(
            "compare_ranks",
            "every method gives a rank or refuses X as too small",
            partial(call, compare),
            3,
            60,
        ),
        Fault("RankPath.save and load", "bitwise identical", partial(call, saved), 3, 100),
        Fault("make_low_rank, also with invalid sizes", "a matrix, or a ValueError", generated, 50, 1000),
    ]
    lines += [_baseline_line(name) for name in METHODS]
    return [replace(line, counted="inputs") for line in lines]


def _baseline_line(name: str) -> Fault:
    quick, full = (1, 25) if name in SLOW else (3, 100)
    refuses = name in HOLDING_BACK
    return Fault(
        f'baseline "{name}"',
        "a valid rank" + (", or refused as too small" if refuses else ""),
        partial(call, partial(baseline, name), may_refuse=refuses),
        quick,
        full,
    )


ENTRIES = _entry_lines()


Entry = Callable[[Any, np.random.Generator], str]


def _fit(X: Any, rng: np.random.Generator) -> str:
    model = AutoNMF(**options(rng))
    W = model.fit_transform(X)
    check_factor(W, model.components_)
    require(np.isfinite(model.reconstruction_err_), "the error is not finite")
    return "valid result"


TAKERS: tuple[Entry, ...] = (
    path, partial(path, **equilibrate()), partial(path, grid="adaptive", n_points=8), partial(path, **COUNTS),
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


def in_format(kind: Any, X: Array, rng: np.random.Generator) -> Any:
    return sparse.csr_matrix(X).asformat(kind)


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
    "an object array with a string": lambda X, rng: with_entry(X, "high", rng),
    "an object array with None": lambda X, rng: with_entry(X, None, rng),
    "a ragged list": lambda X, rng: [[1.0, 2.0], [3.0]],
    "None": lambda X, rng: None,
    "a masked array": lambda X, rng: np.ma.array(X, mask=X > 1),
    "entries of 1e300": lambda X, rng: 1e300 * X,
    "entries of 1e-300": lambda X, rng: 1e-300 * X,
    "subnormal entries": lambda X, rng: 1e-310 * X,
    "sparse with NaN": lambda X, rng: sparse.csr_matrix(with_entry(X, np.nan, rng)),
    "sparse with a negative entry": lambda X, rng: sparse.csc_matrix(with_entry(X, -1.0, rng)),
    "sparse without nonzeros": lambda X, rng: sparse.csr_matrix(X.shape),
    "a data frame with a column of text": lambda X, rng: frame(X, text=True),
}
ANSWERED: dict[str, Make] = {
    "rows of zeros": lambda X, rng: X * (rng.permutation(len(X)) > 4)[:, None],
    "columns of zeros": lambda X, rng: X * (rng.permutation(X.shape[1]) > 4),
    "integers": lambda X, rng: np.ceil(X).astype(np.int32),
    "bytes": lambda X, rng: np.ceil(X).astype(np.uint8),
    "booleans": lambda X, rng: X.mean() < X,
    "float16": lambda X, rng: X.astype(np.float16),
    "float32": lambda X, rng: X.astype(np.float32),
    "longdouble": lambda X, rng: X.astype(np.longdouble),
    "big-endian": lambda X, rng: X.astype(">f8"),
    "an object array of numbers": lambda X, rng: X.astype(object),
    "read-only memory": lambda X, rng: read_only(X),
    "Fortran order": lambda X, rng: np.asfortranarray(X),
    "a strided view": lambda X, rng: np.repeat(np.repeat(X, 2, 0), 3, 1)[::2, ::3],
    "a reversed view": lambda X, rng: X[::-1, ::-1],
    "a data frame": lambda X, rng: frame(X, text=False),
    "a list of lists": lambda X, rng: X.tolist(),
    "one huge entry, 1e100": lambda X, rng: with_entry(X, 1e100, rng),
    "sparse with explicit zeros": lambda X, rng: explicit_zeros(X),
    "sparse with duplicates": lambda X, rng: duplicated(X),
    "sparse with unsorted indices": lambda X, rng: unsorted(X),
    "sparse with 64-bit indices": lambda X, rng: wide_indices(X),
    **{f"sparse in {kind} format": partial(in_format, kind)
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
    return "valid result"


def _input_lines() -> list[Fault]:
    turns = len(TAKERS)
    kinds = [
        (REFUSED, "refused", "refused by every entry point"),
        (ANSWERED, "valid result", "a valid result from every entry point"),
        (EITHER, "", "a valid result, or refused as too small"),
    ]
    lines = [
        Fault(name, promise, partial(attempt, make, expected, 3 * first),
              turns if expected == "refused" else 3, 2 * turns)
        for makers, expected, promise in kinds
        for first, (name, make) in enumerate(makers.items())
    ]  # fmt: skip
    new = "invalid rows refused; zeros and rows of any scale projected"
    lines.append(Fault("new rows for transform", new, rows_to_transform, 20, 200))
    return [replace(line, counted="inputs") for line in lines]


INPUTS = _input_lines()
