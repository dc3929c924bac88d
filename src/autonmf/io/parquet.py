"""Apache Parquet through pyarrow: columns of numbers, and at most one of row names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autonmf.io.checks import check_memory
from autonmf.io.table import ReadError, Table, explain_errors, import_optional


def read(file: Path, annotations: Sequence[str] = ()) -> Table:
    """Read the table; nulls become NaN. ``annotations`` are columns that describe the rows."""
    parquet = import_optional("pyarrow.parquet", file)
    types = import_optional("pyarrow.types", file)
    with explain_errors(file, "a Parquet file"):
        declared = parquet.read_metadata(file)
        check_memory(file, (declared.num_rows, declared.num_columns))
        content = parquet.read_table(file)
        unknown = [name for name in annotations if name not in content.column_names]
        if unknown:
            listed = ", ".join(map(str, content.column_names[:12]))
            raise ReadError(f"{file} has no column {unknown[0]!r}; its columns: {listed}")
        aside = {name: [str(value) for value in content.column(name).to_pylist()] for name in annotations}
        content = content.drop_columns(list(aside)) if aside else content
        labels = _find_label_column(content)
        names = [name for name in content.column_names if name != labels]
        numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
        kinds = {name: content.schema.field(name).type for name in names}
        text = [name for name in names if not any(is_kind(kinds[name]) for is_kind in numeric)]
        if text:
            raise ReadError(
                f"{file}: {len(text)} of {len(names)} columns hold no numbers ({', '.join(text[:8])}). "
                "Leave them out with --annotations NAME,..., or keep one as the first column for row labels."
            )
        columns = [content.column(name).cast("float64", safe=False).to_numpy() for name in names]
        X = np.column_stack(columns) if columns else np.empty((content.num_rows, 0))
        rows = None if labels is None else [str(value) for value in content.column(labels).to_pylist()]
        return Table(X, rows, [str(name) for name in names], annotations=aside)


def _find_label_column(content: Any) -> str | None:
    """Find the column of row names: the index that pandas stored, or a first column of text."""
    metadata = (content.schema.metadata or {}).get(b"pandas")
    stored = json.loads(metadata).get("index_columns", []) if metadata else []
    index = [name for name in stored if isinstance(name, str) and name in content.column_names]
    if len(index) == 1:
        return index[0]
    for first in content.column_names[:1]:
        kind = str(content.schema.field(first).type).removeprefix("dictionary<values=")  # codes of texts
        if kind.startswith(("string", "large_string")):
            return str(first)
    return None
