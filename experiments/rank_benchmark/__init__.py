"""A benchmark of rank selection: matrices whose number of components is known, scores, and a runner.

A *family* draws an instance (X and its true rank) from a seed; a *method* answers a rank; the *scores*
compare the two. Families come in four groups: ``paper`` (Table 1), ``synthetic`` (harder), ``semi`` (parts
as they occur in practice, mixed by us, so that the truth is known) and ``real`` (agreed references, no
truth).

The split
---------
While designing a rule, look only at the families that are not held out, and never at `FINAL_SEEDS`. Two
fifths of the synthetic and semi-synthetic families are held out: they live in ``held_out.py``, and neither
"design" nor the name of a group selects them. A final comparison takes every family at `FINAL_SEEDS`:

>>> from experiments.rank_benchmark import FINAL_SEEDS, run_order
>>> rows = run_order("design", ["marginal-5"], out="results")           # doctest: +SKIP
>>> rows = run_order("all", seeds=FINAL_SEEDS, out="results-final")     # doctest: +SKIP

``docs/benchmark-order.md`` says what is in each family and how to add a family or a method.
"""

from experiments.rank_benchmark.families import (
    DESIGN_SEEDS,
    FINAL_SEEDS,
    Family,
    Instance,
    choose_families,
)
from experiments.rank_benchmark.run import find_methods, run_order
from experiments.rank_benchmark.scores import Row, Score, overall, score_by

__all__ = [
    "DESIGN_SEEDS",
    "FINAL_SEEDS",
    "Family",
    "Instance",
    "Row",
    "Score",
    "choose_families",
    "find_methods",
    "overall",
    "run_order",
    "score_by",
]
