"""The matrices of Sections VI-C, VI-D and VI-F, in the paper's orientation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.datasets import (
    Dataset,
    fetch_jasper_ridge,
    fetch_olivetti,
    fetch_pbmc3k,
    fetch_samson,
    fetch_swimmer,
    fetch_urban,
    fetch_wos,
    load_swimmer,
    make_low_rank,
)


@dataclass(frozen=True)
class Input:
    """A matrix, what is known of it and what was done to it."""

    X: Any
    order: int  # the reference order
    preprocessing: str
    U: Array | None = None  # the true factor, where there is one


@dataclass(frozen=True)
class Signal:
    """A row of Table 2."""

    title: str
    order: int  # the reference order of the paper, or of the sample where it is another
    fetch: Callable[..., Dataset]
    options: dict[str, Any]
    bands_first: bool = False  # the paper has samples in columns
    variant: bool = False  # not what the paper used
    files: tuple[str, ...] = ()  # it is used where one of these is at hand, and never downloaded


SIGNALS = {
    "pbmc3k": Signal("PBMC3K, raw counts", 9, fetch_pbmc3k, {}),
    "swimmer-noisy": Signal("Swimmer, noisy", 16, fetch_swimmer, {}),
    "olivetti": Signal("AT&T Faces", 10, fetch_olivetti, {}),
    "wos": Signal("Web of Science, 1000 abstracts", 7, fetch_wos, {}),
    "samson": Signal("Samson", 3, fetch_samson, {}, bands_first=True),
    "jasper-ridge": Signal("Jasper Ridge, 198 bands", 4, fetch_jasper_ridge, {}, bands_first=True),
    "urban": Signal("Urban", 4, fetch_urban, {}, bands_first=True, files=("urban.npz", "Urban_R162.mat")),
    "swimmer": Signal("Swimmer, noise-free", 16, fetch_swimmer, {}, variant=True),
    "pbmc3k-log": Signal("PBMC3K, log-normalised", 9, fetch_pbmc3k, {"normalize": True}, variant=True),
}
"""The data sets by the names that cells use."""


def signal(name: str, data_home: str | None = None) -> Input:
    """A data set of Table 2."""
    if name == "swimmer":
        return Input(load_swimmer(), 16, "Zeros and ones, built in code.")
    kind = SIGNALS[name]
    found = kind.fetch(**kind.options, data_home=data_home, download=not kind.files)
    X = found.X.T if kind.bands_first else found.X
    return Input(X, kind.order, found.preprocessing)


def diagnostic(
    data: str, noise: float, seed: int, size: tuple[int, int], rank: int, data_home: str | None = None
) -> Input:
    """The synthetic matrix of Sections VI-C and VI-D, or a Swimmer."""
    if data == "synthetic":
        X, U, _ = make_low_rank(*size, rank, noise, random_state=seed)
        return Input(X, rank, "As generated.", U)
    return signal("swimmer" if noise == 0 else "swimmer-noisy", data_home)


def relative(loss: float, X: Any) -> float:
    """‖X - UVᵀ‖/‖X‖ from ½‖X - UVᵀ‖²."""
    squares = float(X.multiply(X).sum()) if hasattr(X, "multiply") else float(np.sum(np.square(X)))
    return float(np.sqrt(2.0 * max(loss, 0.0) / squares))
