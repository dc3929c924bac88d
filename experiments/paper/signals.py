"""Section VI-F, Table 2: model orders, recovery errors and times on signals."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autonmf import AutoNMF
from autonmf.baselines import svht
from autonmf.datasets.fetching import find
from autonmf.metrics import recovery_error
from experiments.core import Array, fit_nmf
from experiments.paper import document, style
from experiments.paper.document import Block, Bullets, Paragraph, Picture, Table
from experiments.paper.experiment import (
    Cell,
    Claim,
    Done,
    Experiment,
    Holds,
    Results,
    Scale,
    Verdict,
    graded,
    judge,
)
from experiments.paper.paper_numbers import DIMENSIONS, TABLE_2, Answer
from experiments.paper.paths import (
    PASM_ONLY,
    READINGS,
    SIGNALS,
    Input,
    paper_grid,
    reading_of,
    rule_readings,
    signal,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TAU = 2.0
"""The paper's threshold for real data."""

REFERENCE_STARTS = 3
"""Initialisations of the reference factorisation: one from the SVD, others random; the best is kept."""

ITERATIONS = ((30, 500), (200, 100), (10**6, 15))
"""At most, for an NMF at SVHT's rank up to each: at high ranks one costs seconds, and RE mostly counts."""


def solve(
    *, data: str, method: str, seed: int, data_home: str | None = None, reference: bool = True, **reading: Any
) -> dict[str, Any]:
    """A cell: the rank that a method finds on a data set, RE of U against the reference, time.

    ``reading`` holds what `paper_grid` may be told beside the solver, and "transposed" and "scaling".
    """
    given = _load(data, data_home)
    facts = {"order": given.order, "rows_of_X": given.X.shape[0], "columns_of_X": given.X.shape[1]}
    if method in ("s-ipalm", "ipalm", "pasm"):
        X = _prepare(given.X, reading.pop("transposed", False), reading.pop("scaling", "none"))
        found = paper_grid(X, method, tau=TAU, seed=seed, **reading)
        row, curves, U = found.row, [found.curve], found.U
    else:
        row, U = _svht(given.X, seed) if method == "svht" else _default(given.X, seed)
        curves = []
    if reference:
        row |= {"recovery_error": None if U is None else recovery_error(_reference(data, data_home), U)}
    return {"rows": [facts | {"preprocessing": given.preprocessing} | row], "curves": curves}


@lru_cache(maxsize=2)
def _load(data: str, data_home: str | None) -> Input:
    return signal(data, data_home)


def _prepare(X: Any, transposed: bool, scaling: str) -> Any:
    """X transposed and scaled: "none", its maximum is one, or its root mean square is one."""
    X = X.T if transposed else X
    if scaling == "none":
        return X
    squares = X.multiply(X).mean() if hasattr(X, "multiply") else np.square(X).mean()
    return X / (X.max() if scaling == "maximum" else np.sqrt(squares))


def _default(X: Any, seed: int) -> tuple[dict[str, Any], Array]:
    model = AutoNMF(random_state=seed)
    began = time.perf_counter()
    W = model.fit_transform(X)
    seconds = time.perf_counter() - began
    estimate = model.rank_estimate_
    assert estimate is not None  # no rank was given
    return {
        "found": model.n_components_,
        "seconds": seconds,
        "iterations": model.n_iter_,
        "confidence": estimate.confidence,
        "plausible": list(estimate.plausible),
        "why": estimate.why,
    }, W


def _svht(X: Any, seed: int) -> tuple[dict[str, Any], Array]:
    """Its rank and time; the factor is that of an NMF at its rank, whose time is not counted."""
    began = time.perf_counter()
    rank = svht(X).rank
    seconds = time.perf_counter() - began
    return {"found": rank, "seconds": seconds}, _nmf(X, rank, seed)


def _nmf(X: Any, rank: int, seed: int) -> Array:
    return fit_nmf(X, rank, next(most for up_to, most in ITERATIONS if rank <= up_to), seed)


@lru_cache(maxsize=2)
def _reference(data: str, data_home: str | None) -> Array:
    """W_ref: scikit-learn's NMF at the reference order, the best of its starts."""
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    given = _load(data, data_home)
    fits = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for start in range(REFERENCE_STARTS):
            model = NMF(
                given.order, init="nndsvda" if start == 0 else "random", tol=1e-5, max_iter=500,
                random_state=start,
            )  # fmt: skip
            W = model.fit_transform(given.X)
            fits.append((float(model.reconstruction_err_), W))
    best: Array = min(fits, key=lambda fit: fit[0])[1]
    return best


NAME = "signals"
SOLVERS = ("s-ipalm", "pasm")
METHODS = (*SOLVERS, "default", "svht")
DATA = {
    Scale.quick: ("swimmer-noisy", "samson", "swimmer"),
    Scale.standard: tuple(name for name in SIGNALS if name != "pbmc3k-log"),
    Scale.full: tuple(SIGNALS),
}
SEEDS = {Scale.quick: 1, Scale.standard: 1, Scale.full: 3}
PATH_SEEDS = {Scale.quick: 1, Scale.standard: 3, Scale.full: 5}
"""Starts of a path that is not slow: the answer depends on them."""

PATH_SECONDS = {
    "pbmc3k": 50.0, "pbmc3k-log": 60.0, "swimmer-noisy": 1.8, "swimmer": 1.2, "olivetti": 6.0, "wos": 3.0,
    "samson": 5.0, "jasper-ridge": 7.0, "urban": 60.0,
}  # fmt: skip
"""What a path on the paper's grid takes, about."""

READINGS_OF = {
    Scale.quick: ("start uniform / 100", "X transposed"),
    Scale.standard: (
        "N_λ = 20",
        "N_λ = 50",
        "start uniform / 100",
        "start NNDSVD",
        "X transposed",
        "X / max",
    ),
    Scale.full: tuple(name for name in READINGS if name != "as read"),
}
SLOW = 30.0
"""A path that takes longer is read in fewer ways, and in a full run only."""

SLOW_READINGS = ("N_λ = 20", "start uniform / 100", "X transposed")


def cells(scale: Scale, data_home: str | None = None) -> list[Cell]:
    """Every method on every data set; then the other readings of the text, with one seed."""
    function = partial(solve, data_home=data_home)
    found = []
    for data in DATA[scale]:
        for method in METHODS:
            for seed in range(_seeds(data, method, scale)):
                parameters = {"data": data, "method": method, "seed": seed}
                cost = {"default": 2.0, "svht": 5.0 + PATH_SECONDS[data]}.get(method, PATH_SECONDS[data])
                found.append(Cell(NAME, f"{data} {method} seed {seed}", parameters, function, cost))
    for data in DATA[scale]:
        for reading in READINGS_OF[scale]:
            if SIGNALS[data].variant or _too_slow(data, reading, scale):
                continue
            for method in ("pasm",) if reading in PASM_ONLY else SOLVERS:
                parameters = {"data": data, "method": method, "seed": 0, "reference": False}
                cost = PATH_SECONDS[data] * READINGS[reading].get("n_points", 30) / 30
                name = f"{data} {method} seed 0 {reading}"
                found.append(Cell(NAME, name, parameters | READINGS[reading], function, cost))
    return [cell for cell in found if _at_hand(cell, data_home)]


def _seeds(data: str, method: str, scale: Scale) -> int:
    slow = PATH_SECONDS[data] > SLOW
    if method == "svht" or SIGNALS[data].variant or (slow and method in SOLVERS):
        return 1
    return PATH_SEEDS[scale] if method in SOLVERS else SEEDS[scale]


def _too_slow(data: str, reading: str, scale: Scale) -> bool:
    slow = PATH_SECONDS[data] > SLOW
    return slow and (scale is not Scale.full or reading not in SLOW_READINGS)


def _at_hand(cell: Cell, data_home: str | None) -> bool:
    """Of a data set that is never downloaded and not there one cell stays, which will say so."""
    files = SIGNALS[cell.parameters["data"]].files
    return not files or cell.parameters["method"] == "svht" or any(find(file, data_home) for file in files)


Lines = dict[str, dict[str, list[dict[str, Any]]]]

PAPER_METHOD = {"s-ipalm": "ipalm", "pasm": "pasm", "svht": "svht"}
"""The names in Table 2, whose iPALM is the balanced one."""

OTHER_INPUT = ("wos", "jasper-ridge")
"""Not the matrix of the paper: a sample of the abstracts, 198 of the 224 bands."""


def paper_answer(data: str, method: str) -> Answer | None:
    """What the paper has for a method on a data set; None for variants."""
    if SIGNALS[data].variant:
        return None
    return TABLE_2[paper_name(data)].get(PAPER_METHOD.get(method, ""))


def paper_name(data: str) -> str:
    """Ours and the paper's data sets differ in names where we have two of one."""
    return {"swimmer-noisy": "swimmer", "pbmc3k-log": "pbmc3k"}.get(data, data)


def paths_of(results: Results, reading: str = "as read") -> list[Done]:
    """The finished paths of one reading."""
    return [done for done in results if done.curves and reading_of(done.parameters) == reading]


def lines_of(results: Results, reading: str = "as read") -> Lines:
    """Rows by data set and method, in the order of the seeds."""
    found: Lines = {}
    for done in results:
        if reading_of(done.parameters) == reading:
            for row in done.rows:
                found.setdefault(row["data"], {}).setdefault(row["method"], []).append(row)
    return found


def as_in_paper(lines: Lines) -> Lines:
    """Without the variants."""
    return {data: by for data, by in lines.items() if not SIGNALS[data].variant}


def tables(results: Results) -> list[Table]:
    """Ranks, recovery errors, times; the inputs; the paths."""
    lines = lines_of(results)
    if not lines:
        return []
    return [
        _table(lines, "Table 2: model orders (paper / ours)", "found", "rank", document.ranks,
               "Several numbers: one per seed. τ = 2 and 30 points for both paths; our default: "
               "`AutoNMF()`."),
        _table(lines, "Table 2: recovery error of U (paper / ours)", "recovery_error", "error",
               document.spread,
               "U in the paper's orientation against scikit-learn's NMF at the reference order, the best "
               "of three initialisations; for SVHT, U of an NMF at its rank. Median (minimum to maximum) "
               "over the seeds."),
        _table(lines, "Table 2: seconds (paper / ours)", "seconds", "seconds",
               lambda values: document.spread(values, document.seconds),
               "The paper: MATLAB on an i9-14900HX. SVHT without the NMF at its rank, as in the paper."),
        _inputs(lines),
        *_paths(results),
    ]  # fmt: skip


def _table(
    lines: Lines, title: str, key: str, field: str, show: Callable[[list[Any]], str], note: str
) -> Table:
    def cell(data: str, method: str) -> str:
        rows = lines[data].get(method)
        ours = show([row.get(key) for row in rows]) if rows else document.NONE
        answer = paper_answer(data, method)
        if answer is None:
            return ours
        return f"{document.digits(getattr(answer, field), 4)} / {ours}"

    rows = tuple(
        (
            SIGNALS[data].title + (" (variant)" if SIGNALS[data].variant else ""),
            str(SIGNALS[data].order),
            *(cell(data, method) for method in METHODS),
        )
        for data in lines
    )
    return Table(
        title, ("data", "reference order", *(style.PENS[method].label for method in METHODS)), rows, note
    )


def _inputs(lines: Lines) -> Table:
    rows = []
    for data, by in lines.items():
        row = next(iter(by.values()))[0]
        size = " x ".join(map(str, DIMENSIONS[paper_name(data)]))
        ours = f"{row['rows_of_X']} x {row['columns_of_X']}"
        rows.append((SIGNALS[data].title, size, ours, row["preprocessing"]))
    return Table(
        "The inputs, the same for all methods", ("data", "paper", "ours", "preprocessing"), tuple(rows)
    )


def _paths(results: Results) -> Iterator[Table]:
    """Where the paper's rank did not come out: the ranks visited, the drops, the ratios."""
    rows = []
    for done in paths_of(results):
        row, curve = done.rows[0], done.curves[0]
        answer = paper_answer(row["data"], row["method"])
        if row["seed"] != 0 or answer is None or row["found"] == answer.rank:
            continue
        energy = 0.5 * curve["squared_norm"]
        triples = zip(curve["rule_rank"], curve["rule_drop"], curve["rule_ratio"], strict=True)
        seen = [
            f"{rank}: {document.digits(drop / energy, 2)}, {document.digits(ratio, 2)}"
            for rank, drop, ratio in triples
            if drop is not None
        ]
        rows.append(
            (
                SIGNALS[row["data"]].title,
                style.PENS[row["method"]].label,
                str(answer.rank),
                str(row["found"]),
                " ".join(map(str, dict.fromkeys(curve["rank"]))),
                "; ".join(seen[:9]) + ("; ..." if len(seen) > 9 else ""),
            )
        )
    if rows:
        yield Table(
            "Where the path and rule of the paper do not give the paper's rank (seed 0)",
            ("data", "solver", "paper", "ours", "ranks visited", "rank: drop, ratio to the next"),
            tuple(rows),
            "Drops are per component and relative to ½‖X‖²; the rule takes the first rank whose ratio is "
            "above 2, and the largest rank where none is.",
        )


FASTER = {
    "pasm": ("pbmc3k", "swimmer-noisy", "olivetti"),
    "s-ipalm": ("wos", "samson", "jasper-ridge", "urban"),
}
"""Which of the two the paper finds faster, and where."""


def verdict(results: Results) -> Verdict:
    """Orders, errors and times on the inputs of the paper."""
    lines = as_in_paper(lines_of(results))
    return judge([*_orders(lines), *_svht_claim(lines), *_errors(lines), *_times(lines)])


def _orders(lines: Lines) -> Iterator[Claim]:
    texts = {
        "pasm": ("PASM matches the reference order on six of seven data sets", 6 / 7),
        "s-ipalm": ("iPALM (balanced) matches the reference order on five of seven", 5 / 7),
    }
    for method, (text, wanted) in texts.items():
        answers = {data: by[method] for data, by in lines.items() if method in by}
        if not answers:
            continue
        always = [d for d, rows in answers.items() if all(row["found"] == row["order"] for row in rows)]
        right = sum(row["found"] == row["order"] for rows in answers.values() for row in rows)
        total = sum(map(len, answers.values()))
        same = [
            d
            for d, rows in answers.items()
            if rows[0]["found"] == getattr(paper_answer(d, method), "rank", 0)
        ]
        yield Claim(
            text,
            f"matches at every seed on {document.share(len(always), len(answers))} data sets"
            f"{_list_names(always)}, in {document.share(right, total)} runs; seed 0 gives the paper's own "
            f"rank on {len(same)}{_list_names(same)}",
            graded(len(always) / len(answers), wanted, wanted / 2),
        )


def _list_names(data: list[str]) -> str:
    return f" ({', '.join(data)})" if data else ""


def _svht_claim(lines: Lines) -> Iterator[Claim]:
    answers = {data: by["svht"][0] for data, by in lines.items() if "svht" in by}
    if not answers:
        return
    over = [data for data, row in answers.items() if row["found"] > row["order"]]
    alike = [data for data in answers if data not in OTHER_INPUT]
    same = [d for d in alike if answers[d]["found"] == getattr(paper_answer(d, "svht"), "rank", 0)]
    yield Claim(
        "SVHT strongly overestimates every reference order",
        f"overestimates on {document.share(len(over), len(answers))}; the paper's number on "
        f"{document.share(len(same), len(alike))} of the inputs that are the same matrix",
        Holds.yes
        if len(over) == len(answers) and len(same) == len(alike)
        else graded(len(over), len(answers) + 1, 1),
    )


def _errors(lines: Lines) -> Iterator[Claim]:
    compared = {
        (data, method): (
            document.middle(row["recovery_error"] for row in by[method]),
            by["svht"][0]["recovery_error"],
        )
        for data, by in lines.items()
        for method in ("s-ipalm", "pasm")
        if method in by and "svht" in by
    }
    known = {key: pair for key, pair in compared.items() if None not in pair}
    if known:
        lower = [key for key, (own, other) in known.items() if own is not None and own < other]
        yield Claim(
            "both achieve substantially lower recovery errors than SVHT on every data set",
            f"lower in {document.share(len(lower), len(known))} comparisons; each superfluous component "
            "adds one under a square root, which accounts for most of the error of SVHT",
            graded(len(lower) / len(known), 1.0, 0.5),
        )


def _times(lines: Lines) -> Iterator[Claim]:
    agree, seen = [], 0
    for faster, slower in (("pasm", "s-ipalm"), ("s-ipalm", "pasm")):
        for data in FASTER[faster]:
            by = lines.get(data, {})
            if faster in by and slower in by:
                a, b = (document.middle(row["seconds"] for row in by[m]) or 0.0 for m in (faster, slower))
                seen += 1
                agree += [data] if a < b else []
    if seen:
        yield Claim(
            "PASM is faster on PBMC3K, Swimmer and AT&T, iPALM on Web of Science and the spectra",
            f"the same order on {document.share(len(agree), seen)} data sets{_list_names(agree)}",
            graded(len(agree) / seen, 1.0, 0.5),
        )


Ranks = dict[str, dict[tuple[str, str], int]]
"""By reading, then by (data, solver): the rank with seed 0."""


def grid_ranks(results: Results) -> Ranks:
    """What each reading of the path gives."""
    found: Ranks = {}
    for reading in READINGS:
        for data, by in as_in_paper(lines_of(results, reading)).items():
            for solver in SOLVERS:
                if solver in by:
                    found.setdefault(reading, {})[data, solver] = by[solver][0]["found"]
    return found


def rule_ranks(results: Results) -> Ranks:
    """What each reading of the rule gives on the paths as read."""
    found: Ranks = {}
    for done in paths_of(results):
        data, solver = done.parameters["data"], done.parameters["method"]
        if done.parameters["seed"] == 0 and not SIGNALS[data].variant:
            for name, rank in rule_readings(done.curves[0], TAU).items():
                found.setdefault(name, {})[data, solver] = rank
    return found


def readings(results: Results) -> list[Block]:
    """Tables of ranks, and for each miss the readings that give the paper's rank."""
    grid, rule = grid_ranks(results), rule_ranks(results)
    if not grid:
        return []
    return [
        Paragraph(
            "Table 2, seed 0, S-iPALM / PASM; bold: the paper's rank. “As read” is as for Table 1. Web of "
            "Science is a sample and Jasper Ridge has 198 of the paper's 224 bands, so that their ranks "
            "need not agree."
        ),
        _readings_table("Table 2: the path under other readings", grid),
        _readings_table("Table 2: the rule under other readings, on the paths as read", rule),
        Bullets(tuple(_explain(results, grid, rule))),
    ]


def _readings_table(title: str, ranks: Ranks) -> Table:
    data = list(dict.fromkeys(name for by in ranks.values() for name, _ in by))

    def cell(reading: str, name: str) -> str:
        texts = []
        for solver in SOLVERS:
            rank = ranks[reading].get((name, solver))
            same = rank is not None and rank == getattr(paper_answer(name, solver), "rank", None)
            texts.append(document.NONE if rank is None else f"**{rank}**" if same else str(rank))
        return " / ".join(texts)

    paper = (
        "paper",
        *(
            " / ".join(str(getattr(paper_answer(name, s), "rank", document.NONE)) for s in SOLVERS)
            for name in data
        ),
    )
    rows = tuple((reading, *(cell(reading, name) for name in data)) for reading in ranks)
    return Table(title, ("reading", *(SIGNALS[name].title for name in data)), (paper, *rows))


def _explain(results: Results, grid: Ranks, rule: Ranks) -> list[str]:
    """For each data set and solver: which readings, and which starts, give the paper's rank."""
    texts = []
    lines = lines_of(results)
    for data, solver in grid["as read"]:
        answer = paper_answer(data, solver)
        if answer is None:
            continue
        rows = lines[data][solver]
        seeds = [str(row["seed"]) for row in rows if row["found"] == answer.rank]
        giving = (
            [f"as read with {len(seeds)} of {len(rows)} initial points (seeds {', '.join(seeds)})"]
            if seeds
            else []
        )
        for kind, ranks in (("", grid), ("the rule with ", rule)):
            names = [name for name, by in ranks.items() if by.get((data, solver)) == answer.rank]
            giving += [f"{kind}{name}" for name in names if name != "as read"]
        said = "; ".join(giving) if giving else "none of these readings"
        texts.append(
            f"{SIGNALS[data].title}, {style.PENS[solver].label}, {answer.rank} in the paper: {said}."
        )
    return texts


def draw_orders(lines: Lines) -> Figure:
    """One row per data set: the reference order, the paper's answers above, ours below."""
    figure, axes = style.new_figure(9.5, 1.2 + 0.75 * len(lines))
    ax = axes[0, 0]
    seen = set()
    for y, (data, by) in enumerate(lines.items()):
        order = SIGNALS[data].order
        ax.axhspan(y - 0.42, y + 0.42, color="#F5F5F5", zorder=0)
        ax.plot([order, order], [y - 0.42, y + 0.42], color=style.QUIET, linewidth=3, zorder=1,
                label=None if y else "reference order")  # fmt: skip
        for place, method in enumerate(METHODS):
            pen, height = style.PENS[method], y - 0.3 + 0.2 * place
            answer = paper_answer(data, method)
            if answer is not None and answer.rank is not None:
                ax.plot(answer.rank, height, pen.marker, markersize=8, markerfacecolor="none",
                        markeredgecolor=pen.color, zorder=2)  # fmt: skip
            for row in by.get(method, []):
                label = None if method in seen else pen.label
                seen.add(method)
                ax.plot(
                    row["found"], height, pen.marker, color=pen.color, markersize=5, label=label, zorder=3
                )
    titles = [SIGNALS[data].title + ("\n(variant)" if SIGNALS[data].variant else "") for data in lines]
    ax.set_yticks(range(len(lines)), titles, fontsize=9)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    style.use_log_ticks(ax.xaxis)
    ax.set_xlabel("model order; filled: ours, every seed; open: the paper's", fontsize=9)
    ax.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)
    style.legend_below(figure, ax, 5)
    return figure


def draw_readings(ranks: Ranks) -> Figure:
    """One tile per reading, data set and solver: the rank, blue where it is the paper's."""
    from matplotlib.patches import Rectangle

    columns = list(ranks["as read"])
    figure, axes = style.new_figure(2.2 + 0.78 * len(columns), 1.3 + 0.3 * (len(ranks) + 1))
    ax = axes[0, 0]
    for x, (data, solver) in enumerate(columns):
        answer = paper_answer(data, solver)
        wanted = answer.rank if answer else None
        ax.text(x, -1, str(wanted), ha="center", va="center", fontsize=9, fontweight="bold")
        for y, by in enumerate(ranks.values()):
            rank = by.get((data, solver))
            if rank is None:
                continue
            same = rank == wanted
            color = style.GOOD if same else style.BAD
            ax.add_patch(Rectangle((x - 0.47, y - 0.44), 0.94, 0.88, facecolor=color, edgecolor="white"))
            weight = "bold" if same else "normal"
            ax.text(x, y, str(rank), ha="center", va="center", fontsize=9, fontweight=weight)
    names = [f"{data}\n{style.PENS[solver].label}" for data, solver in columns]
    ax.set_xticks(range(len(columns)), names, fontsize=7)
    ax.xaxis.tick_top()
    ax.set_yticks(range(-1, len(ranks)), ["the paper", *ranks], fontsize=8)
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(len(ranks) - 0.5, -1.5)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("blue, bold: the paper's rank", fontsize=8, color=style.QUIET)
    return figure


def figures(results: Results) -> list[Picture]:
    """The orders, and the readings."""
    lines, ranks = lines_of(results), grid_ranks(results)
    found = []
    if lines:
        caption = "Table 2: model orders on a log scale, ours beside the paper's."
        found.append(Picture("signals-orders", caption, partial(draw_orders, lines)))
    if ranks:
        caption = "Table 2, seed 0: the rank that each reading of the text gives."
        found.append(Picture("signals-readings", caption, partial(draw_readings, ranks)))
    return found


EXPERIMENT = Experiment(
    NAME,
    "Table 2: signals",
    "Sec. VI-F",
    "The data sets of the paper that are available, in its orientation: S-iPALM and PASM on the paper's "
    "grid with τ = 2, SVHT, and our default.",
    cells,
    figures,
    tables,
    verdict,
    readings,
)
