"""X larger than memory: its rows, and those of its left factor, on the workers of a Dask cluster."""

from autonmf.data.spread.chunks import in_row_chunks
from autonmf.data.spread.drawing import random_rows
from autonmf.data.spread.loading import is_dask, spread_out
from autonmf.data.spread.program import aligned
from autonmf.data.spread.rows import (
    Rows,
    beside,
    by_columns,
    columns_of,
    each_block,
    is_rows,
    kept,
    rowwise,
    total,
)
from autonmf.data.spread.tall import Tall, Wide, even_out_rows, is_spread, workers_of
from autonmf.data.spread.workers import BOUNDS

__all__ = [
    "BOUNDS",
    "Rows",
    "Tall",
    "Wide",
    "aligned",
    "beside",
    "by_columns",
    "columns_of",
    "each_block",
    "even_out_rows",
    "in_row_chunks",
    "is_dask",
    "is_rows",
    "is_spread",
    "kept",
    "random_rows",
    "rowwise",
    "spread_out",
    "total",
    "workers_of",
]
