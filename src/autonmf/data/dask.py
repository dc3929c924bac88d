"""A Dask array as `Data`, or an error that says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf.data.spread import Tall, spread_out
from autonmf.data.validation import SQUARE_RANGE, _check_shape, _check_values, _float_type

FILL = (
    "Fill these entries first, for example with dask.array.where(dask.array.isnan(X), 0.0, X), or pass "
    "X.compute() and missing='mask'."
)


def as_spread_data(X: Any, *, missing: str = "error", on_client: bool = False) -> Tall:
    """A Dask array as `Data` whose rows are on the workers of a cluster.

    ``on_client``: the factors that are made from it are arrays on the client.
    """
    if missing != "error":
        raise NotImplementedError(
            "missing entries of a Dask array cannot be left out: fill them first, or pass X.compute()"
        )
    _check_shape(X.shape)
    if X.dtype.kind == "O":
        raise TypeError("X holds Python objects. Pass a Dask array of numbers: X.astype(float).")
    return spread_out(X, np.dtype(_float_type(X)), _check, on_client=on_client)


def _check(lowest: float, highest: float, mean_square: float) -> None:
    """Refuse what `as_data` would, with the same words."""
    _check_values(lowest, highest, FILL)
    if highest == 0:
        raise ValueError("X is all zeros: there is nothing to factorise.")
    if not 1 / SQUARE_RANGE < np.sqrt(mean_square) < SQUARE_RANGE:
        raise ValueError(
            f"the entries of X reach {highest:.3g}: their squares do not fit double precision. "
            "Divide X by its maximum first; the rank does not depend on the scale."
        )
