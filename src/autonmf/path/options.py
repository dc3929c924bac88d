"""The options of a path search, with all their defaults and checks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from autonmf._types import Seed
from autonmf._warnings import warn
from autonmf.data.validation import MISSING
from autonmf.losses import BETAS, FROBENIUS, LOSSES, MU, Loss
from autonmf.path.grids import AdaptiveGrid, ExactGrid, Grid
from autonmf.solvers import (
    SOLVERS,
    ActiveSet,
    Budget,
    CountDescent,
    Hals,
    LongHals,
    Solver,
    Stopping,
    make_solver,
)

GRIDS = ("exact", "adaptive")
SOLVER_NAMES = ("auto", *SOLVERS)
ENGINES = ("auto", "direct", "compressed")

ADDITIONAL = 10
"""Minimum number of components beyond the known ones with which a path begins by default."""


@dataclass(frozen=True)
class Progress:
    """The state of a path, passed to ``callback`` after each iteration."""

    start: int  # which initial point, from 0
    n_starts: int
    max_rank: int
    rank: int
    iteration: int  # at this λ
    relative_loss: float  # as a fraction of ½‖X‖², or with counts of the rank-one loss, after scaling
    seconds: float  # since the path began


Callback = Callable[[Progress], bool | None]
"""Returning True ends the path."""


def default_max_rank(shape: tuple[int, int]) -> int:
    """The paper's upper bound on the rank: min(⌈min(n, m)/2⌉, 50)."""
    return min(math.ceil(min(shape) / 2), 50)


@dataclass(frozen=True)
class PathOptions:
    """The parameters of `rank_path`, where they are documented."""

    max_rank: int | None = None
    min_rank: int = 1
    fixed_components: Any = None
    beta_loss: str | float = "frobenius"
    solver: str | Solver = "auto"
    grid: str = "exact"
    n_points: int = 30
    budget: str | Callable[[int], int] = "auto"
    mu: float = MU
    delta: float = 1e-6
    tol: float = 1e-4
    max_iter: int = 2000
    init: str | tuple[Any, Any] = "random"
    n_starts: int = 1
    engine: str = "auto"
    scale: bool = True
    equilibrate: bool = False
    missing: str = "error"
    time_budget: float | None = None
    n_jobs: int | None = None
    callback: Callback | None = None
    checkpoint: str | PathLike[str] | None = None
    random_state: Seed = None

    def __post_init__(self) -> None:
        _check_positive(
            min_rank=self.min_rank, n_points=self.n_points, max_iter=self.max_iter, n_starts=self.n_starts
        )
        if self.max_rank is not None:
            _check_positive(max_rank=self.max_rank)
        if self.n_jobs is not None and (not isinstance(self.n_jobs, int | np.integer) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be a nonzero integer or None, got {self.n_jobs!r}")
        _check_numbers(mu=self.mu, delta=self.delta, tol=self.tol)
        if self.time_budget is not None:
            _check_numbers(time_budget=self.time_budget)
            if self.time_budget == 0:
                raise ValueError("time_budget must be a positive number of seconds, got 0")
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be a function or None, got {self.callback!r}")
        if self.missing not in MISSING:
            raise ValueError(f"missing must be one of {', '.join(map(repr, MISSING))}, got {self.missing!r}")
        if self.engine not in ENGINES:
            raise ValueError(f"unknown engine {self.engine!r}; choose one of {', '.join(ENGINES)}")
        pair = isinstance(self.init, tuple | list) and len(self.init) == 2
        if not (pair or isinstance(self.init, str)):
            raise ValueError(f"init must be a name or a pair (U, V), got {type(self.init).__name__}")
        self.make_grid()
        self._check_loss()
        if isinstance(self.make_solver(), Hals) and self.grid != "exact":
            raise ValueError('solver="hals" has no penalty to follow a grid of λ with; use grid="exact"')
        if self.n_known:
            self._check_known()

    def _check_known(self) -> None:
        """Refuse options that cannot be combined with known components."""
        if self.grid != "exact":
            raise ValueError('the adaptive grid may drop known components; use grid="exact"')
        if not isinstance(self.make_solver(), Hals):
            raise ValueError(
                "the paper's solvers update all components; leave out solver or fixed_components"
            )
        if not isinstance(self.init, str):
            raise ValueError(
                "init=(U, V) sets every component; name an initial point, or leave out fixed_components"
            )
        if self.max_rank is not None and self.n_known > self.max_rank:
            raise ValueError(
                f"there are {self.n_known} known components, more than max_rank={self.max_rank}, which "
                "counts them too: raise max_rank"
            )

    def _check_loss(self) -> None:
        """Refuse options that need the Frobenius loss."""
        if self.loss is FROBENIUS:
            return
        where = f"beta_loss={self.beta_loss!r}"
        if self.solver != "auto":
            raise ValueError(f'{where} is minimised by coordinate descent only; use solver="auto"')
        if self.grid != "exact":
            raise ValueError(f'{where} has no λ, which the adaptive grid consists of; use grid="exact"')
        if self.engine == "compressed":
            raise ValueError(f'{where} reads every entry of X, not a compression; use engine="auto"')
        if self.mu != MU:
            raise ValueError(f"{where} has no penalty on the factors; leave out mu")

    @property
    def n_known(self) -> int:
        """Number of known components."""
        return 0 if self.fixed_components is None else int((*np.shape(self.fixed_components), 0)[0])

    @property
    def last_rank(self) -> int:
        """The smallest rank of the path: known components are never dropped."""
        return max(self.min_rank, self.n_known)

    @property
    def loss(self) -> Loss:
        """The loss by its name."""
        return find_loss(self.beta_loss)

    @property
    def uses_equilibrated(self) -> bool:
        """Whether the path is computed on X with rows and columns of comparable norms."""
        return self.equilibrate and self.loss.equilibrates

    @property
    def too_heavy(self) -> str:
        """The message for when no component is left."""
        return f"every component became zero: mu={self.mu:g} is too heavy for these data; lower mu"

    @property
    def stopping(self) -> Stopping:
        return Stopping(tol=self.tol, tol_gradient=10 * self.tol, max_iter=self.max_iter)

    def chosen_engine(self) -> str:
        """The engine. As in the paper, the adaptive grid reads X at every step."""
        compressible = self.grid == "exact" and self.loss is FROBENIUS
        return "direct" if self.engine == "auto" and not compressible else self.engine

    def deadline(self, began: float) -> float:
        """The end of the time budget, as a value of the clock that ``began`` was read from."""
        return math.inf if self.time_budget is None else began + self.time_budget

    def make_solver(self, *, long: bool = False) -> Solver:
        """The algorithm: by default HALS on the exact path, and PASM on the paper's grid.

        With ``long`` it is that for many iterations at one rank.
        """
        if isinstance(self.solver, str) and self.solver == "auto":
            if self.loss is not FROBENIUS:
                return CountDescent()
            if self.grid == "exact":
                return LongHals() if long else Hals()
            return ActiveSet()
        return make_solver(self.solver)

    def make_grid(self, *, lambdas: bool = True) -> Grid:
        """The grid. Without ``lambdas`` an exact grid does not compute the ends of its plateaus."""
        if self.grid == "adaptive":
            return AdaptiveGrid(self.n_points)
        if self.grid != "exact":
            raise ValueError(f"unknown grid {self.grid!r}; choose one of {', '.join(GRIDS)}")
        if callable(self.budget):
            return ExactGrid(_check_budget(self.budget), lambdas)
        if self.budget == "full":
            return ExactGrid(None, lambdas)
        if self.budget == "auto":
            solver, n_known = self.make_solver(), self.n_known
            if not hasattr(solver, "budget"):
                raise ValueError(f"{solver!r} has no method budget(rank): pass budget='full' or a function")
            budget = solver.budget
            if n_known:  # the budget counts the others only
                return ExactGrid(lambda rank: budget(max(rank - n_known, 1)), lambdas)
            return ExactGrid(budget, lambdas)
        raise ValueError(f"unknown budget {self.budget!r}; choose 'auto', 'full' or a function of the rank")

    def first_rank(self, shape: tuple[int, int]) -> int:
        """The rank to start from, for X of this shape."""
        if not isinstance(self.init, str):
            given = self._given_rank()
            return self._check_first(given) if given else given  # no column: refused by check_factors
        first = self.max_rank
        if first is None:
            first = max(default_max_rank(shape), self.min_rank)
            first = max(first, min(self.n_known + ADDITIONAL, *shape)) if self.n_known else first
        if first > min(shape):
            warn(
                f"max_rank={first} is more than min(X.shape)={min(shape)}, which no nonnegative rank "
                f"exceeds; the path starts at {min(shape)}"
            )
            first = min(shape)
        if self.n_known > first:
            raise ValueError(
                f"there are {self.n_known} known components, but X of shape {shape} cannot have more than "
                f"{min(shape)}: leave some out"
            )
        return self._check_first(int(first))

    def settings(self) -> dict[str, Any]:
        """The settings that are stored with a path, in types that JSON can hold."""
        seed = self.random_state
        return {
            "solver": self.solver if isinstance(self.solver, str) else type(self.solver).__name__,
            "grid": self.grid,
            "beta_loss": self.loss.name,
            "n_points": int(self.n_points),
            "budget": self.budget if isinstance(self.budget, str) else "custom",
            "tol": float(self.tol),
            "max_iter": int(self.max_iter),
            "init": self.init if isinstance(self.init, str) else "given",
            "n_starts": int(self.n_starts),
            "scale": bool(self.scale),
            "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
        }

    def _check_first(self, first: int) -> int:
        if self.min_rank > first:
            raise ValueError(f"min_rank={self.min_rank} is more than the first rank of the path, {first}")
        return first

    def _given_rank(self) -> int:
        columns = int(np.shape(self.init[0])[-1]) if np.ndim(self.init[0]) == 2 else 0
        if self.max_rank not in (None, columns):
            raise ValueError(f"init has {columns} components but max_rank is {self.max_rank}")
        return columns


def find_loss(beta_loss: Any) -> Loss:
    """A loss from its name, or from β."""
    number = isinstance(beta_loss, int | float) and not isinstance(beta_loss, bool)
    name = BETAS.get(beta_loss, "") if number else beta_loss
    if not isinstance(name, str) or name not in LOSSES:
        names = ", ".join(map(repr, LOSSES))
        raise ValueError(f"unknown beta_loss {beta_loss!r}; choose one of {names}, or 2 or 1 for them")
    return LOSSES[name]


def _check_positive(**values: Any) -> None:
    for name, value in values.items():
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be a positive integer, got {value!r}")


def _check_numbers(**values: Any) -> None:
    for name, value in values.items():
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not 0 <= value < math.inf:
            raise ValueError(f"{name} must be a nonnegative number, got {value!r}")


def _check_budget(iterations: Callable[[int], int]) -> Callable[[int], Budget]:
    """A budget from a function given by the caller, whose values are checked when they are used."""

    def budget(rank: int) -> Budget:
        wanted = iterations(rank)
        _check_positive(**{f"budget({rank})": wanted})
        return Budget(wanted, wanted)

    return budget
