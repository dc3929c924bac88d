"""Run what is missing, then write results, figures and the page."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from autonmf.datasets import DataUnavailableError
from autonmf.reproduce.balancing import EXPERIMENT as BALANCING
from autonmf.reproduce.cell import Cell, Done, Missing
from autonmf.reproduce.code import digest_of
from autonmf.reproduce.efficiency import EXPERIMENT as EFFICIENCY
from autonmf.reproduce.experiment import Experiment
from autonmf.reproduce.files import write_results
from autonmf.reproduce.lambda_path import EXPERIMENT as LAMBDA_PATH
from autonmf.reproduce.machine import facts
from autonmf.reproduce.page import blocks, write_page
from autonmf.reproduce.progress import Reporter, reporting
from autonmf.reproduce.scale import Scale
from autonmf.reproduce.signals import EXPERIMENT as SIGNALS
from autonmf.reproduce.store import Store, is_fresh
from autonmf.reproduce.synthetic import EXPERIMENT as SYNTHETIC
from autonmf.reproduce.verdict import Verdict

EXPERIMENTS = {e.name: e for e in (EFFICIENCY, LAMBDA_PATH, BALANCING, SYNTHETIC, SIGNALS)}
"""By name, in the order of the paper."""

ABSENT = "its data are not at hand"


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
    _check_drawing()
    everything = EXPERIMENTS if experiments is None else experiments
    store, asked = Store(out), set(names)
    cells = {name: experiment.cells(scale, data_home) for name, experiment in everything.items()}
    pending = (
        [] if redraw else _pending(store, [cell for name in cells if name in asked for cell in cells[name]])
    )
    lost: list[Missing] = []
    with reporting(pending, quiet=quiet) as reporter:
        _announce(reporter, store, pending)
        for cell in pending:
            missing = _run(cell, store, reporter)
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


def _check_drawing() -> None:
    """Before an hour of work, not after it."""
    if find_spec("matplotlib") is None:
        raise ModuleNotFoundError('the page needs matplotlib: pip install "autonmf[plot]"')


def _pending(store: Store, cells: list[Cell]) -> list[Cell]:
    return [cell for cell in cells if (done := store.get(cell)) is None or not is_fresh(cell, done)]


def _announce(reporter: Reporter, store: Store, pending: list[Cell]) -> None:
    stale = sum(store.get(cell) is not None for cell in pending)
    if stale:
        reporter.say(f"{stale} cells are there from an earlier state of the code: they are run again")


def _run(cell: Cell, store: Store, reporter: Reporter) -> Missing | None:
    """Run a cell and keep its result, or say what went wrong. An interrupt ends the run, not its results."""
    reporter.begin(cell)
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
        reporter.say(f"{cell.experiment}: {cell.name} failed: {outcome}")
    else:
        seconds = time.perf_counter() - began
        done = Done(
            cell.experiment,
            cell.name,
            dict(cell.parameters),
            result,
            seconds,
            digest_of(cell.function),
            facts(),
        )
        store.put(cell, done)
        outcome = f"{seconds:.1f} s"
    reporter.end(cell, outcome)
    return lost
