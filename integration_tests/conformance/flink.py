"""All cases on Flink: one job a runtime, because a job takes seconds to start and cases take none."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from . import flink_batch, spark
from .cases import CASES, Case

if TYPE_CHECKING:
    from pyflink.datastream import DataStream, StreamExecutionEnvironment

Rows = list[Mapping[str, Any]]
GAPS: dict[str, str] = {}
ONE_PHASE_ONLY = spark.ONE_PHASE_ONLY | {
    case.name: "never: several orders need several exchanges" for case in CASES if len(case.query.lanes) > 1
}
IN_TWO_PHASES = [case for case in CASES if case.name not in ONE_PHASE_ONLY]
_FOUND: dict[str, dict[str, Rows]] = {}


def packed(case: Case, request: pytest.FixtureRequest) -> Rows:
    return _rows("packed", case, request, packed=True, latency="5ms")


def by_record(case: Case, request: pytest.FixtureRequest) -> Rows:
    return _rows("by record", case, request, packed=False)


def batch(case: Case, request: pytest.FixtureRequest) -> Rows:
    return _batch("packed", case, request)


def batch_by_record(case: Case, request: pytest.FixtureRequest) -> Rows:
    return _batch("by record", case, request)


def batch_in_two_phases(case: Case, request: pytest.FixtureRequest) -> Rows:
    return _batch("two phases", case, request)


def _batch(way: str, case: Case, request: pytest.FixtureRequest) -> Rows:
    folder = request.getfixturevalue("tmp_path")
    return _found(f"batch, {way}", lambda: flink_batch.rows_by_case(folder, way))[case.name]


def _rows(way: str, case: Case, request: pytest.FixtureRequest, **options: Any) -> Rows:
    env, folder = request.getfixturevalue("flink"), request.getfixturevalue("tmp_path")
    return _found(way, lambda: run_cases(env, folder, False, **options))[case.name]


def _found(way: str, job: Callable[[], dict[str, Rows]]) -> dict[str, Rows]:
    if way not in _FOUND:
        _FOUND[way] = {}  # a job that fails is not tried again for each case
        _FOUND[way] |= job()
    return _FOUND[way]


def run_cases(
    env: StreamExecutionEnvironment, folder: Path, batch: bool, cases: Sequence[Case] = CASES, **options: Any
) -> dict[str, Rows]:
    """The rows of cases, by name."""
    import cloudpickle
    from pyflink.datastream import RuntimeExecutionMode

    import sash_flink
    from sash_flink.results import Collected, pack_for_client

    cloudpickle.register_pickle_by_value(sys.modules[Case.__module__])  # workers do not have this module
    if batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    iterators = {}
    for case in cases:
        stream = _stream(env, case, folder)
        if not batch and case.query.time in case.query.orders:
            stream = sash_flink.with_watermarks(stream, case.query, every_record=True)
        results = sash_flink.aggregate(stream, case.query, **options, **case.options)
        j_stream, schema = pack_for_client(results)
        iterators[case.name] = Collected(j_stream.collectAsync(), schema)
    env.execute_async("conformance")
    return {name: [_told(row.as_dict()) for row in rows] for name, rows in iterators.items()}


def run_late(
    env: StreamExecutionEnvironment, folder: Path, cases: Sequence[Case], packed: bool
) -> dict[str, tuple[Rows, list[tuple[Any, ...]]]]:
    """The rows of cases, and the columns that they read of the rows that were late, by name."""
    import cloudpickle

    import sash_flink
    from sash_flink.results import LATE, Collected, pack_for_client

    cloudpickle.register_pickle_by_value(sys.modules[Case.__module__])
    iterators = {}
    for case in cases:
        stream = sash_flink.with_watermarks(_stream(env, case, folder), case.query, every_record=True)
        results = sash_flink.aggregate(stream, case.query, packed=packed, latency="5ms", **case.options)
        packs = [pack_for_client(results), pack_for_client(results.get_side_output(LATE))]
        iterators[case.name] = [Collected(j_stream.collectAsync(), schema) for j_stream, schema in packs]
    env.execute_async("late rows")
    return {
        name: ([_told(row.as_dict()) for row in rows], [tuple(row) for row in late])
        for name, (rows, late) in iterators.items()
    }


def _stream(env: StreamExecutionEnvironment, case: Case, folder: Path) -> DataStream:
    """The case's tuples, by way of a file and a table, which have all types."""
    from pyflink.table import StreamTableEnvironment

    path = folder / f"{case.name}.json"
    path.write_text(
        "".join(json.dumps({name: _given(value) for name, value in row.items()}) + "\n" for row in case.rows)
    )
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set_local_timezone("UTC")
    columns = ", ".join(f"`{name}` {_SQL.get(kind, kind)}" for name, kind in case.schema.items())
    table = f"`in-{case.name}`"
    t_env.execute_sql(
        f"CREATE TEMPORARY TABLE {table} ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}', "
        "'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601')"
    )
    return t_env.to_data_stream(t_env.from_path(table))


_SQL = {"long": "BIGINT", "binary": "BYTES", "timestamp": "TIMESTAMP_LTZ(6)", "timestamp_ntz": "TIMESTAMP(6)"}


def _given(value: Any) -> Any:
    """As Flink's JSON has values."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date | Decimal):
        return str(value)
    return "NaN" if value != value else value


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """With ends of windows as they are elsewhere, where they are structures because they differ in type."""
    for name in ("window_start", "window_end"):
        if isinstance(row[name], dict):
            (row[name],) = [value for value in row[name].values() if value is not None]
    return row
