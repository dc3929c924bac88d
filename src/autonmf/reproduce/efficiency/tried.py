"""Which λ, and which start."""

from __future__ import annotations

from autonmf.reproduce import form
from autonmf.reproduce.document import Block, Paragraph, Table
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.ink import PENS


def readings(results: Results) -> list[Block]:
    """Which λ and which start."""
    parts = []
    for done in results:
        row = done.rows[0]
        at_path = {r["solver"]: r["rank_found"] for r in done.rows if r["setting"] == "path"}
        parts.append(
            (
                f"{row['n']}x{row['m']}",
                str(row["seed"]),
                f"{form.digits(row['plateau_low'], 4)} to {form.digits(row['plateau_high'], 4)}",
                f"{form.digits(row['path_low'], 4)} to {form.digits(row['path_high'], 4)}",
                form.digits(row["recovery_lam"]),
                form.digits(row["rank_one_objective"], 4),
                form.digits(2 * row["lam"] * row["rank"], 4),
                ", ".join(f"{PENS[name].label} {rank}" for name, rank in at_path.items()),
            )
        )
    if not parts:
        return []
    return [
        Paragraph(
            "The paper gives neither λ nor the law of the start. From a random start of the scale of X every "
            "column is small, and a λ from the plateau of a path removes all of them in the first step. We "
            "start from max(0, N(0, 1)), the law of the true factors, and take λ in the geometric middle of "
            "the interval where PASM from this very start ends at r*. Both intervals are far above the λ for "
            "which the paper proves recovery (Prop. 4: at most a 32nd of the squared r*-th singular value). "
            "At the λ of the figure one component has a lower Φ than any solution with r*, whose columns "
            "alone cost 2λr*: what the paths and the algorithms find there are local minima."
        ),
        Table(
            "λ of the efficiency experiment",
            (
                "size",
                "seed",
                "PASM from the start ends at r*",
                "plateau at r* of PASM's path",
                "largest λ of Prop. 4",
                "Φ of one component",
                "2λr*",
                "ranks at the middle of the latter",
            ),
            tuple(parts),
        ),
    ]
