"""Run the cells that are missing, then write results, figures and the page."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from autonmf.datasets import DataUnavailableError
from experiments.paper import balancing, efficiency, lambda_path, signals, synthetic
from experiments.paper.experiment import Cell, Done, Experiment, Missing, Scale, Verdict
from experiments.paper.page import blocks, write_page, write_results
from experiments.paper.store import Store, digest_of, is_fresh
from experiments.shared import machine_facts, say

MODULES = (efficiency, lambda_path, balancing, synthetic, signals)
EXPERIMENTS: dict[str, Experiment] = {module.EXPERIMENT.name: module.EXPERIMENT for module in MODULES}
"""By name, in the order of the paper."""

ABSENT = "its data are not available"


@dataclass(frozen=True)
class Report:
    """What a run left behind."""

    results: dict[str, list[Done]]  # by experiment, of all that have any
    verdicts: dict[str, Verdict]
    missing: tuple[Missing, ...]
    pages: tuple[Path, ...]
    computed: int  # cells that were run now


def reproduce(
    names: Iterable[str] = tuple(EXPERIMENTS),
    scale: Scale = Scale.standard,
    out: Path = Path("reproduction"),
    *,
    data_home: str | None = None,
    redraw: bool = False,
    quiet: bool = False,
    experiments: dict[str, Experiment] | None = None,
) -> Report:
    """Reproduce experiments of the paper.

    Parameters
    ----------
    names : iterable of str
        Experiments to run; see `EXPERIMENTS`.
    scale : Scale
        How much of each.
    out : path
        A folder. Finished cells there are not run again, unless the code that they depend on has changed.
    data_home : str, optional
        Folder of the data sets.
    redraw : bool
        Run nothing: write the page again from the cells that are there, even if they are stale.
    quiet : bool
        No progress.
    experiments : dict, optional
        What there is to run, instead of `EXPERIMENTS`.

    Returns
    -------
    Report
        The page also has what earlier runs of the same scale left of other experiments.
    """
    _check_matplotlib()
    everything = EXPERIMENTS if experiments is None else experiments
    store, asked = Store(out), set(names)
    cells = {name: experiment.cells(scale, data_home) for name, experiment in everything.items()}
    pending = (
        [] if redraw else _pending(store, [cell for name in cells if name in asked for cell in cells[name]])
    )
    lost: list[Missing] = []
    progress = Progress(pending, quiet=quiet)
    if stale_cells := sum(store.get(cell) is not None for cell in pending):
        progress.say(f"{stale_cells} cells are there from an earlier state of the code: they are run again")
    for cell in pending:
        missing = _run(cell, store, progress)
        lost += [missing] if missing else []
    results: dict[str, list[Done]] = {}
    stale: dict[str, int] = {}
    for name in cells:
        pairs = [(cell, done) for cell in cells[name] if (done := store.get(cell))]
        results[name] = [done for _, done in pairs]
        stale[name] = sum(not is_fresh(cell, done) for cell, done in pairs)
        if results[name]:
            write_results(name, results[name], out)
            said = {missing.name for missing in lost if missing.experiment == name}
            rest = [cell.name for cell in cells[name] if not store.get(cell) and cell.name not in said]
            lost += [Missing(name, cell, "not run") for cell in rest]
    out.mkdir(parents=True, exist_ok=True)
    pages = write_page(blocks(list(everything.values()), results, lost, stale, scale), out)
    verdicts = {name: everything[name].verdict(done) for name, done in results.items() if done}
    return Report(results, verdicts, tuple(lost), tuple(pages), len(pending))


def _check_matplotlib() -> None:
    """Fail before an hour of work, not after it."""
    if find_spec("matplotlib") is None:
        raise ModuleNotFoundError('the page needs matplotlib: pip install "autonmf[plot]"')


def _pending(store: Store, cells: list[Cell]) -> list[Cell]:
    return [cell for cell in cells if (done := store.get(cell)) is None or not is_fresh(cell, done)]


def _run(cell: Cell, store: Store, progress: Progress) -> Missing | None:
    """Run a cell and keep its result, or say what went wrong. An interrupt ends the run, not its results."""
    began = time.perf_counter()
    lost = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = cell.run()
    except DataUnavailableError as error:
        lost, outcome = Missing(cell.experiment, cell.name, ABSENT), f"{ABSENT}: {error}"
    except Exception as error:  # one line that fails must not cost the others
        outcome = f"{type(error).__name__}: {error}"
        lost = Missing(cell.experiment, cell.name, outcome, failed=True)
        progress.say(f"{cell.experiment}: {cell.name} failed: {outcome}")
    else:
        seconds = time.perf_counter() - began
        done = Done(
            cell.experiment,
            cell.name,
            dict(cell.parameters),
            result,
            seconds,
            digest_of(cell.function),
            machine_facts(),
        )
        store.put(cell, done)
        outcome = f"{seconds:.1f} s"
    progress.end(cell, outcome)
    return lost


class Progress:
    """One line per cell with the remaining time, judged by the cost of what is done."""

    def __init__(self, cells: list[Cell], *, quiet: bool = False) -> None:
        self.quiet, self.total = quiet, sum(cell.cost for cell in cells)
        self.count, self.done, self.spent, self.began = len(cells), 0, 0.0, time.monotonic()

    def say(self, text: str) -> None:
        """Write a line, unless progress is not wanted."""
        if not self.quiet:
            say(text)

    def end(self, cell: Cell, outcome: str) -> None:
        """A cell has ended."""
        self.done, self.spent = self.done + 1, self.spent + cell.cost
        left = (time.monotonic() - self.began) * (self.total - self.spent) / max(self.spent, 1e-9)
        self.say(
            f"[{self.done}/{self.count}] {cell.experiment}: {cell.name}: {outcome}; {duration(left)} left"
        )


def duration(seconds: float) -> str:
    """About how long."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
