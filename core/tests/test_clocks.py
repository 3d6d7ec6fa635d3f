"""Time that passes by a clock: idle streams and times of arrival. Tests set the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import sash

BEGIN = datetime(2024, 3, 31, 0, 59, tzinfo=UTC)


class Hand:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def query(**options: Any) -> sash.Query:
    windows = {"time": sash.tumbling("10s"), "session": sash.session("5s")}
    usual: dict[str, Any] = {"windows": windows, "aggregates": {"n": sash.Count()}, "time": "ts"}
    return sash.Query(**(usual | options))


def ends(rows: list[Any]) -> list[float]:
    return [(row["window_end"] - BEGIN).total_seconds() for row in rows]


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("by_batch", [False, True])
def test_an_idle_stream_moves_on_with_the_clock(key: Any, by_batch: bool) -> None:
    """It stands at 8 s when the stream falls silent, and 32 s after that at 10."""
    clock = Hand()
    op = sash.Operator(query(key=key, watermark_delay="1s"), idle_after="30s", clock=clock)
    rows = [{"k": k, "ts": BEGIN + timedelta(seconds=second)} for k, second in (("a", 9), ("b", 8.5))]
    if by_batch:
        op.process_batch(rows)
    else:
        assert [result for row in rows for result in op.process(row)] == []
    clock.move(100)
    assert op.tick() == []
    both, alone = ([10, 10], [13.5]) if key else ([10], [])
    for seconds, expected in [(30, []), (1.5, []), (0.5, both), (3.5, alone), (0.5, [14]), (1000, [])]:
        clock.move(seconds)
        assert ends(op.tick()) == expected
    assert op.process({"k": "a", "ts": BEGIN + timedelta(seconds=13)}) == []
    assert op.metrics["late_dropped"] == 1
    assert op.tick() == [] == op.close()


def test_a_tuple_or_a_watermark_ends_idleness() -> None:
    clock = Hand()
    op = sash.Operator(query(windows=sash.tumbling("10s")), idle_after="30s", clock=clock)
    op.process({"ts": BEGIN})
    op.tick()
    clock.move(39)
    op.process({"ts": BEGIN + timedelta(seconds=5)})
    assert op.tick() == []
    clock.move(34)
    assert op.tick() == []
    clock.move(1)
    assert ends(op.tick()) == [10]
    op.process({"ts": BEGIN + timedelta(seconds=25)})
    assert op.advance(BEGIN + timedelta(seconds=29)) == [] == op.tick()
    clock.move(30)
    assert op.tick() == []
    clock.move(1)
    assert ends(op.tick()) == [30]


def test_nothing_moves_before_the_first_tuple_nor_back() -> None:
    clock = Hand()
    op = sash.Operator(query(), idle_after="1s", clock=clock)
    for seconds in (0, 100, -50, 10):
        clock.move(seconds)
        assert op.tick() == []
    op.process({"ts": BEGIN})
    assert op.tick() == []
    clock.move(-100)
    assert op.tick() == []
    assert op.metrics["results_out"] == 0


def test_numbers_of_a_unit_and_windows_that_come_and_go() -> None:
    clock = Hand()
    asked = query(windows={"a": sash.tumbling("10s")}, time_unit="ms")
    op = sash.Operator(asked, idle_after="5s", clock=clock)
    op.process({"ts": 3000})
    op.tick()
    op.add_window("b", sash.tumbling("2s"))
    op.tick()
    clock.move(12)
    assert [row["window_end"] for row in op.tick()] == [10000]
    restored = sash.Operator.restore(op.query, op.snapshot(), idle_after="5s", clock=clock)
    restored.process({"ts": 12000})
    restored.tick()
    clock.move(8)
    assert [(row["window"], row["window_end"]) for row in restored.tick()] == [("b", 14000)]


@pytest.mark.parametrize(
    ("asked", "options", "error"),
    [
        (query(), {"own_watermark": "key", "idle_after": "1s"}, "for the watermark of the whole stream"),
        (query(windows=sash.sliding(3)), {"idle_after": "1s"}, "times that pass as a clock does"),
        (query(windows=sash.tumbling(3, on="km"), time=None), {"idle_after": "1s"}, "times that pass as a clock does"),
        (query(), {"idle_after": "soon"}, "idle_after: 'soon' is not a duration"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: sash.Query, options: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        sash.Operator(asked, **options)


def test_a_tick_without_a_clock_is_refused() -> None:
    with pytest.raises(ValueError, match="give the operator idle_after="):
        sash.Operator(query()).tick()


# times of arrival


def test_tuples_have_the_time_of_their_arrival() -> None:
    clock = Hand()
    op = sash.Operator(query(time=sash.arrival_time, windows=sash.tumbling("10s")), clock=clock)
    assert op.tick() == []
    for seconds in (1, 5, 3):
        clock.move(seconds)
        assert op.process({"x": 1}) == []
    assert op.tick() == []
    clock.move(1)
    assert op.tick() == [{"window_start": BEGIN, "window_end": BEGIN + timedelta(seconds=10), "n": 3}]
    op.process({"x": 1})
    clock.move(-60)
    op.process({"x": 1})
    restored = sash.Operator.restore(op.query, op.snapshot(), clock=clock)
    restored.process({"x": 1})
    clock.move(71)
    assert [(*ends([row]), row["n"]) for row in restored.tick()] == [(20, 3)]
    assert restored.metrics["late_dropped"] == 0


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table, dict, lambda data: [{"x": 1}, {"x": 2}]])
def test_all_rows_of_a_table_arrive_at_once(table: Any) -> None:
    clock = Hand()
    op = sash.Operator(query(time=sash.arrival_time, windows=sash.tumbling("10s")), clock=clock)
    data = {"x": [1, 2]}
    assert len(op.process_batch(table(data))) in (0, 3)  # columns of a dict
    op.process({"x": 3})
    clock.move(10)
    assert [row["n"] for row in op.process_batch([{"x": 1}])] == [3]
    assert data == {"x": [1, 2]}


def test_tables_have_no_times_of_arrival() -> None:
    with pytest.raises(ValueError, match="no time of arrival"):
        sash.run(query(time=sash.arrival_time), {"x": [1]})
