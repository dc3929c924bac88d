"""Apache Parquet through pyarrow: columns of numbers, and at most one of row names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autonmf.io.checks import check_memory
from autonmf.io.table import ReadError, Table, explain_errors, import_optional, list_names


def read(file: Path, annotations: Sequence[str] = ()) -> Table:
    """Read the table; nulls become NaN. ``annotations`` are columns that describe the rows.

    The types are checked before a column is decoded.
    """
    parquet = import_optional("pyarrow.parquet", file)
    types = import_optional("pyarrow.types", file)
    with explain_errors(file, "a Parquet file"):
        declared, schema = parquet.read_metadata(file), parquet.read_schema(file)
        unknown = [name for name in annotations if name not in schema.names]
        if unknown:
            listed = list_names(schema.names)
            raise ReadError(f"{file} has no column {unknown[0]!r}; its columns: {listed}")
        labels = _find_label_column(schema, annotations)
        names = [name for name in schema.names if name != labels and name not in annotations]
        numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
        text = [name for name in names if not any(is_kind(schema.field(name).type) for is_kind in numeric)]
        if text:
            raise ReadError(
                f"{file}: {len(text)} of {len(names)} columns hold no numbers ({list_names(text)}). "
                "Leave them out with --annotations NAME,..., or keep one as the first column for row labels."
            )
        texts = [name for name in (labels, *annotations) if name is not None]
        for name in annotations:
            kinds = (*numeric, types.is_string, types.is_large_string, types.is_dictionary)
            if not any(is_kind(schema.field(name).type) for is_kind in kinds):
                raise ReadError(
                    f"{file}: the annotation {name!r} holds neither text nor numbers. Leave it out."
                )
        # Of its parts nothing is asked: pyarrow ends the process where one contradicts itself.
        groups = map(declared.row_group, range(declared.num_row_groups))
        decoded = sum(max(group.total_byte_size, 0) for group in groups)
        check_memory(file, ((declared.num_rows, declared.num_columns), 8), ((decoded,), 1))
        # Texts that repeat stay in their dictionary: a few bytes could stand for any number of long ones.
        content = parquet.read_table(file, read_dictionary=texts)
        columns = [content.column(name).cast("float64", safe=False).to_numpy() for name in names]
        X = np.column_stack(columns) if columns else np.empty((content.num_rows, 0))
        rows = None if labels is None else _read_labels(content.column(labels))
        aside = {name: _read_labels(content.column(name)) for name in annotations}
        return Table(X, rows, [str(name) for name in names], annotations=aside)


def _read_labels(column: Any) -> list[str]:
    """Read row names; equal ones are one string."""
    rows: list[str] = []
    for chunk in column.chunks:
        if hasattr(chunk, "dictionary"):
            texts = [str(text) for text in chunk.dictionary.to_pylist()]
            rows += [str(None) if code is None else texts[code] for code in chunk.indices.to_pylist()]
        else:
            rows += map(str, chunk.to_pylist())
    return rows


def _find_label_column(schema: Any, aside: Sequence[str]) -> str | None:
    """Find the column of row names: the index that pandas stored, or a first column of text."""
    metadata = (schema.metadata or {}).get(b"pandas")
    stored = json.loads(metadata).get("index_columns", []) if metadata else []
    columns = [name for name in schema.names if name not in aside]
    index = [name for name in stored if isinstance(name, str) and name in columns]
    if len(index) == 1:
        return index[0]
    for first in columns[:1]:
        kind = str(schema.field(first).type).removeprefix("dictionary<values=")  # codes of texts
        if kind.startswith(("string", "large_string")):
            return str(first)
    return None
