"""Files that hold a matrix: `read_matrix` picks the reader by the extension; `normalize` prepares counts.

Libraries for a single format are imported when its reader runs.
"""

from autonmf.io.files import EXTENSIONS, read_matrix
from autonmf.io.normalization import NORMALIZATIONS, normalize
from autonmf.io.table import ReadError, Table

__all__ = ["EXTENSIONS", "NORMALIZATIONS", "ReadError", "Table", "normalize", "read_matrix"]
