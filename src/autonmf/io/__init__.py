"""Files that hold a matrix: `read_matrix` picks the reader by the extension; `normalize` prepares counts.

Libraries that only one format needs are imported by its reader, when it runs.
"""

from autonmf.io.files import EXTENSIONS, read_matrix
from autonmf.io.normalization import NORMALIZATIONS, normalize
from autonmf.io.table import ReadError, Table

__all__ = ["EXTENSIONS", "NORMALIZATIONS", "ReadError", "Table", "normalize", "read_matrix"]
