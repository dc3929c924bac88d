r"""A sample of the rows of a tall X, on which a path is computed in place of all of them.

Components have m columns, and a few thousand rows determine them. What is rare must be in the sample. Row i
is taken with the probability

.. math:: \pi_i = \min\bigl(1, \tfrac s2 (\tfrac1n + \ell_i / \textstyle\sum_j \ell_j)\bigr),

where s is the size of the sample and :math:`\ell_i` the leverage of the row: its squared norm in the leading
left singular vectors of the scaled X. A direction that few rows have gives each of them a large leverage; a
row that has one to itself is always taken. The rows of the sample are divided by :math:`\sqrt{\pi_i}`:
losses and XᵀX are then estimated without bias.

A sample is checked against all rows: what some components leave of them must have no direction that stands
out more than in the sample. Otherwise a larger one is drawn, in which rows with large residuals count more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autonmf._types import Array
from autonmf.data import Block, Data, Dense, Scaling, split_scaling
from autonmf.data.factors import as_factor, gram
from autonmf.data.protocol import as_array
from autonmf.losses.frobenius import fit_rows
from autonmf.path.view import MIN_ROWS_PER_SAMPLE_ROW, View, sample_size

STANDS_OUT = 1.1
"""What is left of all rows may have a direction this many times as strong as what is left of a sample."""

NEGLIGIBLE = 1e-6
"""Directions below this fraction of ‖X‖² are not looked at."""

MOST_ROUNDS = 20
"""Rounds in which probabilities above one are cut, and the others raised."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows of X', each divided by the root of its probability."""

    whole: Data  # X', all rows
    leading: Array  # X'ᵀL of its leading directions L, m x w, orthogonal
    importance: Array  # of every row: its probability is proportional to it
    taken: Array  # whether each row is
    probabilities: Array  # the probability of each that is
    view: View  # of the rows taken

    def take(self, data: Data) -> Dense:
        """The same rows of X with other scales."""
        return _take(data, self.taken, self.probabilities)

    def shows_all(self, V: Array) -> bool:
        """Whether V leaves no direction of all rows that stands out more than those left of the sample.

        Compared is σ₁² of the residual over σ²_{k+1} of X', which k components cannot be without; both within
        the leading directions of X'.
        """
        squares = np.square(self.leading).sum(axis=0)
        Q = self.leading / np.sqrt(np.maximum(squares, np.finfo(float).tiny))
        if V.shape[1] >= len(squares):
            return True
        within = self.view.scaled.right(as_factor(Q, self.view.scaled.dtype))
        of_all = _strongest_left(self.whole, V, Q, np.diag(squares))
        of_sample = _strongest_left(self.view.scaled, V, Q, gram(within))
        return of_all <= STANDS_OUT * of_sample

    def enlarge(self, V: Array, rng: np.random.Generator) -> Sample | None:
        """A sample of twice the size, in which rows that V does not explain count more; None: take all."""
        size = 2 * len(self.probabilities)
        if MIN_ROWS_PER_SAMPLE_ROW * size > len(self.taken):
            return None
        rows = self.whole.map_blocks(_square_residuals, fit_rows(self.whole, V), V)[0][:, 0]
        return _draw(self.whole, self.leading, 0.5 * self.importance + 0.5 * rows / rows.sum(), size, rng)


def draw_sample(whole: Data, leading: Array, rng: np.random.Generator) -> Sample:
    """A sample of the rows of X'; ``leading`` is X'ᵀL for its leading left singular vectors L."""
    squares = np.square(leading).sum(axis=0)
    strong = squares > NEGLIGIBLE**2 * squares[0]
    leverages = whole.map_blocks(_square_rows, None, leading[:, strong] / squares[strong])[0][:, 0]
    importance = 0.5 / len(leverages) + 0.5 * leverages / leverages.sum()
    return _draw(whole, leading, importance, sample_size(whole.shape, leading.shape[1]), rng)


def _draw(whole: Data, leading: Array, importance: Array, size: int, rng: np.random.Generator) -> Sample:
    probabilities = _find_probabilities(importance, size)
    taken = rng.random(len(probabilities)) < probabilities
    probabilities = probabilities[taken]
    rows = _take(whole, taken, probabilities)
    view = View(rows, Scaling(), rows, precise=False, sampled=True)
    return Sample(whole, leading, importance, taken, probabilities, view)


def _find_probabilities(importance: Array, size: int) -> Array:
    """Probabilities proportional to the importance of rows, none above one, which add up to ``size``."""
    probabilities = size * importance / importance.sum()
    for _ in range(MOST_ROUNDS):
        free = probabilities < 1.0
        wanted = size - np.count_nonzero(~free)
        total = probabilities[free].sum()
        probabilities[~free] = 1.0
        if free.all() or not 0 < total < 0.999 * wanted:
            break
        probabilities[free] *= wanted / total
    return np.asarray(np.minimum(probabilities, 1.0))


def _take(data: Data, taken: Array, probabilities: Array) -> Dense:
    """Some rows of scaled data, divided by the roots of their probabilities, in memory of our own."""
    inner, scaling = split_scaling(data)
    rows = np.array(inner.map_blocks(_take_rows, taken[:, None])[0], order="C")
    a = scaling.a[taken] if np.ndim(scaling.a) else scaling.a
    rows /= np.asarray(a * np.sqrt(probabilities)[:, None], dtype=rows.dtype)
    rows /= np.asarray(scaling.b, dtype=rows.dtype).T
    return Dense(rows)


def _take_rows(block: Block, taken: Array) -> tuple[Array, None]:
    return as_array(block.read()[np.flatnonzero(taken)]), None


def _square_rows(block: Block, _: None, vectors: Array) -> tuple[Array, None]:
    """The squared norms of the rows of X times some vectors."""
    return np.square(block.read() @ vectors).sum(axis=1, keepdims=True), None


def _square_residuals(block: Block, U: Array, V: Array) -> tuple[Array, None]:
    return np.square(block.residual(U, V)).sum(axis=1, keepdims=True), None


def _strongest_left(data: Data, V: Array, Q: Array, squares: Array) -> float:
    """σ₁² of X - U Vᵀ over σ²_{k+1} of X, within the directions Q, where QᵀXᵀXQ is ``squares``."""
    V = as_factor(V, data.dtype)
    U = fit_rows(data, V)
    profiles = Q.T @ V
    shared = (Q.T @ data.left(U)) @ profiles.T
    left = squares - shared - shared.T + profiles @ gram(U) @ profiles.T
    floor = NEGLIGIBLE * np.trace(squares)
    spectrum = np.linalg.eigvalsh(squares)[::-1]
    return float((np.linalg.eigvalsh(left)[-1] + floor) / (max(spectrum[V.shape[1]], 0.0) + floor))
