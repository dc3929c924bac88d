"""`autonmf demo`: find the rank of two matrices of known rank."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from autonmf import kernels
from autonmf._types import Array
from autonmf.cli.arguments import Search
from autonmf.cli.console import print_json, print_paragraph, print_table
from autonmf.cli.factorise import factorise
from autonmf.cli.progress import show_progress
from autonmf.datasets import load_swimmer, make_low_rank
from autonmf.metrics import recovery_error

if TYPE_CHECKING:
    from autonmf.fit import Factorisation

INTRODUCTION = (
    "autonmf factorises a nonnegative matrix into a small number of components and finds that number by "
    "itself. Here are two matrices of known rank: a synthetic one with noise, and Swimmer, 256 images of a "
    "swimmer with four limbs in four positions each."
)
COLUMNS = (
    "data", "shape", "true\nrank", "rank\nfound", "relative\nloss", "recovery\nerror", "iterations", "time",
)  # fmt: skip
EXPLANATION = (
    "The relative loss is the unexplained fraction of the squared norm. The recovery error is the distance "
    "between the components found and the true ones; 0 is perfect. For Swimmer it leaves out the torso, "
    "which is in every image and may be part of any limb."
)
NEXT = """\
Try your own data, a table of nonnegative numbers:
    {autonmf} fit FILE                 show the rank, and why
    {autonmf} fit FILE --out results   also write the factors
    {autonmf} report FILE              write an interactive page{needs}
    {autonmf} fit --help               show all options"""


@dataclass(frozen=True)
class Example:
    """A matrix with known components."""

    name: str
    X: Array
    components: Array  # of one factor, in columns
    rows: Array | slice  # of the factor, where the components are unique
    transposed: bool  # they are components of H, not of W

    def error(self, found: Factorisation) -> float:
        """Distance between the components found and the true ones."""
        factor = found.H.T if self.transposed else found.W
        return recovery_error(self.components[self.rows], factor[self.rows])


def run_demo(seed: int, as_json: bool) -> None:
    """Factorise both matrices and print a table."""
    examples, search = _make_examples(seed), Search(seed=seed)
    if not as_json:
        print_paragraph(INTRODUCTION)
    found = []
    for example in examples:
        with show_progress(example.name, search, quiet=as_json) as reporter:
            found.append(factorise(example.X, search, reporter))
    if as_json:
        print_json([_list_figures(*pair) for pair in zip(examples, found, strict=True)])
        return
    print_table(_make_table(examples, found))
    for example, result in zip(examples, found, strict=True):
        print_paragraph(f"{example.name}: rank {result.rank}, because {result.why}.")
    print_paragraph(EXPLANATION)
    print_paragraph(f"Kernels in use: {kernels.BACKEND}.")
    needs = " (needs autonmf[report])" if find_spec("plotly") is None else ""
    print(NEXT.format(autonmf=_find_command(), needs=needs))


def _make_examples(seed: int) -> list[Example]:
    X, U, _ = make_low_rank(1000, 400, rank=10, noise=0.1, random_state=seed)
    images, parts = load_swimmer(return_parts=True)
    *limbs, torso = parts
    return [
        Example("synthetic", X, U, slice(None), transposed=False),
        Example("Swimmer", images, np.transpose(limbs), torso == 0, transposed=True),
    ]


def _list_figures(example: Example, found: Factorisation) -> dict[str, Any]:
    return {
        "data": example.name,
        "shape": list(example.X.shape),
        "true_rank": example.components.shape[1],
        "rank": found.rank,
        "why": found.why,
        "relative_loss": found.relative_loss,
        "recovery_error": example.error(found),
        "n_iter": found.n_iter,
        "seconds": round(found.seconds, 3),
    }


def _make_table(examples: list[Example], found: list[Factorisation]) -> Table:
    from rich import box

    table = Table(*COLUMNS, box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for column in table.columns[1:]:
        column.justify = "right"
    for example, result in zip(examples, found, strict=True):
        n, m = example.X.shape
        table.add_row(
            example.name,
            f"{n} x {m}",
            str(example.components.shape[1]),
            str(result.rank),
            f"{result.relative_loss:.2e}",
            f"{example.error(result):.4f}",
            str(result.n_iter),
            f"{result.seconds:.1f} s",
        )
    return table


def _find_command() -> str:
    """How to call this program: by its name if that is on the PATH, otherwise by its path."""
    called = Path(sys.argv[0])
    if called.name != "autonmf" or shutil.which("autonmf"):
        return "autonmf"
    return str(called)
