"""A fitted model in one file: its path as `RankPath.save` writes it, and what makes it a model. No pickle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any, Self, cast

import numpy as np

from autonmf._types import Array
from autonmf.path import RankPath
from autonmf.path.archive import Archive
from autonmf.path.spread import LazyPath
from autonmf.path.storage import (
    check_format,
    count,
    of_kind,
    path_factors,
    path_from,
    path_header,
    read_archive,
    size,
    write_archive,
)
from autonmf.selection import RankEstimate

FORMAT = "autonmf.AutoNMF"
VERSION = 1
PLAIN = (type(None), bool, int, float, str)  # what JSON gives back as it was


class SavingMixin:
    """`save` and `load` of an estimator."""

    def save(self, file: str | PathLike[str]) -> None:
        """Write the fitted model to one file (npz with JSON, no pickle).

        The path is worked out if nobody has read it yet. That of a Dask array is computed: each U is
        n x rank, and all of them must fit memory. The variances of other ranks are then summed in one piece,
        and may differ in the last digit.

        Parameters
        ----------
        file : path
            The file to write, under this very name. One that exists is replaced once the new one is complete.

        Notes
        -----
        A file holds no objects. A ``solver`` or an ``init`` that is no name comes back as "given", which
        `fit` refuses: set it again before you fit. A generator as ``random_state`` comes back as None.
        Callbacks and what `set_output` was told are not saved.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        save_model(self, file)

    @classmethod
    def load(cls, file: str | PathLike[str]) -> Self:
        """Read a model written by `save`; opening a file of somebody else's runs nothing.

        Parameters
        ----------
        file : path

        Returns
        -------
        AutoNMF
            Fitted: it transforms, reports and goes to other ranks to the same bits as the one that was saved.

        Raises
        ------
        ValueError
            The file is damaged, holds something else, or was written by a newer version.
        """
        return cast(Self, read_archive(file, FORMAT, partial(model_from, cls)))


@dataclass(frozen=True, eq=False)
class KnownPath:
    """A path that is there already, where a fit has one that is worked out late."""

    value: RankPath


def save_model(model: Any, file: str | PathLike[str]) -> None:
    """Write a fitted estimator; an existing file is replaced only once the new one is complete."""
    path = model.path_.computed() if isinstance(model.path_, LazyPath) else model.path_
    names = getattr(model, "feature_names_in_", None)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": {name: _plain(name, value) for name, value in model.get_params(deep=False).items()},
        "reconstruction_err": model.reconstruction_err_,
        "explained_variance": model.explained_variance_.tolist(),
        "n_iter": int(model.n_iter_),
        "polished": model.polished_,
        "feature_names": None if names is None else names.tolist(),
        "rank_estimate": None if model.rank_estimate_ is None else _listed(model.rank_estimate_),
        "path": path_header(path),
    }
    write_archive(file, header, path_factors(path) | {"components": model.components_})


def model_from(kind: Callable[[], Any], archive: Archive, header: Any) -> Any:
    """A fitted estimator of this kind from its header, and its arrays in the archive."""
    check_format(header, FORMAT, VERSION)
    model = kind()
    _set_parameters(model, header["parameters"])
    for name, value in _fitted(archive, header).items():
        setattr(model, name, value)
    return model


def _plain(name: str, value: Any) -> Any:
    """A parameter as JSON holds it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, PLAIN):
        return value
    return None if name == "random_state" else "given"


def _listed(estimate: RankEstimate) -> dict[str, Any]:
    return {
        "rank": int(estimate.rank),
        "rule": estimate.rule,
        "why": estimate.why,
        "evidence": {name: column.tolist() for name, column in estimate.evidence.items()},
        "plausible": [int(rank) for rank in estimate.plausible],
        "confidence": estimate.confidence,
        "warnings": list(estimate.warnings),
    }


def _set_parameters(model: Any, found: Any) -> None:
    unknown = set(of_kind(found, dict)) - set(model.get_params(deep=False))
    if unknown:
        raise ValueError(f"it has parameters that are unknown here: {', '.join(sorted(unknown))[:80]}")
    if not all(isinstance(value, PLAIN) for value in found.values()):
        raise ValueError("it has a parameter that is neither a number nor a name")
    model.set_params(**found)


def _fitted(archive: Archive, header: dict[str, Any]) -> dict[str, Any]:
    """What a fit leaves, by the names of the attributes."""
    path = path_from(archive, header["path"])
    H = _components(archive, path.shape[1])
    attributes = {
        "_path": KnownPath(path),
        "components_": H,
        "n_components_": len(H),
        "n_features_in_": H.shape[1],
        "reconstruction_err_": size(header["reconstruction_err"]),
        "explained_variance_": _variances(header["explained_variance"], len(H)),
        "n_iter_": count(header["n_iter"], 0),
        "polished_": of_kind(header["polished"], bool),
        "rank_estimate_": _estimate(header["rank_estimate"]),
    }
    names = header["feature_names"]
    return attributes if names is None else attributes | {"feature_names_in_": _names(names, H.shape[1])}


def _components(archive: Archive, features: int) -> Array:
    H = archive.matrix("components")
    if not len(H) or H.shape[1] != features:
        raise ValueError(f"its components do not fit the {features} features of its path")
    if not (H.min() >= 0 and H.max() < np.inf):
        raise ValueError("its components are not finite and nonnegative")
    return np.ascontiguousarray(H)


def _variances(values: Any, components: int) -> Array:
    variances = np.array([size(value) for value in of_kind(values, list)])
    if len(variances) != components:
        raise ValueError("it has not a variance for each component")
    return variances


def _names(values: Any, features: int) -> Array:
    if len(_texts(values)) != features:
        raise ValueError("it has not a name for each feature")
    return np.array(values, dtype=object)


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(of_kind(value, str) for value in of_kind(values, list))


def _estimate(fields: Any) -> RankEstimate | None:
    if fields is None:
        return None
    table = {
        name: _column(values) for name, values in of_kind(of_kind(fields, dict)["evidence"], dict).items()
    }
    if len({len(column) for column in table.values()}) != 1:
        raise ValueError("the table of its rank has columns of different lengths")
    confidence = None if fields["confidence"] is None else size(fields["confidence"])
    if confidence is not None and confidence > 1:
        raise ValueError("its confidence is no probability")
    return RankEstimate(
        rank=count(fields["rank"]),
        rule=of_kind(fields["rule"], str),
        why=of_kind(fields["why"], str),
        evidence=table,
        plausible=tuple(count(rank) for rank in of_kind(fields["plausible"], list)),
        confidence=confidence,
        warnings=_texts(fields["warnings"]),
    )


def _column(values: Any) -> Array:
    """A column of the table: numbers, which may be infinite, or NaN where there is none."""
    column = np.array(of_kind(values, list))
    if column.ndim != 1 or column.dtype.kind not in "if":
        raise ValueError("the table of its rank has a column that is no list of numbers")
    return column
