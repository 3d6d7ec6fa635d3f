"""The least that a keyed process function of PyFlink can do: what PyFlink itself costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyflink.common import Types
from pyflink.datastream import DataStream, KeyedProcessFunction
from pyflink.util.java_utils import to_jarray

from sash_flink import pipeline
from sash_flink.pipeline import jvm
from sash_flink.source import Source

__all__ = ["identity_stream", "plain_stream"]


class Identity(KeyedProcessFunction):  # type: ignore[misc]  # PyFlink has no types
    """Gives back what it takes."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        """Yield it."""
        yield value


def plain_stream(stream: DataStream) -> DataStream:
    """Rows of a plug and a load, keyed by the plug, through a function that does nothing: as anyone would write it."""
    kind = Types.ROW_NAMED(["plug", "load"], [Types.INT(), Types.DOUBLE()])
    return stream.key_by(lambda row: row[0], key_type=Types.INT()).process(Identity(), output_type=kind)


def identity_stream(stream: DataStream) -> DataStream:
    """Rows keyed by their first column in the JVM, as Sash's are, through a function that does nothing."""
    from pyflink.java_gateway import get_gateway

    source = Source(stream)
    rows, gateway = jvm().RowTypes, get_gateway()
    j_row = gateway.jvm.org.apache.flink.api.java.typeutils.RowTypeInfo
    j_types = gateway.jvm.org.apache.flink.api.common.typeinfo.TypeInformation
    read = source.schema
    j_read = rows.ofStreams(pipeline.row_type(read))
    j_key = rows.ofStreams(pipeline.row_type(read.empty_table().select([0]).schema))
    pair = j_row(to_jarray(j_types, [j_key, j_read]))
    pairs = pipeline.transform_in_jvm(
        stream._j_data_stream, "key", pair, jvm().KeyedRows(source.columns(read.names), 1, False)
    )
    stamped = j_row(
        to_jarray(j_types, [Types.LONG().get_java_type_info(), *(j_read.getTypeAt(i) for i in range(len(read)))])
    )
    keyed = pipeline.key_by(pairs, j_key, stamped, 128, None)
    settings = {"python.fn-execution.bundle.time": "100"}  # as Sash has them
    return DataStream(pipeline.run_python(keyed, Identity(), stamped, settings, 128))
