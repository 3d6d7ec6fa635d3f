"""What comes out of a query: a stream of results, and side outputs of rows that were late or could not be taken."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common.typeinfo import _from_java_type
from pyflink.datastream import DataStream, OutputTag
from pyflink.java_gateway import get_gateway

from sash_flink.collecting import Collected, packed_for_client
from sash_flink.jar import jvm
from sash_flink.pipeline import row_type

__all__ = ["LATE", "REJECTED", "Results", "side_outputs"]

LATE = OutputTag("sash-late")
"""The side output of rows that came too late: the columns that the query reads."""
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
        j_stream, schema = packed_for_client(self)
        # as PyFlink does before it runs a job: functions are told of their side outputs
        get_gateway().jvm.org.apache.flink.python.util.PythonConfigUtil.configPythonOperator(
            j_stream.getExecutionEnvironment()
        )
        rows = Collected(j_stream.executeAndCollect(job_execution_name or "sash"), schema)
        if limit is None:
            return rows
        with rows:
            return list(islice(rows, limit))


def side_outputs(read: pa.Schema, rejected: pa.Schema) -> dict[str, OutputTag]:
    """The tags of both, with the types of their rows."""
    rows = jvm().RowTypes
    return {
        tag.tag_id: OutputTag(tag.tag_id, _from_java_type(rows.ofStreams(row_type(schema))))
        for tag, schema in ((LATE, read), (REJECTED, rejected))
    }
