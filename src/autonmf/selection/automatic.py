r"""The default rule: a probability for every rank, from three features with fixed weights.

With the `autonmf.selection.features` of rank k the score is

.. math:: z_k = w_1\log_{10}\mathrm{drop\ ratio}_k + w_2\,\mathrm{elbow}_k + w_3\,\mathrm{fall}_k,

each within the limits below, and the probability of k is proportional to :math:`e^{z_k}`. If the residual of
some rank looks like noise, the fall to noise has the largest weight; otherwise drop ratio and elbow fit
choose, with a lower confidence. The weights are those of a conditional logit model fitted to data of known
rank (docs/selection.md describes them and the fit). The drop ratio of rank one does not count, since there is
always a first component. Known components (`autonmf.model.known`) together take its place, with the drop
ratio of the weakest one that is in X, and the rule chooses how many components the data need beyond them.
"""

from __future__ import annotations

import numpy as np

from autonmf._types import Array
from autonmf.data.noise import FAR_ABOVE, NOISE_LIMIT
from autonmf.path import Evidence, format_intervals
from autonmf.selection.estimate import UNCERTAIN, RankEstimate
from autonmf.selection.features import (
    MAX_DROP_RATIO,
    MIN_DROP_RATIO,
    Features,
    compute_features,
    format_number,
)
from autonmf.solvers import HIGH_RANK

WEIGHTS = (2.5, 2.5, 6.5)  # of drop ratio, elbow fit and fall to noise

MAX_FALL = 1.0
"""Falls of the noise ratio count up to one decade."""

MAX_CONFIDENCE = 0.99
"""The largest confidence: the rule was fitted to a few hundred matrices only."""

MAX_UNEXPLAINED_CONFIDENCE = 0.85
"""The same if a component may be missing, since the next direction is above the noise edge or may be hidden;
if a direction above it may be an outlier, hardly more than one entry of X; and if the last component lies
beyond the directions above the edge: it may stand for a poor local minimum."""

PLAUSIBLE_FRACTION = 1 / 3
"""The plausible ranks have at least this fraction of the chosen one's probability."""

RIVAL_FRACTION = 0.6
"""Another rank counts as equally supported from this fraction of the chosen one's probability."""


def auto_rule(evidence: Evidence) -> RankEstimate:
    """The most probable rank."""
    features = compute_features(evidence)
    scores = feature_columns(features) @ np.array(WEIGHTS)
    first = int(features.rank[0])
    probabilities = probabilities_of(scores, evidence.ranks - (first - 1))
    likeliest = np.flatnonzero(probabilities == probabilities.max())
    structure_left = features.noise_ratio[-1] > NOISE_LIMIT  # then the largest of equally probable ranks
    best = int(likeliest[-1 if structure_left else 0])
    most = float(largest_confidences(features)[best])
    return RankEstimate(
        rank=best + first,
        rule="auto",
        why=_why_beyond(features, best) if evidence.n_known else _why(features, best),
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
        plausible=plausible_ranks(probabilities, first),
        confidence=min(float(probabilities[best]), most) if len(probabilities) > 1 else None,
        warnings=tuple(_warnings(features, probabilities, best, evidence)),
    )


def feature_columns(features: Features) -> Array:
    """What the weights multiply: a row per rank, a column per feature."""
    columns = np.column_stack(
        [
            np.log10(np.clip(features.drop_ratio, MIN_DROP_RATIO, MAX_DROP_RATIO) / MIN_DROP_RATIO),
            features.elbow,
            np.minimum(features.fall, MAX_FALL),
        ]
    )
    if not features.n_known:
        columns[0, 0] = 0.0
    return columns


def probabilities_of(scores: Array, visited: Array) -> Array:
    """The probability of every rank from its score; zero for ranks above one that were not visited."""
    possible = np.isin(np.arange(1, len(scores) + 1), np.append(1, visited))
    likelihoods = np.where(possible, np.exp(scores - scores[possible].max()), 0.0)
    return np.asarray(likelihoods / likelihoods.sum())


def largest_confidences(features: Features) -> Array:
    """The largest confidence that each rank may have."""
    count = np.arange(1, len(features.rank) + 1)
    explained = (features.noise_ratio <= 1.0) & (count <= max(features.n_above, 1)) & (not features.doubtful)
    return np.where(explained, MAX_CONFIDENCE, MAX_UNEXPLAINED_CONFIDENCE)


def plausible_ranks(probabilities: Array, first: int = 1) -> tuple[int, ...]:
    """The ranks nearly as probable as the most probable one; ``probabilities`` begin at rank ``first``.

    The last rank is one of them only if no other is more probable: beyond it, nothing is known to compare.
    """
    most = probabilities.max()
    likely = probabilities >= PLAUSIBLE_FRACTION * most
    likely[-1] = probabilities[-1] == most
    return tuple(int(i) + first for i in np.flatnonzero(likely))


def _why(features: Features, best: int) -> str:
    """One sentence on the rank at index ``best``."""
    rank, largest = best + 1, len(features.rank)
    if largest == 1:
        return "the path has only rank one"
    if rank == 1 and not features.drop[1:].max() > 0.0:
        return "no component lowers the loss beyond the first"
    components = "one component leaves" if rank == 1 else f"{rank} components leave"
    ratio = features.noise_ratio[best]
    left = f"what {components} of X looks like noise"
    if ratio > 1.0:
        left = f"the strongest pattern beyond is {format_number(ratio)} times what noise alone would show"
    if rank == 1:
        none = "" if ratio <= NOISE_LIMIT else f"no rank stands out among those up to {largest}; "
        return none + left
    if features.fall[best] <= 0.1 and features.drop_ratio[best] >= MIN_DROP_RATIO and rank >= HIGH_RANK:
        drop_ratio = format_number(features.drop_ratio[best])
        return f"the spectrum falls by a factor of {drop_ratio} after {rank} components; {left}"
    return _describe_last(features, best, f"component {rank}", f"{rank} components", left)


def _why_beyond(features: Features, best: int) -> str:
    """One sentence on the number of components beyond the known ones, which is ``best``."""
    n_known, ratio = features.n_known, features.noise_ratio[best]
    those = "the known one" if n_known == 1 else f"the {n_known} known ones"
    if len(features.rank) == 1:
        return f"the path has only {those}"
    number = {0: "no component", 1: "one component"}.get(best, f"{best} components")
    beyond = f"{number} beyond {those}"
    if best == 0 and not features.drop[1:].max() > 0.0:
        return f"{beyond}: none lowers the loss"
    left = "what is left of X looks like noise"
    if ratio > NOISE_LIMIT:
        times = format_number(ratio)
        left = f"the strongest pattern beyond is still {times} times what noise alone would show"
    if best == 0:
        none = "" if ratio <= NOISE_LIMIT else "no number of them stands out; "
        return f"{beyond}: {none}{left}"
    last = "it" if best == 1 else "the last of them"
    return f"{beyond}: {_describe_last(features, best, last, 'them', left)}"


def _describe_last(features: Features, best: int, last: str, all_of_them: str, left: str) -> str:
    """What sets the last component of a rank apart, and what it leaves."""
    drop_ratio = features.drop_ratio[best]
    if features.fall[best] > 0.1:
        before = format_number(features.noise_ratio_before[best])
        return f"{last} is {before} times what noise alone would show, and {left}"
    if drop_ratio < MIN_DROP_RATIO:
        return f"the loss falls more slowly after {all_of_them}, without a clear break; {left}"
    times = f"{format_number(drop_ratio)} times as much as" if drop_ratio < 1e4 else "far more than"
    return f"{last} lowers the loss {times} the next one would; {left}"


def _warnings(features: Features, probabilities: Array, best: int, evidence: Evidence) -> list[str]:
    first, largest = int(features.rank[0]), int(features.rank[-1])
    rank = best + first
    others = np.where(np.arange(len(probabilities)) == best, 0.0, probabilities)
    rival = int(np.argmax(others))
    found = []
    if largest == first:
        found.append("the path has one rank only, so nothing was chosen")
    elif best == 0 and (features.noise_ratio[0] <= NOISE_LIMIT or not features.drop[1:].max() > 0.0):
        found += [] if evidence.n_known else ["no structure beyond rank one"]
    elif rank == largest:
        found.append(f"the rank is at the bound: raise max_rank above {largest}")
    if probabilities[best] < UNCERTAIN:
        plausible = plausible_ranks(probabilities, first)
        which = f"{rank} is the most probable, but"
        if len(plausible) > 1:
            which = f"{format_intervals(plausible)} are reasonable, because"
        reason = (
            "patterns above noise go on at higher ranks"
            if features.noise_ratio[best] > NOISE_LIMIT
            else "the last components are close to what noise alone would show"
        )
        found.append(f"the data do not determine one rank: {which} {reason}")
    elif best > 0 and others[rival] > RIVAL_FRACTION * probabilities[best]:
        found.append(f"two ranks are equally supported: {rank} and {rival + first}")
    if probabilities[best] >= UNCERTAIN and rank < largest and features.noise_ratio[best] > FAR_ABOVE:
        found.append(f"patterns far above noise remain beyond rank {rank}: a larger rank may be right")
    if not evidence.complete:
        found.append("the path is incomplete")
    return found
