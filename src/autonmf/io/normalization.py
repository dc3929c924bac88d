"""Usual normalisations of counts; a sparse matrix stays sparse."""

from __future__ import annotations

from typing import Any

NORMALIZATIONS = ("log1p", "tfidf", "max")
"""The names that `normalize` knows."""


def normalize(X: Any, how: str) -> Any:
    """Normalise X in one of three usual ways.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, m)
        Nonnegative numbers, samples in rows.
    how : {"log1p", "tfidf", "max"}
        "log1p" scales each row to the median of the nonzero row sums (scanpy's default), then takes
        log(1 + x). "tfidf" weights words as scikit-learn's `TfidfTransformer` does by default: smoothed
        idf, rows of unit length. "max" divides X by its largest entry.

    Returns
    -------
    array or sparse matrix of floats
        A copy; X is not changed.

    Examples
    --------
    >>> import numpy as np
    >>> from autonmf.io import normalize
    >>> normalize(np.array([[1, 3], [0, 5]]), "max").tolist()
    [[0.2, 0.6], [0.0, 1.0]]
    >>> np.expm1(normalize(np.array([[1, 3], [0, 8]]), "log1p")).sum(axis=1).round(12).tolist()
    [6.0, 6.0]
    """
    if how not in NORMALIZATIONS:
        raise ValueError(f"unknown normalisation {how!r}; choose one of {', '.join(NORMALIZATIONS)}")
    import numpy as np

    X = _to_float(X)
    values = X.data if _is_sparse(X) else X
    if not np.isfinite(values).all():
        raise ValueError("X contains NaN or infinity. Fill or remove these first")
    if values.size and values.min() < 0:
        raise ValueError("X has negative entries; only nonnegative numbers can be normalised")
    if how == "tfidf":
        from sklearn.feature_extraction.text import TfidfTransformer

        weights = TfidfTransformer().fit_transform(X)
        return weights if _is_sparse(X) else weights.toarray()
    if how == "max":
        largest = X.max() if min(X.shape) else 0
        return (X / largest).astype(X.dtype, copy=False) if largest > 0 else X
    return log_normalize(X)


def log_normalize(X: Any, target: float | None = None) -> Any:
    """Scale each row to the sum ``target``, then take log(1 + x); an empty row stays empty.

    The default is the median of the nonzero row sums.
    """
    import numpy as np
    from scipy import sparse

    totals = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
    seen = totals > 0
    if target is None:
        target = np.median(totals[seen]) if seen.any() else 0.0
    scale = np.divide(target, totals, out=np.zeros_like(totals), where=seen).astype(X.dtype)
    if not _is_sparse(X):
        return np.log1p(X * scale[:, None])
    return (sparse.diags(scale, format=X.format) @ X).log1p()


def _to_float(X: Any) -> Any:
    """Copy X in single or double precision; a sparse one with each entry once and no zeros."""
    import numpy as np

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
