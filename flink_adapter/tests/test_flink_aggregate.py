"""Streams and tables in, streams and tables out: types, side outputs, and what is refused before a job starts."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import sash

if TYPE_CHECKING:
    from pyflink.datastream import DataStream, StreamExecutionEnvironment

LOADS = [("a", 0, 3.0), ("b", 1, 9.0), ("a", 12, 5.0), ("a", 3, 8.0), ("b", 14, 4.0), ("a", None, 1.0), ("a", 30, 2.0)]
PEAKS = sash.Query(key="plug", windows=sash.tumbling(10, on="t"), aggregates={"peak": sash.Max("load")}, time="t")


def loads(env: StreamExecutionEnvironment, rows: Any = None) -> DataStream:
    from pyflink.common import Types

    kind = Types.ROW_NAMED(["plug", "t", "load"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])
    return env.from_collection(LOADS if rows is None else rows, kind)


@pytest.mark.parametrize("packed", [True, False])
def test_late_and_rejected_rows_are_side_outputs(flink: StreamExecutionEnvironment, packed: bool) -> None:
    import sash_flink
    from sash_flink.results import Collected, pack_for_client

    stream = sash_flink.with_watermarks(loads(flink), PEAKS, every_record=True)
    results = sash_flink.aggregate(stream, PEAKS, packed=packed, latency="5ms")
    found = {}
    for name, each in {
        "results": results,
        "late": results.get_side_output(sash_flink.LATE),
        "rejected": results.get_side_output(sash_flink.REJECTED),
    }.items():
        j_stream, schema = pack_for_client(each)
        found[name] = Collected(j_stream.collectAsync(), schema)
    flink.execute_async("side outputs")
    rows = {name: sorted(tuple(row) for row in rows) for name, rows in found.items()}
    assert rows["results"] == [
        ("a", 0, 10, 3.0),
        ("a", 10, 20, 5.0),
        ("a", 30, 40, 2.0),
        ("b", 0, 10, 9.0),
        ("b", 10, 20, 4.0),
    ]
    assert rows["late"] == [("a", 3, 8.0)]
    ((*row, reason),) = rows["rejected"]
    assert row == ["a", None, 1.0]
    assert "'t'" in reason


@pytest.mark.parametrize("packed", [True, False])
def test_late_and_rejected_rows_that_nobody_asks_for(flink: StreamExecutionEnvironment, packed: bool) -> None:
    import sash_flink

    stream = sash_flink.with_watermarks(loads(flink), PEAKS, every_record=True)
    with sash_flink.aggregate(stream, PEAKS, packed=packed, latency="5ms").execute_and_collect() as found:
        assert sorted(tuple(row)[1:] for row in found if row[0] == "a") == [(0, 10, 3.0), (10, 20, 5.0), (30, 40, 2.0)]


@pytest.mark.parametrize("packed", [True, False])
def test_results_go_on_to_sql_and_to_python(flink: StreamExecutionEnvironment, packed: bool) -> None:
    """As rows whose fields have names."""
    from pyflink.common import Types
    from pyflink.table import StreamTableEnvironment

    import sash_flink

    query = sash.Query(key="plug", windows=sash.sliding(2), aggregates={"sum": sash.Sum("load"), "n": sash.Count()})
    t_env = StreamTableEnvironment.create(flink)
    rows = [(f"p{i % 3}", i, float(i)) for i in range(12)]
    results = sash_flink.aggregate(loads(flink, rows), query, packed=packed)
    assert results.get_type() == Types.ROW_NAMED(
        ["plug", "window_start", "window_end", "sum", "n"],
        [Types.STRING(), Types.LONG(), Types.LONG(), Types.DOUBLE(), Types.LONG()],
    )
    doubled = results.map(lambda row: (row[0], row.sum * 2), Types.TUPLE([Types.STRING(), Types.DOUBLE()]))
    t_env.create_temporary_view("sums", t_env.from_data_stream(doubled).alias("plug", "twice"))
    found = t_env.execute_sql("SELECT plug, twice FROM sums").collect()
    assert sorted(tuple(row) for row in found) == sorted((f"p{i % 3}", 2.0 * (i + i + 3)) for i in range(9))


def test_a_table_gives_a_table_with_exact_types(flink: StreamExecutionEnvironment) -> None:
    from pyflink.table import StreamTableEnvironment

    import sash_flink

    t_env = StreamTableEnvironment.create(flink)
    t_env.get_config().set_local_timezone("UTC")
    table = t_env.sql_query(
        "SELECT plug, CAST(price AS DECIMAL(10, 2)) AS price, CAST(seen AS TIMESTAMP_LTZ(3)) AS seen FROM (VALUES "
        "('a', 1.25, TIMESTAMP '2024-03-01 10:00:00'), ('a', 2.50, TIMESTAMP '2024-03-01 11:00:00')) "
        "AS prices(plug, price, seen)"
    )
    query = sash.Query(
        key="plug", windows=sash.sliding(2), aggregates={"sum": sash.Sum("price"), "last": sash.Last("seen")}
    )
    results = sash_flink.aggregate_table(table, query, t_env)
    schema = results._j_table.getResolvedSchema().toString()
    assert "`sum` DECIMAL(20, 2)" in schema
    assert "`last` TIMESTAMP_LTZ(3)" in schema
    t_env.create_temporary_view("results", results)
    texts = "plug, CAST(window_end AS STRING), CAST(`sum` AS STRING), CAST(`last` AS STRING)"
    (row,) = list(t_env.execute_sql(f"SELECT {texts} FROM results").collect())  # PyFlink cannot bring instants here
    assert tuple(row) == ("a", "2", "3.75", "2024-03-01 11:00:00.000")


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("packed", [True, False])
def test_rows_of_tables_as_they_are_inside(reuse: bool, packed: bool) -> None:
    """Columns in another order, texts, lists, nulls and times; SQL behind it keeps some rows and joins others."""
    from pyflink.table import StreamTableEnvironment

    import sash_flink

    env = sash_flink.environment(1, {"pipeline.object-reuse": str(reuse).lower()})
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set_local_timezone("UTC")
    ids = "'connector' = 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '59'"
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE ids (id BIGINT, ts AS TO_TIMESTAMP_LTZ(id * 1000, 3), WATERMARK FOR ts AS ts) "
        f"WITH ({ids}, 'rows-per-second' = '1000000')"
    )
    table = t_env.sql_query(
        "SELECT NULLIF(id, 7) AS x, id AS unread, CONCAT('text ', CAST(id AS STRING)) AS s, ts, "
        "CONCAT('plug ', CAST(MOD(id, 3) AS STRING)) AS plug FROM ids"
    )
    query = sash.Query(
        key="plug",
        windows={"rows": sash.sliding(3), "time": sash.sliding("20s", "10s")},
        aggregates={"all": sash.Collect("x"), "last": sash.Last("s"), "n": sash.Count("x")},
        time="ts",
    )
    results = sash_flink.aggregate_table(table, query, t_env, packed=packed)
    t_env.create_temporary_view("results", results)
    found = t_env.execute_sql(
        "SELECT a.plug, a.`window`, a.`last`, a.n, a.`all`, b.`last` FROM results AS a JOIN results AS b "
        "ON a.plug = b.plug AND a.`window` = b.`window` AND a.n = b.n AND a.`last` = b.`last`"
    ).collect()
    got = sorted((tuple(row) for row in found), key=repr)
    rows = [
        {"plug": f"plug {i % 3}", "x": None if i == 7 else i, "s": f"text {i}", "ts": datetime.fromtimestamp(i, UTC)}
        for i in range(60)
    ]
    whole = sash.run(query, rows)
    expected = [(r["plug"], r["window"], r["last"], r["n"], r["all"], r["last"]) for r in whole]
    assert got == sorted(expected, key=repr)


@pytest.mark.parametrize("packed", [True, False])
def test_times_of_arrival(flink: StreamExecutionEnvironment, packed: bool) -> None:
    """A source that goes on for longer than the windows: most of them are complete before it ends."""
    from pyflink.common import Row, Types, WatermarkStrategy
    from pyflink.datastream.connectors.number_seq import NumberSequenceSource

    import sash_flink
    from sash_flink.results import Collected, pack_for_client

    numbers = flink.from_source(
        NumberSequenceSource(0, 999), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )
    kind = Types.ROW_NAMED(["plug", "load"], [Types.STRING(), Types.LONG()])

    def slowly(number: int) -> Row:
        time.sleep(0.001)
        return Row("ab"[number % 2], number)

    stream = numbers.map(slowly, output_type=kind)
    query = sash.Query(
        key="plug",
        windows=sash.tumbling("100ms"),
        aggregates={"n": sash.Count(), "least": sash.Min("load")},
        time=sash.arrival_time,
    )
    results = sash_flink.aggregate(stream, query, packed=packed, latency="5ms")
    j_stream, schema = pack_for_client(results)
    collected = Collected(j_stream.collectAsync(), schema)
    flink.execute_async("times of arrival")
    rows = [tuple(row) for row in collected]
    for plug in "ab":
        of_plug = sorted((row for row in rows if row[0] == plug), key=lambda row: row[1])
        assert sum(row[3] for row in of_plug) == 500
        assert [row[4] for row in of_plug] == sorted(row[4] for row in of_plug)
        assert all(row[2] - row[1] == timedelta(milliseconds=100) for row in of_plug)
    with pytest.raises(ValueError, match="nothing to make watermarks of"):
        sash_flink.with_watermarks(stream, query)


def test_tuples_need_names(flink: StreamExecutionEnvironment) -> None:
    from pyflink.common import Types

    import sash_flink

    stream = flink.from_collection(LOADS[:2], Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE()]))
    with pytest.raises(TypeError, match="names="):
        sash_flink.aggregate(stream, PEAKS)
    with pytest.raises(ValueError, match="names= has 2 names"):
        sash_flink.aggregate(stream, PEAKS, names=["plug", "t"])
    assert sash_flink.aggregate(stream, PEAKS, names=["plug", "t", "load"]).get_type() is not None


def test_what_does_not_fit_is_said_before_a_job_starts(flink: StreamExecutionEnvironment) -> None:
    import sash_flink

    with pytest.raises(TypeError, match=r"give its source .* a type"):
        sash_flink.aggregate(flink.from_collection(LOADS), PEAKS)
    stream = loads(flink)
    with pytest.raises(KeyError, match="did you mean 'load'"):
        sash_flink.aggregate(stream, PEAKS.using(aggregates={"peak": sash.Max("laod")}))
    with pytest.raises(TypeError, match="'t' is int64, but windows"):
        sash_flink.aggregate(stream, PEAKS.using(windows=sash.tumbling("10s")))
    with pytest.raises(TypeError, match="aggregate 'sum'"):
        sash_flink.aggregate(stream, PEAKS.using(aggregates={"sum": sash.Sum("plug")}))
    with pytest.raises(ValueError, match="ttl is in event time"):
        sash_flink.aggregate(stream, PEAKS.using(windows=sash.sliding(3), time=None), ttl="1h")
    with pytest.raises(ValueError, match="buckets must be"):
        sash_flink.aggregate(stream, PEAKS, buckets=0)
    with pytest.raises(TypeError, match="no option 'bucket'; did you mean 'buckets'"):
        sash_flink.aggregate(stream, PEAKS, bucket=4)
    with pytest.raises(ValueError, match="no time="):
        sash_flink.with_watermarks(stream, PEAKS.using(windows=sash.tumbling(3), time=None))


def test_types_there_and_back() -> None:
    from sash_flink.types import sql_row, sql_type, wire_type

    kind = pa.struct([("a`b", pa.list_(pa.timestamp("us", "UTC"))), ("d", pa.decimal128(10, 2))])
    assert sql_type(kind) == "ROW<`a``b` ARRAY<TIMESTAMP_LTZ(6)>, `d` DECIMAL(10, 2)>"
    assert wire_type(kind)[0].type == pa.list_(pa.timestamp("us"))
    assert sql_row(pa.schema([("n", pa.int64())])) == "ROW<`n` BIGINT>"
    with pytest.raises(TypeError, match="no type for"):
        sql_type(pa.duration("us"))


def test_a_missing_or_old_java_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    from sash_flink.environment import check_java

    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(RuntimeError, match="Flink needs Java 17 or newer, and there is none in JAVA_HOME"):
        check_java()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    with pytest.raises(RuntimeError, match="is 11"):
        check_java()
