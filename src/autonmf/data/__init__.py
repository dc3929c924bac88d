"""Data matrices of all kinds behind one protocol; only this package knows how X is stored."""

from autonmf.data.compressed import (
    Compressed,
    compress,
    compress_onto,
    find_spectrum,
    is_tall,
    lead,
    lead_tall,
)
from autonmf.data.dense import Dense
from autonmf.data.protocol import Block, Data, row_blocks
from autonmf.data.scaling import (
    Scaled,
    Scaling,
    equilibration,
    reduce_dominant,
    split_scaling,
    sums_of_squares,
    unit_scaling,
    unscale,
)
from autonmf.data.sparse import Sparse
from autonmf.data.streamed import Stored, Streamed, open_stored
from autonmf.data.validation import (
    OpenedData,
    as_data,
    as_rows,
    fill_masked_array,
    is_stored,
    looks_like_counts,
    open_data,
    read_all,
    refuse_non_matrix,
    wrap,
)

__all__ = [
    "Block",
    "Compressed",
    "Data",
    "Dense",
    "OpenedData",
    "Scaled",
    "Scaling",
    "Sparse",
    "Stored",
    "Streamed",
    "as_data",
    "as_rows",
    "compress",
    "compress_onto",
    "equilibration",
    "fill_masked_array",
    "find_spectrum",
    "is_stored",
    "is_tall",
    "lead",
    "lead_tall",
    "looks_like_counts",
    "open_data",
    "open_stored",
    "read_all",
    "reduce_dominant",
    "refuse_non_matrix",
    "row_blocks",
    "split_scaling",
    "sums_of_squares",
    "unit_scaling",
    "unscale",
    "wrap",
]
