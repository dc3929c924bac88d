"""Mutational signatures: how many are found, beside four published tools on the same catalogues.

python -m experiments signatures                            # writes experiments/results/signatures.json
python -m experiments signatures --page docs/signatures.md  # and the tables of that page
python -m experiments signatures --seeds 1 --out FILE       # one seed, another file

For both losses and three seeds: the number of signatures that `AutoNMF` chooses, its confidence, how many of
them are true, how many are found when their number is given, and the time. The catalogues are simulated
(`autonmf.datasets.fetch_signatures`); set AUTONMF_DATA to the folder with their files.

The figures of other tools are those that the authors of the catalogues published, in
Rozen-Lab/mSigHdp_sup_files: output_for_paper/supplementary_table_s4.csv (numbers, five seeds) and
supplementary_table_s5.csv (CPU time). These tools were not run again here.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from autonmf import AutoNMF
from autonmf._types import Array
from autonmf.datasets import Dataset, fetch_signatures
from autonmf.datasets.genomics import NOISES, Kind
from experiments.shared import (
    BAD_USAGE,
    RESULTS,
    Failure,
    data_home,
    find_file,
    machine_facts,
    markdown_table,
    replace_file,
    replace_region,
    run_command,
    say,
)

FIGURES = RESULTS / "signatures.json"
KINDS: dict[Kind, str] = {"sbs": "Single base substitutions", "indel": "Insertions and deletions"}
LOSSES = {"kullback-leibler": "Kullback-Leibler", "frobenius": "least squares"}
SAME = 0.9  # cosine from which a component is a true signature, as in the published evaluation

Row = dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """What was published of a tool, one entry for each of its five seeds."""

    name: str
    found: dict[tuple[str, str], tuple[Sequence[int], Sequence[int]]]  # signatures, and how many are true
    seconds: dict[str, float]  # CPU time of a run on the realistic catalogue, the median


PUBLISHED = (
    Tool(
        "SigProfilerExtractor",
        {
            ("sbs", "noiseless"): ((21, 21, 21, 22, 21), (19, 19, 19, 21, 19)),
            ("sbs", "moderate"): ((21, 21, 18, 20, 18), (19, 19, 18, 18, 18)),
            ("sbs", "realistic"): ((18, 18, 16, 16, 17), (18, 17, 14, 14, 16)),
            ("indel", "noiseless"): ((9, 9, 9, 9, 9), (9, 9, 9, 9, 9)),
            ("indel", "moderate"): ((9, 9, 9, 9, 9), (9, 9, 9, 9, 9)),
            ("indel", "realistic"): ((10, 9, 10, 10, 9), (9, 9, 9, 9, 9)),
        },
        {"sbs": 790904.3, "indel": 56169.58},
    ),
    Tool(
        "mSigHdp",
        {
            ("sbs", "noiseless"): ((22, 22, 22, 22, 22), (22, 22, 22, 22, 22)),
            ("sbs", "moderate"): ((24, 25, 26, 25, 24), (22, 22, 22, 22, 22)),
            ("sbs", "realistic"): ((26, 25, 27, 26, 25), (20, 20, 20, 20, 20)),
            ("indel", "noiseless"): ((11, 12, 11, 11, 11), (11, 11, 11, 11, 11)),
            ("indel", "moderate"): ((11, 11, 11, 11, 11), (11, 11, 11, 11, 11)),
            ("indel", "realistic"): ((12, 11, 12, 13, 12), (11, 11, 11, 11, 11)),
        },
        {"sbs": 17777271.397, "indel": 279094.384},
    ),
    Tool(
        "mSigHdp, at most 3,000 mutations per tumour",
        {
            ("sbs", "noiseless"): ((21, 21, 21, 21, 21), (21, 21, 21, 21, 21)),
            ("sbs", "moderate"): ((21, 21, 21, 21, 21), (21, 21, 21, 21, 21)),
            ("sbs", "realistic"): ((19, 21, 22, 21, 20), (19, 21, 21, 21, 20)),
        },
        {"sbs": 1322527.022},
    ),
    Tool(
        "SignatureAnalyzer",
        {
            ("sbs", "noiseless"): ((22, 22, 22, 22, 22), (21, 21, 21, 21, 21)),
            ("sbs", "moderate"): ((36, 37, 36, 38, 37), (14, 17, 17, 16, 15)),
            ("sbs", "realistic"): ((46, 46, 46, 46, 46), (13, 14, 12, 14, 14)),
            ("indel", "noiseless"): ((10, 10, 11, 11, 10), (9, 9, 10, 10, 9)),
            ("indel", "moderate"): ((12, 12, 12, 12, 12), (10, 10, 10, 10, 10)),
            ("indel", "realistic"): ((15, 14, 15, 15, 15), (8, 9, 8, 8, 8)),
        },
        {"sbs": 2529103.88, "indel": 39219.954},
    ),
    Tool(
        "signeR",
        {
            ("sbs", "noiseless"): ((24, 24, 26, 18, 23), (17, 18, 17, 15, 17)),
            ("sbs", "moderate"): ((29, 25, 30, 30, 24), (17, 17, 18, 19, 15)),
            ("sbs", "realistic"): ((32, 32, 29, 30, 28), (17, 17, 19, 18, 16)),
            ("indel", "noiseless"): ((14, 12, 10, 13, 11), (9, 9, 6, 10, 9)),
            ("indel", "moderate"): ((15, 12, 12, 11, 10), (9, 7, 7, 9, 7)),
            ("indel", "realistic"): ((12, 12, 14, 13, 12), (7, 7, 7, 9, 7)),
        },
        {"sbs": 2387742.679, "indel": 179265.619},
    ),
)


def find_catalogues() -> Iterator[tuple[str, str, Callable[[], Dataset]]]:
    """Kind, noise and loader of every catalogue whose file is in the data home."""
    for kind in KINDS:
        for noise in NOISES:
            if find_file(f"signatures_{kind}_{noise}.npz") is not None:
                yield kind, noise, partial(fetch_signatures, kind=kind, noise=noise, data_home=data_home())


def count_found(components: Array, signatures: Array) -> int:
    """How many signatures (columns) have a component (row) of their own at a cosine of at least 0.9.

    As in the published evaluation, pairs below 0.9 count nothing, and the rest are matched one to one.
    """
    norms = np.linalg.norm(components, axis=1, keepdims=True)
    cosines = components @ (signatures / np.linalg.norm(signatures, axis=0)) / np.where(norms > 0, norms, 1.0)
    gains = np.where(cosines >= SAME, 100.0 + cosines, 0.0)  # as many matches as possible, then close ones
    return int(np.count_nonzero(gains[linear_sum_assignment(-gains)]))


def measure(data: Dataset, loss: str, seed: int) -> Row:
    """One fit that chooses the number of signatures, and one that is given it."""
    assert data.V is not None
    began, cpu = time.perf_counter(), time.process_time()
    model = AutoNMF(beta_loss=loss, random_state=seed).fit(data.X)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
    given = AutoNMF(data.rank, beta_loss=loss, random_state=seed).fit(data.X)
    estimate = model.rank_estimate_
    assert estimate is not None
    return {
        "loss": loss,
        "seed": seed,
        "truth": data.rank,
        "rank": model.n_components_,
        "confidence": estimate.confidence,
        "plausible": [int(rank) for rank in estimate.plausible],
        "true_positives": count_found(model.components_, data.V),
        "true_positives_given_rank": count_found(given.components_, data.V),
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu_seconds, 3),
    }


def run(seeds: int) -> list[Row]:
    """Every catalogue that is there, with both losses and these many seeds."""
    rows = []
    for kind, noise, load in find_catalogues():
        data = load()
        AutoNMF(beta_loss="kullback-leibler", max_rank=3, random_state=0).fit(
            data.X
        )  # loads what is loaded once
        for loss in LOSSES:
            for seed in range(seeds):
                row = {"kind": kind, "noise": noise, **measure(data, loss, seed)}
                rows.append(row)
                say(
                    f"{kind} {noise} {loss} seed {seed}: {row['rank']} of {row['truth']}, "
                    f"{row['true_positives']} true, {row['seconds']:.1f} s"
                )
    return rows


def write_tables(rows: Sequence[Row]) -> str:
    """The Markdown tables: ours beside the published ones for each kind, then the details of ours."""
    return "\n\n".join(
        [*(_compare(kind, rows) for kind in KINDS if any(row["kind"] == kind for row in rows)), _detail(rows)]
    )


def _compare(kind: Kind, rows: Sequence[Row]) -> str:
    mine = [row for row in rows if row["kind"] == kind]
    lines = []
    for loss, name in LOSSES.items():
        ours = [row for row in mine if row["loss"] == loss]
        cells = [
            _cell([row["rank"] for row in chosen], [row["true_positives"] for row in chosen])
            for noise in NOISES
            for chosen in [[row for row in ours if row["noise"] == noise]]
        ]
        spent = [row["cpu_seconds"] for row in ours if row["noise"] == "realistic"]
        lines.append((f"autonmf, {name}", *cells, _say_time(median(spent)) if spent else "-"))
    for tool in PUBLISHED:
        if kind in tool.seconds:
            cells = [_cell(*tool.found[kind, noise]) for noise in NOISES]
            lines.append((tool.name, *cells, _say_time(tool.seconds[kind])))
    head = ("method", *NOISES, "CPU time, realistic")
    return f"**{KINDS[kind]}: {mine[0]['truth']} signatures**\n\n{markdown_table(head, lines)}"


def _detail(rows: Sequence[Row]) -> str:
    lines = []
    for kind in KINDS:
        for noise in NOISES:
            for loss, name in LOSSES.items():
                ours = [
                    row for row in rows if (row["kind"], row["noise"], row["loss"]) == (kind, noise, loss)
                ]
                if not ours:
                    continue
                lines.append((
                    f"{kind}, {noise}",
                    name,
                    f"{ours[0]['truth']}",
                    _range(row["rank"] for row in ours),
                    ", ".join(f"{row['confidence']:.2f}" for row in ours),
                    _range(row["true_positives"] for row in ours),
                    _range(row["rank"] - row["true_positives"] for row in ours),
                    _range(row["true_positives_given_rank"] for row in ours),
                    f"{median(row['seconds'] for row in ours):.1f}",
                ))  # fmt: skip
    head = (
        "catalogue", "loss", "truth", "found", "confidence (each seed)", "true", "false",
        "true, number given", "seconds",
    )  # fmt: skip
    return f"**autonmf in detail**\n\n{markdown_table(head, lines)}"


def _cell(numbers: Sequence[int], true: Sequence[int]) -> str:
    return f"{_range(numbers)} ({_range(true)})" if numbers else "-"


def _range(values: Iterable[int]) -> str:
    found = sorted(values)
    return f"{found[0]}" if found[0] == found[-1] else f"{found[0]}-{found[-1]}"


def _say_time(seconds: float) -> str:
    days = seconds / 86400.0
    return (
        f"{seconds:.1f} s" if seconds < 3600.0 else f"{days:.2g} days" if days < 10.0 else f"{days:.0f} days"
    )


def command(arguments: Sequence[str] | None) -> None:
    """Measure, print the tables, and write the file and the page."""
    parser = argparse.ArgumentParser(
        "python -m experiments signatures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=3, help="fits of each catalogue with each loss")
    parser.add_argument("--out", type=Path, default=FIGURES, metavar="FILE", help="where the figures go")
    parser.add_argument("--page", type=Path, metavar="FILE", help="a page whose tables are replaced")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        raise Failure("--seeds must be at least 1", BAD_USAGE)
    page = None if options.page is None else options.page.read_text(encoding="utf-8")
    if page is not None:
        replace_region(page, "")  # before anything is measured
    warnings.simplefilter("ignore", UserWarning)
    rows = run(options.seeds)
    if not rows:
        raise Failure(
            "no catalogue is in the data home: set AUTONMF_DATA to the folder with signatures_*.npz"
        )
    tables = write_tables(rows)
    print(tables)
    figures = {"machine": machine_facts(), "fits": rows}
    replace_file(options.out, json.dumps(figures, indent=1) + "\n")
    if page is not None:
        replace_file(options.page, replace_region(page, tables))


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    return run_command(command, arguments)
