"""`autonmf bench`: tables of what `autonmf.bench` measures."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from rich.table import Table

from autonmf.bench import cases, growth, kernels, speed
from autonmf.cli.choices import Bench
from autonmf.cli.console import print_json, print_paragraph, print_table
from autonmf.cli.failure import explained, say
from autonmf.cli.settings import Timing


class _Measured(NamedTuple):
    """Figures, a table of them and what its columns mean."""

    figures: Any
    table: Table
    width: int = 100
    legend: str = ""


def run(what: Bench, timing: Timing) -> None:
    """Measure, print and perhaps write."""
    measure = {Bench.speed: _speed, Bench.kernels: _kernels, Bench.growth: _growth}[what]
    measured = measure(timing)
    if timing.out is not None:
        with explained(f"write to {timing.out}"):
            timing.out.mkdir(parents=True, exist_ok=True)
            (timing.out / f"{what}.json").write_text(json.dumps(measured.figures, indent=1) + "\n")
    if timing.json:
        print_json(measured.figures)
        return
    print_table(measured.table, width=measured.width)
    if measured.legend:
        print_paragraph(measured.legend)
    if timing.out is not None:
        print(f"Written to {timing.out / f'{what}.json'}")


def _speed(settings: Timing) -> _Measured:
    quick, repeats = settings.quick, settings.repeats
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
    legend = (
        "ours: AutoNMF().fit, every rank, the choice and the polished factors; given: AutoNMF(rank).fit, "
        "every rank down to the one shown and the polished factors there. sklearn: one fit of NMF at "
        "the rank shown (init='random', tol=1e-4, max_iter=500); nndsvda: the same from that start. The "
        f"grid is extrapolated from the ranks {', '.join(map(str, speed.GRID_SAMPLE))}. Medians of "
        f"{repeats}, in turns; the rest once. memory: peak above X, as a share of X."
    )
    return _Measured(speed.describe(timings), table, 150, legend)


def _kernels(settings: Timing) -> _Measured:
    table = _table("n", "rank", "dtype", "sweep, ms", "ours / sklearn's", "ours / product U@G")
    timings = kernels.measure_sweeps(11 if settings.quick else 101)
    for t in timings:
        table.add_row(
            str(t.n),
            str(t.rank),
            t.dtype,
            f"{t.ours:.3f}",
            f"{t.ours / t.sklearn:.3f}",
            f"{t.ours / t.product:.2f}",
        )
    return _Measured([t._asdict() for t in timings], table)


def _growth(settings: Timing) -> _Measured:
    table = _table("what grows", "from", "to", "seconds", "time / time before")
    series = growth.measure(settings.repeats, settings.quick)
    for line in series:
        for before, now in zip(line.points, line.points[1:], strict=False):
            table.add_row(
                line.name,
                str(before.size),
                str(now.size),
                f"{now.seconds:.3f}",
                f"{now.seconds / before.seconds:.2f}",
            )
    if settings.out is not None:
        settings.out.mkdir(parents=True, exist_ok=True)
        growth.plot(series, settings.out / "growth.png")
    return _Measured([line.as_dict() for line in series], table)


def _table(*columns: str) -> Table:
    from rich import box

    table = Table(box=box.SIMPLE)
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _number(value: float, form: str = ".2f") -> str:
    return "-" if value != value else format(value, form)
