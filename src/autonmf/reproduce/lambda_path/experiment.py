"""Section VI-C: the λ-path on the synthetic matrix and Swimmer, and its time against discrete paths."""

from __future__ import annotations

from functools import partial
from statistics import median

from autonmf.reproduce.document import Block, Paragraph, Picture
from autonmf.reproduce.experiment import Experiment, Results
from autonmf.reproduce.lambda_path.cells import NAME, cells, title_of
from autonmf.reproduce.lambda_path.claims import verdict
from autonmf.reproduce.lambda_path.drawing import draw_paths, draw_times
from autonmf.reproduce.lambda_path.rows import curves_of, timings_of
from autonmf.reproduce.lambda_path.tables import tables
from autonmf.reproduce.plateau import plateau_of


def figures(results: Results) -> list[Picture]:
    """PASM's paths of the first seed, and the times."""
    first = [c for c in curves_of(results) if c["seed"] == 0 and c["solver"] == "pasm"]
    timings = {key: ways for key, ways in timings_of(results).items() if key[2] == "pasm"}
    found = []
    if first:
        panels = [(title_of(curve["data"], curve["noise"]), curve, plateau_of(curve)) for curve in first]
        caption = (
            "The λ-path of PASM with 20 points: rank, error and iterations along λ; shaded: the rank is r*."
        )
        found.append(Picture("lambda-path", caption, partial(draw_paths, panels)))
    if timings:
        bars = {
            title_of(data, noise): {
                way: (median(r["seconds"] for r in rows), median(r["iterations"] for r in rows))
                for way, rows in ways.items()
            }
            for (data, noise, _), ways in timings.items()
        }
        caption = "Time of the λ-path of PASM against paths of discrete ranks, and of the exact path."
        found.append(Picture("lambda-path-times", caption, partial(draw_times, bars)))
    return found


def readings(results: Results) -> list[Block]:
    """What the section leaves open."""
    return [
        Paragraph(
            "Section VI-C does not name the solver; we run PASM and S-iPALM. The discrete paths start "
            "from 20 or 40 components, the λ-path from 40 or 50, as the paper has it. At λ = 0 PASM's "
            "discrete path makes the same steps as its λ-path (a proximal step and one HALS sweep), not "
            "the three sweeps that the package would make there."
        )
    ]


EXPERIMENT = Experiment(
    NAME,
    "The λ-path, and its time against discrete paths",
    "Sec. VI-C",
    "The paper's grid with N_λ = 20 on the synthetic matrix (100x80, r* = 10, noise 0 and 0.1, from 40 "
    "components) and on both Swimmers (r* = 16, from 50), then the times of the λ-path and of two "
    "discrete paths.",
    cells,
    figures,
    tables,
    verdict,
    readings,
)
