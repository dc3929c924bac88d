"""From a path of X with scaled rows and columns to one of X."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.model.balancing import balance
from autonmf.path.result import PathPoint, RankPath

Scales = tuple[Array, Array]
"""(a, b): if U, V are factors of diag(a)⁻¹ X diag(b)⁻¹, diag(a) U, diag(b) V are those of X."""


def rescaled(path: RankPath, scales: Scales | None) -> RankPath:
    """The path with factors of X. Losses and λ stay those of the scaled matrix: they are weighted."""
    if scales is None:
        return path
    return replace(path, points=tuple(_rescaled(point, *scales) for point in path.points))


def scaled_init(init: str | tuple[Any, Any], scales: Scales | None) -> str | tuple[Any, Any]:
    """Given factors of X as those of the scaled matrix; `initial_point` says what is wrong with others."""
    if scales is None or isinstance(init, str):
        return init
    a, b = scales
    U, V = (np.asarray(factor) for factor in init)
    tables = all(factor.ndim == 2 and factor.dtype.kind in "biuf" for factor in (U, V))
    if not tables or (len(U), len(V)) != (len(a), len(b)):
        return init
    return U / a[:, None], V / b[:, None]


def _rescaled(point: PathPoint, a: Array, b: Array) -> PathPoint:
    U, V = balance(point.U * a[:, None], point.V * b[:, None])
    order = np.argsort(-np.square(U).sum(axis=0), kind="stable")
    U, V = (np.asfortranarray(factor[:, order], dtype=point.U.dtype) for factor in (U, V))
    return replace(point, U=U, V=V)
