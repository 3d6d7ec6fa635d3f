"""The matrix on Flink, by record and packed: one job each, with a query without lateness and one with it."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]

import matrix
from matrix import TYPES, ColumnType, Row
from matrix_cells import Wrong

from .matrix_engines import MILLISECONDS, UTC, Engine, Outcome, Run

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
BY_RECORD = Engine("Flink by record", "closed", COLUMNS)
PACKED = Engine("Flink packed", "closed", COLUMNS)


def run_job(engine: Engine, env: StreamExecutionEnvironment, folder: Path) -> Run:
    """Runs jobs of some column types: the queries with and without lateness are in one."""
    import cloudpickle

    import sash_flink
    from sash_flink.results import pack_for_client
    from sash_flink.source import Source, result_schema

    cloudpickle.register_pickle_by_value(matrix)  # workers do not have it

    def run(kinds: Sequence[str]) -> dict[bool, Outcome]:
        path = folder / "matrix.json"
        rows = ({field: _json(value) for field, value in row.items()} for row in engine.tuples())
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        collected = {}
        for late in (False, True):
            stream = _stream(env, f"matrix-{late}", engine.sql(kinds), path)
            asked = engine.query(kinds, late, partial(result_schema, schema=Source(stream).schema))
            stream = sash_flink.with_watermarks(stream, asked, every_record=True)
            j_stream, schema = pack_for_client(sash_flink.aggregate(stream, asked, **_options(engine)))
            collected[late] = j_stream.collectAsync(), schema
        env.execute_async("matrix")
        return {late: _read(*results) for late, results in collected.items()}

    return run


def _options(engine: Engine) -> dict[str, Any]:
    return {"packed": False} if engine is BY_RECORD else {"packed": True, "latency": "5ms"}


def _read(j_iterator: Any, schema: Any) -> Outcome:
    rows: list[Row] = []
    while j_iterator.hasNext():
        rows += pa.ipc.open_stream(j_iterator.next().getField(1)).read_all().cast(schema, safe=False).to_pylist()
    return rows, {field.name: field.type for field in schema}


def wrong_refusals(engine: Engine, env: StreamExecutionEnvironment, folder: Path, kind: str, late: bool) -> Wrong:
    """What is wrong with how cells are refused."""
    import sash_flink

    stream = _stream(env, "refusals", engine.sql([kind]), folder)
    return engine.wrong_refusals(kind, late, lambda query: sash_flink.aggregate(stream, query, **_options(engine)))


def _stream(env: StreamExecutionEnvironment, name: str, columns: str, path: Path) -> DataStream:
    """The tuples of a file by way of a table, which has all types."""
    from pyflink.table import StreamTableEnvironment

    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set_local_timezone("UTC")
    t_env.execute_sql(
        f"CREATE TEMPORARY TABLE `{name}` ({columns}) "
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
