"""`Subject`: the result that a report is about, whoever computed it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from autonmf._types import Array
from autonmf.data import Data, as_data
from autonmf.data.spread import Tall
from autonmf.factorisation import Factorisation
from autonmf.path import RankPath
from autonmf.selection import RankEstimate

SAME = 1e-3
"""Squared norms that differ by more than this share belong to different data."""


class Factors(NamedTuple):
    """X ≈ U Vᵀ at one rank."""

    U: Array | None  # n x rank; None where it is not known
    V: Array  # m x rank
    polished: bool  # iterated on X until the stop rule held


@dataclass(frozen=True, eq=False)
class Subject:
    """A path, the choice on it and the factors there."""

    path: RankPath
    estimate: RankEstimate | None  # None if the rank was given
    final: Factors  # at `rank`
    rank: int  # of the model: the choice, unless another was asked for
    loss: float  # ½‖X - UVᵀ‖² of the final factors
    data: Data | None = None  # X, where it is at hand

    @classmethod
    def of_model(cls, model: Any, X: Any = None) -> Subject:
        """A fitted `AutoNMF`; with its training data X the weights of its own components are known.

        It is to be closed if X is a Dask array.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model, "path_", msg="the report needs a fitted AutoNMF: call fit first")
        data, W = (None, None) if X is None else _with_weights(model, X)
        return cls(
            path=model.path_,
            estimate=model.rank_estimate_,
            final=Factors(W, model.components_.T, model.polished_),
            rank=model.n_components_,
            loss=0.5 * model.reconstruction_err_**2,
            data=data,
        )

    @classmethod
    def of_factorisation(cls, found: Factorisation, X: Any, missing: str = "error") -> Subject:
        """What `factorise` found for X."""
        return cls(
            path=found.path,
            estimate=found.estimate,
            final=Factors(found.W, found.H.T, True),
            rank=found.rank,
            loss=found.loss,
            data=as_data(X, missing=missing),
        )

    def close(self) -> None:
        """Let the workers go that hold X, where they do."""
        _close(self.data)

    @property
    def ranks(self) -> list[int]:
        """Every rank with a solution, increasing."""
        return sorted({self.rank, *(int(rank) for rank in self.path.ranks)})

    @property
    def by_interest(self) -> list[int]:
        """The ranks, those that a reader looks at first before the others: near the model's own."""
        return sorted(self.ranks, key=lambda rank: (abs(rank - self.rank), rank))

    def factors(self, rank: int) -> Factors:
        """The factors to show at a rank.

        At the model's own these are its polished components if their weights are known, else the path's
        solution, which comes with its weights.
        """
        on_path = rank in self.path.ranks
        if rank == self.rank and (self.final.U is not None or not on_path):
            return self.final
        point = self.path.at_rank(rank)
        return Factors(point.U, point.V, False)

    def relative_loss(self, rank: int) -> float:
        """‖X - UVᵀ‖²/‖X‖² of the factors shown."""
        loss = self.loss if self.factors(rank) is self.final else self.path.at_rank(rank).loss
        return float(2.0 * loss / self.path.squared_norm)


def _with_weights(model: Any, X: Any) -> tuple[Data, Array]:
    """The training data, and W."""
    with ExitStack() as stack:
        data = as_data(X, missing=model.missing)
        stack.callback(_close, data)
        _refuse_other_data(model, data)
        W = np.asarray(model.transform(X))
        stack.pop_all()  # it stays open
    return data, W


def _refuse_other_data(model: Any, data: Data) -> None:
    path: RankPath = model.path_
    found = data.squared_norm()
    if data.shape == path.shape and abs(found - path.squared_norm) <= SAME * path.squared_norm:
        return
    if _weighted(model):
        raise ValueError(
            "the model was fitted with weights, and X without them is not what it was fitted to: "
            "the page of a weighted model is written without X"
        )
    n, m = path.shape
    raise ValueError(
        f"X is not what the model was fitted to (a {n} x {m} matrix, ‖X‖² = {path.squared_norm:.6g}): "
        f"it is {data.shape[0]} x {data.shape[1]} with ‖X‖² = {found:.6g}; pass the training data"
    )


def _weighted(model: Any) -> bool:
    """Whether samples or entries counted differently in the fit."""
    return bool(getattr(getattr(model, "_path", None), "weighted", False))


def _close(data: Data | None) -> None:
    if isinstance(data, Tall):
        data.close()
