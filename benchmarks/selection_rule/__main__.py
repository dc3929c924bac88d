"""Where the weights of the default rule come from, and how they do on families that they were not fitted to.

    python benchmarks/selection_rule                          # about three minutes
    python benchmarks/selection_rule --cache evidence.json    # keep the evidence: seconds the next time

The design families of the rank-selection benchmark (none that is held out, no final seed) give the evidence
of some 300 matrices with known rank. The weights of the four features are those of a conditional logit model
fitted to it by maximum likelihood with a small ridge, every family counting the same and the paper's
configurations as one. Then one family at a time is left out of the fit and answered; an ablation does the
same with less to look at. Real data are only answered, with the weights of all drawn families.

What the folds do not test: the form of the features, their limits, and the score of rank one. These were
chosen by hand, on these families.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from folds import View, answer, by_family, calibration, figures, leave_one_out, weights_of
from logit import RIDGE
from samples import MOST_ENTRIES, SEEDS, Sample, collect, design_families
from tables import pages
from variants import AS_IT_IS, VARIANTS, Variant

import autonmf
from autonmf.bench.order.code import code_digest
from autonmf.bench.order.home import data_home
from autonmf.selection.automatic import WEIGHTS

RESULTS = Path(__file__).parents[1] / "results" / "selection_rule.json"


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
        "ridge": RIDGE,
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


def main() -> None:
    parser = argparse.ArgumentParser("selection_rule", description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, help="file that keeps the evidence between runs")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the figures go")
    options = parser.parse_args()
    samples = collect(design_families(), options.cache)
    if {sample.code for sample in samples} != {code_digest()}:
        print(f"{options.cache} has evidence of another state of the code: remove it to collect again.\n")
    studies = {name: study(samples, variant, closely=name == AS_IT_IS) for name, variant in VARIANTS.items()}
    print("\n\n".join(pages(studies)))
    options.out.write_text(json.dumps(setting(samples) | {"variants": studies}, indent=1) + "\n")


if __name__ == "__main__":
    main()
