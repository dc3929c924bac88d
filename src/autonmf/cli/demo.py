"""`autonmf demo`: two matrices whose rank is known."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.table import Table

from autonmf import kernels
from autonmf._types import Array
from autonmf.cli.console import print_json, print_paragraph, print_table
from autonmf.cli.factorise import Factorisation, factorise
from autonmf.cli.progress import progress
from autonmf.cli.settings import Search
from autonmf.datasets import load_swimmer, make_low_rank
from autonmf.metrics import recovery_error

INTRODUCTION = (
    "autonmf splits a nonnegative matrix into a few parts that add up to it, and finds how many. Here are "
    "two matrices with a known number of parts, which it is not told: a synthetic one with noise, and "
    "Swimmer, 256 small images of a swimmer with four limbs in four positions each."
)
COLUMNS = (
    "data", "shape", "true\nrank", "rank\nfound", "relative\nloss", "recovery\nerror", "iterations", "time",
)  # fmt: skip
EXPLANATION = (
    "The relative loss is the share of the matrix that the parts leave unexplained. The recovery error is "
    "the distance between the parts found and the true ones: 0 is perfect. For Swimmer it leaves out the "
    "torso, which is in every image, so that any limb may carry it."
)
NEXT = """\
Now try your own data, a table of numbers that are not negative:
    {autonmf} fit FILE                 show the rank, and why
    {autonmf} fit FILE --out results   also write the parts
    {autonmf} report FILE              write an interactive page about it{needs}
    {autonmf} fit --help               every option"""


@dataclass(frozen=True)
class Example:
    """A matrix with known parts."""

    name: str
    X: Array
    parts: Array  # of one factor, in columns
    rows: Array | slice  # of the factor, where the parts are unique
    transposed: bool  # the parts are those of H

    def error(self, found: Factorisation) -> float:
        """How far the parts found are from the true ones."""
        factor = found.H.T if self.transposed else found.W
        return recovery_error(self.parts[self.rows], factor[self.rows])


def run(seed: int, as_json: bool) -> None:
    """Factorise both and print a table."""
    examples, search = [_synthetic(seed), _swimmer()], Search(seed=seed)
    if not as_json:
        print_paragraph(INTRODUCTION)
    found = []
    for example in examples:
        with progress(example.name, search, quiet=as_json) as reporter:
            found.append(factorise(example.X, search, reporter))
    if as_json:
        print_json([_figures(*pair) for pair in zip(examples, found, strict=True)])
        return
    print_table(_table(examples, found))
    for example, result in zip(examples, found, strict=True):
        print_paragraph(f"{example.name}: rank {result.rank}, because {result.why}.")
    print_paragraph(EXPLANATION)
    print_paragraph(f"Kernels in use: {kernels.BACKEND}.")
    needs = " (needs autonmf[report])" if find_spec("plotly") is None else ""
    print(NEXT.format(autonmf=_command(), needs=needs))


def _synthetic(seed: int) -> Example:
    X, U, _ = make_low_rank(1000, 400, rank=10, noise=0.1, random_state=seed)
    return Example("synthetic", X, U, slice(None), transposed=False)


def _swimmer() -> Example:
    X, parts = load_swimmer(return_parts=True)
    *_, torso = parts
    return Example("Swimmer", X, parts[:-1].T, torso == 0, transposed=True)


def _figures(example: Example, found: Factorisation) -> dict[str, Any]:
    return {
        "data": example.name,
        "shape": list(example.X.shape),
        "true_rank": example.parts.shape[1],
        "rank": found.rank,
        "why": found.why,
        "relative_loss": found.relative_loss,
        "recovery_error": example.error(found),
        "n_iter": found.n_iter,
        "seconds": round(found.seconds, 3),
    }


def _table(examples: list[Example], found: list[Factorisation]) -> Table:
    from rich import box

    table = Table(*COLUMNS, box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for column in table.columns[1:]:
        column.justify = "right"
    for example, result in zip(examples, found, strict=True):
        n, m = example.X.shape
        table.add_row(
            example.name,
            f"{n} x {m}",
            str(example.parts.shape[1]),
            str(result.rank),
            f"{result.relative_loss:.2e}",
            f"{example.error(result):.4f}",
            str(result.n_iter),
            f"{result.seconds:.1f} s",
        )
    return table


def _command() -> str:
    """How to call this program again: by its name if the shell finds it, else by its place."""
    called = Path(sys.argv[0])
    if called.name != "autonmf" or shutil.which("autonmf"):
        return "autonmf"
    return str(called)
