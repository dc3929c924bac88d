"""Why this rank: the evidence of the rule as panels, table and sentences, and the answer at the top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autonmf._types import Array
from autonmf.data.noise import NOISE_LIMIT
from autonmf.fit import COUNTS, describe_unused
from autonmf.path import format_intervals
from autonmf.plotting.evidence import column, default_columns, numeric_columns
from autonmf.report.result import Result
from autonmf.report.wording import count, percent, percents, plain
from autonmf.selection import UNCERTAIN, RankEstimate
from autonmf.selection.features import format_number

PANELS = ("probability", "noise_ratio", "drop", "drop_ratio")
"""The panels that come first, from the top."""

CLEAR = 0.9
"""The confidence from which a choice is called clear."""

MAX_CANDIDATES = 3
"""Number of ranks shown with their probability next to the answer."""

DEFINITIONS = {
    "spectrum": "The spectrum is the sequence of squared singular values.",
    "noise": "Noise means independent errors; their size in each row and column is estimated from the data.",
}
"""Terms that the sentence of a rule may use."""


LOSS_WORDS = {
    "frobenius": {
        "curve": "Unexplained energy by rank",
        "fit": "Unexplained fraction of the energy",
        "note": "Energy is the sum of squares.",
        "parts": "Percentages are fractions of the energy.",
        "definition": "The loss is the squared error of the fit.",
    },
    "kullback-leibler": {
        "curve": "Loss by rank, relative to rank one",
        "fit": "Kullback-Leibler loss relative to rank one",
        "note": "The loss is the Kullback-Leibler divergence, as a fraction of that of rank one.",
        "parts": "Percentages are fractions of the sum of the fit.",
        "definition": "The loss is the Kullback-Leibler divergence.",
    },
}
"""How the page speaks of each loss."""


@dataclass(frozen=True)
class Column:
    """One quantity with a value for each rank of the table."""

    name: str
    label: str
    meaning: str
    values: tuple[float | None, ...]  # None if not finite
    words: tuple[str, ...]  # the values as text
    log: bool = False
    level: tuple[float, str] | None = None  # a constant to compare with, and its name


@dataclass(frozen=True)
class Evidence:
    """The evidence as a table by columns."""

    ranks: tuple[int, ...]
    columns: tuple[Column, ...]
    panels: tuple[str, ...]  # names of the columns that are drawn, from the top

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True)
class Candidate:
    """A rank and its probability."""

    rank: int
    probability: float | None
    words: str


@dataclass(frozen=True)
class Answer:
    """The first section of the page."""

    headline: str
    why: str
    fit: str  # what one component more or less would change
    definitions: str = ""  # of the terms in `why`
    confidence: str = ""
    candidates: tuple[Candidate, ...] = ()  # the most probable ranks
    warnings: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()  # what to do if the choice is uncertain
    for_counts: bool = False  # whether the data are counts that were fitted with least squares


def build_evidence(result: Result) -> Evidence:
    """The evidence for the chosen rank; only the losses if the rank was given."""
    estimate = result.estimate
    if estimate is None:
        table = {"rank": result.path.ranks, "loss": result.path.relative_losses}
    else:
        table = estimate.evidence
        if estimate.confidence is None:  # there was one rank only, or the rule gives none
            table = {name: values for name, values in table.items() if name != "probability"}
        elif "probability" in table:  # none is above the confidence
            table = table | {"probability": np.minimum(table["probability"], estimate.confidence)}
    names = numeric_columns(table)
    drawn = default_columns({name: table[name] for name in names})
    panels = sorted(drawn, key=lambda name: PANELS.index(name) if name in PANELS else len(PANELS))
    return Evidence(
        ranks=tuple(int(rank) for rank in table["rank"]),
        columns=tuple(_build_column(name, np.asarray(table[name], dtype=float)) for name in names),
        panels=tuple(panels),
    )


def describe_rank(evidence: Evidence, rank: int) -> str:
    """The evidence for one rank in sentences."""
    if rank not in evidence.ranks:
        return "The rule did not consider this rank."
    at = evidence.ranks.index(rank)
    values = {column.name: column.values[at] for column in evidence.columns}
    probability, drop_ratio, noise_ratio = (
        values.get(name) for name in ("probability", "drop_ratio", "noise_ratio")
    )
    parts = []
    if probability is not None:
        parts.append(f"The probability of rank {rank} is {percent(probability)}.")
    if "drop_ratio" in values and 1 < rank == evidence.ranks[-1]:
        parts.append(f"Rank {rank} is the largest rank tried, so it has no drop ratio.")
    elif rank > 1 and drop_ratio is not None and drop_ratio > 0:
        times = "far more than" if drop_ratio >= 1e4 else f"{plain(drop_ratio)} times as much as"
        times = "as much as" if 0.95 < drop_ratio < 1.05 else times
        parts.append(f"Component {rank} lowers the loss {times} the next one.")
    if noise_ratio is not None and len(evidence.ranks) == 1:
        return " ".join(parts) or "Only one rank was tried."
    if noise_ratio is not None and noise_ratio <= 1.0:
        leave = "leaves" if rank == 1 else "leave"
        parts.append(f"What {count(rank, 'component')} {leave} looks like noise.")
    elif noise_ratio is not None:
        times = format_number(noise_ratio)
        rest = ", which may be noise too" if noise_ratio <= NOISE_LIMIT else ""
        parts.append(f"The strongest remaining pattern is {times} times what noise alone would show{rest}.")
    return " ".join(parts) or "There is no evidence except the loss."


def build_answer(
    result: Result, unexplained: Mapping[int, float], evidence: Evidence, *, ranks: Sequence[int]
) -> Answer:
    """The answer for the chosen or given rank.

    ``unexplained`` is the relative loss by rank, and ``ranks`` are those on the page.
    """
    estimate = result.estimate
    rank = result.rank if estimate is None else estimate.rank
    headline, fit = count(rank, "component"), _describe_fit(unexplained, rank, result.path.beta_loss)
    if n_known := result.path.n_known:
        headline += (
            ", known" if n_known == rank == 1 else f", {'all' if n_known == rank else n_known} of them known"
        )
    if estimate is None:
        unused = tuple(map(_as_sentence, describe_unused(result.unused)))
        return Answer(headline, "This rank was given, not chosen from the data.", fit, warnings=unused)
    why = _as_sentence(estimate.why)
    if result.rank != rank:
        why += f" This model has {count(result.rank, 'component')}, as requested."
    candidates = _find_candidates(estimate, evidence)
    for_counts = COUNTS in estimate.warnings
    definitions = {"loss": LOSS_WORDS[result.path.beta_loss]["definition"], **DEFINITIONS}
    return Answer(
        headline,
        why,
        fit,
        definitions=" ".join(text for term, text in definitions.items() if term in estimate.why),
        confidence=_describe_confidence(estimate, candidates, evidence),
        candidates=candidates,
        warnings=tuple(_as_sentence(text) for text in estimate.warnings if text != COUNTS),
        steps=_list_steps(estimate, ranks, stability=result.stability is not None),
        for_counts=for_counts,
    )


def _list_steps(estimate: RankEstimate, ranks: Sequence[int], *, stability: bool) -> tuple[str, ...]:
    """What to do if the choice is uncertain."""
    if not estimate.is_uncertain:
        return ()
    plausible = [rank for rank in estimate.plausible if rank in ranks]
    several = len(plausible) > 1
    levels = f"ranks {format_intervals(plausible)}" if several else f"the ranks near {estimate.rank}"
    measured = "whose components are stable" if stability else "whose components you recognise"
    measure = "" if stability else " Add --stability, or pass stability=, to see how stable they are."
    return (
        "The tree below shows the levels: which component splits when one more is allowed.",
        f"Move the slider over {levels}, and take a rank {measured}.{measure}",
        "Then use that rank: --rank on the command line, model.at_rank in Python (the code is at the end).",
    )


def _describe_fit(unexplained: Mapping[int, float], rank: int, beta_loss: str) -> str:
    """What the neighbouring ranks leave unexplained."""
    near = [k for k in (rank - 1, rank, rank + 1) if k in unexplained]
    words = dict(zip(near, percents([unexplained[k] for k in near]), strict=True))
    if rank not in words:
        return ""
    parts = [f"{words[k]} with {count(k, 'component')}" for k in near]
    return f"{LOSS_WORDS[beta_loss]['fit']}: {', '.join(parts)}."


def _describe_confidence(
    estimate: RankEstimate, candidates: tuple[Candidate, ...], evidence: Evidence
) -> str:
    if estimate.confidence is None:
        others = [rank for rank in estimate.plausible if rank != estimate.rank]
        also = f" Also plausible: {format_intervals(others)}." if others else ""
        if len(evidence.ranks) == 1:
            return "Only one rank was tried, so that nothing was chosen."
        return f"The rule “{estimate.rule}” gives no probability.{also}"
    confidence = estimate.confidence
    words = (
        "The choice is clear" if confidence >= CLEAR
        else "The choice is likely" if confidence >= UNCERTAIN
        else "The choice is uncertain"
    )  # fmt: skip
    text = f"{words}, with a probability of {percent(confidence)}."
    second = next((one for one in candidates if one.rank != estimate.rank), None)
    if second is not None:
        text += f" The second most probable rank is {second.rank} ({second.words})."
    if estimate.rule == "auto" and max(estimate.evidence.get("probability", [0.0])) > confidence:
        text += (
            f" Probabilities are capped at {percent(confidence)}, because the rule was calibrated on a "
            "few hundred matrices."
        )
    return text


def _find_candidates(estimate: RankEstimate, evidence: Evidence) -> tuple[Candidate, ...]:
    probabilities = evidence.column("probability")
    if len(evidence.ranks) == 1:
        return ()
    if probabilities is None:
        return tuple(Candidate(rank, None, "plausible") for rank in estimate.plausible[:MAX_CANDIDATES])
    found = zip(evidence.ranks, probabilities.values, probabilities.words, strict=True)
    likely = [Candidate(*one) for one in found if one[1]]
    return tuple(sorted(likely, key=lambda one: -(one.probability or 0.0))[:MAX_CANDIDATES])


def _build_column(name: str, values: Array) -> Column:
    known = column(name)
    write = percent if name == "probability" else plain
    return Column(
        name=name,
        label=known.title or known.label,
        meaning=known.meaning,
        values=tuple(float(value) if np.isfinite(value) else None for value in values),
        words=tuple(write(float(value)) for value in values),
        log=known.needs_log_scale(values),
        level=known.level,
    )


def _as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
