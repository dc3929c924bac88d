"""One list of parameters: explicit signatures have the defaults of `PathOptions`."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from autonmf import AutoNMF, rank_path
from autonmf.path import PathOptions
from autonmf.solvers import Hals

DEFAULTS = {field.name: field.default for field in fields(PathOptions)}
ONLY_IN = {"rank_path": {"X", "weights"}, "AutoNMF": {"n_components", "rule", "tau", "verbose"}}
"""What is no option of a search: the data, the choice of a rank, and what is printed."""

NOT_OF_THE_ESTIMATOR = {
    "min_rank", "n_points", "budget", "delta", "scale", "equilibrate", "callback",
}  # fmt: skip


def defaults_of(function: Any) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    return {name: parameter.default for name, parameter in parameters.items() if name != "self"}


@pytest.mark.parametrize(("name", "function"), [("rank_path", rank_path), ("AutoNMF", AutoNMF)])
def test_signatures_have_the_defaults_of_the_options(name: str, function: Any) -> None:
    found = defaults_of(function)
    shared = set(found) - ONLY_IN[name]
    assert ONLY_IN[name] <= set(found)
    assert {each: found[each] for each in shared} == {each: DEFAULTS[each] for each in shared}


def test_rank_path_has_every_option() -> None:
    assert set(defaults_of(rank_path)) - ONLY_IN["rank_path"] == set(DEFAULTS)


def test_the_estimator_has_every_option_but_those_of_experts() -> None:
    found = set(defaults_of(AutoNMF)) - ONLY_IN["AutoNMF"]
    assert set(DEFAULTS) - found == NOT_OF_THE_ESTIMATOR


@pytest.mark.parametrize(
    "given",
    [
        {"max_rank": 7},
        {"beta_loss": "kullback-leibler"},
        {"solver": "palm"},
        {"grid": "adaptive"},
        {"mu": 0.5},
        {"tol": 0.5},
        {"max_iter": 7},
        {"n_starts": 7},
        {"init": "nndsvd"},
        {"engine": "direct"},
        {"missing": "mask"},
        {"time_budget": 7.0},
        {"n_jobs": 2},
        {"checkpoint": "file"},
        {"random_state": 7},
    ],
    ids=str,
)
def test_the_estimator_passes_its_parameters_on(given: dict[str, Any]) -> None:
    assert AutoNMF()._options() == PathOptions()
    assert AutoNMF(**given)._options() == PathOptions(**given)


def test_every_parameter_of_the_estimator_is_tested_above() -> None:
    mark = next(m for m in test_the_estimator_passes_its_parameters_on.pytestmark if m.name == "parametrize")
    tested = {name for given in mark.args[1] for name in given}
    of_X = {"fixed_components"}  # checked against X: tests/estimator/test_known.py
    assert tested | of_X == set(defaults_of(AutoNMF)) - ONLY_IN["AutoNMF"]


class Bare:
    """A solver with what the paper's grid needs, and no budget."""

    def __init__(self) -> None:
        self.init, self.step = Hals().init, Hals().step


def test_a_solver_without_a_budget_can_be_given_one() -> None:
    X = np.random.default_rng(0).random((20, 10))
    with pytest.raises(ValueError, match=r"has no method budget.*pass budget='full'"):
        rank_path(X, 3, solver=Bare())  # type: ignore[arg-type]
    given: Any = Bare()
    path = rank_path(X, 3, solver=given, budget=lambda rank: 5, random_state=0)
    assert path.ranks.tolist() == [1, 2, 3]
