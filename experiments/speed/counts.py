"""Counts: every rank with the Kullback-Leibler loss, beside one fit of scikit-learn at the known rank.

python -m experiments counts [--only speed accuracy catalogues memory]

speed: medians of three, in turns, in one process: a fit with the choice and the polish, the same with path_
read, and one fit of scikit-learn (at most 500 multiplicative steps, tol=1e-4), whose loss is compared with
ours at that rank.
accuracy: our loss at the known rank, along the path and after the polish, above the best of ten fits at that
rank from random initial points to tol=1e-7, with our solver. catalogues: how many known signatures are found
(cosine above 0.9, one to one) with their number given, and by the best of four random fits. memory: the peak
of a fit to PBMC3K beyond X and the returned path, as a fraction of X as CSR in single precision. Set
AUTONMF_DATA for real data.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from autonmf import AutoNMF
from autonmf._types import Array
from autonmf.datasets.dataset import read_csr
from experiments.core import fit_counts
from experiments.rank_benchmark.design import tumours
from experiments.rank_benchmark.signatures import count_found, find_catalogues
from experiments.shared import find_file, print_table, say

REPEATS = 3
RESTARTS = 10
PARTS = ("speed", "accuracy", "catalogues", "memory")
KL = "kullback-leibler"


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


def draw_mutations() -> Array:
    """100 tumours with 12 signatures."""
    rng = np.random.default_rng(0)
    U, V = tumours(100, 12, rng)
    return rng.poisson(U @ V.T).astype(float)


def matrices() -> Iterator[tuple[str, Callable[[], Any], int]]:
    """Name, matrix and known rank."""
    yield "signatures 100 x 96", draw_mutations, 12
    yield "topics 700 x 1700", draw_topics, 30
    yield "dense Poisson 2000 x 1000", draw_dense, 20
    for name, file, rank in (("BBC", "bbc_news.npz", 5), ("PBMC3K", "pbmc3k.npz", 9)):
        found = find_file(file)
        if found is not None:
            yield name, partial(_read, found), rank


def _read(file: Path) -> Any:
    return read_csr(file)[0]


class Compared(NamedTuple):
    """Seconds, medians; the rank that we choose, and our loss at the known rank over theirs."""

    ours: float
    path: float  # reading `path_` afterwards: the ranks above those that the choice needs
    theirs: float
    rank: int
    loss: float


def compare(X: Any, rank: int) -> Compared:
    """Fit X in turns with scikit-learn at the known rank."""
    ours, path, theirs = [], [], []
    for seed in range(REPEATS):
        began = time.perf_counter()
        model = AutoNMF(beta_loss=KL, random_state=seed).fit(X)
        ours.append(time.perf_counter() - began)
        began = time.perf_counter()
        _ = model.path_
        path.append(time.perf_counter() - began)
        began = time.perf_counter()
        other = NMF(
            rank, beta_loss=KL, solver="mu", init="random", tol=1e-4, max_iter=500, random_state=seed
        ).fit(X)
        theirs.append(time.perf_counter() - began)
    loss = model.at_rank(rank, X).reconstruction_err_ ** 2 / other.reconstruction_err_**2
    medians = statistics.median(ours), statistics.median(path), statistics.median(theirs)
    return Compared(*medians, model.n_components_, float(loss))


def measure_accuracy(X: Any, rank: int) -> tuple[float, float, float]:
    """The best loss of ten fits, and how far ours are above it along the path and after the polish."""
    best = min(fit_counts(X, rank, tol=1e-7, random_state=seed).loss for seed in range(RESTARTS))
    model = AutoNMF(beta_loss=KL, random_state=0).fit(X)
    polished = 0.5 * model.at_rank(rank, X).reconstruction_err_ ** 2
    return best, model.path_.at_rank(rank).loss / best - 1.0, polished / best - 1.0


def measure_memory(file: Path) -> float:
    """The peak of resident memory until the path of a fit is read, as a fraction of X in float32.

    X, which is there before, and the factors of that path, as they are returned, do not count. To be called
    in a new process: memory that an earlier fit has left to this one would not be seen.
    """
    X = sparse.csr_matrix(_read(file), dtype=np.float32)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    AutoNMF(beta_loss=KL, max_rank=3, random_state=0).fit(X[:200])
    peak, done = [_resident()], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            peak.append(max(peak.pop(), _resident()))

    before = _resident()
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        points = AutoNMF(beta_loss=KL, random_state=0).fit(X).path_.points
    finally:
        done.set()
        watcher.join()
    path = sum(point.U.nbytes + point.V.nbytes for point in points)
    return float((peak[0] - before - path) / size)


def _resident() -> int:
    """The resident size of this process in bytes (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments counts", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    parser.add_argument("--matrix", default="", help="only matrices whose name contains this")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", UserWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    chosen = [one for one in matrices() if options.matrix.lower() in one[0].lower()]
    if "speed" in options.only:
        _print_speed(chosen)
    if "accuracy" in options.only:
        rows = []
        for name, make, rank in chosen:
            best, before, after = measure_accuracy(make(), rank)
            rows.append((name, str(rank), f"{best:.6g}", f"{100 * before:+.3f} %", f"{100 * after:+.3f} %"))
            say(f"measured: {name}")
        print_table(("matrix", "rank", "best of ten", "path", "polished"), rows)
    if "catalogues" in options.only:
        _print_catalogues()
    if "memory" in options.only and (file := find_file("pbmc3k.npz")) is not None:
        with get_context("spawn").Pool(1) as pool:
            fraction = pool.apply(measure_memory, (file,))
        print(f"peak memory beyond X and the path, PBMC3K: {fraction:.2f} of X")


def _print_speed(chosen: list[tuple[str, Callable[[], Any], int]]) -> None:
    rows = []
    for name, make, rank in chosen:
        X = make()
        AutoNMF(beta_loss=KL, max_rank=3, random_state=0).fit(X)  # what is loaded once is loaded now
        ours, path, theirs, found, loss = compare(X, rank)
        rows.append((
            name, f"{ours:.3f}", f"{theirs:.3f}", f"{ours / theirs:.2f}", f"{(ours + path) / theirs:.2f}",
            f"{found} ({rank})", f"{loss:.4f}",
        ))  # fmt: skip
        say(f"measured: {name}")
    print_table(
        ("matrix", "ours, s", "one fit, s", "ratio", "with path_", "rank (known)", "loss over theirs"), rows
    )


def _print_catalogues() -> None:
    rows = []
    for kind, noise, load in find_catalogues():
        data, name = load(), f"{kind} {noise}"
        X, signatures = data.X, data.V
        assert signatures is not None
        number = signatures.shape[1]
        fits = [AutoNMF(number, beta_loss=KL, random_state=s).fit(X) for s in range(REPEATS)]
        found = [str(count_found(fit.components_, signatures)) for fit in fits]
        four = min((fit_counts(X, number, tol=1e-5, random_state=s) for s in range(4)), key=lambda f: f.loss)
        squares = AutoNMF(number, random_state=0).fit(X)
        rows.append((
            name, str(number), ", ".join(found), str(count_found(four.V.T, signatures)),
            str(count_found(squares.components_, signatures)),
        ))  # fmt: skip
        say(f"measured: {name}")
    print_table(("catalogue", "signatures", "found (three seeds)", "best of four", "least squares"), rows)
