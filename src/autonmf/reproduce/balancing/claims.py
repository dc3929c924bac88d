"""The sentences of Section VI-D."""

from __future__ import annotations

from statistics import median

from autonmf.reproduce import form
from autonmf.reproduce.balancing.cells import SOLVERS
from autonmf.reproduce.balancing.rows import Group, groups_of, plateaus_of
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.lambda_path.cells import title_of
from autonmf.reproduce.plateau import over_ranked, reached, width_of
from autonmf.reproduce.verdict import Claim, Holds, Verdict, graded, judge

SMALLER = 0.8
"""λ at which the reference rank is reached, against iPALM's, to count as substantially smaller."""

NEAR_ZERO = 0.01
"""A recovery error on noise-free data that counts as near zero; its largest value is √20."""


def verdict(results: Results) -> Verdict:
    """The sentences of Section VI-D, on every variant of its data."""
    claims = []
    for (data, noise), group in groups_of(results).items():
        title = title_of(data, noise)
        if data == "synthetic":
            claims += [_wider(title, group), _near_zero(title, group, noise)]
        else:
            claims += [_sooner(title, group), _over(title, group)]
    return judge(claims)


def _visits(group: Group) -> str:
    shares = [form.share(len(plateaus_of(group[solver])), len(group[solver])) for solver in SOLVERS]
    return f"r* is visited in {shares[0]} paths by S-iPALM and {shares[1]} by iPALM"


def _wider(title: str, group: Group) -> Claim:
    pairs = [(width_of(a), width_of(b)) for a, b in zip(*(group[s] for s in SOLVERS), strict=True)]
    wider, narrower = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    widths = [median(side) for side in zip(*pairs, strict=True)]
    return Claim(
        f"{title}: S-iPALM has a wider plateau at r*",
        f"wider in {wider} seeds of {len(pairs)}, narrower in {narrower}; λ at its end over λ at its "
        f"start is {widths[0]:.2f} against {widths[1]:.2f} (medians, 1 for a path that jumps over r*); "
        f"{_visits(group)}",
        graded(wider / max(wider + narrower, 1), 0.7, 0.5),
    )


def _near_zero(title: str, group: Group, noise: float) -> Claim:
    balanced, plain = ([p.recovery_error for p in plateaus_of(group[s])] for s in SOLVERS)
    ours, other = form.middle(balanced), form.middle(plain)
    limit = NEAR_ZERO if noise == 0 else 2 * noise
    return Claim(
        f"{title}: S-iPALM's recovery error on the plateau is near zero",
        f"RE {form.digits(ours)} (median; iPALM {form.digits(other)})"
        + ("" if noise == 0 else "; the noise allows no less than about this"),
        Holds.yes if ours is not None and ours <= limit else Holds.no,
    )


def _sooner(title: str, group: Group) -> Claim:
    pairs = [(reached(a), reached(b)) for a, b in zip(*(group[s] for s in SOLVERS), strict=True)]
    both = [(a, b) for a, b in pairs if a and b]
    paper = f"{title}: S-iPALM reaches 16 at a substantially smaller λ and with a lower error"
    if not both:
        return Claim(paper, f"no seed where both come down to 16; {_visits(group)}", Holds.no)
    ratio = median(a[0] / b[0] for a, b in both)
    lower = sum(a[1] < b[1] for a, b in both)
    good = [ratio <= SMALLER, lower > len(both) / 2]
    return Claim(
        paper,
        f"16 or less is reached at {ratio:.2f} times iPALM's λ (median), with a lower error in {lower} of "
        f"{len(both)} seeds; {_visits(group)}",
        Holds.yes if all(good) else Holds.partly if any(good) else Holds.no,
    )


def _over(title: str, group: Group) -> Claim:
    balanced, plain = (median(over_ranked(curve) for curve in group[s]) for s in SOLVERS)
    more, much = plain > balanced + 0.05, plain >= 0.5
    return Claim(
        f"{title}: without balancing the path remains over-ranked over much of it",
        f"above 16 for {plain:.0%} of iPALM's points and {balanced:.0%} of S-iPALM's (medians)",
        Holds.yes if more and much else Holds.partly if more else Holds.no,
    )
