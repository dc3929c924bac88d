"""Whether a path on a sample of the rows of a tall X finds a rare component as often as one on all rows.

    python -m experiments rare                      # 300,000 x 50, twenty draws: about half an hour
    python -m experiments rare --rows 30000         # a few minutes

X has nine components that all rows have and one that 0.1 % of the rows have, and noise that is clipped at
zero. From draw to draw the rare component is stronger: the square of what it adds beyond the others is 5 to
200 times the edge of the noise. It is found if one of the components of the fit at the rank that was chosen
has a cosine of at least 0.9 with it. Both fits have the same seed: ``AutoNMF()``, which takes a sample, and
``AutoNMF(engine="direct")``, which reads all rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np

from autonmf import AutoNMF
from experiments.core import Array
from experiments.shared import print_table, run_command, say

COLUMNS, COMMON, SHARE = 50, 9, 1e-3
NOISE, FOUND = 0.3, 0.9
STRENGTHS = (5.0, 200.0)


def draw(n: int, strength: float, seed: int) -> tuple[Array, Array]:
    """X, and the profile of its rare component."""
    rng = np.random.default_rng(seed)
    U, V = (np.maximum(rng.standard_normal((size, COMMON)), 0.0) for size in (n, COLUMNS))
    profile = np.maximum(rng.standard_normal(COLUMNS), 0.0)
    rows = rng.choice(n, max(2, round(SHARE * n)), replace=False)
    weights = 0.5 + rng.random(len(rows))
    beyond = profile - V @ np.linalg.lstsq(V, profile)[0]
    edge = NOISE**2 * (np.sqrt(n) + np.sqrt(COLUMNS)) ** 2
    weights *= np.sqrt(strength * edge / np.square(weights).sum() / np.square(beyond).sum())
    X = U @ V.T
    X[rows] += np.outer(weights, profile)
    X += NOISE * rng.standard_normal(X.shape)
    return np.maximum(X, 0.0, out=X), profile


def fit(X: Array, profile: Array, seed: int, engine: str) -> tuple[int, float, float]:
    """The rank that is chosen, the largest cosine of a component with the profile, and the seconds."""
    began = time.perf_counter()
    model = AutoNMF(engine=engine, random_state=seed).fit(X)
    seconds = time.perf_counter() - began
    cosines = model.components_ @ profile / np.linalg.norm(model.components_, axis=1)
    return model.n_components_, float(cosines.max() / np.linalg.norm(profile)), seconds


def compare(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments rare", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300_000, metavar="N", help="rows of X (default: 300000)")
    parser.add_argument("--draws", type=int, default=20, metavar="N", help="matrices (default: 20)")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", UserWarning)
    rows, counts, right = [], np.zeros(2, dtype=int), np.zeros(2, dtype=int)
    strengths = np.geomspace(*STRENGTHS, options.draws)
    for seed, strength in enumerate(strengths):
        X, profile = draw(options.rows, float(strength), seed)
        found = [fit(X, profile, seed, engine) for engine in ("auto", "direct")]
        counts += [cosine >= FOUND for _, cosine, _ in found]
        right += [rank == COMMON + 1 for rank, _, _ in found]
        cells = [(str(rank), f"{cosine:.3f}", f"{seconds:.1f}") for rank, cosine, seconds in found]
        rows.append((str(seed), f"{strength:.1f}", *cells[0], *cells[1]))
        say(f"draw {seed}: {'  '.join(rows[-1])}")
    header = ("draw", "strength", "rank", "cosine", "seconds", "rank, all rows", "cosine", "seconds")
    print_table(header, rows)
    print(f"rare component found in {options.draws} draws of {options.rows} x {COLUMNS}: ", end="")
    print(f"{counts[0]} times on a sample, {counts[1]} times on all rows; ", end="")
    print(f"rank {COMMON + 1}: {right[0]} and {right[1]} times")


main = partial(run_command, compare)
