"""How long a fit takes beside scikit-learn's, how it grows with the matrix, and how long one sweep takes.

Ours and its peers take turns in one process; medians of several runs.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.decomposition._cdnmf_fast import _update_cdnmf_fast
from sklearn.exceptions import ConvergenceWarning

from autonmf import AutoNMF, kernels
from autonmf.datasets import (
    Dataset,
    fetch_bbc,
    fetch_olivetti,
    fetch_pbmc3k,
    fetch_samson,
    make_low_rank,
)
from autonmf.datasets.fetching import find
from experiments.core import Array, one_pool, time_phases
from experiments.shared import ROOT, check_folder, data_home, print_json, print_table, run_command, say


@dataclass(frozen=True)
class Case:
    """A matrix, and the rank at which peers are fitted."""

    name: str
    rank: int
    drawn: bool  # whether it is the paper's generator at the size of its name: memory is measured
    grid: bool  # whether scikit-learn is also timed over the grid 2..50, which takes long
    load: Callable[[], Any]


def synthetic(n: int, m: int, rank: int, noise: float = 0.3) -> Case:
    """The paper's generator; the same seed everywhere."""
    return Case(
        f"{n}x{m}",
        rank,
        True,
        n * m <= 3_000_000,
        lambda: make_low_rank(n, m, rank, noise, random_state=0)[0],
    )


def dense_factors(n: int, m: int, rank: int, noise: float = 0.05) -> Case:
    """Uniform factors without zeros, with noise of this fraction of the signal's standard deviation."""

    def load() -> Array:
        rng = np.random.default_rng(0)
        signal = rng.random((n, rank)) @ rng.random((rank, m))
        return np.asarray(np.maximum(signal + noise * signal.std() * rng.standard_normal((n, m)), 0.0))

    return Case(f"{n}x{m}, dense factors", rank, False, False, load)


PAPER = [
    synthetic(1000, 400, 10),
    synthetic(1000, 800, 20),
    synthetic(3000, 1000, 20),
    synthetic(3000, 2000, 20),
    synthetic(5000, 3000, 20),
    synthetic(5000, 4000, 20),
    dense_factors(1000, 800, 20),
]
SHAPES = [
    synthetic(200, 100, 5),
    synthetic(20000, 200, 20),
    synthetic(200, 20000, 20),
    synthetic(100000, 50, 10),
    synthetic(300000, 50, 10),
]


def real_cases() -> Iterator[Case]:
    """The real data sets of the data home; none without one."""
    home = data_home()
    if home is None:
        return
    cases: list[tuple[str, str, int, Callable[[], Any]]] = [
        ("samson", "samson.npz", 3, lambda: _fetch(fetch_samson, home).T),  # bands in rows
        ("olivetti_faces", "olivetti_faces.npz", 10, lambda: _fetch(fetch_olivetti, home)),
        ("pbmc3k (sparse)", "pbmc3k.npz", 9, lambda: _fetch(fetch_pbmc3k, home, normalize=True)),
        ("bbc_news (sparse)", "bbc_news.npz", 5, lambda: _fetch(fetch_bbc, home)),
    ]
    for name, file, rank, load in cases:
        if find(file, home) is not None:
            yield Case(name, rank, False, False, load)


def _fetch(fetch: Callable[..., Dataset], home: Path, **options: Any) -> Any:
    return fetch(data_home=home, download=False, **options).X


GRID_SAMPLE = (2, 14, 26, 38, 50)
"""Ranks at which scikit-learn is timed to extrapolate the grid 2..50, linearly in between."""


@dataclass
class Timing:
    """Seconds, medians; what was not run is NaN."""

    case: str
    rank: int
    found: list[int]
    ours: float
    peer: float  # NMF(rank, init="random", tol=1e-4, max_iter=500)
    nndsvda: float
    path: float = float("nan")  # reading `path_` of ours afterwards, which computes what no rule needs
    given: float = float("nan")  # ours with the rank given: the path down to it, and the polish there
    direct: float = float("nan")  # our engine without compression
    svd: float = float("nan")  # numpy.linalg.svd, values only
    grid: float = float("nan")  # scikit-learn over 2..50, extrapolated
    extra_memory: float = float("nan")  # peak of a fit above X, as a fraction of X
    iterations: int = 0
    phases: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        return self.ours / self.peer


def measure_fits(
    cases: Iterable[Case], repeats: int = 3, *, grid: bool = True, floor: bool = True, memory: bool = True
) -> Iterator[Timing]:
    """Time each case; ours and the peers take turns, so that both meet the same noise."""
    for case in cases:
        X = case.load()
        AutoNMF(max_rank=2, random_state=0).fit(X)  # warm up: imports, pages
        models: list[AutoNMF] = []
        ours: list[float] = []
        peer: list[float] = []
        path: list[float] = []
        for seed in range(repeats):  # in turns
            ours.append(_time(partial(_fit_ours, X, seed, models)))
            path.append(_time(partial(getattr, models[-1], "path_")))
            peer.append(_time(partial(_peer(case.rank, "random", seed).fit, X)))
        yield Timing(
            case.name,
            case.rank,
            [model.n_components_ for model in models],
            median(ours),
            median(peer),
            _time(partial(_peer(case.rank, "nndsvda", 0).fit, X)),
            path=median(path),
            given=_time(partial(AutoNMF(case.rank, random_state=0).fit, X)),
            direct=_time(partial(AutoNMF(engine="direct", random_state=0).fit, X))
            if floor and not sparse.issparse(X)
            else float("nan"),
            svd=_time(partial(np.linalg.svd, X, compute_uv=False))
            if floor and not sparse.issparse(X)
            else float("nan"),
            grid=_grid_seconds(X) if grid and case.grid else float("nan"),
            extra_memory=_extra_memory(case) if memory and case.drawn else float("nan"),
            iterations=models[0].n_iter_,
            phases=time_phases(X),
        )


def describe(timings: Iterable[Timing]) -> dict[str, Any]:
    """Everything measured, as JSON holds it."""
    return {
        "kernels": kernels.BACKEND,
        "timings": [asdict(t) | {"ratio": t.ratio} for t in timings],
    }


def _fit_ours(X: Any, seed: int, models: list[AutoNMF]) -> None:
    models.append(AutoNMF(random_state=seed).fit(X))


def _peer(rank: int, init: str, seed: int) -> NMF:
    return NMF(rank, init=init, tol=1e-4, max_iter=500, random_state=seed)


def _time(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        work()
    return time.perf_counter() - began


def _grid_seconds(X: Any) -> float:
    """scikit-learn at every rank from 2 to 50, extrapolated from `GRID_SAMPLE`."""
    sampled = [_time(partial(_peer(rank, "random", 0).fit, X)) for rank in GRID_SAMPLE]
    return float(np.interp(np.arange(2, 51), GRID_SAMPLE, sampled).sum())


def _extra_memory(case: Case) -> float:
    """Peak memory of a fit above that of X, as a fraction of X, in a process of its own."""
    n, m = case.name.split("x")
    command = [sys.executable, "-m", "experiments", "memory", n, m, str(case.rank)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["extra"])


def print_memory(arguments: Sequence[str]) -> None:
    """Print the peak memory of one fit above X, as a fraction of X: for a process of its own."""
    n, m, rank = map(int, arguments)
    AutoNMF(max_rank=3, random_state=0).fit(np.random.default_rng(0).random((300, 200)))  # load everything
    X = _matrix(n, m, rank)
    before = _resident()
    found = AutoNMF(random_state=0).fit(X).n_components_
    peak = _peak()
    print(json.dumps({"extra": (peak - before) / X.nbytes, "rank": found}))


def _matrix(n: int, m: int, rank: int) -> Array:
    """The paper's generator, row by row, so that making X needs no more memory than X."""
    rng = np.random.default_rng(0)
    U, V = (np.maximum(rng.standard_normal((size, rank)), 0.0) for size in (n, m))
    X = np.empty((n, m))
    for i in range(n):
        X[i] = np.maximum(V @ U[i] + 0.3 * rng.standard_normal(m), 0.0)
    return X


def _peak() -> int:
    """The largest resident size of this program; ru_maxrss would inherit that of its parent."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


@dataclass(frozen=True)
class Point:
    """One size and the median time there."""

    size: int
    seconds: float


@dataclass(frozen=True)
class Line:
    """Times along one quantity, the others fixed."""

    name: str
    points: list[Point]


def measure_growth(repeats: int = 3, quick: bool = False) -> list[Line]:
    """Time a fit of rank-20 data at doubling sizes."""
    rows = [2000, 4000] if quick else [2500, 5000, 10000, 20000, 40000]
    columns = [1000, 2000] if quick else [500, 1000, 2000, 4000]
    bounds = [25, 50] if quick else [25, 50, 100, 200]
    return [
        Line("n (m = 1000)", [Point(n, _median_seconds(_data(n, 1000), repeats)) for n in rows]),
        Line("m (n = 4000)", [Point(m, _median_seconds(_data(4000, m), repeats)) for m in columns]),
        Line(
            "max_rank (4000x1000)", [Point(b, _median_seconds(_data(4000, 1000), repeats, b)) for b in bounds]
        ),
    ]


def plot_growth(series: list[Line], file: Path) -> None:
    """One panel per line, both axes logarithmic, with the slope of linear growth."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.2), layout="constrained")
    for ax, line in zip(figure.subplots(1, len(series), sharey=True), series, strict=True):
        sizes, seconds = [p.size for p in line.points], [p.seconds for p in line.points]
        ax.loglog(sizes, seconds, "o-", color="#0072B2", label="AutoNMF().fit")
        ax.loglog(
            sizes, [seconds[0] * s / sizes[0] for s in sizes], "--", color="#999999", label="linear growth"
        )
        ax.set_xlabel(line.name)
        ax.set_xticks(sizes, [str(s) for s in sizes])
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
    ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10]
    shown = [t for t in ticks if figure.axes[0].get_ylim()[0] <= t <= figure.axes[0].get_ylim()[1]]
    figure.axes[0].set_yticks(shown, [f"{t:g}" for t in shown])
    figure.axes[0].set_ylabel("seconds")
    figure.axes[0].legend(frameon=False)
    figure.savefig(file, dpi=110)


def _data(n: int, m: int) -> Array:
    return make_low_rank(n, m, 20, 0.3, random_state=0)[0]


def _median_seconds(X: Array, repeats: int, max_rank: int | None = None) -> float:
    times = []
    for seed in range(repeats):
        began = time.perf_counter()
        AutoNMF(max_rank=max_rank, random_state=seed).fit(X)
        times.append(time.perf_counter() - began)
    return median(times)


SIZES = ((9025, 30), (5000, 50))


class SweepTiming(NamedTuple):
    """Milliseconds of one sweep, one thread."""

    n: int
    rank: int
    dtype: str
    ours: float
    sklearn: float
    product: float


def measure_sweeps(repeats: int = 31) -> list[SweepTiming]:
    """Time the sweeps in turns."""
    rows = []
    with one_pool():
        for dtype in (np.float64, np.float32):
            for n, rank in SIZES:
                rng = np.random.default_rng(0)
                C: Array = rng.random((200, rank)).astype(dtype)
                G = C.T @ C
                U: Array = np.asfortranarray(rng.random((n, rank)), dtype=dtype)
                A = np.asfortranarray(U @ G)
                W, AW, order = np.ascontiguousarray(U), np.ascontiguousarray(A), np.arange(rank)
                works: list[Callable[[], Any]] = [
                    partial(kernels.hals_sweeps, U, A, G, 1e-8, 1),
                    partial(_update_cdnmf_fast, W, G, AW, order),
                    partial(np.matmul, W, G),
                ]
                times: list[list[float]] = [[], [], []]
                for _ in range(repeats):
                    for work, spent in zip(works, times, strict=True):
                        began = time.perf_counter()
                        work()
                        spent.append(1e3 * (time.perf_counter() - began))
                rows.append(SweepTiming(n, rank, np.dtype(dtype).name, *map(median, times)))
    return rows


class Measured(NamedTuple):
    """Figures, a table of them, and what its columns mean."""

    figures: Any
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    legend: str = ""


def time_speed(options: argparse.Namespace) -> Measured:
    """Whole fits, beside one of scikit-learn at the known rank."""
    chosen = PAPER[:2] if options.quick else [*PAPER, *SHAPES, *real_cases()]
    header = (
        "matrix", "rank", "found", "ours, s", "sklearn, s", "ours / sklearn", "with path_ / sklearn",
        "given / ours", "nndsvda, s", "grid 2..50 / ours", "direct, s", "SVD, s", "memory / X",
    )  # fmt: skip
    timings, rows = [], []
    for one in measure_fits(chosen, options.repeats, grid=not options.quick, memory=not options.quick):
        timings.append(one)
        say(f"measured: {one.case}: {one.ours:.3f} s, {one.ratio:.2f} of one fit by scikit-learn")
        rows.append(
            (
                one.case, str(one.rank), " ".join(map(str, sorted(set(one.found)))), f"{one.ours:.3f}",
                f"{one.peer:.3f}", f"{one.ratio:.2f}", f"{(one.ours + one.path) / one.peer:.2f}",
                f"{one.given / one.ours:.2f}", f"{one.nndsvda:.3f}", _number(one.grid / one.ours, ".0f"),
                _number(one.direct), _number(one.svd),
                _number(one.extra_memory, ".2f"),
            )
        )  # fmt: skip
    legend = (
        "ours: AutoNMF().fit, the path, the choice and the polished factors; with path_: also what is "
        "computed when path_ is first read, such as the ranks above those that the choice needs; given: "
        "AutoNMF(rank).fit, the path down to it and the polished factors. sklearn: one fit of NMF at "
        "the rank shown (init='random', tol=1e-4, max_iter=500); nndsvda: the same from that start. The "
        f"grid is extrapolated from the ranks {', '.join(map(str, GRID_SAMPLE))}. Medians of "
        f"{options.repeats}, in turns; the rest once. memory: peak above X, as a fraction of X."
    )
    return Measured(describe(timings), header, rows, legend)


def time_kernels(options: argparse.Namespace) -> Measured:
    """One sweep over a factor, beside scikit-learn's and a matrix product."""
    timings = measure_sweeps(11 if options.quick else 101)
    rows = [
        (
            str(t.n), str(t.rank), t.dtype, f"{t.ours:.3f}", f"{t.ours / t.sklearn:.3f}",
            f"{t.ours / t.product:.2f}",
        )
        for t in timings
    ]  # fmt: skip
    header = ("n", "rank", "dtype", "sweep, ms", "ours / sklearn's", "ours / product U@G")
    return Measured([t._asdict() for t in timings], header, rows)


def time_growth(options: argparse.Namespace) -> Measured:
    """Fits of growing matrices, and with growing bounds on the rank."""
    series = measure_growth(options.repeats, options.quick)
    rows = [
        (line.name, str(a.size), str(b.size), f"{b.seconds:.3f}", f"{b.seconds / a.seconds:.2f}")
        for line in series
        for a, b in zip(line.points, line.points[1:], strict=False)
    ]
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        plot_growth(series, options.out / "growth.png")
    header = ("what grows", "from", "to", "seconds", "time / time before")
    return Measured([asdict(line) for line in series], header, rows)


MEASUREMENTS = {"speed": time_speed, "kernels": time_kernels, "growth": time_growth}


def command(name: str, arguments: Sequence[str] | None) -> None:
    """Measure, print, and write where a folder is given."""
    measure = MEASUREMENTS[name]
    parser = argparse.ArgumentParser(f"python -m experiments {name}", description=measure.__doc__)
    parser.add_argument("--quick", action="store_true", help="two small matrices, or few repetitions")
    if name != "kernels":
        parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each (default: 3)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write what was measured there")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    options = parser.parse_args(arguments)
    check_folder(options.out)
    measured = measure(options)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{name}.json").write_text(json.dumps(measured.figures, indent=1) + "\n")
    if options.json:
        print_json(measured.figures)
        return
    print_table(measured.header, measured.rows)
    if measured.legend:
        print(textwrap.fill(measured.legend, 100, break_long_words=False, break_on_hyphens=False) + "\n")
    if options.out is not None:
        print(f"Written to {options.out / f'{name}.json'}")


def _number(value: float, form: str = ".2f") -> str:
    return "-" if value != value else format(value, form)


def main(name: str, arguments: Sequence[str] | None = None) -> int:
    """Measure "speed", "kernels" or "growth"; the exit code."""
    return run_command(partial(command, name), arguments)
