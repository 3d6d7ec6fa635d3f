"""The matrix on Flink, by record and packed: one job each, with a query for every column type and lateness."""

from __future__ import annotations

import base64
import json
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]

import matrix
from matrix import TYPES, ColumnType, Row, query, refused
from matrix_cells import Wrong

from .matrix_engines import MILLISECONDS, UTC, Engine, tuples, wrong_refusal

if TYPE_CHECKING:
    from pyflink.datastream import DataStream, StreamExecutionEnvironment

COLUMNS: dict[str, tuple[ColumnType, str]] = {
    "bool": (TYPES["bool"], "BOOLEAN"),
    "int8": (TYPES["int8"], "TINYINT"),
    "int16": (TYPES["int16"], "SMALLINT"),
    "int32": (TYPES["int32"], "INT"),
    "int64": (TYPES["int64"], "BIGINT"),
    "float32": (TYPES["float32"], "FLOAT"),
    "float64": (TYPES["float64"], "DOUBLE"),
    "decimal": (TYPES["decimal"], "DECIMAL(10, 2)"),
    "text": (TYPES["text"], "STRING"),
    "binary": (TYPES["binary"], "BYTES"),
    "date": (TYPES["date"], "DATE"),
    "time": (MILLISECONDS, "TIME(3)"),
    "timestamp[s]": (TYPES["timestamp[s]"], "TIMESTAMP(0)"),
    "timestamp[ms]": (TYPES["timestamp[ms]"], "TIMESTAMP(3)"),
    "timestamp[us]": (TYPES["timestamp[us]"], "TIMESTAMP(6)"),
    "timestamp[ms, zone]": (UTC["ms"], "TIMESTAMP_LTZ(3)"),
    "timestamp[us, zone]": (UTC["us"], "TIMESTAMP_LTZ(6)"),
}
"""Flink has neither unsigned integers nor durations; its JSON has no nanoseconds that Python could tell."""
Outcome = tuple[list[Row], dict[str, Any]]
BY_RECORD = Engine("Flink by record", "closed", COLUMNS)
PACKED = Engine("Flink packed", "closed", COLUMNS)
CELLS = [(kind, late) for kind in COLUMNS for late in (False, True)]


def outcomes(
    engine: Engine, env: StreamExecutionEnvironment, folder: Path
) -> tuple[dict[tuple[str, bool], Outcome], dict[tuple[str, bool], Wrong]]:
    """The results of all queries, by column type and lateness, and what is wrong with refusals."""
    import cloudpickle

    import sash_flink
    from sash_flink.results import packed_for_client
    from sash_flink.source import Source, checked

    cloudpickle.register_pickle_by_value(matrix)  # workers do not have it
    options: dict[str, Any] = {"packed": False} if engine is BY_RECORD else {"packed": True, "latency": "5ms"}
    collected, wrong = {}, {}
    for kind, late in CELLS:
        stream = _stream(env, kind, folder)
        schema = Source(stream).schema
        asked = engine.query(kind, late, engine.not_built(kind, late, partial(checked, schema=schema)))
        stream = sash_flink.with_watermarks(stream, asked, every_record=True)
        j_stream, schema = packed_for_client(sash_flink.aggregate(stream, asked, **options))
        collected[kind, late] = j_stream.collectAsync(), schema
        wrong[kind, late] = _wrong_refusals(stream, kind, late, options)
    env.execute_async("matrix")
    return {cell: _read(*each) for cell, each in collected.items()}, wrong


def _read(j_iterator: Any, schema: Any) -> Outcome:
    rows: list[Row] = []
    while j_iterator.hasNext():
        rows += pa.ipc.open_stream(j_iterator.next().getField(1)).read_all().cast(schema, safe=False).to_pylist()
    return rows, {field.name: field.type for field in schema}


def _wrong_refusals(stream: DataStream, kind: str, late: bool, options: dict[str, Any]) -> Wrong:
    import sash_flink

    column = COLUMNS[kind][0]
    wrong: Wrong = {}
    for name, entry in refused(column).items():
        error: Exception | None = None
        try:
            sash_flink.aggregate(stream, query({name: entry}, "count", late), **options)
        except Exception as raised:
            error = raised
        if problem := wrong_refusal(error, entry.aggregation, column):
            wrong[name] = problem
    return wrong


def _stream(env: StreamExecutionEnvironment, kind: str, folder: Path) -> DataStream:
    """The tuples by way of a file and a table, which has all types."""
    from pyflink.table import StreamTableEnvironment

    column, sql = COLUMNS[kind]
    name = f"matrix-{list(COLUMNS).index(kind)}"
    path = folder / f"{name}.json"
    rows = ({field: _json(value) for field, value in row.items()} for row in tuples(column))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set_local_timezone("UTC")
    t_env.execute_sql(
        f"CREATE TEMPORARY TABLE IF NOT EXISTS `{name}` (k STRING, t BIGINT, x {sql}, n BIGINT, seq BIGINT) "
        f"WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json', "
        "'json.timestamp-format.standard' = 'ISO-8601')"
    )
    return t_env.to_data_stream(t_env.from_path(f"`{name}`"))


def _json(value: Any) -> Any:
    """As Flink's JSON has values."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date | time | Decimal):
        return str(value)
    return "NaN" if value != value else value
