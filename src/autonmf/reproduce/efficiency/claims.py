"""The two sentences of Section VI-B."""

from __future__ import annotations

from autonmf.reproduce.efficiency.rows import faster, groups_of
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.verdict import Claim, Verdict, graded, judge

CLEAR = 1.5
"""Times fewer iterations than PALM that count as significantly fewer."""

OVERWHELMING = 2.0
"""Times fewer than the next best."""


def verdict(results: Results) -> Verdict:
    """The two sentences of Section VI-B, where the ranks cannot confound them and where they can."""
    groups = groups_of(results)
    if not groups:
        return judge([])
    keys = [key for key in groups if key[1] in ("cold", "resting")]

    def worst(solvers: tuple[str, ...], unit: str) -> float:
        return min(faster(groups, key, unit) or 0.0 for key in keys if key[2] in solvers)

    def lead(unit: str) -> float:
        """PASM against the best of the others, at its worst."""
        ratios = []
        for size, setting, _ in {(size, setting, "") for size, setting, _ in keys}:
            others = max(
                faster(groups, (size, setting, other), unit) or 0.0 for other in ("palm", "ipalm", "s-ipalm")
            )
            ratios.append((faster(groups, (size, setting, "pasm"), unit) or 0.0) / others)
        return min(ratios)

    inertial = worst(("ipalm", "s-ipalm"), "iterations")
    by_iterations, by_time = lead("iterations"), lead("seconds")
    return judge(
        [
            Claim(
                "iPALM and S-iPALM descend significantly faster per iteration than PALM",
                f"they are where PALM stopped at least {inertial:.1f} times sooner, at either λ and size",
                graded(inertial, CLEAR, 1.0),
            ),
            Claim(
                "PASM has an overwhelming advantage in iterations",
                f"at least {by_iterations:.2f} times fewer than the best other algorithm, and "
                f"{worst(('pasm',), 'iterations'):.1f} times fewer than PALM",
                graded(by_iterations, OVERWHELMING, 1.0),
            ),
            Claim(
                "PASM has an overwhelming advantage in running time",
                f"at least {by_time:.2f} times faster than the best other algorithm, and "
                f"{worst(('pasm',), 'seconds'):.1f} times faster than PALM",
                graded(by_time, OVERWHELMING, 1.0),
            ),
        ]
    )
