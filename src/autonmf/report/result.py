"""`Result`: what a report is about, from an estimator or from the command line, and the code to repeat it."""

from __future__ import annotations

import inspect
import platform
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.data import Data
from autonmf.distributed import RowPartitioned, as_data
from autonmf.fit import Factorisation
from autonmf.model.known import find_row_names
from autonmf.path import RankPath
from autonmf.selection import RankEstimate
from autonmf.stability import ComponentStability

SAME_ENERGY = 1e-3
"""Relative difference of squared norms above which X is not the training data."""


class Factors(NamedTuple):
    """X ≈ U Vᵀ at one rank."""

    U: Array | None  # n x rank; None if unknown
    V: Array  # m x rank
    polished: bool  # iterated on X to convergence


@dataclass(frozen=True, eq=False)
class Result:
    """A path, the rank chosen on it and the factors at that rank."""

    path: RankPath
    estimate: RankEstimate | None  # None if the rank was given
    final: Factors  # at `rank`
    rank: int  # of the model: the chosen one, unless another was requested
    loss: float  # ½‖X - UVᵀ‖² of the final factors
    data: Data | None = None  # X, if available
    stability: ComponentStability | None = None  # of the final components, if measured
    unused: tuple[int, ...] = ()  # known components that X does not need, from 0
    known_names: tuple[str, ...] = ()  # of the known components; may be empty

    @classmethod
    def from_model(cls, model: Any, X: Any = None, stability: ComponentStability | None = None) -> Result:
        """From a fitted `AutoNMF`; with the training data X the weights of its components are known.

        Call `close` afterwards.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model, "path_", msg="the report needs a fitted AutoNMF: call fit first")
        if stability is not None and not np.array_equal(stability.components, model.components_):
            raise ValueError("stability is that of another model: pass model.component_stability(X)")
        with ExitStack() as stack:
            data, W = None, None
            if X is not None:
                data = as_data(X, missing=model.missing)
                stack.callback(_close, data)
                _refuse_other_data(model, data)
                W = np.asarray(model.transform(X))
            stack.pop_all()  # the data stay open
        return cls(
            path=model.path_,
            estimate=model.rank_estimate_,
            final=Factors(W, model.components_.T, model.polished_),
            rank=model.n_components_,
            loss=0.5 * model.reconstruction_err_**2,
            data=data,
            stability=stability,
            unused=model.unused_components_,
            known_names=tuple(find_row_names(model.fixed_components) or ()),
        )

    @classmethod
    def from_factorisation(
        cls,
        found: Factorisation,
        X: Any,
        missing: str = "error",
        stability: ComponentStability | None = None,
        known_names: tuple[str, ...] = (),
    ) -> Result:
        """From the result of `factorise` for X."""
        return cls(
            path=found.path,
            estimate=found.estimate,
            final=Factors(found.W, found.H.T, True),
            rank=found.rank,
            loss=found.loss,
            data=as_data(X, missing=missing),
            stability=stability,
            unused=found.unused,
            known_names=known_names,
        )

    def close(self) -> None:
        _close(self.data)

    @property
    def ranks(self) -> list[int]:
        """All ranks with a solution, increasing."""
        return sorted({self.rank, *(int(rank) for rank in self.path.ranks)})

    @property
    def ranks_by_distance(self) -> list[int]:
        """The ranks, those closest to the rank of the model first."""
        return sorted(self.ranks, key=lambda rank: (abs(rank - self.rank), rank))

    def factors(self, rank: int) -> Factors:
        """The factors to show at a rank.

        At the rank of the model these are its polished components if their weights are known, otherwise the
        solution on the path, which has weights.
        """
        on_path = rank in self.path.ranks
        if rank == self.rank and (self.final.U is not None or not on_path):
            return self.final
        point = self.path.at_rank(rank)
        return Factors(point.U, point.V, False)

    def factors_on_path(self, rank: int) -> Factors:
        """The factors whose loss is reported: before the polish, so that ranks compare."""
        if rank not in self.path.ranks:
            return self.final
        point = self.path.at_rank(rank)
        return Factors(point.U, point.V, False)

    def relative_loss(self, rank: int) -> float:
        """The loss on the path as a fraction; of the model if the path lacks its rank."""
        loss = self.path.at_rank(rank).loss if rank in self.path.ranks else self.loss
        return float(loss / self.path.energy)

    @property
    def polished_loss(self) -> float:
        """The loss of the model as a fraction."""
        return float(self.loss / self.path.energy)


def _close(data: Data | None) -> None:
    """Release the workers that hold X, if there are any."""
    if isinstance(data, RowPartitioned):
        data.close()


def _refuse_other_data(model: Any, data: Data) -> None:
    path: RankPath = model.path_
    found = data.squared_norm()
    if data.shape == path.shape and abs(found - path.squared_norm) <= SAME_ENERGY * path.squared_norm:
        return
    if path.settings.get("weighted"):
        raise ValueError(
            "the model was fitted with weights, which the report cannot take into account: "
            "write the report of a weighted model without X"
        )
    n, m = path.shape
    raise ValueError(
        f"X is not what the model was fitted to (a {n} x {m} matrix, ‖X‖² = {path.squared_norm:.6g}): "
        f"it is {data.shape[0]} x {data.shape[1]} with ‖X‖² = {found:.6g}; pass the training data"
    )


@dataclass(frozen=True)
class Recipe:
    """The code that computes the model of a report."""

    python: str  # up to the fitted model
    shell: str | None  # the same as a command
    versions: str
    for_counts: tuple[tuple[str, str], ...] = ()  # what to do with counts instead, and the code that does it


def recipe_from_model(model: Any) -> Recipe:
    """The code that fits an `AutoNMF` with the parameters of this one."""
    defaults = inspect.signature(type(model).__init__).parameters
    given = model.get_params(deep=False)
    changed = {name: value for name, value in given.items() if repr(value) != repr(defaults[name].default)}
    other = changed | {"beta_loss": "kullback-leibler"}
    seed = {"random_state": given["random_state"]} if isinstance(given["random_state"], int) else {}
    normalise = "from autonmf.io import normalize\nmodel = {}.fit(normalize(X, {!r}))"
    again = _write_call(changed | seed)
    return replace(
        recipe_from_settings(changed),
        for_counts=(
            (COUNTS_ADVICE["kullback-leibler"], f"model = {_write_call(other | seed)}.fit(X)"),
            *((COUNTS_ADVICE[how], normalise.format(again, how)) for how in ("log1p", "tfidf")),
        ),
    )


COUNTS_ADVICE = {
    "kullback-leibler": "Counts as they are (mutations, photons, reads): the Kullback-Leibler loss.",
    "log1p": "Cells x genes: the same total for each cell, then log(1 + x).",
    "tfidf": "Texts x words: tf-idf weights.",
}
"""What to do with counts that were fitted with least squares."""


def _write_call(given: dict[str, Any]) -> str:
    literal = (type(None), bool, int, float, str)
    arguments = (
        f"{name}={repr(value) if isinstance(value, literal) else name}" for name, value in given.items()
    )
    return f"AutoNMF({', '.join(arguments)})"


def recipe_from_settings(
    given: dict[str, Any], loading: tuple[str, ...] = (), shell: str | None = None
) -> Recipe:
    """The code for these parameters of `AutoNMF`; ``loading`` are the lines that load X."""
    imports = ["from autonmf import AutoNMF"]
    imports += [line for line in loading if line.startswith(("from ", "import "))]
    lines = [*imports, "", *(line for line in loading if line not in imports)]
    if not isinstance(given.get("random_state"), int):
        lines.append("# random_state was not an integer, so another run may give a slightly different result")
    lines.append(f"model = {_write_call(given)}.fit(X)")
    versions = [f"{name} {version(name)}" for name in ("autonmf", "numpy", "scipy", "scikit-learn")]
    versions.append(f"Python {platform.python_version()}")
    return Recipe("\n".join(lines), shell, ", ".join(versions))
