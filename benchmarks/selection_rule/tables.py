"""The figures as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from variants import AS_IT_IS

from autonmf.selection.automatic import SURE as MOST_SURE
from autonmf.selection.automatic import WEIGHTS

FEATURES = ("step", "bend", "remainder after", "remainder before")
SHARES = ("exact", "within one", "sure", "exact if sure", "covered")


def pages(studies: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Titles and tables, in the order in which one would read them."""
    whole = studies[AS_IT_IS]
    yield "## Weights"
    yield _weights(whole)
    yield "## One family left out at a time"
    yield _families(whole)
    yield f"{_misses(whole['misses'])} Sure: a confidence of 0.9 at least. Covered: by the plausible ranks."
    yield "## How sure, and how often right"
    yield _calibration(whole["calibration"])
    yield f"Tenths of the same answers. The rule says {MOST_SURE:g} where the probability is larger."
    yield "## With less to look at, one family left out at a time"
    yield _table(("", *SHARES), ((name, *_shares(study["overall"])) for name, study in studies.items()))
    yield "## Real data, with the weights of all drawn families"
    yield _real(studies)


def _weights(whole: dict[str, Any]) -> str:
    folds = np.array(list(whole["weights of the folds"].values()))
    lines = {
        "fitted": [f"{w:.2f}" for w in whole["weights"]],
        "rounded": [f"{w:.1f}" for w in whole["weights"]],
        "in use": [f"{w:.1f}" for w in WEIGHTS],
        "without one family": [
            f"{low:.1f} to {high:.1f}" for low, high in zip(folds.min(axis=0), folds.max(axis=0), strict=True)
        ],
    }
    return _table(("", *FEATURES), ((name, *cells) for name, cells in lines.items()))


def _families(whole: dict[str, Any]) -> str:
    lines = whole["by family"] | {"all": whole["overall"]}
    return _table(
        ("family", "matrices", *SHARES),
        ((name, str(line["matrices"]), *_shares(line)) for name, line in lines.items()),
    )


def _misses(misses: list[dict[str, Any]]) -> str:
    told = (f"{m['family']} {m['seed']} ({m['truth']}: {m['rank']}, {m['confidence']:.2f})" for m in misses)
    return f"Misses (truth: answer, confidence): {', '.join(told) or 'none'}."


def _calibration(tenths: Sequence[dict[str, Any]]) -> str:
    return _table(
        ("probability of the answer", "mean", "matrices", "exact"),
        (
            (f"{t['from']:.3f} to {t['to']:.3f}", f"{t['mean']:.3f}", str(t["matrices"]), f"{t['exact']:.0%}")
            for t in tenths
        ),
    )


def _real(studies: dict[str, dict[str, Any]]) -> str:
    reference = {name: line["reference"] for name, line in studies[AS_IT_IS]["real"].items()}
    lines = ((name, *(_answer(line) for line in study["real"].values())) for name, study in studies.items())
    return _table(("", *(f"{name} ({rank})" for name, rank in reference.items())), lines)


def _answer(line: dict[str, Any]) -> str:
    text = f"**{line['rank']}**" if line["rank"] == line["reference"] else str(line["rank"])
    return f"{text} at {line['confidence']:.2f}"


def _shares(line: dict[str, Any]) -> list[str]:
    return ["-" if line[name] is None else f"{line[name]:.1%}" for name in SHARES]


def _table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
