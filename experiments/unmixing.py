"""Unmixing: how far endmembers and abundances are from the truth, beside the components of an NMF.

python -m experiments unmixing                          # prints tables in Markdown
python -m experiments unmixing --page docs/unmixing.md  # and writes them into that page
python -m experiments unmixing --only drawn speed       # some of the parts

real: Samson and Jasper Ridge at their reference rank, from the models of five seeds (set AUTONMF_DATA to the
folder with their files). drawn: sixteen scenes with pure pixels, at 30 to 40 dB. limits: the same scenes with
what unmixing does not expect. speed: 100,000 pixels with one thread, beside one fit of scikit-learn.

Two measures, after the estimated materials are matched with the true ones: the mean angle between their
spectra, and the root mean square error of the abundances. Those of an NMF are its normalised weights: the
share of each component in the sum of the fitted spectrum of a pixel.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median

import numpy as np
from numpy.random import Generator
from scipy.ndimage import gaussian_filter
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

from autonmf import AutoNMF, unmix
from autonmf._types import Array
from autonmf.datasets import fetch_jasper_ridge, fetch_samson
from autonmf.report.components import signal_shares
from experiments.rank_benchmark.factors import absorption_spectra, smooth_spectrum
from experiments.shared import data_home, markdown_table, replace_file, replace_region, run_command, say

SEEDS = 5
SCENES = 16
PURE = 15
"""Number of pure pixels of each material."""

Score = tuple[float, float]
"""Mean spectral angle in degrees, and root mean square error of the abundances."""


@dataclass(frozen=True)
class Scene:
    """X = A E + noise, with pixels in rows."""

    E: Array  # endmembers, r x bands
    A: Array  # abundances, pixels x r
    decibels: float
    light: Array | float = 1.0  # a factor for each pixel
    outliers: int = 0  # pixels with a spectrum of their own
    seed: int = 0

    @property
    def rank(self) -> int:
        return len(self.E)

    def draw(self) -> Array:
        """The pixels, with noise, and with outliers if there are any."""
        rng = np.random.default_rng([self.seed, 1])
        M = self.A @ self.E * np.reshape(self.light, (-1, 1))
        X = M + np.sqrt(np.mean(M**2)) * 10.0 ** (-self.decibels / 20.0) * rng.standard_normal(M.shape)
        for pixel in rng.choice(len(X), self.outliers, replace=False):
            X[pixel] = 2.0 * self.E.max() * smooth_spectrum(X.shape[1], rng)
        return np.asarray(np.maximum(X, 0.0))


def draw_scene(seed: int, side: int = 60) -> Scene:
    """Three to six materials in smooth patches, each with pure pixels, at 30 to 40 dB.

    Even seeds have spectra with bands of emission, odd seeds a common continuum with absorptions; materials
    differ in brightness by a factor of up to 2.5.
    """
    rng = np.random.default_rng([seed, 0])
    rank, bands = 3 + seed // 2 % 4, int(rng.integers(100, 201))
    if seed % 2 == 0:
        spectra = np.array([0.1 + 0.9 * smooth_spectrum(bands, rng) for _ in range(rank)])
    else:
        spectra = absorption_spectra(bands, rank, rng).T
    E = spectra * rng.uniform(0.4, 1.0, (rank, 1))
    return Scene(E, draw_abundances(rank, side, rng), float(rng.uniform(30.0, 40.0)), seed=seed)


def draw_abundances(rank: int, side: int, rng: Generator) -> Array:
    """Smooth patches, and exactly one material in the `PURE` pixels where it is most abundant."""
    fields = np.array([gaussian_filter(rng.standard_normal((side, side)), 4.0).ravel() for _ in range(rank)])
    A = np.exp(rng.uniform(2.0, 4.0) * fields / fields.std(axis=1, keepdims=True)).T
    A /= A.sum(axis=1, keepdims=True)
    for k in range(rank):
        A[np.argsort(-A[:, k])[:PURE]] = np.eye(rank)[k]
    return np.asarray(A)


def score(endmembers: Array, abundances: Array, E: Array, A: Array) -> Score:
    """The angle and the error of an estimate of endmembers (r x bands) and abundances (pixels x r)."""
    unit, true = (spectra / np.linalg.norm(spectra, axis=1, keepdims=True) for spectra in (endmembers, E))
    angles = np.degrees(np.arccos(np.clip(unit @ true.T, -1.0, 1.0)))
    ours, theirs = linear_sum_assignment(angles)
    error = np.sqrt(np.mean((abundances[:, ours] - A[:, theirs]) ** 2))
    return float(angles[ours, theirs].mean()), float(error)


def score_both(X: Array, E: Array, A: Array, seed: int) -> tuple[Score, Score]:
    """The scores of an NMF at the true rank, and of unmixing that starts from it."""
    model = AutoNMF(len(E), random_state=seed).fit(X)
    shares = signal_shares(model.transform(X), model.components_)
    found = unmix(X, init=model)
    return score(model.components_, shares, E, A), score(found.endmembers, found.abundances, E, A)


def measure_real() -> str:
    """The table of real scenes; a row for each, with the range over the seeds."""
    home, lines = data_home(), []
    for fetch in (fetch_samson, fetch_jasper_ridge):
        data = fetch(data_home=home, download=False)
        assert data.U is not None
        assert data.V is not None
        X = np.asarray(data.X, dtype=float)
        pairs = [score_both(X, data.V.T, data.U, seed) for seed in range(SEEDS)]
        nmf, ours = ([pair[k] for pair in pairs] for k in range(2))
        constant = float(np.sqrt(np.mean((data.U - 1.0 / data.U.shape[1]) ** 2)))
        lines.append((data.name, f"{len(data.V.T)}", _ranges(nmf), _ranges(ours), f"{constant:.2f}"))
    head = ("scene", "materials", "NMF", "unmix", "equal abundances")
    title = f"**Real scenes, {SEEDS} seeds: mean angle / error of the abundances**"
    return f"{title}\n\n{markdown_table(head, lines)}"


def _ranges(scores: Sequence[Score]) -> str:
    (a, b), (c, d) = ((min(values), max(values)) for values in zip(*scores, strict=True))
    return f"{_interval(a, b, 1)}° / {_interval(c, d, 3)}"


def _interval(low: float, high: float, digits: int) -> str:
    ends = f"{low:.{digits}f}", f"{high:.{digits}f}"
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def measure_drawn() -> str:
    """The table of drawn scenes."""
    lines, wins = [], 0
    for seed in range(SCENES):
        scene = draw_scene(seed)
        nmf, ours = score_both(scene.draw(), scene.E, scene.A, seed=0)
        wins += ours[0] < nmf[0] and ours[1] < nmf[1]
        about = f"{seed}: {scene.rank} materials, {scene.E.shape[1]} bands, {scene.decibels:.0f} dB"
        lines.append((about, *(f"{angle:.1f}° / {error:.3f}" for angle, error in (nmf, ours))))
        say(f"{lines[-1]}")
    table = markdown_table(("scene", "NMF", "unmix"), lines)
    title = f"**Drawn scenes with pure pixels: unmix is better in both measures in {wins} of {SCENES}**"
    return f"{title}\n\n{table}"


LIMITS: dict[str, Callable[[Scene], Scene]] = {
    "as drawn": lambda scene: scene,
    "no pixel purer than 80 %": lambda scene: replace(scene, A=_dilute(scene.A, 0.8)),
    "no pixel purer than 60 %": lambda scene: replace(scene, A=_dilute(scene.A, 0.6)),
    "light from 0.7 to 1.3": lambda scene: replace(scene, light=_draw_light(scene, 0.3)),
    "one outlier": lambda scene: replace(scene, outliers=1),
    "20 outliers": lambda scene: replace(scene, outliers=20),
}


def _dilute(A: Array, purest: float) -> Array:
    """Abundances drawn towards equal ones, so that the largest is ``purest``."""
    equal = 1.0 / A.shape[1]
    return np.asarray(equal + (A - equal) * (purest - equal) / (1.0 - equal))


def _draw_light(scene: Scene, spread: float) -> Array:
    rng = np.random.default_rng([scene.seed, 2])
    return rng.uniform(1.0 - spread, 1.0 + spread, len(scene.A))


def measure_limits() -> str:
    """The table of what unmixing does not expect: means over the drawn scenes."""
    lines = []
    for name, change in LIMITS.items():
        scores = []
        for seed in range(SCENES):
            scene = change(draw_scene(seed))
            scores.append(score_both(scene.draw(), scene.E, scene.A, seed=0))
        cells = [
            f"{mean(pair[k][0] for pair in scores):.1f}° / {mean(pair[k][1] for pair in scores):.3f}"
            for k in range(2)
        ]
        lines.append((name, *cells))
        say(f"{lines[-1]}")
    return f"**Means over the drawn scenes, changed**\n\n{markdown_table(('change', 'NMF', 'unmix'), lines)}"


def measure_speed() -> str:
    """Seconds of `unmix` with one thread, beside one fit of scikit-learn: medians of three, in turns."""
    rng = np.random.default_rng(0)
    E = np.array([0.1 + 0.9 * smooth_spectrum(156, rng) for _ in range(4)])
    A, noise = rng.dirichlet(np.full(4, 0.3), 100_000), rng.standard_normal((100_000, 156))
    X = np.maximum(A @ E + 0.01 * noise, 0.0)
    model = NMF(4, init="nndsvda", tol=1e-4)
    weights = model.fit_transform(X)
    jobs: dict[str, Callable[[], object]] = {
        "unmix, rank given": lambda: unmix(X, rank=4),
        "unmix, weights of a model given": lambda: unmix(X, init=weights),
        "scikit-learn's NMF, 4 components": lambda: clone(model).fit_transform(X),
    }
    times: dict[str, list[float]] = {name: [] for name in jobs}
    with threadpool_limits(1):
        for _ in range(3):
            for name, job in jobs.items():
                began = time.perf_counter()
                job()
                times[name].append(time.perf_counter() - began)
    lines = [(name, f"{median(spent):.2f}") for name, spent in times.items()]
    return f"**100,000 pixels x 156 bands, one thread**\n\n{markdown_table(('', 'seconds'), lines)}"


PARTS = {"real": measure_real, "drawn": measure_drawn, "limits": measure_limits, "speed": measure_speed}


def measure(parts: Sequence[str]) -> Iterator[str]:
    """The tables of these parts."""
    for part in parts:
        if part == "real" and data_home() is None:
            say("real scenes are left out: set AUTONMF_DATA to the folder with their files")
            continue
        yield PARTS[part]()


def command(arguments: Sequence[str] | None) -> None:
    """Measure, print the tables, and write them into the page."""
    parser = argparse.ArgumentParser(
        "python -m experiments unmixing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to measure")
    parser.add_argument("--page", type=Path, metavar="FILE", help="a page whose tables are replaced")
    options = parser.parse_args(arguments)
    page = None if options.page is None else options.page.read_text(encoding="utf-8")
    if page is not None:
        replace_region(page, "")  # before anything is measured
    warnings.simplefilter("ignore")
    tables = "\n\n".join(measure(options.only))
    print(tables)
    if page is not None:
        replace_file(options.page, replace_region(page, tables))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    return run_command(command, arguments)
