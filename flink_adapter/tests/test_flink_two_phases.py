"""A batch job in two phases gives what :func:`sash.run` gives, and rejects the same rows."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

import sash

if TYPE_CHECKING:
    from pyflink.datastream import DataStream, StreamExecutionEnvironment

NAMES = ["plug", "t", "load", "ok"]
AGGREGATES: dict[str, sash.Aggregation] = {
    "n": sash.Count(),
    "peak": sash.Max("load"),
    "sum": sash.Sum("load", where="ok"),
    "middle": sash.Median("load"),
}
WINDOWS = {"sliding": sash.sliding(20, 5, on="t"), "gap": sash.session(3, on="t")}


def records(rows: int = 300) -> list[tuple[Any, ...]]:
    chance = random.Random(3)
    return [
        (
            "big" if chance.random() < 0.9 else chance.choice(["small", "other"]),
            chance.randrange(200),
            chance.choice([None, *(eighth / 8 for eighth in range(40))]),
            chance.random() < 0.5,
        )
        for _ in range(rows)
    ]


def stream_of(env: StreamExecutionEnvironment, rows: list[tuple[Any, ...]]) -> DataStream:
    from pyflink.common import Types
    from pyflink.datastream import RuntimeExecutionMode

    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    kinds = [Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.BOOLEAN()]
    return env.from_collection(rows, Types.ROW_NAMED(NAMES, kinds))


@pytest.mark.parametrize(("key", "salted"), [("plug", 2), (None, None)])
def test_as_in_one_process(flink: StreamExecutionEnvironment, key: Any, salted: Any) -> None:
    """A record without a time is rejected by the task that has it, the others of its batch are not."""
    import sash_flink
    from sash_flink.results import Collected, pack_for_client

    rows = records()
    stream = stream_of(flink, [*rows[:100], ("big", None, 1.0, True), *rows[100:]])
    computed = {name: AGGREGATES[name] for name in AGGREGATES if name != "middle" or salted}  # it grows: only if asked
    query = sash.Query(key=key, windows=WINDOWS, aggregates=computed, time="t", allowed_lateness=5)
    results = sash_flink.aggregate(stream, query, salted=salted)
    found = {}
    for name, side in {"results": results, "rejected": results.get_side_output(sash_flink.REJECTED)}.items():
        j_stream, schema = pack_for_client(side)
        found[name] = Collected(j_stream.collectAsync(), schema)
    plan = flink.get_execution_plan()
    flink.execute_async("two phases")
    assert "sash: slices" in plan
    expected = sash.run(query, [dict(zip(NAMES, row, strict=True)) for row in rows])
    assert sorted(repr(tuple(row)) for row in found["results"]) == sorted(repr(tuple(row.values())) for row in expected)
    (row,) = found["rejected"]
    assert "'t'" in row["reason"]


def test_what_cannot_be_reduced_first(flink: StreamExecutionEnvironment) -> None:
    import sash_flink

    query = sash.Query(key="plug", windows=sash.tumbling(5, on="t"), aggregates={"n": sash.Count()}, time="t")
    rows = records(3)
    batch = stream_of(flink, rows)
    with pytest.raises(ValueError, match=r"salted= cannot be used here: Last.* is not commutative"):
        sash_flink.aggregate(batch, query.using(aggregates={"last": sash.Last("load")}), salted=True)
    with pytest.raises(ValueError, match="is for packed records, with windows in one order"):
        sash_flink.aggregate(batch, query, salted=True, packed=False)
    from pyflink.datastream import RuntimeExecutionMode

    flink.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    for changes, options, said in (
        ({"windows": sash.session(5, on="t")}, {}, "depend on tuples of all tasks"),
        ({"allowed_lateness": 5}, {}, "which results a late row corrects only the task knows"),
        ({}, {"ttl": "1h"}, "goes with neither ttl= nor changelog="),
        ({}, {"packed": False}, "is for packed records"),
    ):
        with pytest.raises(ValueError, match=said):
            sash_flink.aggregate(batch, query.using(**changes), salted=2, **options)


def test_a_stream_as_in_one_process(flink: StreamExecutionEnvironment) -> None:
    """Rows of one key come out of order by less than the watermark waits; a row without a time is rejected."""
    from pyflink.common import Types
    from pyflink.datastream import RuntimeExecutionMode

    import sash_flink
    from sash_flink.results import Collected, pack_for_client

    kinds = [Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.BOOLEAN()]
    rows = sorted(records(), key=lambda row: row[1] - row[1] % 7)
    flink.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    taken = [*rows[:100], ("big", None, 1.0, True), *rows[100:]]
    stream = flink.from_collection(taken, Types.ROW_NAMED(NAMES, kinds))
    windows = {"sliding": sash.sliding(20, 5, on="t"), "steps": sash.cumulative(12, 4, on="t")}
    query = sash.Query(key="plug", windows=windows, aggregates=AGGREGATES, time="t", watermark_delay=7)
    results = sash_flink.aggregate(sash_flink.with_watermarks(stream, query, every_record=True), query, salted=2)
    found = {}
    for name, side in {"results": results, "rejected": results.get_side_output(sash_flink.REJECTED)}.items():
        j_stream, schema = pack_for_client(side)
        found[name] = Collected(j_stream.collectAsync(), schema)
    flink.execute_async("a stream in two phases")
    expected = sash.run(query, [dict(zip(NAMES, row, strict=True)) for row in rows])
    assert sorted(repr(tuple(row)) for row in found["results"]) == sorted(repr(tuple(row.values())) for row in expected)
    (row,) = found["rejected"]
    assert "'t'" in row["reason"]
