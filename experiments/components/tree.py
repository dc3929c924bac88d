"""Whether the tree of components has the known groups as branches: `python -m experiments tree`.

Each sample belongs to the component with its largest share. At the reference rank these groups are compared
with the labels by the adjusted Rand index: those of the tree of the path, those of the tree of polished
solutions (`AutoNMF.tree` with X) and those of scikit-learn's NMF at that rank, from five seeds each. A known
group is found again as the component of any rank whose samples agree with it best (F1 score). The last table
is the time of the polished tree up to rank 12.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import NMF
from sklearn.metrics import adjusted_rand_score

from autonmf import AutoNMF, RankPath
from autonmf.datasets import Dataset, fetch_bbc, fetch_pbmc3k
from experiments.core import Array
from experiments.shared import data_home, print_table, run_command, say

SEEDS = range(5)
COSTED = 12  # the largest rank of the tree whose time is measured
LINEAGES = {
    "T": ("Memory CD4 T", "Naive CD4 T", "CD8 T"),
    "B": ("B",),
    "monocytes": ("CD14+ Mono", "FCGR3A+ Mono"),
    "NK": ("NK",),
}


class Study(NamedTuple):
    """A labelled data set, the loss, and the groups that a reader should recognise."""

    name: str
    data: Dataset
    loss: str
    groups: Mapping[str, tuple[str, ...]]


def load_studies() -> list[Study]:
    """News articles and blood cells, with either loss."""
    home = data_home()
    studies = []
    for loss, transformed in (("frobenius", True), ("kullback-leibler", False)):
        news = fetch_bbc(data_home=home, tfidf=transformed)
        cells = fetch_pbmc3k(data_home=home, normalize=transformed)
        sections = {name: (name,) for name in news.label_names}
        studies.append(Study("BBC, tf-idf" if transformed else "BBC, counts", news, loss, sections))
        name = "PBMC3K, normalised" if transformed else "PBMC3K, counts"
        studies.append(Study(name, cells, loss, LINEAGES))
    return studies


def largest_shares(W: Array, H: Array) -> Array:
    """The component that each sample has most of: the largest W_ij Σ_f H_jf."""
    return np.asarray(np.argmax(W * H.sum(axis=1), axis=1))


def score_labels(data: Dataset, groups: Array) -> float:
    """The adjusted Rand index of groups and labels, where there is a label."""
    assert data.labels is not None
    known = data.labels >= 0
    return float(adjusted_rand_score(data.labels[known], groups[known]))


def score_sklearn(study: Study, seed: int) -> float:
    """The same for scikit-learn's NMF at the reference rank, from a random initial point."""
    options: dict[str, Any] = {"solver": "mu"} if study.loss == "kullback-leibler" else {}
    assert study.data.rank is not None
    model = NMF(study.data.rank, init="random", beta_loss=study.loss, random_state=seed, **options)
    return score_labels(study.data, largest_shares(model.fit_transform(study.data.X), model.components_))


def find_group(path: RankPath, members: Array, known: Array, last: int) -> tuple[float, int, int]:
    """The best F1 score of a component with the members of a group, its rank and its index."""
    best = (-1.0, 0, 0)
    for point in path.points:
        if 1 < point.rank <= last:
            groups = largest_shares(point.U, point.V.T)
            for index in range(point.rank):
                inside = (groups == index) & known
                score = 2 * np.sum(inside & members) / max(inside.sum() + members.sum(), 1)
                if score > best[0]:
                    best = float(score), point.rank, index
    return best


def measure_cost(study: Study) -> tuple[str, ...]:
    """The CPU time of a fit and of the polished tree of its model."""
    began = time.process_time()
    model = AutoNMF(beta_loss=study.loss, random_state=0).fit(study.data.X)
    fitted = time.process_time()
    model.tree(study.data.X, max_rank=COSTED)
    fit, tree = fitted - began, time.process_time() - fitted
    return study.name, study.loss, f"{fit:.1f} s", f"{tree:.1f} s", f"{tree / fit:.1f}"


def summarize(scores: Sequence[float]) -> str:
    """The median of scores, and their range."""
    return f"{np.median(scores):.2f} ({min(scores):.2f} to {max(scores):.2f})"


def run(arguments: Sequence[str] | None) -> None:
    warnings.simplefilter("ignore")
    scores, branches, costs = [], [], []
    for study in load_studies():
        data, rank = study.data, study.data.rank
        assert rank is not None
        assert data.labels is not None
        models = [AutoNMF(beta_loss=study.loss, random_state=seed).fit(data.X) for seed in SEEDS]
        points = [model.path_.at_rank(rank) for model in models]
        polished = [model.at_rank(rank, data.X) for model in models]
        columns = (
            [score_labels(data, largest_shares(point.U, point.V.T)) for point in points],
            [
                score_labels(data, largest_shares(each.transform(data.X), each.components_))
                for each in polished
            ],
            [score_sklearn(study, seed) for seed in SEEDS],
        )
        scores.append((study.name, study.loss, str(rank), *map(summarize, columns)))
        path = models[0].path_
        tree = path.tree()
        for group, labels in study.groups.items():
            members = np.isin(data.labels, [data.label_names.index(label) for label in labels])
            score, at, index = find_group(path, members, data.labels >= 0, 2 * rank)
            branch = tree.at_rank(at)["branch"][index]
            first = int(tree.rank[tree.branch == branch][0])
            branches.append((study.name, group, f"{score:.2f}", str(at), str(first)))
        costs.append(measure_cost(study))
        say(f"{study.name}: done")
    print_table(
        ("data", "loss", "rank", "path_.tree()", "tree(X)", "scikit-learn"), scores,
        f"Adjusted Rand index with the labels at the reference rank: median of {len(SEEDS)} seeds, and range",
    )  # fmt: skip
    print_table(
        ("data", "group", "F1", "at rank", "branch begins at rank"), branches,
        "The component of the tree that is nearest to each known group",
    )  # fmt: skip
    print_table(
        ("data", "loss", "a fit", f"tree(X, max_rank={COSTED})", "in fits"), costs,
        "What the tree of polished solutions costs (CPU time)",
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    return run_command(run, arguments)
