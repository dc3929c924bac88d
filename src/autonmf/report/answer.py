"""Why this rank: the sentence, the confidence and the runner-up, in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from autonmf.report.evidence import Evidence
from autonmf.report.fit import Fit
from autonmf.report.subject import Subject
from autonmf.report.wording import in_words, percent, percents, ranges
from autonmf.selection import RankEstimate
from autonmf.selection.automatic import CREDIBLE
from autonmf.selection.automatic import SURE as MOST_SURE

SURE, LIKELY = 0.9, 0.6
"""Confidences from which on a choice is called clear, and likely."""

TERMS = {
    "loss": "The loss is the squared error of the fit.",
    "even rows and columns": "Rows and columns are scaled to even size first, so that faint ones count.",
    "edge of noise": "The edge of noise is the largest structure that noise of the same energy would show.",
}

CANDIDATES = 3
"""Ranks whose probabilities are shown beside the answer."""


@dataclass(frozen=True)
class Candidate:
    """A rank and its probability."""

    rank: int
    probability: float | None
    words: str


@dataclass(frozen=True)
class Answer:
    """What the page says first."""

    headline: str
    why: str
    fit: str  # the same by the fit: what one component more or less would do
    terms: str  # what the words of the sentence mean
    sure: str  # how sure the rule is, and the runner-up
    candidates: tuple[Candidate, ...]  # the likeliest ranks
    warnings: tuple[str, ...]


def answer_of(subject: Subject, fits: dict[int, Fit], evidence: Evidence) -> Answer:
    """The answer about the rank that the rule chose, or that was given."""
    estimate = subject.estimate
    rank = subject.rank if estimate is None else estimate.rank
    candidates = () if estimate is None else _candidates(estimate, evidence)
    return Answer(
        headline=f"{rank} component{'' if rank == 1 else 's'}",
        why=_why(subject),
        fit=_fit(fits, rank),
        terms=_terms(subject),
        sure="" if estimate is None else _sure(estimate, candidates),
        candidates=candidates,
        warnings=() if estimate is None else tuple(_sentence(text) for text in estimate.warnings),
    )


def _why(subject: Subject) -> str:
    if subject.estimate is None:
        return "This number was asked for; the data were not asked."
    why = _sentence(subject.estimate.why)
    if subject.rank != subject.estimate.rank:
        why += f" The model at hand was asked for {subject.rank} instead."
    return why


def _terms(subject: Subject) -> str:
    """The words of the rule's sentence that need one."""
    why = "" if subject.estimate is None else subject.estimate.why
    return " ".join(text for word, text in TERMS.items() if word in why)


def _fit(fits: dict[int, Fit], rank: int) -> str:
    """What is unexplained before, at and after the rank."""
    near = [k for k in (rank - 1, rank, rank + 1) if k in fits]
    words = dict(zip(near, percents([fits[k].left for k in near]), strict=True))
    if rank not in words:
        return ""
    parts = [
        f"{in_words(k)} {'would leave' if k > rank else 'leaves' if k == 1 else 'leave'} {words[k]}"
        for k in near
    ]
    return f"Of the data's energy, {', '.join(parts)} unexplained."


def _sure(estimate: RankEstimate, candidates: tuple[Candidate, ...]) -> str:
    if estimate.confidence is None:
        others = [rank for rank in estimate.plausible if rank != estimate.rank]
        also = f" Also plausible: {ranges(others)}." if others else ""
        return f"The rule “{estimate.rule}” does not say how sure it is.{also}"
    sure = estimate.confidence
    words = (
        "The choice is clear" if sure >= SURE
        else "The choice is likely, not certain" if sure >= LIKELY
        else "The choice is uncertain"
    )  # fmt: skip
    return f"{words}: {percent(sure)}. {_runner_up(estimate, candidates)}{_capped(estimate)}"


def _capped(estimate: RankEstimate) -> str:
    """Why the probabilities beside it do not add up to one, where they do not."""
    chances = estimate.evidence.get("probability")
    if estimate.rule != "auto" or chances is None or not max(chances) > MOST_SURE:
        return ""
    return (
        f" Nothing is called surer than {percent(MOST_SURE)}: the rule was fitted to a few hundred matrices "
        "of known rank, which do not tell more."
    )


def _runner_up(estimate: RankEstimate, candidates: tuple[Candidate, ...]) -> str:
    second = next((one for one in candidates if one.rank != estimate.rank), None)
    if second is None:
        return "There is no other rank to compare with."
    text = f"The runner-up is {second.rank} ({second.words})."
    if len(estimate.plausible) > 2:
        text += f" With a probability of {percent(CREDIBLE)} the rank is one of {ranges(estimate.plausible)}."
    return text


def _candidates(estimate: RankEstimate, evidence: Evidence) -> tuple[Candidate, ...]:
    chances = evidence.column("probability")
    if chances is None:
        return tuple(Candidate(rank, None, "plausible") for rank in estimate.plausible[:CANDIDATES])
    found = zip(evidence.ranks, chances.values, chances.words, strict=True)
    likely = [Candidate(*one) for one in found if one[1]]
    return tuple(sorted(likely, key=lambda one: -(one.probability or 0.0))[:CANDIDATES])


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
