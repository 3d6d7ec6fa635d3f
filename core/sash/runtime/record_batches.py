"""A query over a stream of Arrow's record batches, for tables that are larger than memory.

    reader ──> pieces of so many rows ──> KeyedOperator ──> batches of results ──> reader

What is held is a piece, its results and the state of the keys, never the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pyarrow as pa  # type: ignore[import-untyped]

from sash.frames import Frame, columns_of
from sash.query import Query
from sash.runtime.operator import KeyedOperator
from sash.runtime.sorted_batches import PieceSize, coalesce_batches
from sash.values.progress import show_progress

__all__ = ["run_reader"]

PIECE = 1 << 17
"""The rows of a piece, if the reader's batches are smaller and their results are not too many."""


def run_reader(query: Query, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The results of a stream as a stream, each as soon as its window is complete.

    Rows come in the order of ``query.time`` but for ``watermark_delay``: a row that is older is an error. Holds the
    state of the keys and at most some hundred thousand rows.
    """
    query = query.using(allowed_lateness=None)
    pieces = _pieces(query, reader)
    tables = _tables(query, pieces, reader.schema)
    first = next(tables)  # without a row; its columns of the user's own aggregates may be of no type yet
    held = [first]
    while any(pa.types.is_null(kind) for kind in held[-1].schema.types) and (table := next(tables, None)) is not None:
        held.append(table)
    schema = held[-1].schema
    batches = (batch for table in chain(held, tables) for batch in _cast(table, schema).to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)


def _pieces(query: Query, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The columns that the query reads, in batches that are worth a call."""
    columns = list(query.columns) or reader.schema.names[:1]
    columns_of(reader.schema.empty_table(), columns)  # says which column is missing
    return coalesce_batches((batch.select(columns) for batch in reader), PIECE)


def _tables(query: Query, pieces: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """The results: first a table without rows, at last those of the end of the input."""
    operator, empty = KeyedOperator(query, own_watermark=True), schema.empty_table()
    yield operator.process_batch(empty)
    size, rows = PieceSize(), 0
    for piece in show_progress(pieces, "rows", size=len):
        at = 0
        while at < len(piece):
            part = piece.slice(at, size.rows)
            table = pa.Table.from_batches([operator.process_batch(part)])
            if operator.dropped:
                _refuse_late(query, columns_of(part, query.orders), min(operator.dropped), rows + at)
            size.adapt(len(table), len(part))
            at += len(part)
            yield table
        rows += len(piece)
    yield operator.close(like=empty)


def _refuse_late(query: Query, frame: Frame, place: int, before: int) -> None:
    times = ", ".join(f"{order} = {frame.to_list(order)[place]!r}" for order in query.orders)
    raise ValueError(
        f"row {before + place} ({times}) comes too late: a stream is read once, so its rows must come in the order of "
        "time. Sort them, allow for disorder with a larger watermark_delay, or run the whole table: reader.read_all()"
    )


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return table if table.schema == schema else table.cast(schema)
