"""Counts: every rank with the Kullback-Leibler loss, beside one fit of scikit-learn at the known rank.

python -m experiments counts

Seconds are medians of three, in turns, in one process: all ranks with the choice and the polish, and one fit
of scikit-learn (at most 500 multiplicative steps, tol=1e-4), whose loss is compared with ours at that rank.
Then the catalogues of mutations: how many known signatures are found (cosine above 0.9, one to one) with
their number given. Set AUTONMF_DATA for real data.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from autonmf import AutoNMF
from autonmf._types import Array
from autonmf.datasets.dataset import read_csr, read_npz
from experiments.shared import find_file, print_table, say

REPEATS = 3
KL = "kullback-leibler"
CATALOGUES = [
    f"signatures_{kind}_{noise}"
    for kind in ("sbs", "indel")
    for noise in ("noiseless", "moderate", "realistic")
]


def draw_topics() -> Any:
    """700 documents of 30 topics over 1,700 words; words that do not occur are left out."""
    rng = np.random.default_rng(0)
    base = 1.0 / (np.arange(1700) + 10)
    topics = rng.dirichlet(20 * base + 0.001, 30)
    documents = rng.dirichlet(np.full(30, 0.12), 700)
    lengths = np.exp(rng.normal(np.log(160), 0.4, 700))
    X = rng.poisson(lengths[:, None] * (documents @ topics))
    return sparse.csr_matrix(X[:, X.sum(axis=0) > 0].astype(float))


def draw_dense() -> Array:
    """2,000 x 1,000 counts of 20 components."""
    rng = np.random.default_rng(0)
    return rng.poisson(rng.gamma(0.5, 2.0, (2000, 20)) @ rng.gamma(0.5, 1.0, (20, 1000))).astype(float)


def matrices() -> Iterator[tuple[str, Callable[[], Any], int]]:
    """Name, matrix and known rank."""
    yield "topics 700 x 1700", draw_topics, 30
    yield "dense Poisson 2000 x 1000", draw_dense, 20
    for name, file, rank in (("BBC", "bbc_news.npz", 5), ("PBMC3K", "pbmc3k.npz", 9)):
        found = find_file(file)
        if found is not None:
            yield name, partial(_read, found), rank


def _read(file: Path) -> Any:
    return read_csr(file)[0]


def compare(X: Any, rank: int) -> tuple[float, float, int, float]:
    """Our seconds and theirs, the rank that we choose, and our loss at the known rank over theirs."""
    ours, theirs = [], []
    for seed in range(REPEATS):
        began = time.perf_counter()
        model = AutoNMF(beta_loss=KL, random_state=seed).fit(X)
        ours.append(time.perf_counter() - began)
        began = time.perf_counter()
        other = NMF(
            rank, beta_loss=KL, solver="mu", init="random", tol=1e-4, max_iter=500, random_state=seed
        ).fit(X)
        theirs.append(time.perf_counter() - began)
    loss = model.at_rank(rank, X).reconstruction_err_ ** 2 / other.reconstruction_err_**2
    return statistics.median(ours), statistics.median(theirs), model.n_components_, float(loss)


def count_found(components: Array, signatures: Array) -> int:
    """How many signatures have a component of their own with a cosine above 0.9."""
    a, b = (factor / np.linalg.norm(factor, axis=1, keepdims=True) for factor in (components, signatures.T))
    cosines = a @ b.T
    return int(np.count_nonzero(cosines[linear_sum_assignment(-cosines)] > 0.9))


def main(arguments: Sequence[str] | None = None) -> None:
    warnings.simplefilter("ignore", UserWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name, make, rank in matrices():
        X = make()
        AutoNMF(beta_loss=KL, max_rank=3, random_state=0).fit(X)  # what is loaded once is loaded now
        ours, theirs, found, loss = compare(X, rank)
        rows.append(
            (name, f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}", f"{found} ({rank})", f"{loss:.4f}")
        )
        say(f"measured: {name}")
    print_table(("matrix", "all ranks, s", "one fit, s", "ratio", "rank (known)", "loss over theirs"), rows)
    catalogues = []
    for name in CATALOGUES:
        file = find_file(f"{name}.npz")
        if file is None:
            continue
        stored = read_npz(file)
        X, signatures = stored["X"].T.astype(float), stored["signatures"]
        fits = [AutoNMF(signatures.shape[1], beta_loss=KL, random_state=s).fit(X) for s in range(REPEATS)]
        least_squares = AutoNMF(signatures.shape[1], random_state=0).fit(X)
        matched = [str(count_found(fit.components_, signatures)) for fit in fits]
        squares = str(count_found(least_squares.components_, signatures))
        catalogues.append((name, str(signatures.shape[1]), ", ".join(matched), squares))
        say(f"measured: {name}")
    print_table(("catalogue", "signatures", "found (three seeds)", "least squares"), catalogues)
