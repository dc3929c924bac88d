"""From what a user passes to a `Data`, or to an error that says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from autonmf._types import Array
from autonmf.data.dense import Dense
from autonmf.data.protocol import Data
from autonmf.data.sparse import Sparse

SQUARE_RANGE = 1e140
"""Root mean squares beyond this, or below its inverse, overflow or vanish when squared."""


def as_data(X: Any) -> Data:
    """Wrap X as `Data`: checked, float32 or float64, and never copied without need.

    Accepted are two-dimensional arrays and data frames of real numbers or booleans and SciPy sparse
    matrices (CSR and CSC as they are, others converted to CSR). float32 and float64 are kept;
    everything else becomes float64, except float16, which becomes float32.

    Raises
    ------
    TypeError
        X is not numeric: complex, strings, masked.
    ValueError
        X is not two-dimensional, is empty, has NaN, infinite or negative entries, is all zeros,
        or is so large or small that its squares do not fit double precision.
    """
    if isinstance(X, Dense | Sparse):
        return X
    data = Sparse(_sparse(X)) if sparse.issparse(X) else Dense(_dense(X))
    lowest, highest = data.extremes
    _check_values(lowest, highest)
    n, m = data.shape
    with np.errstate(over="ignore", under="ignore"):
        rms = np.sqrt(data.squared_norm() / (n * m))
    if not 1 / SQUARE_RANGE < rms < SQUARE_RANGE:
        raise ValueError(
            f"the entries of X reach {highest:.3g}: their squares do not fit double precision. "
            "Divide X by its maximum first; the rank does not depend on the scale."
        )
    return data


def wrap(X: Any) -> Data:
    """An array or CSR/CSC matrix that is known to be fit, as `Data`."""
    return Sparse(X) if sparse.issparse(X) else Dense(X)


def refuse_unfit(X: Any) -> None:
    """Refuse what others would convert without a word: masked arrays, numbers as text, dates."""
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("X is a masked array, and its mask would be ignored. Pass X.filled(value) instead.")
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind not in "biufcO":
        raise TypeError(f"X has dtype {dtype}; NMF needs numbers. Pass numeric columns only.")


def _dense(X: Any) -> Array:
    refuse_unfit(X)
    array = np.asarray(X)
    _check_shape(array.shape)
    array = array.astype(_float_type(array), copy=False)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    return array


def _sparse(X: Any) -> Any:
    _check_shape(X.shape)
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    X = X.astype(_float_type(X), copy=False)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"X must be a matrix (two dimensions), got {len(shape)} dimension(s) with shape {shape}. "
            "Reshape your data: X.reshape(1, -1) for one sample, X.reshape(len(X), -1) for images."
        )
    if 0 in shape:
        raise ValueError(f"X is empty: shape {shape}. At least one row and one column are needed.")


def _float_type(array: Any) -> type[np.floating]:
    kind = array.dtype.kind
    if kind == "f":
        return np.float64 if array.dtype.itemsize > 4 else np.float32
    if kind in "biu":
        return np.float64
    if kind == "c":
        raise TypeError("X is complex. NMF needs nonnegative real numbers: pass abs(X) or X.real.")
    if kind == "O":
        try:
            array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"X holds Python objects that are not numbers ({error}). Pass numeric columns only."
            ) from None
        return np.float64
    raise TypeError(f"X has dtype {array.dtype}; NMF needs numbers. Pass numeric columns only.")


def _check_values(lowest: float, highest: float) -> None:
    if np.isnan(lowest) or np.isnan(highest):
        raise ValueError(
            "X contains NaN. Fill or remove the missing entries first, "
            "for example with sklearn.impute.SimpleImputer."
        )
    if np.isinf(highest) or np.isinf(lowest):
        raise ValueError("X contains infinity. Replace it by finite values first.")
    if lowest < 0:
        raise ValueError(
            f"Negative values in data passed to NMF: the smallest entry of X is {lowest:.6g}. NMF needs "
            "nonnegative data: shift it (X - X.min()), clip it (X.clip(min=0)), or take magnitudes."
        )
    if highest == 0:
        raise ValueError("X is all zeros: there is nothing to factorise.")
