"""Matrix Market's .mtx, sparse (coordinate) or dense (array), with NumPy's parser of numbers.

Not through `scipy.io.mmread`: as of SciPy 1.17 it ends the whole program (segmentation fault) at a number
that it cannot parse, as in many damaged files and in those that `mmwrite` writes with 22 digits
(scipy/scipy#19949), and it allocates what the header declares before it reads.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from autonmf._types import Array
from autonmf.io.checks import check_memory, make_coordinates
from autonmf.io.table import ReadError, Table, explain_errors
from autonmf.io.text import MOST_ZIPPED, open_bytes, read_chunks

COLUMNS = {"pattern": 2, "integer": 3, "real": 3, "double": 3}
"""Numbers per line of a coordinate file, by the type of the values."""


def read(file: Path) -> Table:
    """Read the matrix, unzipping it if its name ends in .gz."""
    with explain_errors(file, "a Matrix Market file"), open_bytes(file) as stream:
        text = io.TextIOWrapper(stream, "utf-8", errors="replace")
        banner = text.readline(1000).lower().split()
        if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"]:
            raise ReadError(f"{file} is not a Matrix Market file: its first line must say %%MatrixMarket")
        layout, values, symmetry = banner[2:]
        if values not in COLUMNS:
            raise ReadError(f"{file} holds {values} values; real numbers are needed")
        if symmetry not in ("general", "symmetric"):
            raise ReadError(f"{file} is {symmetry}; a nonnegative matrix is general or symmetric")
        lines = chain.from_iterable(read_chunks(file, text))
        header = next((line for line in lines if line.strip() and not line.lstrip().startswith("%")), "")
        sizes = [int(size) for size in header.split()]
        if layout != "coordinate":
            return Table(_read_dense(file, lines, sizes, symmetry))
        X = _read_sparse(file, lines, sizes, COLUMNS[values], symmetry)
        if find_beside(file.parent, "barcodes.tsv") is None:
            return Table(X)
        return Table(X, notes=(f"For cells x genes with their names, pass the folder: {file.parent}.",))


def read_folder(folder: Path) -> Table:
    """Read the cells x genes of a folder of 10x Genomics: matrix.mtx, barcodes.tsv and features.tsv."""
    matrix, barcodes = (find_beside(folder, name) for name in ("matrix.mtx", "barcodes.tsv"))
    features = find_beside(folder, "features.tsv") or find_beside(folder, "genes.tsv")
    if matrix is None or barcodes is None or features is None:
        raise ReadError(
            f"{folder} is a folder; name one file in it, or a folder of 10x Genomics with matrix.mtx, "
            "barcodes.tsv and features.tsv"
        )
    X = read(matrix).X.T.tocsr()
    cells, genes = _read_column(barcodes, 0), _read_column(features, 1)
    if (len(cells), len(genes)) != X.shape:
        raise ReadError(
            f"{folder}: {len(cells)} barcodes and {len(genes)} features do not match the matrix of "
            f"{X.shape[0]} cells and {X.shape[1]} genes"
        )
    return Table(X, cells, genes, notes=("Read as counts of 10x Genomics, cells x genes.",))


def find_beside(folder: Path, name: str) -> Path | None:
    """Find a file in a folder, compressed or not."""
    return next((file for end in ("", ".gz") if (file := folder / f"{name}{end}").is_file()), None)


def _read_column(file: Path, index: int) -> list[str]:
    """Read a column of names of a table without a header; the last column if there are fewer."""
    with explain_errors(file, "text"), open_bytes(file) as stream:
        lines = stream.read().decode("utf-8", "replace").splitlines()
    cells = [line.split("\t") for line in lines if line]
    return [line[min(index, len(line) - 1)] for line in cells]


def _read_sparse(file: Path, lines: Iterable[str], sizes: list[int], width: int, symmetry: str) -> Any:
    """Read a line for each entry: row, column and value."""
    n, m, count = sizes
    check_memory(file, ((n + 1,), 8), ((count, width), 8))
    entries = _read_numbers(file, lines, count, width)
    i, j, value = entries[:, 0], entries[:, 1], entries[:, 2] if width == 3 else np.ones(count)
    if symmetry == "symmetric":
        below = i != j
        i, j = np.concatenate([i, j[below]]), np.concatenate([j, i[below]])
        value = np.concatenate([value, value[below]])
    return make_coordinates(file, i, j, value, (n, m))


def _read_dense(file: Path, lines: Iterable[str], sizes: list[int], symmetry: str) -> Array:
    """Read the columns; of symmetric matrices the part on and below the diagonal."""
    n, m = sizes
    check_memory(file, ((n, m), 8))
    if symmetry == "general":
        return _read_numbers(file, lines, n * m, 1).reshape(m, n).T
    numbers = _read_numbers(file, lines, n * (n + 1) // 2, 1)
    i, j = np.triu_indices(n)  # column by column: the row number runs fastest
    X = np.zeros((n, m))
    X[j, i] = X[i, j] = numbers[:, 0]
    return X


def _read_numbers(file: Path, lines: Iterable[str], count: int, width: int) -> Array:
    """Read the rest of the file, which must be ``count`` lines of ``width`` numbers."""
    room = file.stat().st_size * (MOST_ZIPPED if file.suffix.lower() == ".gz" else 1)
    if 2 * width * count > room:  # a digit and what separates it; NumPy allocates before it reads
        raise ValueError(f"its header declares {count} entries, more than a file of this size can hold")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "loadtxt: input contained no data")
        numbers = np.loadtxt(lines, comments="%", ndmin=2, max_rows=count + 1)
    found = len(numbers) if numbers.size else 0
    if found != count:
        raise ValueError(f"{found} entries where its header declares {count}")
    if count and numbers.shape[1] != width:
        raise ValueError(f"{numbers.shape[1]} numbers per line where {width} are expected")
    return numbers.reshape(count, width)
