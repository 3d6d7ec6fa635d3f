"""State in parts: where PySpark can (``make test-spark-latest``), the same results as with state that is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import types as T

import sash
import sash_spark
from sash_spark.schema import arrow_schema, output_schema
from sash_spark.state import check_state, read_state, state_schema
from sash_spark.streaming_buckets import Bucket
from sash_spark.streaming_parts import PROVIDER, ROCKSDB, Parts, importable
from sash_spark.timers import Clock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "k string, ts timestamp, n long"
gap = pytest.mark.xfail(importable() is not None, run=False, reason=f"state in parts: {importable()}")


def at(seconds: float) -> datetime:
    return datetime(2024, 3, 31, tzinfo=UTC) + timedelta(seconds=seconds)


@pytest.fixture
def rocksdb(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(PROVIDER, ROCKSDB)
    yield
    spark.conf.unset(PROVIDER)


def parts(query: sash.Query, **options: Any) -> Callable[[DataFrame], DataFrame]:
    return lambda df: sash_spark.aggregate(df, query, **({"buckets": 2, "state": "parts"} | options))


def test_what_cannot_be_is_refused_with_the_reason(stream_of: Callable[..., Any]) -> None:
    stream = stream_of(SCHEMA, [[("a", at(1), 1)]])
    query = sash.Query(key="k", windows=sash.sliding(2**20), aggregates={"sum": sash.Sum("n")}, time="ts")
    with pytest.raises(ValueError, match="state cannot be kept in parts: it needs Spark's RocksDB state store"):
        parts(query)(stream.source)
    with pytest.raises(ValueError, match="state must be 'auto', 'parts' or 'whole'; got 'some'"):
        parts(query, state="some")(stream.source)
    with pytest.warns(sash.PerformanceWarning, match=r"a window has 1,048,576 slices, and .* is written whole"):
        parts(query, state="whole")(stream.source)


class Spark:
    """What Spark hands a processor: a value, a map and timers, as far as it is used; also the times of a call."""

    def __init__(self) -> None:
        self.value: Any = None
        self.blocks: dict[Any, Any] = {}
        self.timers: set[int] = set()
        self.watermark = 0

    def getValueState(self, name: str, schema: Any) -> Spark:
        return self

    def getMapState(self, name: str, key: str, value: str) -> Spark:
        return self

    def get(self) -> Any:
        return self.value

    def update(self, value: Any) -> None:
        self.value = value

    def updateValue(self, key: Any, value: Any) -> None:
        self.blocks[key] = value

    def removeKey(self, key: Any) -> None:
        del self.blocks[key]

    def iterator(self) -> Any:
        return iter(self.blocks.items())

    def registerTimer(self, timer: int) -> None:
        self.timers.add(timer)

    def deleteTimer(self, timer: int) -> None:
        self.timers.remove(timer)

    def getCurrentWatermarkInMs(self) -> int:
        return self.watermark


@pytest.mark.parametrize("kept", [True, False], ids=["alive", "restored"])
def test_a_bucket_goes_on_from_its_parts_and_its_timer_moves(kept: bool) -> None:
    """Without a Spark, so that it runs where PySpark cannot keep state in parts."""
    query = sash.Query(key="k", windows=sash.tumbling("10s"), aggregates={"sum": sash.Sum("n")}, time="ts")
    schema = T.StructType().add("k", T.StringType()).add("ts", T.TimestampType()).add("n", T.LongType())
    read = [T.StructField(f"c{i}", schema[name].dataType) for i, name in enumerate(query.columns)]
    wire = arrow_schema(T.StructType(read))
    results = output_schema(query, schema)
    counts: list[tuple[int, int]] = []
    spark, run = Spark(), ""
    for rows in ([("a", at(1), 1), ("a", at(12), 2)], [("a", at(14), 4)], []):
        processor = Parts(Bucket(query, results, wire, Clock("ts")), state_schema(query, 1))
        if kept and counts:
            processor.bucket.run = run
        run = processor.bucket.run
        processor.init(spark)  # type: ignore[arg-type]
        if rows:
            columns = dict(zip(schema.names, zip(*rows, strict=True), strict=True))
            arrays = [pa.array(columns[name], field.type) for name, field in zip(query.columns, wire, strict=True)]
            batch = pa.RecordBatch.from_arrays(arrays, schema=wire)
            frame = pd.DataFrame({"task": [0], "piece": [0], "rows": [batch.serialize().to_pybytes()]})
            (answer,) = processor.handleInputRows((0,), [frame], spark)
        else:
            (timer,) = spark.timers
            spark.watermark = timer + 1
            (answer,) = processor.handleExpiredTimer((0,), spark, None)
        counts.append((int(answer.tuples_in.sum()), int(answer.results_out.sum())))
    assert counts == [(2, 1), (1, 0), (0, 1)]
    assert spark.value[1] == 1 and spark.value[-1] is None


@gap
@pytest.mark.usefixtures("rocksdb")
def test_timers_fire_keys_are_forgotten_and_a_stream_goes_on(
    stream_of: Callable[..., Any], spark: SparkSession
) -> None:
    query = sash.Query(
        key="k", windows=sash.tumbling("10s"), aggregates={"sum": sash.Sum("n")}, time="ts", watermark_delay="2s"
    )
    stream = stream_of(SCHEMA, [[("a", at(1), 1), ("b", at(3), 10)], [("a", at(14), 2)]])
    made = parts(query, ttl="1m")
    first = stream.run(made)
    assert sorted((row.k, row.sum) for row in first) == [("a", 1), ("b", 10)]
    checkpoint = str(stream.folder / "checkpoint")
    check_state(spark, checkpoint, query)
    assert sum(op.keys for op in read_state(spark, checkpoint, query).values()) == 2

    stream.add([("a", at(200), 4), ("a", at(5), 100)])
    stream.add([("a", at(230), 4)])
    second = stream.run(made)
    assert sorted((row.k, row.sum) for row in second) == [("a", 2), ("a", 4)]
    assert stream.metric("late_dropped") == 1
    assert sum(op.keys for op in read_state(spark, checkpoint, query).values()) == 1

    stream.add([("a", at(300), 1)])
    with pytest.raises(StreamingQueryException):
        stream.run(parts(query, ttl="1m", buckets=3))


@gap
@pytest.mark.usefixtures("rocksdb")
def test_a_window_of_a_million_slices_is_not_written_again(stream_of: Callable[..., Any], spark: SparkSession) -> None:
    """By what Sash says that it writes, and by the files that Spark puts into the checkpoint."""
    query = sash.Query(key="k", windows=sash.sliding(2**20), aggregates={"sum": sash.Sum("n")})
    stream = stream_of("k string, n long", [])
    stream.folder.joinpath("in").mkdir()
    sizes = []
    for begin, rows in [(0, 2**20), (2**20, 1000), (2**20 + 1000, 1000)]:
        stream.write(spark.range(begin, begin + rows, numPartitions=1).selectExpr("'a' AS k", "id AS n"))
        found = stream.run(lambda df: sash_spark.aggregate(df, query, order="n", buckets=1))
        sizes.append((len(found), stream.metric("state_bytes"), _bytes(stream.folder / "checkpoint" / "state")))
    (one, first, disk), (more, second, disk2), (again, third, disk3) = sizes
    assert (one, more, again) == (1, 1000, 1000)
    assert first > 4 * 2**20
    assert second < 90_000
    assert third < 90_000
    assert disk3 - disk2 < disk2 - disk + 100_000 < disk / 4


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
