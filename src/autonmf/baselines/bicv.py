r"""Hiding a block of X and predicting it from the rest (Owen and Perry, 2009).

With rows and columns ordered so that the hidden block A is first,

.. math:: X = \begin{pmatrix} A & B \\ C & D \end{pmatrix}, \qquad
    D \approx U_D V_D^\top, \quad
    U_A = \arg\min_{U\ge0}\|B-UV_D^\top\|, \quad V_A = \arg\min_{V\ge0}\|C-U_DV^\top\|, \quad
    \hat A = U_A V_A^\top.

Neither :math:`U_A` nor :math:`V_A` has seen A, so its error grows again when components fit the noise of D.

A. B. Owen and P. O. Perry, Bi-cross-validation of the SVD and the nonnegative matrix factorization, Annals of
Applied Statistics 3 (2009).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from autonmf._types import Array
from autonmf.baselines.entries import submatrix
from autonmf.data import Data
from autonmf.model.projection import project
from autonmf.path import PathPoint


@dataclass(frozen=True)
class HiddenBlock:
    """X in four parts, of which A is hidden and D is fitted."""

    A: Data
    B: Data
    C: Data
    D: Data

    @staticmethod
    def of(data: Data, rows: Array, columns: Array) -> HiddenBlock:
        """X with these rows and columns (boolean masks) hidden where they cross."""
        (top, bottom), (left, right) = (
            (np.flatnonzero(chosen), np.flatnonzero(~chosen)) for chosen in (rows, columns)
        )
        return HiddenBlock(
            submatrix(data, top, left),
            submatrix(data, top, right),
            submatrix(data, bottom, left),
            submatrix(data, bottom, right),
        )

    def error(self, point: PathPoint) -> float:
        """‖A - Â‖² / ‖A‖² for factors of D."""
        energy = self.A.squared_norm()
        if energy == 0.0:
            return 0.0
        U_A = project(self.B, point.V.astype(self.B.dtype, copy=False)).W
        V_A = project(self.C.T, point.U.astype(self.C.dtype, copy=False)).W
        return self.A.squared_residual(U_A, V_A) / energy


def hidden_blocks(
    shape: tuple[int, int], folds: int | tuple[int, int], rng: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """Rows and columns to hide, as boolean masks.

    ``(h, l)`` deals the rows into h groups and the columns into l and crosses every group with every other;
    an int k makes k groups of each and crosses the first with the first, the second with the second and so
    on: k fits instead of k², and each row and column is hidden once.
    """
    h, l = (folds, folds) if isinstance(folds, int) else folds
    row_group, column_group = (
        rng.permutation(np.arange(size) % k) for size, k in zip(shape, (h, l), strict=True)
    )
    pairs = [(i, i) for i in range(h)] if isinstance(folds, int) else list(np.ndindex(h, l))
    for i, j in pairs:
        yield row_group == i, column_group == j
