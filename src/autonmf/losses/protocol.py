"""What solvers, searches and estimators need of a loss and of its iterates.

A new loss is another file with these two classes. Other modules ask for properties of a loss, such as
`Loss.equilibrates` and `Loss.reads_entries`; what only least squares has, λ and compression, is left out for
every other one.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from autonmf._types import Array, Lazy
from autonmf.data import Data, Scaling

NONE = np.zeros((1, 0))
"""No known components; it may stand in for an array with any number of rows, as NumPy broadcasts it."""


class Projection(NamedTuple):
    """Nonnegative weights of given components, and the loss that they leave."""

    W: Any
    loss: float


class State(Protocol):
    """An iterate: the factors, and what the next step needs of them. It is never modified."""

    @property
    def U(self) -> Any:
        """The left factor, n x r."""

    @property
    def V(self) -> Array:
        """The right factor, m x r."""

    @property
    def rank(self) -> int:
        """Number of components that are nonzero in both factors."""

    @property
    def loss(self) -> float:
        """The loss, to the precision of the data."""

    @property
    def quick_loss(self) -> float:
        """The loss from what is at hand: never negative, within `loss_error` of the exact one."""

    @property
    def has_digits(self) -> bool:
        """Whether `quick_loss` has digits left: it may be a small difference of large numbers."""

    @property
    def loss_error(self) -> float:
        """A bound on the rounding error of `quick_loss`."""

    @property
    def precise_loss(self) -> Lazy[float]:
        """The same in double precision, for one more pass over X where that is needed."""

    @property
    def objective(self) -> float:
        """The loss and the penalties."""

    def sweep(self, count: int) -> Self:
        """The next iterate by coordinate descent: ``count`` sweeps over U, then over V."""

    def merge(self) -> Self:
        """The two components whose merger costs least, as one."""

    def grow(self) -> Self:
        """One more component, which lowers the loss; the same iterate if none does."""

    def split(self, rank: int) -> Self:
        """The strongest component in equal parts, so that there are ``rank`` components."""

    def balance(self) -> Self:
        """Paired columns of equal norm, zero in both factors where zero in one."""

    def compact(self) -> Self:
        """Without components that are zero in both factors."""

    @property
    def arrays(self) -> dict[str, Array]:
        """What a checkpoint stores, by name; `Posed.restore` makes the iterate from it."""


class Posed(Protocol):
    """A loss of given data."""

    def start(self, U: Any, V: Array) -> Any:
        """The iterate at given factors, at rest."""

    def restore(self, arrays: dict[str, Array]) -> Any:
        """The iterate whose `State.arrays` these are."""


class Reweighing(NamedTuple):
    """How counts that vary more than Poisson's are weighted."""

    weights: Scaling  # of rows and columns
    dispersion: float  # φ of the variance μ + φμ²


class Loss(Protocol):
    """A measure of how far U Vᵀ is from X."""

    name: str  # scikit-learn's
    degree: int  # the loss of c X and c U Vᵀ is c^degree times as large
    weight_power: float  # the loss with weights w is that of X and U Vᵀ times w^weight_power
    reads_entries: bool  # whether it needs the entries of X, not only products with X
    reweighs: bool  # whether the noise around a solution may suggest weights
    equilibrates: bool  # whether the default rule reads a path of X with rows and columns of comparable norm

    def prepare(self, data: Data, *, single: bool) -> Any:
        """X as the iterates read it, in single precision if that will do."""

    def pose(self, prepared: Any, **constants: Any) -> Any:
        """The problem that iterates solve: `Posed`. The first ``n_fixed`` columns of V stay as they are."""

    def initialize(
        self, prepared: Any, rank: int, init: str, rng: np.random.Generator, fixed: Array = NONE
    ) -> tuple[Any, Array]:
        """Initial factors by name, balanced and of the scale of X; ``fixed`` are the first columns of V."""

    def rank_one(self, data: Data) -> tuple[Any, Array, float]:
        """The best factors of rank one, and their loss."""

    def value(self, data: Data, U: Any, V: Array) -> float:
        """The loss of given factors, in double precision."""

    def reweigh(self, data: Data, U: Any, V: Array) -> Reweighing | None:
        """Weights of rows and columns that the noise around a fit suggests; None: all count alike."""

    def project(self, data: Data, V: Array) -> Projection:
        """The best U ≥ 0 for given V, row by row."""
