"""`autonmf bench`: tables of what `autonmf.bench` measures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.table import Table

from autonmf.bench import cases, growth, kernels, speed
from autonmf.cli.console import print_paragraph, print_table
from autonmf.cli.failure import explained, say
from autonmf.cli.settings import Bench


def run(what: Bench, quick: bool, repeats: int, out: Path | None) -> None:
    """Measure, print and perhaps write."""
    measured = {Bench.speed: _speed, Bench.kernels: _kernels, Bench.growth: _growth}[what](
        quick, repeats, out
    )
    if out is not None:
        with explained(f"write to {out}"):
            out.mkdir(parents=True, exist_ok=True)
            (out / f"{what}.json").write_text(json.dumps(measured, indent=1) + "\n")
        print(f"Written to {out / f'{what}.json'}")


def _speed(quick: bool, repeats: int, out: Path | None) -> Any:
    chosen = cases.PAPER[:2] if quick else [*cases.PAPER, *cases.SHAPES, *cases.real()]
    table = _table(
        "matrix", "rank", "found", "ours, s", "sklearn, s", "ours / sklearn", "given / sklearn", "nndsvda, s",
        "grid 2..50 / ours", "direct, s", "SVD, s", "memory / X",
    )  # fmt: skip
    timings = []
    for timing in speed.measure(chosen, repeats, grid=not quick, floor=True, memory=not quick):
        timings.append(timing)
        say("measured", f"{timing.case}: {timing.ours:.3f} s, {timing.ratio:.2f} of one fit by scikit-learn")
        found = " ".join(map(str, sorted(set(timing.found))))
        table.add_row(
            timing.case, str(timing.rank), found, f"{timing.ours:.3f}", f"{timing.peer:.3f}",
            f"{timing.ratio:.2f}", f"{timing.given / timing.peer:.2f}", f"{timing.nndsvda:.3f}",
            _number(timing.grid / timing.ours, ".0f"),
            _number(timing.direct), _number(timing.svd), _number(timing.extra_memory, ".2f"),
        )  # fmt: skip
    print_table(table, width=150)
    print_paragraph(
        "ours: AutoNMF().fit, every rank, the choice and the polished factors; given: AutoNMF(rank).fit, "
        "every rank down to the one shown and the polished factors there. sklearn: one fit of NMF at "
        "the rank shown (init='random', tol=1e-4, max_iter=500); nndsvda: the same from that start. The "
        f"grid is extrapolated from the ranks {', '.join(map(str, speed.GRID_SAMPLE))}. Medians of "
        f"{repeats}, in turns; the rest once. memory: peak above X, as a share of X."
    )
    return speed.describe(timings)


def _kernels(quick: bool, repeats: int, out: Path | None) -> Any:
    table = _table("n", "rank", "dtype", "sweep, ms", "ours / sklearn's", "ours / product U@G")
    timings = kernels.measure_sweeps(11 if quick else 101)
    for t in timings:
        table.add_row(
            str(t.n),
            str(t.rank),
            t.dtype,
            f"{t.ours:.3f}",
            f"{t.ours / t.sklearn:.3f}",
            f"{t.ours / t.product:.2f}",
        )
    print_table(table)
    return [t._asdict() for t in timings]


def _growth(quick: bool, repeats: int, out: Path | None) -> Any:
    table = _table("what grows", "from", "to", "seconds", "time / time before")
    series = growth.measure(repeats, quick)
    for line in series:
        for before, now in zip(line.points, line.points[1:], strict=False):
            table.add_row(
                line.name,
                str(before.size),
                str(now.size),
                f"{now.seconds:.3f}",
                f"{now.seconds / before.seconds:.2f}",
            )
    print_table(table)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        growth.plot(series, out / "growth.png")
    return [line.as_dict() for line in series]


def _table(*columns: str) -> Table:
    from rich import box

    table = Table(box=box.SIMPLE)
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _number(value: float, form: str = ".2f") -> str:
    return "-" if value != value else format(value, form)
