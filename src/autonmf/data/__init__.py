"""What X may be, behind one small protocol: the only place that knows how X is stored."""

from autonmf.data.compressed import Compressed, compress, compress_onto
from autonmf.data.copying import copied
from autonmf.data.dense import Dense
from autonmf.data.evened import Evened, even_out
from autonmf.data.protocol import Data
from autonmf.data.quick import is_sparse, quick
from autonmf.data.scaled import Scaled, to_unit_scale
from autonmf.data.sparse import Sparse
from autonmf.data.stores import Stored, is_stored, opened
from autonmf.data.validation import as_data, as_rows, as_weighted_data, filled, refuse_unfit, wrap

__all__ = [
    "Compressed",
    "Data",
    "Dense",
    "Evened",
    "Scaled",
    "Sparse",
    "Stored",
    "as_data",
    "as_rows",
    "as_weighted_data",
    "compress",
    "compress_onto",
    "copied",
    "even_out",
    "filled",
    "is_sparse",
    "is_stored",
    "opened",
    "quick",
    "refuse_unfit",
    "to_unit_scale",
    "wrap",
]
