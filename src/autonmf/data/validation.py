"""From what a user passes to `Data`, or to an error that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Literal, cast

import numpy as np
from scipy import sparse

from autonmf._types import Array
from autonmf.data.dense import Dense
from autonmf.data.masked import Masked, MaskedSparse
from autonmf.data.protocol import Data
from autonmf.data.scaling import Scaled, Scaling
from autonmf.data.sparse import Sparse
from autonmf.data.streamed import Stored, Streamed, open_stored
from autonmf.data.weights import Weighting, check_sample_weight, check_weights, split_weights

SQUARE_RANGE = 1e140
"""If the root mean square is above this, or below its inverse, squares overflow or underflow."""

FEW_NAMES = 5
"""Names of matrices that a message lists."""

MISSING = ("error", "mask")

STORED_ATTRIBUTES = ("shape", "dtype", "__getitem__")
"""Attributes of a stored matrix that files and groups do not have."""

STORING_LIBRARIES = ("h5py", "zarr", "anndata")

UnknownLines = Literal["zeros", "missing"]
"""How rows and columns without a known entry are treated; in a fit, which cannot determine them, as zeros."""

LEAVE_OUT = (
    "Pass missing='mask' to leave these entries out, or fill them first, for example with "
    "sklearn.impute.SimpleImputer."
)


@dataclass(frozen=True, eq=False)
class OpenedData:
    """X ready for a search, with what is needed to return results for the X of the caller."""

    data: Data  # X with its rows and columns scaled by weights
    scaling: Scaling = field(default_factory=Scaling)  # from X to ``data``
    weighted: bool = False  # whether losses are weighted

    @property
    def keeps_rows_remote(self) -> bool:
        """Whether left factors stay on the workers that hold X, so that every use of them costs a task."""
        return False

    def check_options(self, options: Any) -> None:
        """Refuse options of a search that these data do not allow."""

    def present_rows(self, U: Any, V: Array, project: Callable[[Any, Array], Array]) -> Any:
        """A left factor as the caller gets it; ``project(rows of X, V)`` computes it again."""
        return U


def is_stored(X: Any) -> bool:
    """Whether X is a matrix in a file: a memory map, an HDF5 or zarr array, a backed AnnData matrix."""
    known = type(X).__module__.split(".")[0] in STORING_LIBRARIES
    return isinstance(X, np.memmap) or (known and all(hasattr(X, name) for name in STORED_ATTRIBUTES))


def as_data(X: Any, *, missing: str = "error") -> Data:
    """Check X and wrap it as `Data` in float32 or float64, without a copy unless one is needed.

    X may be a two-dimensional array or data frame of real numbers or booleans, a SciPy sparse matrix (formats
    other than CSR and CSC are converted to CSR), or a matrix in a file. float32 and float64 are kept, float16
    becomes float32, and all other types become float64. With ``missing="mask"``, NaN and masked entries of
    masked arrays are missing entries; in a sparse matrix only NaN that is stored. Raises a TypeError if X is
    not numeric, and a ValueError if its shape or its values are not valid for NMF.
    """
    if hasattr(X, "squared_residual"):  # it is `Data` already
        return cast(Data, X)
    data, highest = _open_values(X, missing, "zeros")
    if highest == 0:
        what = "all zeros" if data.complete else "missing or zero everywhere"
        raise ValueError(f"X is {what}: there is nothing to factorise.")
    n, m = data.shape
    with np.errstate(over="ignore", under="ignore"):
        check_scale(highest, data.squared_norm() / (n * m))
    return _orient(data)


def as_rows(X: Any, *, missing: str = "error", weights: Any = None) -> Data:
    """Check and wrap rows that are projected on components; unlike in `as_data`, rows may be zero."""
    data, highest = _open_values(X, missing, "missing")
    if highest > SQUARE_RANGE:
        raise ValueError(f"{_too_large(highest)}.")
    if weights is not None:
        data = _weight(data, check_weights(weights, data.shape), unknown_lines="missing")
    return _orient(data)


def _open_values(X: Any, missing: str, unknown_lines: UnknownLines) -> tuple[Data, float]:
    """X after all checks of its values, with missing entries masked if asked, and its largest entry."""
    known = _wrap_known(X, missing)
    data: Data = known
    if missing == "mask" and np.isnan(known.extremes).any():
        data, known = mask_missing(known, unknown_lines=unknown_lines)
    check_values(*known.extremes)
    return data, known.extremes[1]


def open_data(
    X: Any, *, missing: str = "error", sample_weight: Any = None, weights: Any = None, power: float = 0.5
) -> OpenedData:
    """X whose loss is weighted as asked. Samples of weight zero are left out.

    Weights w count like X and its fit times w^power: ½ with least squares, 1 with the Kullback-Leibler loss.
    """
    if sample_weight is None and weights is None:
        return OpenedData(as_data(X, missing=missing))
    n, m = X.shape if hasattr(X, "shape") else np.shape(X)
    rows = np.ones(n) if sample_weight is None else check_sample_weight(sample_weight, n)
    entries = None if weights is None else check_weights(weights, (n, m))
    if not rows.all():
        if isinstance(X, Stored):
            raise ValueError("samples of weight zero are left out, which needs X in memory: pass X[:]")
        kept = rows > 0
        X, rows, entries = X[kept], rows[kept], None if entries is None else entries[kept]
    data = as_data(X, missing=missing)
    split = Weighting(rows, np.ones(m))
    if entries is not None:
        split = split_weights(entries * rows[:, None])
    if split.omega is not None:
        data = _weight(data, split.omega)
        if data.squared_norm() == 0.0:
            raise ValueError("X is zero wherever its weights are not: there is nothing to factorise.")
    scaling = Scaling(split.alpha[:, None] ** -power, split.beta[:, None] ** -power)
    return OpenedData(scaling.apply(data), scaling, weighted=True)


def wrap(X: Any) -> Dense | Sparse:
    """An array or CSR/CSC matrix as `Data`, without checks."""
    return Sparse(X) if sparse.issparse(X) else Dense(X)


def check_scale(highest: float, mean_square: float) -> None:
    """Refuse entries whose squares overflow or underflow."""
    if not 1 / SQUARE_RANGE < np.sqrt(mean_square) < SQUARE_RANGE:
        raise ValueError(f"{_too_large(highest)}; the rank does not depend on the scale.")


def _too_large(highest: float) -> str:
    return (
        f"the entries of X reach {highest:.3g}: their squares do not fit double precision. "
        "Divide X by its maximum first"
    )


def _orient(data: Data) -> Data:
    """Undo the transposition of a file that is read by columns."""
    if isinstance(data, Streamed) and data.source.by_columns:
        return Scaled(data, Scaling(transposed=True))
    return data


def mask_missing(
    data: Dense | Sparse | Streamed, *, unknown_lines: UnknownLines = "zeros"
) -> tuple[Data, Dense | Sparse]:
    """X with NaN as missing entries, and the known ones with zeros in their place."""
    if isinstance(data, Streamed):
        raise ValueError("missing entries need X in memory: pass X[:], or fill them in the file")
    if isinstance(data, Sparse):
        masked = MaskedSparse.of(data.X)
        return (masked.zero_unknown_lines() if unknown_lines == "zeros" else masked), masked.known
    transposed = not data.X.flags.c_contiguous
    X = data.X.T if transposed else data.X
    known = ~np.isnan(X)
    filled = np.where(known, X, np.asarray(0.0, dtype=X.dtype))
    if unknown_lines == "zeros":
        some_rows, some_columns = known.any(axis=1), known.any(axis=0)
        known[~some_rows], known[:, ~some_columns] = True, True
    by_rows = Masked(filled, known)
    return (by_rows.T if transposed else by_rows), Dense(filled)


def _weight(data: Data, omega: Array, *, unknown_lines: UnknownLines = "zeros") -> Data:
    """X with weights of its entries, which make a sparse X dense."""
    if isinstance(data, Streamed | Scaled):
        raise ValueError("weights of every entry need X in memory: pass X[:]")
    X = np.ascontiguousarray(read_all(data))
    if isinstance(data, Masked):
        omega = omega * data.weights
    elif isinstance(data, MaskedSparse):
        omega = np.where(data.missing.toarray() > 0, 0.0, omega)
    counts = np.logical_and.outer(omega.any(axis=1), omega.any(axis=0))
    if unknown_lines == "zeros" and not counts.all():
        X, omega = np.where(counts, X, np.zeros_like(X)), np.where(counts, omega, 1.0)
    return Masked(X, np.ascontiguousarray(omega, dtype=X.dtype))


def read_all(data: Data) -> Array:
    """X as one ordinary array, with zeros where entries are missing."""
    return np.asarray(data.map_blocks(lambda block, _: (block.dense(), None), None)[0])


def fill_masked_array(X: Any) -> Any:
    """Replace the masked entries of a masked array by NaN; other X are returned as they are."""
    return np.ma.filled(X.astype(float_type(X)), np.nan) if isinstance(X, np.ma.MaskedArray) else X


def _wrap_known(X: Any, missing: str) -> Dense | Sparse | Streamed:
    if missing not in MISSING:
        raise ValueError(f"missing must be one of {', '.join(map(repr, MISSING))}, got {missing!r}")
    X = fill_masked_array(X) if missing == "mask" else X
    if is_stored(X):
        X = open_stored(X)
    if isinstance(X, Stored):
        check_shape(X.shape)
        return Streamed(X, np.dtype(float_type(X)))
    return wrap(_as_csr_or_csc(X) if sparse.issparse(X) else _as_contiguous(X))


def refuse_non_matrix(X: Any) -> None:
    """Refuse X that NumPy would convert silently, or with a message that does not help."""
    if isinstance(X, str | PathLike):
        raise TypeError(
            f"X is the name of a file, {str(X)!r}. Read it first, or run: autonmf fit {str(X)!r} on the "
            "command line."
        )
    if hasattr(X, "keys") and not hasattr(X, "shape"):
        names = [str(name) for name, _ in zip(X.keys(), range(FEW_NAMES), strict=False)]
        raise TypeError(
            f"X is a {type(X).__name__}, which may hold several matrices. Pass one of them, X[name], where "
            f"the first names are: {', '.join(names) or 'none'}."
        )
    if X is None:
        raise TypeError("X is None: pass a matrix.")
    if type(X).__name__ == "AnnData":
        raise TypeError("X is an AnnData object. Pass its matrix adata.X, or use autonmf.anndata.nmf(adata).")
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise TypeError(f"X is a {type(X).__name__}, which has not been computed yet. Pass X.collect().")
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X is a masked array, and its mask would be ignored. Pass missing='mask' to leave the hidden "
            "entries out, or X.filled(value)."
        )
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind not in "biufcO":
        raise TypeError(f"X has dtype {dtype}; NMF needs numbers. Pass numeric columns only.")


def _as_contiguous(X: Any) -> Array:
    refuse_non_matrix(X)
    array = np.asarray(X)
    check_shape(array.shape)
    array = array.astype(float_type(array), copy=False)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    return array


def _as_csr_or_csc(X: Any) -> Any:
    check_shape(X.shape)
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    X = X.astype(float_type(X), copy=False)
    arrays = X.data, X.indices, X.indptr
    if not all(array.flags.c_contiguous for array in arrays):
        X = type(X)(tuple(map(np.ascontiguousarray, arrays)), shape=X.shape)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse a shape that is not that of a matrix, or is empty."""
    if len(shape) != 2:
        raise ValueError(
            f"X must be a matrix (two dimensions), got {len(shape)} dimension(s) with shape {shape}. "
            "Reshape your data: X.reshape(1, -1) for one sample, X.reshape(len(X), -1) for images."
        )
    if 0 in shape:
        raise ValueError(f"X is empty: shape {shape}. At least one row and one column are needed.")


def float_type(array: Any) -> type[np.floating]:
    """The precision in which an array is factorised."""
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
            raise TypeError(f"X holds objects other than numbers ({error}). Pass numeric columns.") from None
        return np.float64
    raise TypeError(f"X has dtype {array.dtype}; NMF needs numbers. Pass numeric columns only.")


def check_values(lowest: float, highest: float, about_nan: str = LEAVE_OUT) -> None:
    """Refuse NaN, infinite and negative entries, given the smallest and the largest one."""
    if np.isnan(lowest) or np.isnan(highest):
        raise ValueError(f"X contains NaN. {about_nan}")
    if np.isinf(highest) or np.isinf(lowest):
        raise ValueError("X contains infinity. Replace it by finite values first.")
    if lowest < 0:
        raise ValueError(
            f"Negative values in data passed to NMF: the smallest entry of X is {lowest:.6g}. NMF needs "
            "nonnegative data: shift it (X - X.min()), clip it (X.clip(min=0)), or take magnitudes."
        )


SKEWED = 10.0
"""Counts have a mean square above this multiple of the squared mean; images and spectra do not."""


def looks_like_counts(data: Data) -> bool:
    """Whether X in memory holds integers, most of them far below the largest: not an image or a spectrum."""
    inner = data.data if isinstance(data, Scaled) else data
    if not isinstance(inner, Dense | Sparse):
        return False
    entries = inner.X.data if isinstance(inner, Sparse) else inner.X
    if not _are_integers(entries[:1]) or not _are_integers(entries):
        return False
    total, squares = float(entries.sum(dtype=np.float64)), inner.squared_norm()
    return squares > total and squares * np.prod(inner.shape, dtype=float) > SKEWED * total**2


def _are_integers(entries: Array) -> bool:
    return bool(np.array_equal(entries, np.rint(entries)))
