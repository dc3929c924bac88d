"""The command line's settings to a factorisation, with progress on the way."""

from __future__ import annotations

from typing import Any

from autonmf import factorisation
from autonmf.cli.choices import Missing
from autonmf.cli.failure import BAD_USAGE, Failure, explained, warnings_said
from autonmf.cli.progress import Reporter
from autonmf.cli.settings import Search
from autonmf.data import Data, as_data
from autonmf.factorisation import Factorisation
from autonmf.path import PathOptions

__all__ = ["Factorisation", "factorise"]

TYPED = {
    "Pass missing='mask' to leave these entries out, or fill them first, "
    "for example with sklearn.impute.SimpleImputer.": "Use --missing mask to leave these entries out, or "
    "fill them in the file first.",
    "shift it (X - X.min()), clip it (X.clip(min=0)), or take magnitudes.": "shift all of them, set "
    "negative ones to zero or take magnitudes, in the file.",
    "Divide X by its maximum first;": "Use --normalize max;",
}
"""Remedies in code, and what they are for those who type commands."""


def factorise(
    X: Any, search: Search, reporter: Reporter, *, missing: Missing = Missing.error
) -> Factorisation:
    """Follow the path, choose the rank and polish the solution there.

    The same steps as `AutoNMF`, without scikit-learn, which takes a second to import.
    """
    _check_rank(X.shape, search.n_components)
    with explained("factorise the matrix"), warnings_said():
        options = PathOptions(
            max_rank=search.max_rank,
            solver=search.solver.value,
            grid=search.grid.value,
            n_starts=search.n_starts,
            callback=reporter.reached,
            random_state=search.seed,
            checkpoint=search.checkpoint,
        )
        return factorisation.factorise(
            _data(X, missing),
            options,
            n_components=search.n_components,
            rule=search.chosen_rule.value,
            tau=search.tau,
            reached=reporter.polishing,
        )


def _data(X: Any, missing: Missing) -> Data:
    try:
        return as_data(X, missing=missing.value)
    except ValueError as error:
        message = str(error)
        for code, words in TYPED.items():
            message = message.replace(code, words)
        raise ValueError(message) from error


def _check_rank(shape: tuple[int, int], wanted: int | None) -> None:
    """A rank that the matrix cannot have is a mistake in the command."""
    if wanted is not None and wanted > min(shape):
        raise Failure(
            f"--n-components {wanted} is more than the smaller side of the {shape[0]} x {shape[1]} matrix; "
            f"use {min(shape)} or less",
            BAD_USAGE,
        )
