"""Files that hold a matrix: `read_matrix` picks the reader by the file's extension.

Libraries that only one format needs are imported by its reader, when it runs.
"""

from autonmf.readers.files import EXTENSIONS, read_matrix
from autonmf.readers.table import ReadError, Table

__all__ = ["EXTENSIONS", "ReadError", "Table", "read_matrix"]
