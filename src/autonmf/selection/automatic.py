r"""The default rule: a probability for every rank, from four features with fixed weights.

With the `autonmf.selection.features` of rank k the score is

.. math:: z_k = w_1\log_{10}\mathrm{drop\ ratio}_k + w_2\,\mathrm{elbow}_k
    - w_3\min(\log_{10}^+\mathrm{noise\ ratio}_k, 1)
    + w_4\min(\log_{10}^+\mathrm{noise\ ratio}_{k-1}, \tfrac12),

and the probability of k is proportional to :math:`e^{z_k}`. The weights are those of a conditional logit
model fitted to data of known rank; docs/selection.md tells how, and on what. Rank one has no drop before it:
its score is the usual one of the others, plus a bonus that shrinks if what it leaves is not quite like noise.
Where X is white noise from some rank on, the probabilities are mixed with those of structure that ends there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autonmf._types import Array
from autonmf.path import Evidence
from autonmf.selection.estimate import RankEstimate
from autonmf.selection.features import (
    MIN_DROP_RATIO,
    NOISE_LIMIT,
    Features,
    compute_features,
    end_at,
    first_white_noise_rank,
    format_number,
)
from autonmf.solvers import HIGH_RANK

WEIGHTS = (4.8, 3.7, 3.1, 2.7)  # of drop ratio, elbow fit, noise ratio and noise ratio before

MAX_LOG_AFTER, MAX_LOG_BEFORE = 1.0, 0.5
"""Noise ratios count up to ten after, and up to three before."""

RANK_ONE_BONUS, NOT_NOISE_PENALTY, DROP_ELSEWHERE_PENALTY = 9.0, 16.0, 10.0
"""The bonus of rank one; what it loses per decade of its noise ratio, and of a drop ratio elsewhere."""

MAX_CONFIDENCE = Evidence.max_confidence
"""The largest confidence with least squares."""

CREDIBLE_MASS = 0.9
"""The plausible ranks are the likeliest ones that together have this probability."""

WEAK_CONFIDENCE = 0.5
"""A rank that is less likely than this always comes with a warning."""

WHITE_NOISE_WEIGHT = 0.3
"""The weight of the alternative that structure ends where white noise begins."""

RIVAL_FRACTION = 0.6
"""Another rank with this fraction of the chosen one's probability is equally supported."""


def auto_rule(evidence: Evidence) -> RankEstimate:
    """The likeliest rank."""
    features = compute_features(evidence)
    scores = score_ranks(features, evidence.ranks)
    probabilities = rank_probabilities(features, evidence.ranks)
    best = int(np.argmax(probabilities))
    return RankEstimate(
        rank=best + 1,
        rule="auto",
        why=_why(features, best),
        evidence={
            "rank": features.rank,
            "loss": features.loss,
            "drop": features.drop,
            "drop_ratio": features.drop_ratio,
            "elbow": features.elbow,
            "noise_ratio": features.noise_ratio,
            "score": scores,
            "probability": probabilities,
        },
        plausible=plausible_ranks(probabilities),
        confidence=min(float(probabilities[best]), evidence.max_confidence)
        if len(probabilities) > 1
        else None,
        warnings=tuple(_warnings(features, probabilities, best, evidence)),
    )


def feature_columns(features: Features) -> Array:
    """What the weights multiply: a row per rank, a column per feature."""
    after, before = (
        np.log10(np.maximum(r, 1.0)) for r in (features.noise_ratio, features.noise_ratio_before)
    )
    return np.column_stack(
        [
            features.log_drop_ratio,
            features.elbow,
            -np.minimum(after, MAX_LOG_AFTER),
            np.minimum(before, MAX_LOG_BEFORE),
        ]
    )


def score_ranks(features: Features, visited: Array, weights: Sequence[float] = WEIGHTS) -> Array:
    """The score z of rank one and of every rank visited; -∞ for the others."""
    scores = np.asarray(feature_columns(features) @ np.array(weights))
    if len(scores) > 1:
        unlike = abs(np.log10(max(features.rank_one_noise_ratio, 1e-3)))
        elsewhere = features.log_drop_ratio[1:].max() - np.log10(MIN_DROP_RATIO)
        scores[0] = (
            np.median(scores[1:])
            + RANK_ONE_BONUS
            - NOT_NOISE_PENALTY * unlike
            - DROP_ELSEWHERE_PENALTY * elsewhere
        )
    return np.where(np.isin(features.rank, np.append(1, visited)), scores, -np.inf)


def rank_probabilities(features: Features, visited: Array, weights: Sequence[float] = WEIGHTS) -> Array:
    """The probability of every rank."""
    usual = _normalize(score_ranks(features, visited, weights))
    white = first_white_noise_rank(features)
    if white is None:
        return usual
    ending = _normalize(score_ranks(end_at(features, white), visited, weights))
    return (1.0 - WHITE_NOISE_WEIGHT) * usual + WHITE_NOISE_WEIGHT * ending


def _normalize(scores: Array) -> Array:
    likelihoods = np.exp(scores - scores.max())
    return np.asarray(likelihoods / likelihoods.sum())


def plausible_ranks(probabilities: Array) -> tuple[int, ...]:
    """The likeliest ranks that together are `CREDIBLE_MASS`."""
    order = np.argsort(-probabilities, kind="stable")
    needed = int(np.searchsorted(np.cumsum(probabilities[order]), CREDIBLE_MASS)) + 1
    return tuple(sorted(int(i) + 1 for i in order[:needed]))


def _why(features: Features, best: int) -> str:
    """One sentence on the rank at index ``best``."""
    rank, noise_ratio, drop_ratio = best + 1, features.noise_ratio[best], features.drop_ratio[best]
    largest = len(features.rank)
    if largest == 1:
        return "the path has only rank one"
    if rank == 1:
        if not features.drop[1:].max() > 0.0:
            return "no component lowers the loss beyond the first"
        if features.rank_one_noise_ratio >= NOISE_LIMIT:
            return f"no rank stands out among those up to {largest}"
        ratio = f"{features.rank_one_noise_ratio:.2f}"
        return f"what one component leaves looks like noise (noise ratio {ratio})"
    left = (
        f"what {rank} directions leave of X looks like noise"
        if noise_ratio < NOISE_LIMIT
        else f"the next direction of X is {format_number(noise_ratio)} times what noise alone would show"
    )
    if drop_ratio < MIN_DROP_RATIO:
        return f"the loss falls more slowly after {rank} components, without a clear break; {left}"
    if rank >= HIGH_RANK:
        return (
            f"the spectrum falls by a factor of {format_number(drop_ratio)} after {rank} components; {left}"
        )
    times = f"{format_number(drop_ratio)} times as much as" if drop_ratio < 1e4 else "far more than"
    return f"component {rank} lowers the loss {times} the next one would; {left}"


def _warnings(features: Features, probabilities: Array, best: int, evidence: Evidence) -> list[str]:
    rank, largest = best + 1, len(probabilities)
    order = np.argsort(-probabilities, kind="stable")
    found = []
    if largest == 1:
        found.append("the path has one rank only, so nothing was chosen")
    elif rank == 1 and (features.rank_one_noise_ratio < NOISE_LIMIT or not features.drop[1:].max() > 0.0):
        found.append("no structure beyond rank one")
    elif rank == largest:
        found.append(f"the rank is at the bound: raise max_rank above {largest}")
    elif features.drop_ratio[best] < MIN_DROP_RATIO or rank == 1:
        what = "no rank stands out" if rank == 1 else "the rank is where it begins to fall more slowly"
        found.append(
            f"no elbow: the loss keeps falling up to rank {largest}, and {what}; "
            "raise max_rank if you expect more"
        )
    if rank > 1 and probabilities[order[1]] > RIVAL_FRACTION * probabilities[best]:
        found.append(f"two ranks are equally supported: {rank} and {int(order[1]) + 1}")
    white = first_white_noise_rank(features)
    if white is not None and rank < white:
        found.append(f"X is white noise only beyond {white} directions: look at rank {white} too")
    if not evidence.complete:
        found.append("the path is incomplete")
    if not found and probabilities[best] < WEAK_CONFIDENCE:
        ranks = plausible_ranks(probabilities)
        found.append(f"the evidence is weak: {len(ranks)} ranks from {ranks[0]} to {ranks[-1]} are plausible")
    return found
