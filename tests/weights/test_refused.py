"""What is refused of missing entries and weights, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import autonmf
from autonmf import AutoNMF, rank_path
from autonmf.baselines import cross_validate, svht

MASKED = {"missing": "mask", "max_rank": 6, "random_state": 0}


@pytest.fixture
def X(low_rank: np.ndarray, holed: Callable[..., np.ndarray]) -> np.ndarray:
    return holed(low_rank, 0.2)


def masked(**options: Any) -> AutoNMF:
    return AutoNMF(**MASKED | options)


def test_missing_entries_need_to_be_asked_for(X: np.ndarray) -> None:
    with pytest.raises(ValueError, match="missing='mask'"):
        AutoNMF().fit(X)
    with pytest.raises(ValueError, match="missing='mask'"):
        rank_path(X)
    with pytest.raises(ValueError, match="missing must be one of 'error', 'mask', got 'zero'"):
        AutoNMF(missing="zero").fit(X)
    with pytest.raises(TypeError, match="missing='mask'"):
        AutoNMF().fit(np.ma.masked_invalid(X))
    plain = AutoNMF(3, random_state=0).fit(np.nan_to_num(X))
    with pytest.raises(ValueError, match="NaN"):
        plain.transform(X)


@pytest.mark.parametrize(
    ("bad", "message"), [(np.inf, "infinity"), (-1.0, "Negative values"), (-np.inf, "infinity")]
)
@pytest.mark.parametrize("storage", [np.ascontiguousarray, np.asfortranarray, sparse.csr_matrix])
def test_other_bad_values_are_still_refused(storage, bad: float, message: str, X: np.ndarray) -> None:
    X[3, 4] = bad
    with pytest.raises(ValueError, match=message):
        masked().fit(storage(X))


@pytest.mark.parametrize(("bad", "message"), [(np.inf, "infinity"), (-1.0, "Negative values")])
def test_bad_values_in_new_rows_are_refused(bad: float, message: str, X: np.ndarray) -> None:
    model = masked().fit(X)
    rows = np.array(X[:5])
    rows[2, 3] = bad
    for given in (rows, sparse.csr_matrix(rows)):
        with pytest.raises(ValueError, match=message):
            model.transform(given)


@pytest.mark.parametrize("storage", [np.ascontiguousarray, np.asfortranarray, sparse.csr_matrix])
def test_nothing_known(storage) -> None:
    with pytest.raises(ValueError, match="X is missing or zero everywhere"):
        masked().fit(storage(np.full((6, 5), np.nan)))


def test_compression_is_refused(X: np.ndarray) -> None:
    with pytest.raises(ValueError, match="engine='compressed' reads X only once"):
        masked(engine="compressed").fit(X)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weights": np.ones((60, 39))}, r"weights must have shape \(60, 40\)"),
        ({"weights": -np.ones((60, 40))}, "finite and nonnegative"),
        ({"weights": np.full((60, 40), np.nan)}, "finite and nonnegative"),
        ({"weights": np.zeros((60, 40))}, "all zero"),
        ({"weights": "many"}, "must be numbers"),
        ({"sample_weight": np.ones(59)}, r"sample_weight must have shape \(60,\)"),
        ({"sample_weight": np.ones((60, 1))}, r"sample_weight must have shape \(60,\)"),
        ({"sample_weight": -np.ones(60)}, "finite and nonnegative"),
        ({"sample_weight": np.zeros(60)}, "all zero"),
    ],
)
def test_bad_weights_are_refused(given: dict[str, Any], message: str, low_rank: np.ndarray) -> None:
    with pytest.raises(ValueError, match=message):
        AutoNMF().fit(low_rank, **given)


def test_methods_that_we_compare_with_refuse_missing_entries(X: np.ndarray) -> None:
    for method in (svht, cross_validate, autonmf.compare_ranks):
        with pytest.raises(ValueError, match="NaN"):
            method(X)
