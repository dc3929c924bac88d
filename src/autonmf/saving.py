"""A fitted model in one file: its path, as written by `RankPath.save`, and its attributes. No pickle."""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

import numpy as np

from autonmf._types import Array, Lazy
from autonmf.path import RankPath, storage
from autonmf.selection import RankEstimate

FORMAT = "autonmf.AutoNMF"
VERSION = 1
PLAIN = (type(None), bool, int, float, str)
"""Types of values that JSON preserves."""


class SavingMixin:
    """`save` and `load` of an estimator."""

    def save(self, file: str | PathLike[str]) -> None:
        """Write the fitted model to one file (npz with JSON, no pickle).

        A lazy path is computed first. For a Dask array, the factors U of all ranks (n x rank each) must fit
        into memory; variances at other ranks may differ in the last digit after loading.

        Parameters
        ----------
        file : path
            The file to write; no extension is added. An existing file is replaced once the new one is
            complete, and its permissions are kept. A symbolic link is followed.

        Notes
        -----
        Objects are not saved. A ``solver`` or ``init`` that is not a name is loaded as "given", which `fit`
        refuses: set it before fitting again. Known components are loaded as an array. A generator as
        ``random_state`` is loaded as None. Callbacks, the name of a ``checkpoint`` and the settings of
        `set_output` are not saved.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        model: Any = self
        path = model.path_.computed()
        names = getattr(model, "feature_names_in_", None)
        estimate = model.rank_estimate_
        header = {
            "format": FORMAT,
            "version": VERSION,
            "parameters": {name: _plain(name, value) for name, value in model.get_params(deep=False).items()},
            "reconstruction_err": model.reconstruction_err_,
            "explained_variance": model.explained_variance_.tolist(),
            "n_iter": int(model.n_iter_),
            "unused": list(model.unused_components_),
            "polished": model.polished_,
            "chosen": estimate is not None and estimate.rank == model.n_components_,
            "feature_names": None if names is None else names.tolist(),
            "rank_estimate": None if estimate is None else _describe_estimate(estimate),
            "path": storage.describe_path(path),
        }
        storage.write_archive(file, header, storage.list_factors(path) | {"components": model.components_})

    @classmethod
    def load(cls, file: str | PathLike[str]) -> Self:
        """Read a model written by `save`. No code is run, so that files from others are safe to open.

        `transform`, `report` and `at_rank` give bitwise the same results as the saved model's. A ValueError
        is raised if the file is damaged, holds something else, or is from a newer version.
        """

        def read(archive: storage.Archive, header: Any) -> Any:
            storage.check_format(header, FORMAT, VERSION)
            model: Any = cls()
            _set_parameters(model, header["parameters"])
            for name, value in _read_attributes(archive, header).items():
                setattr(model, name, value)
            if n_known := model.path_.n_known:
                model.set_params(fixed_components=model.components_[:n_known].copy())
            return model

        loaded: Self = storage.read_archive(file, FORMAT, read)
        return loaded


def _plain(name: str, value: Any) -> Any:
    """Convert a parameter to a type that JSON can hold."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, PLAIN) and name != "checkpoint":
        return value
    return None if name in ("random_state", "checkpoint") else "given"


def _describe_estimate(estimate: RankEstimate) -> dict[str, Any]:
    return vars(estimate) | {
        "rank": int(estimate.rank),
        "evidence": {name: column.tolist() for name, column in estimate.evidence.items()},
        "plausible": [int(rank) for rank in estimate.plausible],
    }


def _set_parameters(model: Any, found: Any) -> None:
    unknown = set(storage.check_kind(found, dict)) - set(model.get_params(deep=False))
    if unknown:
        raise ValueError(f"it has unknown parameters: {', '.join(sorted(unknown))[:80]}")
    if not all(isinstance(value, PLAIN) for value in found.values()):
        raise ValueError("it has a parameter that is neither a number nor a name")
    model.set_params(**found)


def _read_attributes(archive: storage.Archive, header: dict[str, Any]) -> dict[str, Any]:
    path = storage.read_path(archive, header["path"])
    H = np.ascontiguousarray(archive.matrix("components"))
    components, features = H.shape
    if not components or features != path.shape[1]:
        raise ValueError(f"its components do not match the {path.shape[1]} features of its path")
    if not (H.min() >= 0 and H.max() < np.inf):
        raise ValueError("its components are not finite and nonnegative")
    polished = storage.check_kind(header["polished"], bool)
    if not polished and not _is_at_rank(H, path):
        raise ValueError("its components are not those of its path")
    variances = [storage.check_size(one) for one in storage.check_kind(header["explained_variance"], list)]
    if len(variances) != components:
        raise ValueError("it does not have a variance for each component")
    if path.n_known > components:
        raise ValueError("it has fewer components than known ones")
    unused = storage.check_kind(header.get("unused", []), list)
    if not all(storage.check_count(index, 0) < path.n_known for index in unused):
        raise ValueError("its unused components are not among the known ones")
    attributes = {
        "_path": Lazy.known(path),
        "unused_components_": tuple(unused),
        "components_": H,
        "n_components_": components,
        "n_features_in_": features,
        "reconstruction_err_": storage.check_size(header["reconstruction_err"]),
        "explained_variance_": np.array(variances),
        "n_iter_": storage.check_count(header["n_iter"], 0),
        "polished_": polished,
        "rank_estimate_": _read_estimate(header["rank_estimate"], path),
    }
    estimate, chosen = attributes["rank_estimate_"], storage.check_kind(header.get("chosen", False), bool)
    if chosen and (estimate is None or estimate.rank != components):
        raise ValueError(f"its {components} components are not the rank of its estimate")
    if header["feature_names"] is not None:
        names = _read_texts(header["feature_names"])
        if len(names) != features:
            raise ValueError("it does not have a name for each feature")
        attributes["feature_names_in_"] = np.array(names, dtype=object)
    return attributes


def _is_at_rank(H: Array, path: RankPath) -> bool:
    """Whether the components are those of the path at their rank, in the precision of the model."""
    rank = len(H)
    return rank in path.ranks and np.array_equal(path.at_rank(rank).V.T.astype(H.dtype), H)


def _read_texts(values: Any) -> tuple[str, ...]:
    return tuple(storage.check_kind(value, str) for value in storage.check_kind(values, list))


def _read_estimate(fields: Any, path: RankPath) -> RankEstimate | None:
    if fields is None:
        return None
    table = {
        name: storage.read_column(values)
        for name, values in storage.check_kind(storage.check_kind(fields, dict)["evidence"], dict).items()
    }
    if len({len(column) for column in table.values()}) != 1:
        raise ValueError("its evidence has columns of different lengths")
    confidence = None if fields["confidence"] is None else storage.check_size(fields["confidence"])
    if confidence is not None and confidence > 1:
        raise ValueError("its confidence is not a probability")
    estimate = RankEstimate(
        rank=storage.check_count(fields["rank"]),
        rule=storage.check_kind(fields["rule"], str),
        why=storage.check_kind(fields["why"], str),
        evidence=table,
        plausible=tuple(storage.check_count(rank) for rank in storage.check_kind(fields["plausible"], list)),
        confidence=confidence,
        warnings=_read_texts(fields["warnings"]),
    )
    ranks = {1, *path.ranks.tolist()}
    if not {estimate.rank} <= {*estimate.plausible} <= ranks:
        raise ValueError("the ranks of its estimate are not those of its path")
    return estimate
