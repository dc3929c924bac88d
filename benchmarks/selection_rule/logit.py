r"""A conditional logit model: rank k of a matrix has a probability in proportion to :math:`e^{w^Tx_k}`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from autonmf._types import Array

RIDGE = 0.005


class Choice(NamedTuple):
    """One matrix: what there was to choose from, what was right, and how much it counts."""

    columns: Array  # one row a candidate, one column a feature
    right: int  # the row of the true rank
    weight: float


def fit(choices: Sequence[Choice], ridge: float = RIDGE) -> Array:
    """The weights w that minimise the mean of -log p(truth) + ½ ridge ‖w‖²."""
    longest, features = max(len(c.columns) for c in choices), choices[0].columns.shape[1]
    x, there = np.zeros((len(choices), longest, features)), np.zeros((len(choices), longest), dtype=bool)
    for i, choice in enumerate(choices):
        x[i, : len(choice.columns)], there[i, : len(choice.columns)] = choice.columns, True
    chosen = np.array([choice.columns[choice.right] for choice in choices])
    shares = np.array([choice.weight for choice in choices])
    shares /= shares.sum()

    def objective(w: Array) -> tuple[float, Array]:
        scores = np.where(there, x @ w, -np.inf)
        total = logsumexp(scores, axis=1)
        expected = np.einsum("ik,ikf->if", np.exp(scores - total[:, None]), x)
        value = shares @ (total - chosen @ w) + 0.5 * ridge * w @ w
        return float(value), shares @ (expected - chosen) + ridge * w

    found = minimize(objective, np.zeros(features), jac=True, method="L-BFGS-B")
    assert found.success, found.message
    return np.asarray(found.x)
