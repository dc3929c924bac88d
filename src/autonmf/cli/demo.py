"""`autonmf demo`: find the rank of two matrices of known rank."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autonmf import kernels
from autonmf._types import Array
from autonmf.cli.arguments import Search
from autonmf.cli.console import print_json, print_paragraph
from autonmf.cli.factorise import factorise
from autonmf.datasets import load_swimmer, make_low_rank
from autonmf.io import Table
from autonmf.metrics import recovery_error

if TYPE_CHECKING:
    from autonmf.fit import Factorisation

INTRODUCTION = (
    "autonmf factorises a nonnegative matrix into a small number of components and finds that number by "
    "itself. Here are two matrices of known rank: a synthetic one with noise, and Swimmer, 256 images of a "
    "swimmer with four limbs in four positions each."
)
ROW = "{:<9}  {:>10}  {:>9}  {:>5}  {:>8}  {:>6}  {:>10}  {:>6}"
HEADING = ROW.format("data", "shape", "true rank", "found", "loss", "error", "iterations", "time")
EXPLANATION = (
    "The loss is the unexplained fraction of the squared norm. The error is the distance between the "
    "components found and the true ones; 0 is perfect. For Swimmer it leaves out the torso, which is in "
    "every image and may be part of any limb."
)
NEXT = """\
Try your own data, a table of nonnegative numbers:
    {autonmf} fit FILE                 show the rank, and why
    {autonmf} fit FILE --out results   also write the factors
    {autonmf} report FILE              write an interactive page{needs}
    {autonmf} fit --help               show all options"""


class Example(NamedTuple):
    """A matrix of known rank."""

    name: str
    X: Array
    rank: int
    error: Callable[[Factorisation], float]  # distance between the components found and the true ones


def run_demo(seed: int, as_json: bool) -> None:
    """Factorise both matrices and print a table."""
    examples, search = _make_examples(seed), Search(seed=seed)
    if not as_json:
        print_paragraph(INTRODUCTION)
    results = []
    for example in examples:
        found = factorise(Table(example.X), search, example.name, quiet=as_json)
        results.append(
            {
                "data": example.name,
                "shape": list(example.X.shape),
                "true_rank": example.rank,
                "rank": found.rank,
                "why": found.why,
                "relative_loss": found.relative_loss,
                "recovery_error": example.error(found),
                "n_iter": found.n_iter,
                "seconds": round(found.seconds, 3),
            }
        )
    if as_json:
        print_json(results)
        return
    print(HEADING, *map(_format_row, results), "", sep="\n")
    for result in results:
        print_paragraph(f"{result['data']}: rank {result['rank']}, because {result['why']}.")
    print_paragraph(EXPLANATION)
    print_paragraph(f"Kernels in use: {kernels.BACKEND}.")
    needs = " (needs autonmf[report])" if find_spec("plotly") is None else ""
    print(NEXT.format(autonmf=_find_command(), needs=needs))


def _make_examples(seed: int) -> list[Example]:
    X, U, _ = make_low_rank(1000, 400, rank=10, noise=0.1, random_state=seed)
    images, parts = load_swimmer(return_parts=True)
    *limbs, torso = parts
    unique = torso == 0  # pixels that belong to the limbs alone
    true = np.transpose(limbs)[unique]
    return [
        Example("synthetic", X, 10, lambda found: recovery_error(U, found.W)),
        Example("Swimmer", images, 16, lambda found: recovery_error(true, found.H.T[unique])),
    ]


def _format_row(result: dict[str, Any]) -> str:
    return ROW.format(
        result["data"],
        " x ".join(map(str, result["shape"])),
        result["true_rank"],
        result["rank"],
        f"{result['relative_loss']:.2e}",
        f"{result['recovery_error']:.4f}",
        result["n_iter"],
        f"{result['seconds']:.1f} s",
    )


def _find_command() -> str:
    """How to call this program: by its name if that is on the PATH, otherwise by its path."""
    called = Path(sys.argv[0])
    if called.name != "autonmf" or shutil.which("autonmf"):
        return "autonmf"
    return str(called)
