"""The command line's settings to a factorisation, with progress on the way."""

from __future__ import annotations

from typing import Any

from autonmf import factorisation
from autonmf.cli.failure import BAD_USAGE, Failure, explained, warnings_said
from autonmf.cli.progress import Reporter
from autonmf.cli.settings import Search
from autonmf.data import as_data
from autonmf.factorisation import Factorisation
from autonmf.path import PathOptions

__all__ = ["Factorisation", "factorise"]


def factorise(X: Any, search: Search, reporter: Reporter) -> Factorisation:
    """Follow the path, choose the rank and polish the solution there.

    The same steps as `AutoNMF`, without scikit-learn, which takes a second to import.
    """
    _check_ranks(X.shape, search)
    with explained("factorise the matrix"), warnings_said():
        options = PathOptions(
            max_rank=search.max_rank,
            solver=search.solver.value,
            grid=search.grid.value,
            n_starts=search.n_starts,
            callback=reporter.reached,
            random_state=search.seed,
        )
        return factorisation.factorise(
            as_data(X),
            options,
            n_components=search.n_components,
            rule="auto" if search.tau is None else "marginal",
            tau=search.tau,
            reached=reporter.polishing,
        )


def _check_ranks(shape: tuple[int, int], search: Search) -> None:
    """A rank that the matrix or the other option cannot have is a mistake in the command."""
    wanted = search.n_components
    if wanted is None:
        return
    if wanted > min(shape):
        raise Failure(
            f"--n-components {wanted} is more than the smaller side of the {shape[0]} x {shape[1]} matrix; "
            f"use {min(shape)} or less",
            BAD_USAGE,
        )
    if search.max_rank is not None and search.max_rank < wanted:
        raise Failure(
            f"--n-components {wanted} is more than --max-rank {search.max_rank}; raise --max-rank", BAD_USAGE
        )
