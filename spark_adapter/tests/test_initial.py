"""A stream that starts from a snapshot or from a history gives what one gives that had those rows first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import sash
import sash_spark
from sash import StateError
from sash_spark.streaming_parts import PROVIDER, ROCKSDB, importable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "k string, ts timestamp, n long"
QUERY = sash.Query(
    key="k",
    windows={"ten": sash.tumbling("10s"), "three": sash.sliding(3)},
    aggregates={"sum": sash.Sum("n"), "rows": sash.Count()},
    time="ts",
    watermark_delay="2s",
)
HISTORY = [("a", 1, 1), ("b", 3, 10), ("a", 12, 2), ("b", 14, 20), ("c", 5, 100), ("a", 15, 4)]
STREAM = [[("a", 17, 8), ("a", 31, 16)], [("b", 16, 40), ("d", 40, 1)], [("a", 90, 1)]]


def at(seconds: float) -> datetime:
    return datetime(2024, 3, 31, tzinfo=UTC) + timedelta(seconds=seconds)


def rows_of(rows: list[tuple[str, int, int]]) -> list[tuple[str, datetime, int]]:
    return [(k, at(seconds), n) for k, seconds, n in rows]


def local_snapshot() -> bytes:
    op = sash.Operator(QUERY, own_watermark="key")
    for row in rows_of(HISTORY):
        op.process(dict(zip(("k", "ts", "n"), row, strict=True)))
    return op.snapshot()


def told(rows: list[Any]) -> list[str]:
    return sorted(repr((row.k, row.window, str(row.window_start), row.sum, row.rows)) for row in rows)


@pytest.fixture(params=["whole", "parts"])
def state(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    if request.param == "parts":
        if importable() is not None:
            pytest.xfail(f"state in parts: {importable()}")
        spark.conf.set(PROVIDER, ROCKSDB)
    yield request.param
    spark.conf.unset(PROVIDER)


@pytest.mark.parametrize("kind", ["snapshot", "history"])
def test_as_if_the_stream_had_gone_on(
    kind: str, state: str, stream_of: Callable[..., Any], spark: SparkSession
) -> None:
    """c has rows in the history alone, and its window is emitted nevertheless."""
    options: dict[str, Any] = {"order": "n", "buckets": 3, "state": state}
    batches = [rows_of(batch) for batch in STREAM]
    whole = stream_of(SCHEMA, [rows_of(HISTORY), *batches])
    from_start = told(whole.run(lambda df: sash_spark.aggregate(df, QUERY, **options)))
    op = sash.Operator(QUERY, own_watermark="key")
    past = [result for row in rows_of(HISTORY) for result in op.process(dict(zip(("k", "ts", "n"), row, strict=True)))]

    options["initial"] = local_snapshot() if kind == "snapshot" else spark.createDataFrame(rows_of(HISTORY), SCHEMA)
    stream = stream_of(SCHEMA, batches)
    found = told(stream.run(lambda df: sash_spark.aggregate(df, QUERY, **options)))
    assert len(from_start) == len(found) + len(past)
    assert set(found) <= set(from_start)
    assert any("'c'" in row for row in found)

    stream.add(rows_of([("a", 95, 1), ("c", 91, 7), ("c", 92, 7), ("c", 120, 8), ("a", 121, 9)]))
    again = stream.run(lambda df: sash_spark.aggregate(df, QUERY, **options))
    assert ("c", 114) in [(row.k, row.sum) for row in again]  # of three rows, the first one of the history


def test_what_cannot_be_a_start(stream_of: Callable[..., Any], spark: SparkSession) -> None:
    source = stream_of(SCHEMA, [[]]).source
    with pytest.raises(TypeError, match=r"must be a snapshot .bytes. or a batch DataFrame; got str"):
        sash_spark.aggregate(source, QUERY, initial="before")
    with pytest.raises(TypeError, match="column 'n' is int in initial= and bigint in the stream"):
        sash_spark.aggregate(source, QUERY, initial=spark.createDataFrame([], "k string, ts timestamp, n int"))
    with pytest.raises(StateError, match="of another query"):
        sash_spark.aggregate(source, QUERY.using(aggregates={"sum": sash.Max("n")}), initial=local_snapshot())
    timed = sash.Query(key="ts", windows=sash.tumbling(2), aggregates={"n": sash.Count()})
    op = sash.Operator(timed)
    op.process({"ts": at(1)})
    with pytest.raises(ValueError, match="keys that are times are not those of a snapshot"):
        sash_spark.aggregate(source, timed, order="n", initial=op.snapshot())
    arrival = sash.Query(windows=sash.tumbling("1s"), aggregates={"n": sash.Count()}, time=sash.arrival_time)
    with pytest.raises(ValueError, match="cannot be used with the time of arrival"):
        sash_spark.aggregate(source, arrival, initial=b"")
    both = QUERY.using(windows={"ten": sash.tumbling("10s"), "n": sash.tumbling(10, on="n")})
    with pytest.raises(ValueError, match="several orders"):
        sash_spark.aggregate(source, both, initial=spark.createDataFrame([], SCHEMA))
    assert "a stream" in sash_spark.explain(source, QUERY, initial="nothing runs")
