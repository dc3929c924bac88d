"""Where the weights of the default rule come from, and how they do on families that they were not fitted to.

    python -m experiments fit-rule                          # about three minutes
    python -m experiments fit-rule --cache evidence.json    # keep the evidence: seconds the next time

The design families of the rank-selection benchmark (none that is held out, no final seed) give the evidence
of some 600 matrices with known rank. The weights of the three features are those of a conditional logit model
fitted to it by maximum likelihood with a small ridge, every family counting the same and the paper's
configurations as one. Then one family at a time is left out of the fit and answered; an ablation does the
same with fewer features. Real data are only answered, with the weights of all drawn families.

What the folds do not test: the form of the features, their limits, the tolerance for the lag, and the ridge,
which decides how sure the rule is where the families are told apart without error. These were chosen by hand,
on these families; docs/selection.md tells what was changed after the held-out families had been answered.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy.optimize import minimize
from scipy.special import logsumexp

import autonmf
from autonmf.selection.automatic import (
    MAX_CONFIDENCE,
    WEIGHTS,
    feature_columns,
    largest_confidences,
    plausible_ranks,
    probabilities_of,
)
from autonmf.selection.features import compute_features
from experiments.core import Array, Evidence, WhitenedSpectrum, observe_evidence
from experiments.rank_benchmark.design import SIZES
from experiments.rank_benchmark.families import FINAL_SEEDS, Family, choose_families
from experiments.rank_benchmark.run import code_digest
from experiments.rank_benchmark.scores import SURE
from experiments.shared import RESULTS, data_home, replace_file

ABOUT = "Fit the weights of the default rule to the design families, and leave out one family at a time."
FIGURES = RESULTS / "selection_rule.json"


DRAWN = (*range(5), *range(100, 115))
SEEDS = {"paper": (0, 1), "synthetic": DRAWN, "semi": DRAWN, "real": (0,)}
MOST_ENTRIES = 3_000_000
"""Larger matrices of the paper are left out: they are alike, and the smaller ones are harder."""


@dataclass(frozen=True)
class Sample:
    """One matrix, as a rule sees it."""

    family: str
    group: str
    seed: int
    truth: int  # of real data: the reference
    evidence: Evidence
    code: str  # the state of the code that searched the path

    @property
    def kind(self) -> str:
        """What is left out at a time: the configurations of the paper are one family."""
        return self.group if self.group == "paper" else self.family


def design_families() -> list[Family]:
    """The families that a rule may be designed on, where their data are at hand."""
    small = [f"-{n}x{m}-" for n, m in SIZES if n * m <= MOST_ENTRIES]
    chosen = [
        family
        for family in choose_families("design")
        if family.available() and (family.group != "paper" or any(size in family.name for size in small))
    ]
    assert not any(family.held_out for family in chosen)
    assert not set(FINAL_SEEDS) & {seed for seeds in SEEDS.values() for seed in seeds}
    return chosen


def collect(families: list[Family], cache: Path | None) -> list[Sample]:
    """The samples of these families; those in the cache are read from there, others are added to it."""
    known = {} if cache is None or not cache.exists() else _read_cache(cache)
    samples = []
    for family in families:
        missing = False
        for seed in family.seeds_of(SEEDS[family.group]):
            if (family.name, seed) not in known:
                known[family.name, seed], missing = observe(family, seed), True
            samples.append(known[family.name, seed])
        if missing and cache is not None:
            _write_cache(known, cache)
    return samples


def observe(family: Family, seed: int) -> Sample:
    """Search the path of one matrix."""
    instance = family.generate(seed)
    evidence = observe_evidence(instance.X, seed)
    return Sample(family.name, family.group, seed, instance.rank, evidence, code_digest())


def _read_cache(cache: Path) -> dict[tuple[str, int], Sample]:
    samples = [
        Sample(**one | {"evidence": _evidence(one["evidence"])})
        for one in json.loads(cache.read_text(encoding="utf-8"))
    ]
    return {(sample.family, sample.seed): sample for sample in samples}


def _evidence(stored: dict[str, Any]) -> Evidence:
    (n, m), squares, *found = stored["whitened"]
    read = {
        "shape": tuple(stored["shape"]),
        "whitened": WhitenedSpectrum((n, m), np.array(squares), *found),
        **{name: np.array(stored[name]) for name in ("ranks", "losses", "spectrum", "known_drops")},
    }
    return Evidence(**stored | read)


def _write_cache(known: dict[tuple[str, int], Sample], cache: Path) -> None:
    content = [asdict(sample) for sample in known.values()]
    replace_file(cache, json.dumps(content, default=np.ndarray.tolist))


RIDGES = (0.01, 0.01, 0.003)
"""Of each feature. Most families are told apart without error: the ridges decide how sure the rule is. Drop
ratio and elbow fit have a larger one, since the curves of drawn matrices are cleaner than those of real data:
no wrong answer to real data has a confidence of one half."""


class Choice(NamedTuple):
    """One matrix: what there was to choose from, what was right, and how much it counts."""

    columns: Array  # one row per candidate, one column per feature
    right: int  # the row of the true rank
    weight: float


def fit(choices: Sequence[Choice], ridges: Sequence[float] = RIDGES) -> Array:
    """The weights w that minimise the mean of -log p(truth) + ½ Σ ridge_f w_f²."""
    ridge = np.array(ridges)
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
        value = shares @ (total - chosen @ w) + 0.5 * (ridge * w) @ w
        return float(value), shares @ (expected - chosen) + ridge * w

    found = minimize(objective, np.zeros(features), jac=True, method="L-BFGS-B")
    assert found.success, found.message
    return np.asarray(found.x)


Variant = tuple[int, ...]
"""The features that are used, by their columns in `feature_columns`."""

AS_IT_IS = "all three features"
VARIANTS: dict[str, Variant] = {
    AS_IT_IS: (0, 1, 2),
    "without drop ratio": (1, 2),
    "without elbow fit": (0, 2),
    "without fall to noise": (0, 1),
    "only fall to noise": (2,),
}


class View(NamedTuple):
    """A sample as a variant of the rule reads it."""

    sample: Sample
    columns: Array  # a row per rank, zero for features that are not used
    largest: Array  # the largest confidence of each rank

    @classmethod
    def of(cls, sample: Sample, variant: Variant) -> View:
        features = compute_features(sample.evidence)
        columns = feature_columns(features)
        columns[:, [i for i in range(columns.shape[1]) if i not in variant]] = 0.0
        return cls(sample, columns, largest_confidences(features))


class Answer(NamedTuple):
    """What the rule says of a sample."""

    sample: Sample
    rank: int
    confidence: float
    plausible: tuple[int, ...]

    @property
    def missed_by(self) -> int:
        return abs(self.rank - self.sample.truth)


def weights_of(views: Sequence[View]) -> Array:
    """Fit the weights; each family counts the same."""
    size = Counter(view.sample.kind for view in views)
    return fit([Choice(view.columns, view.sample.truth - 1, 1.0 / size[view.sample.kind]) for view in views])


def answer(view: View, weights: Array) -> Answer:
    """The default rule with other weights."""
    probabilities = probabilities_of(view.columns @ weights, view.sample.evidence.ranks)
    best = int(np.argmax(probabilities))
    confidence = float(min(probabilities[best], view.largest[best]))
    return Answer(view.sample, best + 1, confidence, plausible_ranks(probabilities))


def leave_one_out(views: Sequence[View]) -> tuple[list[Answer], dict[str, Array]]:
    """The answers of every family with weights that the others gave, and these weights."""
    weights = {
        kind: weights_of([view for view in views if view.sample.kind != kind])
        for kind in dict.fromkeys(view.sample.kind for view in views)
    }
    return [answer(view, weights[view.sample.kind]) for view in views], weights


def figures(answers: Sequence[Answer]) -> dict[str, Any]:
    """Shares of the answers; "sure" ones have a confidence of `SURE` at least."""
    sure = [a.missed_by == 0 for a in answers if a.confidence >= SURE]
    return {
        "matrices": len(answers),
        "exact": fmean(a.missed_by == 0 for a in answers),
        "within one": fmean(a.missed_by <= 1 for a in answers),
        "sure": len(sure) / len(answers),
        "exact if sure": fmean(sure) if sure else None,
        "covered": fmean(a.sample.truth in a.plausible for a in answers),
    }


def by_family(answers: Sequence[Answer]) -> dict[str, dict[str, Any]]:
    kinds = dict.fromkeys(a.sample.kind for a in answers)
    return {kind: figures([a for a in answers if a.sample.kind == kind]) for kind in kinds}


def calibration(answers: Sequence[Answer], parts: int = 10) -> list[dict[str, Any]]:
    """Tenths of the answers by increasing confidence, and how many of each are exact."""
    ordered = sorted(answers, key=lambda a: a.confidence)
    tenths = [[ordered[i] for i in part] for part in np.array_split(np.arange(len(ordered)), parts)]
    return [
        {
            "matrices": len(tenth),
            "from": tenth[0].confidence,
            "to": tenth[-1].confidence,
            "mean": fmean(a.confidence for a in tenth),
            "exact": fmean(a.missed_by == 0 for a in tenth),
        }
        for tenth in tenths
        if tenth
    ]


def study(samples: list[Sample], variant: Variant, *, closely: bool = False) -> dict[str, Any]:
    """Fit, leave one family out at a time, and answer the real data."""
    views = [View.of(sample, variant) for sample in samples]
    drawn = [view for view in views if view.sample.group != "real"]
    weights = weights_of(drawn)
    answers, folds = leave_one_out(drawn)
    real = [answer(view, weights) for view in views if view.sample.group == "real"]
    found = {
        "weights": weights.tolist(),
        "overall": figures(answers),
        "by family": by_family(answers),
        "real": {
            a.sample.family: {"reference": a.sample.truth, "rank": a.rank, "confidence": a.confidence}
            for a in real
        },
    }
    if not closely:
        return found
    return found | {
        "weights of the folds": {kind: fold.tolist() for kind, fold in folds.items()},
        "calibration": calibration(answers),
        "misses": [
            {"family": s.family, "seed": s.seed, "truth": s.truth, "rank": rank, "confidence": confidence}
            for s, rank, confidence, _ in answers
            if rank != s.truth
        ],
    }


def setting(samples: list[Sample]) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "seeds": {group: list(seeds) for group, seeds in SEEDS.items()},
        "largest of the paper": MOST_ENTRIES,
        "ridges": RIDGES,
        "frozen weights": WEIGHTS,
        "data home": data_home() is not None,
        "code": sorted({sample.code for sample in samples}),
        "versions": {
            "autonmf": autonmf.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m experiments fit-rule", description=ABOUT)
    parser.add_argument("--cache", type=Path, help="file that keeps the evidence between runs")
    parser.add_argument("--out", type=Path, default=FIGURES, help="where the figures go")
    options = parser.parse_args(arguments)
    samples = collect(design_families(), options.cache)
    if {sample.code for sample in samples} != {code_digest()}:
        print(f"{options.cache} has evidence of another state of the code: remove it to collect again.\n")
    studies = {name: study(samples, variant, closely=name == AS_IT_IS) for name, variant in VARIANTS.items()}
    print("\n\n".join(pages(studies)))
    options.out.write_text(json.dumps(setting(samples) | {"variants": studies}, indent=1) + "\n")


FEATURES = ("drop ratio", "elbow fit", "fall to noise")
SHARES = ("exact", "within one", "sure", "exact if sure", "covered")


def pages(studies: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Titles and tables, in the order in which one would read them."""
    whole = studies[AS_IT_IS]
    yield "## Weights"
    yield _weights(whole)
    yield "## One family left out at a time"
    yield _families(whole)
    yield (
        f"{_misses(whole['misses'])} Sure: a confidence of at least {SURE:g}. "
        "Covered: the truth is among the plausible ranks."
    )
    yield "## Calibration"
    yield _calibration(whole["calibration"])
    yield f"Each line is a tenth of the same answers. The rule is never more than {MAX_CONFIDENCE:g} sure."
    yield "## Ablation, one family left out at a time"
    yield _table(("", *SHARES), ((name, *_shares(study["overall"])) for name, study in studies.items()))
    yield "## Real data, with the weights fitted to all generated families"
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
