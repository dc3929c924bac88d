"""What was found, as data and as a few lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import autonmf
from autonmf.cli.settings import Input, Search
from autonmf.readers import Table

if TYPE_CHECKING:
    from autonmf.cli.factorise import Factorisation


def summary_of(source: Input, search: Search, table: Table, found: Factorisation) -> dict[str, Any]:
    """Everything but the factors, ready for JSON."""
    estimate = found.estimate
    return {
        "autonmf": autonmf.__version__,
        "file": str(source.file),
        "variable": source.var,
        "transposed": source.transpose,
        "normalized": None if source.normalize is None else source.normalize.value,
        "missing": source.missing.value,
        "notes": [*table.notes, *table.doubts],
        "shape": [int(length) for length in table.X.shape],
        "rank": found.rank,
        "why": found.why,
        "plausible": [int(rank) for rank in estimate.plausible] if estimate else None,
        "confidence": estimate.confidence if estimate else None,
        "warnings": list(estimate.warnings) if estimate else [],
        "relative_loss": found.relative_loss,
        "reconstruction_error": (2.0 * found.loss) ** 0.5,
        "n_iter": found.n_iter,
        "seconds": round(found.seconds, 3),
        "settings": {
            "n_components": search.n_components,
            "rule": None if search.n_components else search.chosen_rule.value,
            "tau": search.tau,
            "seed": search.seed,
            **{key: found.path.settings[key] for key in ("solver", "grid", "n_starts")},
            "max_rank": search.max_rank,
        },
        "path": [
            {"rank": int(rank), "relative_loss": float(loss)}
            for rank, loss in zip(found.path.ranks, found.path.relative_losses, strict=True)
        ],
    }


def headline(source: Input, table: Table, found: Factorisation) -> list[str]:
    """The matrix, the rank and why: a line each."""
    n, m = table.X.shape
    sure = found.estimate.confidence if found.estimate else None
    return [
        f"{source.name}: {n} x {m}{source.treatment}",
        f"rank {found.rank}{'' if sure is None else f' (confidence {sure:.0%})'}: {found.why}",
    ]
