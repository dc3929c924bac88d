"""The columns of every table of scores: a name, and what it says of a method."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from autonmf.bench.order.ranking import SURE, Standing

CELLS: dict[str, Callable[[Standing], str]] = {
    "n": lambda one: str(one.score.instances),
    "exact": lambda one: percent(one.score.exact),
    "within 1": lambda one: percent(one.score.within_one),
    "log2": lambda one: f"{one.score.log_error:.2f}",
    "worst": lambda one: f"{one.score.worst:.2f}",
    "bias": lambda one: f"{one.score.bias:+.2f}",
    "covered": lambda one: percent(one.score.covered),
    "warned": lambda one: percent(one.score.warned),
    "silent": lambda one: percent(one.score.silent),
    "failed": lambda one: percent(one.score.failed),
    "sure": lambda one: percent(one.sureness.share),
    "exact if sure": lambda one: percent(one.sureness.exact),
    "seconds": lambda one: f"{one.score.seconds:.1f}",
}
SUMMARY = ("exact", "within 1", "log2", "worst", "sure", "exact if sure", "seconds")
LEGEND = (
    "n: instances. log2: mean of |log2(rank/truth)|; worst: the largest. bias: mean of log2(rank/truth). "
    "covered: the truth is among the plausible ranks. silent: wrong by more than one without a warning. "
    f"sure: answers with a confidence of {SURE:g} at least, where a method gives one. seconds: mean. Overall "
    "is the mean over groups, but for sure and exact if sure, which are shares of all answers."
)


def cells(one: Standing, names: Iterable[str]) -> list[str]:
    """What the columns of these names say."""
    return [CELLS[name](one) for name in names]


def percent(share: float | None) -> str:
    """A share; a dash where there is none."""
    return "-" if share is None else f"{share:.0%}"
