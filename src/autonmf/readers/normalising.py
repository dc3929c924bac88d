"""What people do to counts before they factorise them; a sparse matrix stays sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from autonmf._types import Array

NORMALISATIONS = ("log1p", "tfidf", "max")
"""The names that `normalized` knows."""


def normalized(X: Any, how: str) -> Any:
    """X normalised in one of three usual ways.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, m)
        Nonnegative numbers, samples in rows.
    how : {"log1p", "tfidf", "max"}
        "log1p" scales each row to the median of the rows' totals (of those that are not zero, as scanpy
        does by default), then takes log(1 + x). "tfidf" weights words as scikit-learn's
        `TfidfTransformer` does by default: smoothed idf, rows of unit length. "max" divides X by its
        largest entry, which changes its unit and nothing else.

    Returns
    -------
    array or sparse matrix of floats
        X itself is left as it was.

    Examples
    --------
    >>> import numpy as np
    >>> from autonmf.readers.normalising import normalized
    >>> normalized(np.array([[1, 3], [0, 5]]), "max").tolist()
    [[0.2, 0.6], [0.0, 1.0]]
    >>> np.expm1(normalized(np.array([[1, 3], [0, 8]]), "log1p")).sum(axis=1).round(12).tolist()
    [6.0, 6.0]
    """
    if how not in NORMALISATIONS:
        raise ValueError(f"unknown normalisation {how!r}; choose one of {', '.join(NORMALISATIONS)}")
    X = _floating(X)
    values = X.data if _is_sparse(X) else X
    if not np.isfinite(values).all():
        raise ValueError("X contains NaN or infinity. Fill or remove these first")
    if values.size and values.min() < 0:
        raise ValueError("X has negative entries; only nonnegative numbers can be normalised")
    return {"log1p": _log1p, "tfidf": _tfidf, "max": _max}[how](X)


def _log1p(X: Any) -> Any:
    totals = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
    seen = totals > 0
    target = np.median(totals[seen]) if seen.any() else 0.0
    scale = np.divide(target, totals, out=np.zeros_like(totals), where=seen)
    scaled = _rows_scaled(X, scale)
    return scaled.log1p() if _is_sparse(scaled) else np.log1p(scaled)


def _rows_scaled(X: Any, scale: Array) -> Any:
    if not _is_sparse(X):
        return X * scale.astype(X.dtype)[:, None]
    from scipy import sparse

    return sparse.diags(scale.astype(X.dtype), format=X.format) @ X


def _tfidf(X: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfTransformer

    weights = TfidfTransformer().fit_transform(X)
    return weights if _is_sparse(X) else weights.toarray()


def _max(X: Any) -> Any:
    largest = X.max() if min(X.shape) else 0
    return (X / largest).astype(X.dtype, copy=False) if largest > 0 else X


def _floating(X: Any) -> Any:
    """A copy in single or double precision; a sparse one with each entry once and no zeros."""
    if not _is_sparse(X):
        X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"X must be a matrix of real numbers, got {X.ndim} dimension(s) of {X.dtype}")
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    if not _is_sparse(X):
        return X.astype(dtype)
    X = (X if X.format in ("csr", "csc") else X.tocsr()).astype(dtype)  # a copy, also of equal type
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def _is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr")
