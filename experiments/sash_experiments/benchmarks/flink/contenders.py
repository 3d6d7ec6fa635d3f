"""Who is compared by ``bench flink``: a stream of readings, and each way to compute the maximum of its windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sash
import sash_flink

if TYPE_CHECKING:
    from pyflink.datastream import DataStream

__all__ = [
    "Collected",
    "Endless",
    "Readings",
    "by_record",
    "count_query",
    "count_window",
    "hop",
    "identity",
    "identity_in_jvm",
    "ours",
    "over",
    "over_time",
    "sliding_windows",
    "source_alone",
    "time_query",
]


BEFORE = "ts - INTERVAL '0.001' SECOND"
"""The watermark behind a reading: others of the same time may come."""


class Readings:
    """A job's environment, and its readings as a stream and as a table: plug, t (ms), load."""

    def __init__(self, records: int, keys: int, settings: Mapping[str, str] | None = None) -> None:
        from pyflink.table import StreamTableEnvironment

        self.env = sash_flink.environment(1, {"python.fn-execution.bundle.size": "10000", **(settings or {})})
        self.t_env = StreamTableEnvironment.create(self.env)
        self.t_env.get_config().set_local_timezone("UTC")
        self.keys = keys
        self.number(records)
        self.plug, self.load = f"CAST(MOD(id, {keys}) AS INT)", "CAST(MOD(id * 7919, 1000003) AS DOUBLE)"
        self.select = f"SELECT {self.plug} AS plug, ts, {self.load} AS `load`, proc FROM ids"

    def time(self, number: str) -> str:
        """The time of the reading with this number: all plugs report once a second."""
        return f"TO_TIMESTAMP_LTZ(({number} / {self.keys}) * 1000, 3)"

    def number(self, records: int) -> None:
        """Make the table ``ids``: id, ts, proc."""
        self.t_env.execute_sql(
            f"CREATE TEMPORARY TABLE ids (id BIGINT, proc AS PROCTIME(), ts AS {self.time('id')}, "
            f"WATERMARK FOR ts AS {BEFORE}) WITH ('connector' = 'datagen', 'rows-per-second' = '100000000', "
            f"'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '{records - 1}')"
        )

    def stream(self, columns: str = "plug, ts, `load`") -> DataStream:
        """Plug, time and load."""
        return self.t_env.to_data_stream(self.t_env.sql_query(f"SELECT {columns} FROM ({self.select})"))

    def sink(self, stream: DataStream) -> None:
        """Run the job; results go nowhere."""
        from pyflink.java_gateway import get_gateway

        sink = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()
        stream._j_data_stream.sinkTo(sink)
        self.env.execute("bench")

    def sql(self, query: str, columns: str) -> None:
        """The same for SQL."""
        self.t_env.execute_sql(f"CREATE TEMPORARY TABLE nowhere ({columns}) WITH ('connector' = 'blackhole')")
        self.t_env.execute_sql(f"INSERT INTO nowhere {query}").wait()


class Collected(Readings):
    """Readings whose results are kept: the plug and the maximum of each window."""

    results: Sequence[tuple[int, float]] = ()

    def sink(self, stream: DataStream) -> None:
        """Run the job, and keep what comes out. Times cannot be collected."""
        from pyflink.common import Types

        pairs = stream.map(lambda row: (row[0], row[-1]), Types.TUPLE([Types.INT(), Types.DOUBLE()]))
        with pairs.execute_and_collect() as rows:
            self.results = [(row[0], row[1]) for row in rows]

    def sql(self, query: str, columns: str) -> None:
        """The same for SQL."""
        with self.t_env.execute_sql(query).collect() as rows:
            self.results = [(row[0], row[-1]) for row in rows]


class Endless(Readings):
    """Readings without an end that matters: datagen's sequences are all in memory before their first record."""

    def __init__(self, keys: int, settings: Mapping[str, str]) -> None:
        super().__init__(10**15, keys, settings)

    def number(self, records: int) -> None:
        """Make the table ``ids`` of a source that counts."""
        from pyflink.common import WatermarkStrategy
        from pyflink.datastream.connectors.number_seq import NumberSequenceSource
        from pyflink.table import Schema

        counted = self.env.from_source(NumberSequenceSource(0, records - 1), WatermarkStrategy.no_watermarks(), "ids")
        schema = (
            Schema.new_builder()
            .column("f0", "BIGINT")
            .column_by_expression("id", "f0")
            .column_by_expression("proc", "PROCTIME()")
            .column_by_expression("ts", self.time("f0"))
            .watermark("ts", BEFORE)
            .build()
        )
        self.t_env.create_temporary_view("ids", counted, schema)


def count_query(n: int) -> sash.Query:
    return sash.Query(key="plug", windows=sash.sliding(n), aggregates={"peak": sash.Max("load")})


def time_query(ratio: int) -> sash.Query:
    return sash.Query(
        key="plug", windows=sash.sliding(f"{ratio}s", "1s"), aggregates={"peak": sash.Max("load")}, time="ts"
    )


def ours(query: sash.Query, **options: Any) -> Callable[[Readings], Any]:
    """From a table to a table, as SQL's own; of the columns that the query reads, which its planner would leave too."""

    def run(readings: Readings) -> None:
        table = readings.t_env.sql_query(f"SELECT {_names(query)} FROM ({readings.select})")
        results = sash_flink.aggregate_table(table, query, readings.t_env, **options)
        readings.t_env.create_temporary_view("results", results)
        readings.sql("SELECT plug, peak FROM results", "plug INT, peak DOUBLE")

    return run


def by_record(query: sash.Query) -> Callable[[Readings], Any]:
    """From a stream to a stream, as PyFlink's own."""
    return lambda readings: readings.sink(sash_flink.aggregate(readings.stream(_names(query)), query, packed=False))


def _names(query: sash.Query) -> str:
    return ", ".join(f"`{name}`" for name in query.columns)


def identity(readings: Readings) -> None:
    """A keyed process function that does nothing, on rows of the same columns."""
    from sash_experiments.benchmarks.flink.identity import plain_stream

    readings.sink(plain_stream(readings.stream("plug, `load`")))


def identity_in_jvm(readings: Readings) -> None:
    """The same on rows that are keyed in the JVM as ours are, for which PyFlink has nothing of its own."""
    from sash_experiments.benchmarks.flink.identity import identity_stream

    readings.sink(identity_stream(readings.stream("plug, `load`")))


def source_alone(readings: Readings) -> None:
    """No windows: what comes goes nowhere."""
    readings.sql(f"SELECT plug, `load` FROM ({readings.select})", "plug INT, peak DOUBLE")


def over(n: int, order: str = "proc") -> Callable[[Readings], Any]:
    window = f"(PARTITION BY plug ORDER BY {order} ROWS BETWEEN {n - 1} PRECEDING AND CURRENT ROW)"
    return lambda readings: readings.sql(
        f"SELECT plug, MAX(`load`) OVER {window} FROM ({readings.select})", "plug INT, peak DOUBLE"
    )


def over_time(n: int) -> Callable[[Readings], Any]:
    return over(n, "ts")


def hop(ratio: int) -> Callable[[Readings], Any]:
    def run(readings: Readings) -> None:
        view = readings.t_env.sql_query(f"SELECT {readings.plug} AS plug, ts, {readings.load} AS `load` FROM ids")
        readings.t_env.create_temporary_view("readings", view)
        readings.sql(
            "SELECT plug, MAX(`load`) FROM HOP(TABLE readings, DESCRIPTOR(ts), INTERVAL '1' SECOND, "
            f"INTERVAL '{ratio}' SECOND({len(str(ratio))})) GROUP BY plug, window_start, window_end",
            "plug INT, peak DOUBLE",
        )

    return run


def count_window(n: int) -> Callable[[Readings], Any]:
    def run(readings: Readings) -> None:
        keyed = readings.stream().key_by(lambda row: row[0])
        readings.sink(keyed.count_window(n, 1).reduce(lambda a, b: a if a[2] >= b[2] else b))

    return run


def sliding_windows(ratio: int) -> Callable[[Readings], Any]:
    """PyFlink's SlidingEventTimeWindows."""

    def run(readings: Readings) -> None:
        from pyflink.common import Time
        from pyflink.datastream.window import SlidingEventTimeWindows

        keyed = readings.stream().key_by(lambda row: row[0])
        windows = keyed.window(SlidingEventTimeWindows.of(Time.seconds(ratio), Time.seconds(1)))
        readings.sink(windows.reduce(lambda a, b: a if a[2] >= b[2] else b))

    return run
