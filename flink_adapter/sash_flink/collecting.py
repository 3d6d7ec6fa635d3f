"""Results brought to the client as Python's values, whatever their types.

PyFlink's own ``execute_and_collect`` cannot read instants and local times, and asks the JVM for every value. Here rows
come as Arrow record batches.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Row, Types
from pyflink.datastream import DataStream
from pyflink.java_gateway import get_gateway
from pyflink.util.java_utils import to_jarray

from sash_flink.jar import jvm
from sash_flink.pipeline import BYTES, transformed
from sash_flink.source import Source

__all__ = ["Collected", "packed_for_client"]


def packed_for_client(stream: DataStream) -> tuple[Any, pa.Schema]:
    """The stream's rows as record batches, a stream of the JVM's, and their columns."""
    source = Source(stream)
    names = to_jarray(get_gateway().jvm.int, [0])
    operator = jvm().PackOperator(source.columns(source.names), 0, names, 10_000, 100, -1, 10**6)
    j_type = Types.ROW([Types.INT(), BYTES]).get_java_type_info()
    return transformed(source.stream._j_data_stream, "sash: collect", j_type, operator), source.schema


class Collected:
    """An iterator over rows, to be closed, or used in ``with``."""

    def __init__(self, j_iterator: Any, schema: pa.Schema) -> None:
        self._j_iterator, self._schema = j_iterator, schema
        self._rows: deque[Row] = deque()

    def __iter__(self) -> Collected:
        return self

    def __next__(self) -> Row:
        while not self._rows:
            if not self._j_iterator.hasNext():
                raise StopIteration
            table = pa.ipc.open_stream(self._j_iterator.next().getField(1)).read_all().cast(self._schema)
            for row in _in_micros(table).to_pylist():
                made = Row(*row.values())
                made.set_field_names(list(row))
                self._rows.append(made)
        return self._rows.popleft()

    def close(self) -> None:
        """Stop the job, if it still runs."""
        self._j_iterator.close()

    def __enter__(self) -> Collected:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _in_micros(table: pa.Table) -> pa.Table:
    """With timestamps that Python's own can tell."""
    fields = [
        pa.field(each.name, pa.timestamp("us", each.type.tz) if pa.types.is_timestamp(each.type) else each.type)
        for each in table.schema
    ]
    return table.cast(pa.schema(fields), safe=False)
