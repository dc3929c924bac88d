"""Section VI-B: PALM, iPALM, S-iPALM and PASM from one initial point, at one λ."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from autonmf import rank_path
from autonmf.datasets import make_low_rank
from autonmf.metrics import recovery_error
from experiments.core import (
    SOLVERS,
    Array,
    History,
    Observer,
    Problem,
    Run,
    State,
    Stopping,
    as_data,
    breakpoints,
    one_pool,
    run,
)
from experiments.paper import document, style
from experiments.paper.document import Block, Paragraph, Picture, Table
from experiments.paper.experiment import Cell, Claim, Done, Experiment, Results, Scale, Verdict, graded, judge
from experiments.paper.paths import random_start

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SCANNED = 60
"""Values of λ tried, over a factor of 10 up to the largest breakpoint of the initial point."""

STEP = 1.01
"""The plateau is followed to both sides in steps of this factor."""

ATTEMPTS = 5
"""Initial points tried until PASM ends at r* from one."""

RESTING = 1e-3
"""At this fraction of λ no column is dropped."""


def compare_solvers(
    *, n: int, m: int, rank: int, noise: float, start_rank: int, seed: int, iterations: int, repeats: int
) -> dict[str, Any]:
    """A cell: the runs of all four at three values of λ, and their curves at the first."""
    X, U_true, _ = make_low_rank(n, m, rank, noise, random_state=seed)
    with one_pool():
        data = as_data(X)
        attempt, start, plateau, cold = _start_with_plateau(data, rank, start_rank, seed)
        on_path = _path_plateau(X, rank, start_rank, seed)
        settings = {"cold": cold, "resting": RESTING * cold, "path": _middle(on_path)}
        rows, curves = [], []
        for setting, lam in settings.items():
            problem = Problem(data, lam=lam)
            runs = {name: _time_run(name, problem, start, repeats) for name in SOLVERS}
            palm = runs["palm"][1]
            target = palm.state.objective if palm.state.rank else None
            for name, (seconds, ended) in runs.items():
                shortest = iterations if setting == "cold" else 1
                history = _history(name, problem, start, shortest, max(shortest, palm.n_iter), target)
                rows.append(
                    {
                        "setting": setting,
                        "lam": lam,
                        "solver": name,
                        "rank_found": ended.state.rank,
                        "iterations": ended.n_iter,
                        "seconds": seconds,
                        "reason": ended.reason,
                        "objective": ended.state.objective if ended.state.rank else None,
                        "gradient": ended.state.projected_gradient_norm if ended.state.rank else None,
                        "recovery_error": _recovery(U_true, ended),
                        **_find_target(history, target),
                    }
                )
                if setting == "cold":
                    curves.append(_curve(name, history, iterations))
    note = {
        "attempt": attempt, "plateau_low": plateau[0], "plateau_high": plateau[1],
        "path_low": on_path[0], "path_high": on_path[1],
    }  # fmt: skip
    note |= _bounds(X, rank, cold)
    return {"rows": [row | note for row in rows], "curves": curves}


def _bounds(X: Array, rank: int, lam: float) -> dict[str, float]:
    """The largest λ that Prop. 4 allows without noise, and Φ of the best solution with one component."""
    values = np.linalg.svd(X, compute_uv=False)
    return {
        "recovery_lam": float(values[rank - 1] ** 2) / 32,
        "rank_one_objective": 0.5 * float(np.sum(values[1:] ** 2)) + 2 * lam,
    }


def _start_with_plateau(
    data: Any, rank: int, start_rank: int, seed: int
) -> tuple[int, tuple[Array, Array], tuple[float, float], float]:
    """The first initial point from which PASM ends at ``rank`` for some λ, its plateau, and the middle."""
    for attempt in range(ATTEMPTS):
        start = random_start("normal", data.shape, start_rank, seed + 1000 * attempt)
        problem = Problem(data)
        solver = SOLVERS["pasm"]
        state = solver.init(problem, *start)
        top = float(breakpoints(problem, state.U, state.XV, state.gram_V).max())

        def ends(lam: float, start: tuple[Array, Array] = start) -> bool:
            found = _run("pasm", Problem(data, lam=lam), start, Stopping())
            return bool(found.state.rank == rank)

        hits = [(float(lam), ends(float(lam))) for lam in np.geomspace(top / 10, top, SCANNED)]
        if any(hit for _, hit in hits):
            plateau = max(
                (_widen(*ends_at, ends) for ends_at in _runs(hits)), key=lambda pair: pair[1] / pair[0]
            )
            return attempt, start, plateau, _inside(plateau, ends)
    raise ValueError(f"from {ATTEMPTS} initial points PASM ended at rank {rank} for no λ")


def _runs(hits: list[tuple[float, bool]]) -> list[tuple[float, float]]:
    """The ends of the stretches of consecutive hits."""
    stretches = [[lam for lam, _ in group] for hit, group in groupby(hits, key=lambda pair: pair[1]) if hit]
    return [(stretch[0], stretch[-1]) for stretch in stretches]


def _widen(low: float, high: float, ends: Callable[[float], bool]) -> tuple[float, float]:
    """The same followed to where the rank changes, to within one step."""
    while ends(low / STEP):
        low /= STEP
    while ends(high * STEP):
        high *= STEP
    return low, high


def _inside(plateau: tuple[float, float], ends: Callable[[float], bool]) -> float:
    """The geometric middle, or the nearest λ in the plateau: from a cold start it may have gaps."""
    middle = _middle(plateau)
    inside = np.geomspace(*plateau, 41)
    return next(float(lam) for lam in sorted(inside, key=lambda lam: abs(np.log(lam / middle))) if ends(lam))


def _path_plateau(X: Array, rank: int, start_rank: int, seed: int) -> tuple[float, float]:
    """Where PASM's exact path is at ``rank``: from the λ that leads there to the next breakpoint."""
    path = rank_path(X, start_rank, engine="direct", scale=False, random_state=seed)
    visit = next(visit for visit in path.visits if visit.rank == rank)
    return visit.lam, visit.next_lam


def _middle(interval: tuple[float, float]) -> float:
    return float(np.sqrt(interval[0] * interval[1]))


def _run(
    name: str,
    problem: Problem,
    start: tuple[Array, Array],
    stopping: Stopping,
    observer: Observer | None = None,
) -> Run:
    solver = SOLVERS[name]
    return run(solver, solver.init(problem, *start), stopping, observer=observer)


def _history(
    name: str, problem: Problem, start: tuple[Array, Array], shortest: int, longest: int, target: float | None
) -> History:
    """A run whatever the stopping criterion says: until the objective is at ``target``, in these limits."""
    history = History()

    def watch(state: State, k: int) -> bool:
        _ = state.XV  # the next step needs it: part of the algorithm's time, not of the record's
        history(state, k)
        return k >= shortest and target is not None and history.objective[-1] <= target

    _run(name, problem, start, Stopping(tol=0.0, tol_gradient=0.0, max_iter=longest), watch)
    return history


def _time_run(name: str, problem: Problem, start: tuple[Array, Array], repeats: int) -> tuple[float, Run]:
    """The run until the paper's stopping criterion holds; the median of its times."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        ended = _run(name, problem, start, Stopping())
        seconds.append(time.perf_counter() - began)
    return median(seconds), ended


def _recovery(U_true: Array, ended: Run) -> float | None:
    state = ended.state.balance().compact()
    return recovery_error(U_true, state.U) if state.rank else None


def _find_target(history: History, target: float | None) -> dict[str, Any]:
    """Iterations and seconds until the objective at which PALM stopped."""
    first = next((k for k, value in enumerate(history.objective) if target and value <= target), None)
    if first is None:
        return {"iterations_to_palm": None, "seconds_to_palm": None}
    return {"iterations_to_palm": first + 1, "seconds_to_palm": history.seconds[first]}


def _curve(name: str, history: History, iterations: int) -> dict[str, Any]:
    """Six digits are enough for a picture."""
    short = {
        key: [float(f"{value:.6g}") for value in getattr(history, key)[:iterations]]
        for key in ("objective", "projected_gradient", "seconds")
    }
    return {"solver": name, "rank_found": history.rank[:iterations], **short}


NAME = "efficiency"
SIZES = ((100, 80, 2.0), (1000, 800, 12.0))  # and about the seconds that one takes
SEEDS = {Scale.quick: 1, Scale.standard: 2, Scale.full: 3}


def cells(scale: Scale, data_home: str | None = None) -> list[Cell]:
    """Both sizes, a few seeds."""
    found = []
    for seed in range(SEEDS[scale]):
        for n, m, cost in SIZES:
            parameters = {
                "n": n, "m": m, "rank": 10, "noise": 0.1, "start_rank": 30, "seed": seed,
                "iterations": 250, "repeats": 1 if scale is Scale.quick else 3,
            }  # fmt: skip
            found.append(Cell(NAME, f"{n}x{m} seed {seed}", parameters, compare_solvers, cost))
    return found


Groups = dict[tuple[str, str, str], list[dict[str, Any]]]
"""By (size, setting of λ, solver), in the order of the seeds."""


def groups_of(results: Results) -> Groups:
    """Rows by (size, setting, solver), over the seeds."""
    found: Groups = {}
    for done in results:
        for row in done.rows:
            found.setdefault((f"{row['n']}x{row['m']}", row["setting"], row["solver"]), []).append(row)
    return found


def _median(rows: list[dict[str, Any]], key: str) -> float | None:
    return document.middle(row[key] for row in rows)


def faster(groups: Groups, key: tuple[str, str, str], unit: str) -> Any:
    """How many times sooner than PALM the objective is where PALM stopped."""
    size, setting, _ = key
    palm = _median(groups[size, setting, "palm"], f"{unit}_to_palm")
    own = _median(groups[key], f"{unit}_to_palm")
    return palm / own if palm and own else None


SETTINGS = {
    "cold": ("cold", "middle of PASM's plateau at r* from this initial point"),
    "resting": ("small", "a thousandth of it, so that no column is dropped"),
    "path": ("path", "middle of the plateau at r* on PASM's path"),
}
"""By the name in the results: how the tables call a setting of λ, and what it is."""


HEADER = (
    "size", "setting of λ", "λ", "algorithm", "rank", "iterations", "seconds", "objective",
    "projected gradient", "iterations, PALM / this", "time, PALM / this",
)  # fmt: skip


def tables(results: Results) -> list[Table]:
    """Every run, medians over the seeds."""
    groups = groups_of(results)
    if not groups:
        return []
    lines = []
    for key, rows in groups.items():
        size, setting, solver = key
        lines.append(
            (
                size,
                SETTINGS[setting][0],
                document.spread(row["lam"] for row in rows),
                style.PENS[solver].label,
                document.ranks([row["rank_found"] for row in rows]),
                document.spread(row["iterations"] for row in rows),
                document.spread((row["seconds"] for row in rows), document.digits),
                document.spread((row["objective"] for row in rows), lambda value: document.digits(value, 4)),
                document.spread(row["gradient"] for row in rows),
                document.times(faster(groups, key, "iterations")),
                document.times(faster(groups, key, "seconds")),
            )
        )
    legend = "; ".join(f"{name}: {text}" for name, text in SETTINGS.values())
    return [
        Table(
            "Four algorithms from one initial point, until the paper's stopping criterion holds",
            HEADER,
            tuple(lines),
            f"{legend}. Median (minimum to maximum) over the seeds. The last two columns compare how soon "
            "the algorithms reach the objective at which PALM stopped. Rank 0: every column was removed.",
        )
    ]


CLEAR = 1.5
"""Times fewer iterations than PALM that count as significantly fewer."""

OVERWHELMING = 2.0
"""Times fewer than the next best."""


def verdict(results: Results) -> Verdict:
    """The two sentences of Section VI-B, where the ranks cannot confound them and where they can."""
    groups = groups_of(results)
    if not groups:
        return judge([])
    keys = [key for key in groups if key[1] in ("cold", "resting")]

    def worst(solvers: tuple[str, ...], unit: str) -> float:
        return min(faster(groups, key, unit) or 0.0 for key in keys if key[2] in solvers)

    def lead(unit: str) -> float:
        """PASM against the best of the others, at its worst."""
        ratios = []
        for size, setting, _ in {(size, setting, "") for size, setting, _ in keys}:
            others = max(
                faster(groups, (size, setting, other), unit) or 0.0 for other in ("palm", "ipalm", "s-ipalm")
            )
            ratios.append((faster(groups, (size, setting, "pasm"), unit) or 0.0) / others)
        return min(ratios)

    inertial = worst(("ipalm", "s-ipalm"), "iterations")
    by_iterations, by_time = lead("iterations"), lead("seconds")
    return judge(
        [
            Claim(
                "iPALM and S-iPALM descend significantly faster per iteration than PALM",
                f"they reach the objective at which PALM stopped at least {inertial:.1f} times sooner, at "
                "both λ and both sizes",
                graded(inertial, CLEAR, 1.0),
            ),
            Claim(
                "PASM has an overwhelming advantage in iterations",
                f"at least {by_iterations:.2f} times fewer than the best other algorithm, and "
                f"{worst(('pasm',), 'iterations'):.1f} times fewer than PALM",
                graded(by_iterations, OVERWHELMING, 1.0),
            ),
            Claim(
                "PASM has an overwhelming advantage in running time",
                f"at least {by_time:.2f} times faster than the best other algorithm, and "
                f"{worst(('pasm',), 'seconds'):.1f} times faster than PALM",
                graded(by_time, OVERWHELMING, 1.0),
            ),
        ]
    )


def readings(results: Results) -> list[Block]:
    """Which λ and which initial point."""
    parts = []
    for done in results:
        row = done.rows[0]
        at_path = {r["solver"]: r["rank_found"] for r in done.rows if r["setting"] == "path"}
        parts.append(
            (
                f"{row['n']}x{row['m']}",
                str(row["seed"]),
                f"{document.digits(row['plateau_low'], 4)} to {document.digits(row['plateau_high'], 4)}",
                f"{document.digits(row['path_low'], 4)} to {document.digits(row['path_high'], 4)}",
                document.digits(row["recovery_lam"]),
                document.digits(row["rank_one_objective"], 4),
                document.digits(2 * row["lam"] * row["rank"], 4),
                ", ".join(f"{style.PENS[name].label} {rank}" for name, rank in at_path.items()),
            )
        )
    if not parts:
        return []
    return [
        Paragraph(
            "The paper specifies neither λ nor the distribution of the initial point. From a random "
            "initial point of the scale of X every column is small, and a λ from the plateau of a path "
            "removes all of them in the first step. We therefore draw the initial point from max(0, N(0, "
            "1)), the distribution of the true factors, and take λ at the geometric middle of the interval "
            "where PASM from this initial point ends at r*. Both intervals are far above the λ for which "
            "the paper proves recovery (Prop. 4: at most 1/32 of the squared r*-th singular value). At the "
            "λ of the figure one component has a lower Φ than any solution with r* components, whose "
            "columns alone cost 2λr*: the solutions that the paths and the algorithms find there are local "
            "minima."
        ),
        Table(
            "λ of the efficiency experiment",
            (
                "size",
                "seed",
                "PASM from the initial point ends at r*",
                "plateau at r* of PASM's path",
                "largest λ of Prop. 4",
                "Φ of one component",
                "2λr*",
                "ranks at the middle of this plateau",
            ),
            tuple(parts),
        ),
    ]


def draw(done: Done) -> Figure:
    """One matrix, all algorithms; markers where the paper's stopping criterion holds."""
    figure, axes = style.new_figure(10.5, 6.2, 2, 3, sharey="col")
    ended = {row["solver"]: row for row in done.rows if row["setting"] == "cold"}
    for curve in done.curves:
        pen, stop = style.PENS[curve["solver"]], ended[curve["solver"]]["iterations"]
        steps = range(1, len(curve["objective"]) + 1)
        for row, x in enumerate((steps, curve["seconds"])):
            for column, key in enumerate(("objective", "projected_gradient", "rank_found")):
                ax = axes[row, column]
                ax.plot(x, curve[key], linewidth=1.8, **pen.line)
                if stop <= len(steps):
                    ax.plot(x[stop - 1], curve[key][stop - 1], pen.marker, color=pen.color, markersize=7)
    for row, label in enumerate(("iterations", "seconds")):
        for ax in axes[row]:
            style.use_log_ticks(ax.xaxis)
            ax.set_xlabel(label, fontsize=9)
    for column, title in enumerate(("objective Φ", "norm of the projected gradient", "rank")):
        style.set_title(axes[0, column], title)
        if column < 2:
            for ax in axes[:, column]:
                style.use_log_ticks(ax.yaxis)
    for ax in axes[:, 2]:
        style.use_integer_ticks(ax.yaxis)
        style.mark_order(ax, done.parameters["rank"])
    n, m = done.parameters["n"], done.parameters["m"]
    pasm, palm = ended["pasm"], ended["palm"]
    figure.suptitle(
        f"{n} x {m}: PASM stops at rank {pasm['rank_found']} after {pasm['iterations']} iterations, "
        f"PALM at rank {palm['rank_found']} after {palm['iterations']} "
        "(markers: the stopping criterion holds)",
        fontsize=11,
    )
    style.legend_below(figure, axes[0, 0], 4)
    return figure


def figures(results: Results) -> list[Picture]:
    """One figure per size: objective, projected gradient and rank, by iterations and by time."""
    chosen = {}
    for done in results:
        size = f"{done.parameters['n']}x{done.parameters['m']}"
        if done.curves and size not in chosen:
            chosen[size] = done
    return [
        Picture(
            f"efficiency-{size}",
            f"{size}: four algorithms from one initial point with 30 components, r* = 10, noise 0.1, "
            f"λ = {document.digits(done.rows[0]['lam'], 4)}.",
            partial(draw, done),
        )
        for size, done in chosen.items()
    ]


EXPERIMENT = Experiment(
    NAME,
    "Four algorithms from one initial point",
    "Sec. VI-B",
    "PALM, iPALM, S-iPALM and PASM on 100x80 and 1000x800, r* = 10, noise 0.1, from one initial point with "
    "30 components and at one λ.",
    cells,
    figures,
    tables,
    verdict,
    readings,
)
