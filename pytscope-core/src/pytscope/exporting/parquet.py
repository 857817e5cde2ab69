"""Parquet: the columns of `exporting.flat`, typed, through pyarrow (`pytscope-core[parquet]`)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from pytscope.exporting.flat import FlatColumn, Values, batches, flat_columns
from pytscope.model.errors import MissingPackage
from pytscope.model.escaping import encodable
from pytscope.runs.run import Run

ROW_GROUP = 131_072
"""Rows of a row group, about."""


def arrow() -> Any:
    """The module pyarrow, with its parquet writer loaded.

    Raises:
        MissingPackage: It is not installed, or cannot be imported.
    """
    try:
        importlib.import_module("pyarrow.parquet")
        return importlib.import_module("pyarrow")
    except ImportError as error:
        msg = f"parquet is written with pyarrow, which cannot be imported ({error})"
        hint = "Install it: pip install 'pytscope-core[parquet]'. jsonl and csv need nothing."
        raise MissingPackage(msg, hint=hint) from error


def write_parquet(run: Run, file: IO[bytes], version: str) -> None:
    """Write the table; a value that is not there is null.

    Args:
        run: The run.
        file: Where to; it need not be seekable.
        version: Version of pytscope-core, kept in the file's metadata.

    Raises:
        MissingPackage: pyarrow is not installed.
    """
    pa = arrow()
    columns = flat_columns(run)
    about = {"pytscope.format": "pytscope.step/1", "pytscope.version": version}
    schema = pa.schema(
        [pa.field(encodable(c.name), _type(pa, run, c), nullable=c.gaps) for c in columns],
        metadata={**about, "pytscope.run": encodable(run.name)},
    )
    with pa.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for table in _tables(pa, run, columns, schema):
            writer.write_table(table)


def _type(pa: Any, run: Run, column: FlatColumn) -> Any:
    if column.kind == "flag":
        return pa.bool_()
    return pa.float64() if column.kind == "scalar" and _has_floats(run, column.key) else pa.int64()


def _has_floats(run: Run, name: str) -> bool:
    there = (t for t in run.timelines if name in t.scalars)
    return any(t.column("scalar", name)[1].dtype.kind == "f" for t in there)


def _tables(pa: Any, run: Run, columns: tuple[FlatColumn, ...], schema: Any) -> Iterator[Any]:
    """The table in row groups; ranks share one where they are short."""
    parts: list[Any] = []
    rows = 0
    for batch in batches(run, columns):
        arrays = [
            _array(pa, column, field.type) for column, field in zip(batch, schema, strict=True)
        ]
        parts.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
        rows += len(batch[0].values)
        if rows >= ROW_GROUP:
            yield pa.Table.from_batches(parts)
            parts, rows = [], 0
    if parts:
        yield pa.Table.from_batches(parts)


def _array(pa: Any, column: Values, kind: Any) -> Any:
    values = column.values
    if pa.types.is_floating(kind):
        values = values.astype(np.float64)
    return pa.array(values, type=kind, mask=column.missing, from_pandas=False)
