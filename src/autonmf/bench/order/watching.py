"""Who is told how far a run is."""

from __future__ import annotations

from typing import Protocol

from autonmf.bench.order.objective import Row


class Watcher(Protocol):
    """Who is told."""

    def begins(self, answers: int) -> None:
        """So many answers are to be computed."""

    def skips(self, family: str) -> None:
        """The data of a family are not at hand."""

    def asks(self, family: str, seed: int, method: str) -> None:
        """A method is asked now."""

    def answered(self, row: Row) -> None:
        """It answered."""


class Silent:
    """Says nothing."""

    def begins(self, answers: int) -> None: ...

    def skips(self, family: str) -> None: ...

    def asks(self, family: str, seed: int, method: str) -> None: ...

    def answered(self, row: Row) -> None: ...


class Printing(Silent):
    """A line an answer."""

    def skips(self, family: str) -> None:
        print(skipped(family))

    def answered(self, row: Row) -> None:
        print(line(row))


def skipped(family: str) -> str:
    """Why a family has no rows."""
    return f"{family}: skipped, its file is not in the data home"


def line(row: Row) -> str:
    """An answer in a few words."""
    verdict = "right" if row.missed_by == 0 else row.error or f"truth {row.truth}"
    return f"{row.family} seed {row.seed} {row.method}: {row.rank} ({verdict}), {row.seconds:.1f} s"
