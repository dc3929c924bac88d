"""Which checkpoint belongs to which search: the same X, options and seed."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy

from autonmf import kernels
from autonmf._threads import one_pool
from autonmf._types import Array
from autonmf.data import Data
from autonmf.data.spread import is_spread
from autonmf.path.checkpoint import Checkpoint
from autonmf.path.options import PathOptions, default_max_rank

WITHOUT_EFFECT = {"n_jobs", "callback", "keep_partial", "checkpoint", "saved", "random_state", "time_budget"}
"""Options that do not change what a complete path holds, or that are looked at by themselves."""


@contextmanager
def checkpointed(options: PathOptions, data: Data, *, evened: bool) -> Iterator[PathOptions]:
    """The options of a search that keeps its stops in ``options.checkpoint``, and goes on from those there.

    A seed that was not given is drawn, and is that of the checkpoint when the search goes on.
    """
    if options.checkpoint is None:
        yield options
        return
    if is_spread(data):
        raise ValueError(
            "a checkpoint is written by one process, but the rows of X are spread over a cluster. Leave out "
            "one of the two"
        )
    given = _given_seed(options)
    seed = int(np.random.default_rng().integers(2**31)) if given is None else given
    identity = {"search": _search(data, options, evened), "seed": seed, "versions": _versions()}
    checkpoint = Checkpoint.open(options.checkpoint, identity)
    try:
        _compare(checkpoint, identity, seed_matters=given is not None)
        yield replace(options, saved=checkpoint, random_state=int(checkpoint.identity["seed"]))
    finally:
        checkpoint.journal.close()


def _given_seed(options: PathOptions) -> int | None:
    if options.time_budget is not None:
        raise ValueError(
            "a checkpoint is for paths that end by themselves: with time_budget the clock decides where they "
            "end, and no two runs are alike. Leave out one of the two"
        )
    seed = options.random_state
    if seed is None or isinstance(seed, int | np.integer):
        return None if seed is None else int(seed)
    raise ValueError("a path with a checkpoint needs an int, or None, as random_state: generators move on")


def _compare(checkpoint: Checkpoint, now: dict[str, Any], *, seed_matters: bool) -> None:
    """Refuse a checkpoint of another search; warn if last bits may differ."""
    file, then = checkpoint.journal.file, checkpoint.identity
    afresh = f"Name another file, or delete {file} to start afresh"
    try:
        different = _differences(then["search"], now["search"])
        if seed_matters:
            different |= _differences({"random_state": then["seed"]}, {"random_state": now["seed"]})
        versions = _differences(then["versions"], now["versions"])
        int(then["seed"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError(f"the checkpoint {file} does not say what it belongs to. {afresh}") from None
    if different:
        raise ValueError(f"the checkpoint {file} belongs to another run: {_listed(different)}. {afresh}")
    if "autonmf" in versions:
        raise ValueError(f"the checkpoint {file} is from another version: {_listed(versions)}. {afresh}")
    if versions:
        warnings.warn(
            f"the checkpoint {file} was begun elsewhere: {_listed(versions)}. The path goes on, but its last "
            "digits may differ from those of a run that was never interrupted",
            UserWarning,
            stacklevel=5,
        )


def _differences(then: dict[str, Any], now: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    pairs = {name: (then.get(name), now.get(name)) for name in sorted({*then, *now})}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _listed(different: dict[str, tuple[Any, Any]]) -> str:
    said = [f"{name} was {then}, is {now}" for name, (then, now) in different.items() if name != "X"]
    entries = (
        ["X has other entries, or another memory order"]
        if "X" in different and "shape" not in different
        else []
    )
    return ", ".join(entries + said)


def _search(data: Data, options: PathOptions, evened: bool) -> dict[str, Any]:
    """What decides every bit of a path, as JSON would hold it."""
    chosen = [f.name for f in fields(options) if f.name not in WITHOUT_EFFECT]
    plain = {name: _plain(getattr(options, name)) for name in chosen}
    if callable(options.budget):
        given = None if isinstance(options.init, str) else np.shape(options.init[0])[-1]
        first = min(given or options.max_rank or default_max_rank(data.shape), *data.shape)
        plain["budget"] = [_plain(options.budget(rank)) for rank in range(options.min_rank, first + 1)]
    shape = {"shape": list(data.shape), "dtype": np.dtype(data.dtype).name}
    return plain | shape | {"evened": evened, "X": fingerprint(data)}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, tuple | list):  # factors
        return [_digest(np.asarray(factor, dtype=np.float64)) for factor in value]
    return repr(value) if is_dataclass(value) else type(value).__qualname__


def _versions() -> dict[str, str]:
    return {
        "autonmf": version("autonmf"),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "kernels": kernels.BACKEND,
    }


def fingerprint(data: Data) -> str:
    """A digest of X, from a pass over it, however it is stored.

    Weighted squares of the rows notice every entry and its place; the residual of a fixed matrix tells
    entries that are missing from zeros.
    """
    n, m = data.shape
    with one_pool():
        squares = data.squares(_irregular(m))
        if data.complete:
            return _digest(squares)
        size = np.sqrt(data.squared_norm() / (n * m))
        U, V = (np.asfortranarray(v[:, None], data.dtype) for v in (size * _irregular(n), _irregular(m)))
        return _digest(np.append(squares, data.squared_residual(U, V)))


def _irregular(length: int) -> Array:
    """Numbers between one and two, no two alike: the multiples of the golden ratio without their integers."""
    multiples = np.arange(1, length + 1) * (0.5 * (5**0.5 - 1))
    return np.asarray(1.0 + multiples % 1.0)


def _digest(array: Array) -> str:
    shape = repr(array.shape).encode()
    return hashlib.sha256(shape + array.astype("<f8").tobytes()).hexdigest()
