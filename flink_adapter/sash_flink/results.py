"""The output of a query: a stream of results, and side outputs of rows that were late or could not be taken.

PyFlink's own ``execute_and_collect`` cannot read instants and local times, and asks the JVM for every value. Here rows
come to the client as Arrow record batches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Row, Types
from pyflink.common.typeinfo import _from_java_type
from pyflink.datastream import DataStream, OutputTag
from pyflink.java_gateway import get_gateway
from pyflink.util.java_utils import to_jarray

from sash import spi
from sash_flink.pipeline import BYTES, jvm, stream_row, transform_in_jvm
from sash_flink.source import Source

__all__ = ["LATE", "REJECTED", "Collected", "Results", "pack_for_client", "side_outputs"]

LATE = OutputTag("sash-late")
"""The side output of late rows: the columns that the query reads."""
REJECTED = OutputTag("sash-rejected")
"""The side output of rows that could not be taken: the columns that the query reads, and the ``reason``."""


class Results(DataStream):  # type: ignore[misc]  # PyFlink has no types
    """A stream of results, with its side outputs :data:`LATE` and :data:`REJECTED`."""

    def __init__(self, j_stream: Any, tags: Mapping[str, OutputTag]) -> None:
        super().__init__(j_stream)
        self._tags = dict(tags)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The rows of a side output, with their types."""
        tag = self._tags.get(output_tag.tag_id)
        if tag is None:
            return super().get_side_output(output_tag)
        return Results(self._j_data_stream.getSideOutput(tag.get_java_output_tag()), {})

    def execute_and_collect(self, job_execution_name: str | None = None, limit: int | None = None) -> Any:
        """Run the job and iterate over the rows here; with ``limit``, a list of the first so many."""
        j_stream, schema = pack_for_client(self)
        # as PyFlink does before it runs a job: functions learn of their side outputs
        get_gateway().jvm.org.apache.flink.python.util.PythonConfigUtil.configPythonOperator(
            j_stream.getExecutionEnvironment()
        )
        rows = Collected(j_stream.executeAndCollect(job_execution_name or "sash"), schema)
        if limit is None:
            return rows
        with rows:
            return list(islice(rows, limit))


def side_outputs(read: pa.Schema, rejected: pa.Schema) -> dict[str, OutputTag]:
    """The tags of both side outputs, with the types of their rows."""
    outputs = ((LATE, read), (REJECTED, rejected))
    return {tag.tag_id: OutputTag(tag.tag_id, _from_java_type(stream_row(schema))) for tag, schema in outputs}


def pack_for_client(stream: DataStream) -> tuple[Any, pa.Schema]:
    """The stream's rows as record batches, in a stream of the JVM, and their columns."""
    source = Source(stream)
    names = to_jarray(get_gateway().jvm.int, [0])
    operator = jvm().PackOperator(source.columns(source.names), 0, names, 10_000, 100, -1, 10**6)
    j_type = Types.ROW([Types.INT(), BYTES]).get_java_type_info()
    return transform_in_jvm(source.stream._j_data_stream, "sash: collect", j_type, operator), source.schema


class Collected(AbstractContextManager["Collected"]):
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
            for values in table.cast(spi.in_micros(table.schema), safe=False).to_pylist():  # as Python's own times are
                row = Row(*values.values())
                row.set_field_names(list(values))
                self._rows.append(row)
        return self._rows.popleft()

    def close(self) -> None:
        """Stop the job, if it still runs."""
        self._j_iterator.close()

    def __exit__(self, *error: object) -> None:
        self.close()
