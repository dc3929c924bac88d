r"""The default rule: a probability for every rank, from four features with fixed weights.

With the `features` of rank k the score is

.. math:: z_k = w_1\,\mathrm{step}_k + w_2\,\mathrm{bend}_k - w_3\min(\log_{10}^+\mathrm{remainder}_k, 1)
    + w_4\min(\log_{10}^+\mathrm{remainder}_{k-1}, \tfrac12),

and the probability of k is proportional to :math:`e^{z_k}`. The weights are those of a conditional logit
model fitted to data of known rank; docs/selection.md tells how, and on what. Rank one has no step before it:
its score is the usual one of the others, plus a bonus that shrinks if what it leaves is not quite like noise.
Where X is white noise from some rank on, the probabilities are mixed with those of structure that ends there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autonmf._types import Array
from autonmf.path import HARDLY_ITERATED, Evidence
from autonmf.selection.estimate import RankEstimate, plain
from autonmf.selection.features import LIKE_NOISE, NO_STEP, Features, features_of
from autonmf.selection.whiteness import ending_at, first_white

WEIGHTS = (4.8, 3.7, 3.1, 2.7)  # of step, bend, remainder after and remainder before

MOST_LEFT, MOST_BEFORE = 1.0, 0.5
"""Remainders count up to ten and up to three times the edge of noise."""

ALONE, UNLIKE_NOISE, STEP_ELSEWHERE = 9.0, 16.0, 10.0
"""The bonus of rank one, and what it loses for each decade from noise, and for each of a step elsewhere."""

SURE = 0.99
"""The largest confidence: a few hundred matrices of known rank do not tell more."""

CREDIBLE = 0.9
"""The plausible ranks are the likeliest ones that together have this probability."""

WEAK = 0.5
"""A rank that is less likely than this comes with a warning, whatever else there is to say."""

ENDS_IN_NOISE = 0.3
"""The weight of the second reading, that structure ends where white noise begins."""

RIVAL = 0.6
"""Another rank with this share of the chosen one's probability is equally supported."""


def auto_rule(evidence: Evidence) -> RankEstimate:
    """The likeliest rank."""
    features = features_of(evidence)
    scores = scores_of(features, evidence.ranks)
    probabilities = probabilities_of(features, evidence.ranks)
    best = int(np.argmax(probabilities))
    return RankEstimate(
        rank=best + 1,
        rule="auto",
        why=_why(features, best),
        evidence={
            "rank": features.rank,
            "loss": features.loss,
            "drop": features.drop,
            "ratio": features.ratio,
            "bend": features.bend,
            "remainder": features.remainder,
            "score": scores,
            "probability": probabilities,
        },
        plausible=plausible_of(probabilities),
        confidence=min(float(probabilities[best]), SURE) if len(probabilities) > 1 else None,
        warnings=tuple(_warnings(features, probabilities, best, evidence)),
    )


def columns_of(features: Features) -> Array:
    """What the weights multiply: one row a rank, one column a feature."""
    after, before = (np.log10(np.maximum(r, 1.0)) for r in (features.remainder, features.before))
    return np.column_stack(
        [features.step, features.bend, -np.minimum(after, MOST_LEFT), np.minimum(before, MOST_BEFORE)]
    )


def scores_of(features: Features, visited: Array, weights: Sequence[float] = WEIGHTS) -> Array:
    """The score z of rank one and of every rank visited; -∞ for the others."""
    scores = np.asarray(columns_of(features) @ np.array(weights))
    if len(scores) > 1:
        unlike = abs(np.log10(max(features.noise, 1e-3)))
        elsewhere = features.step[1:].max() - np.log10(NO_STEP)
        scores[0] = np.median(scores[1:]) + ALONE - UNLIKE_NOISE * unlike - STEP_ELSEWHERE * elsewhere
    return np.where(np.isin(features.rank, np.append(1, visited)), scores, -np.inf)


def probabilities_of(features: Features, visited: Array, weights: Sequence[float] = WEIGHTS) -> Array:
    """The probability of every rank."""
    usual = _shares(scores_of(features, visited, weights))
    white = first_white(features)
    if white is None:
        return usual
    ending = _shares(scores_of(ending_at(features, white), visited, weights))
    return (1.0 - ENDS_IN_NOISE) * usual + ENDS_IN_NOISE * ending


def _shares(scores: Array) -> Array:
    likelihoods = np.exp(scores - scores.max())
    return np.asarray(likelihoods / likelihoods.sum())


def plausible_of(probabilities: Array) -> tuple[int, ...]:
    """The likeliest ranks that together are `CREDIBLE`."""
    order = np.argsort(-probabilities, kind="stable")
    needed = int(np.searchsorted(np.cumsum(probabilities[order]), CREDIBLE)) + 1
    return tuple(sorted(int(i) + 1 for i in order[:needed]))


def _why(features: Features, best: int) -> str:
    """One sentence on the rank at index ``best``."""
    rank, remainder, ratio = best + 1, features.remainder[best], features.ratio[best]
    largest = len(features.rank)
    if largest == 1:
        return "the path has no rank but one"
    if rank == 1:
        if not features.drop[1:].max() > 0.0:
            return "no component lowers the loss beyond the first"
        if features.noise >= LIKE_NOISE:
            return f"nothing stands out among the ranks up to {largest}"
        return f"what one component leaves looks like noise: {features.noise:.2f} times its edge"
    left = (
        f"beyond {rank} directions X looks like noise"
        if remainder < LIKE_NOISE
        else f"the next direction of X is {plain(remainder)} times the edge of noise"
    )
    if ratio < NO_STEP:
        return f"the drops of the loss bend at {rank} components, without a clear step; {left}"
    if rank >= HARDLY_ITERATED:
        return f"the spectrum falls by a factor of {plain(ratio)} after {rank} components; {left}"
    times = f"{plain(ratio)} times as much as" if ratio < 1e4 else "far more than"
    return f"component {rank} lowers the loss {times} the next one would, on even rows and columns; {left}"


def _warnings(features: Features, probabilities: Array, best: int, evidence: Evidence) -> list[str]:
    rank, largest = best + 1, len(probabilities)
    order = np.argsort(-probabilities, kind="stable")
    found = []
    if largest == 1:
        found.append("the path has one rank only: nothing was chosen")
    elif rank == 1 and (features.noise < LIKE_NOISE or not features.drop[1:].max() > 0.0):
        found.append("no structure beyond rank one")
    elif rank == largest:
        found.append(f"the rank is at the bound: raise max_rank above {largest}")
    elif features.ratio[best] < NO_STEP or rank == 1:
        what = "no rank stands out" if rank == 1 else "the rank is where it begins to fall less"
        found.append(
            f"no elbow: the loss keeps falling up to rank {largest}, and {what}; "
            "raise max_rank if you expect more"
        )
    if rank > 1 and probabilities[order[1]] > RIVAL * probabilities[best]:
        found.append(f"two ranks are equally supported: {rank} and {int(order[1]) + 1}")
    white = first_white(features)
    if white is not None and rank < white:
        found.append(f"X is white noise beyond {white} directions only: look at rank {white} too")
    if not evidence.complete:
        found.append("the path is incomplete")
    if not found and probabilities[best] < WEAK:
        ranks = plausible_of(probabilities)
        found.append(f"the evidence is weak: {len(ranks)} ranks from {ranks[0]} to {ranks[-1]} are plausible")
    return found
