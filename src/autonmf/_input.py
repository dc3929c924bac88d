"""What an estimator is given: checked as scikit-learn wants it, then opened as `Data`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_n_features, validate_data

from autonmf.data import Data, Stored, as_weighted_data, filled, is_stored, opened, refuse_unfit
from autonmf.data.dask import as_spread_data
from autonmf.data.spread import is_dask
from autonmf.path import Scales

_FORMAT: dict[str, Any] = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32]}


def checked(estimator: Any, X: Any, *, reset: bool = True) -> Any:
    """X as scikit-learn wants it; values are checked by as_data, in one pass and with advice.

    What lies in a file or on a cluster stays there: scikit-learn would load it.
    """
    X = filled(X) if estimator.missing == "mask" else X
    X = opened(X) if is_stored(X) else X
    if isinstance(X, Stored) or is_dask(X):
        _check_n_features(estimator, X, reset=reset)
        return X
    refuse_unfit(X)
    return validate_data(estimator, X, reset=reset, ensure_all_finite=False, **_FORMAT)


@contextmanager
def opened_data(
    X: Any, missing: str, sample_weight: Any = None, weights: Any = None
) -> Iterator[tuple[Data, Scales | None]]:
    """X for as long as it is read: a Dask array occupies workers, perhaps of a cluster of our own."""
    if not is_dask(X) or sample_weight is not None or weights is not None:
        yield as_weighted_data(X, missing=missing, sample_weight=sample_weight, weights=weights)
        return
    data = as_spread_data(X, missing=missing)
    try:
        yield data, None
    finally:
        data.close()
