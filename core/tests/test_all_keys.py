"""``sash.Operator`` over the streams of all keys: against a brute-force evaluator a key, row by row and in batches.

By the operator's own watermark, the newest time of any key moves it for all:

    key a   1 . . 4 . . . . 9          tumbling(3), watermark_delay 0
    key b   . 2 . . . . . . .
    emitted       |a[0,3)   |a[3,6)
                  |b[0,3)     b is silent, and answered all the same
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.state.snapshot_format import StateError
from sash.testing import Evaluator
from strategies import DISORDER, IN_ORDER, advances, arrival_queries, corrected_queries, cuts, queries, rows

Event = tuple[Any, ...]
Row = dict[str, Any]
pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
KEYS = ["a", None, "c", float("nan")]


@dataclass
class Stream:
    query: sash.Query
    events: list[Event]
    ways: list[str]
    own: Any
    cuts: list[int]


@st.composite
def streams(draw: st.DrawFn, query: Any) -> Stream:
    asked = draw(query).using(key="key")
    stream = draw(rows(draw(st.sampled_from([IN_ORDER, DISORDER, DISORDER])), 40))
    events: list[Event] = [("row", row) for row in stream]
    if asked.time is not None and draw(st.booleans()):
        events = draw(advances(stream))
    events = [
        ("row", event[1] | {"key": draw(st.sampled_from(KEYS))}) if event[0] == "row" else event for event in events
    ]
    if draw(st.booleans()):
        events.append(("close",))
    own = draw(st.sampled_from([True, True, "key", False]))
    ways = draw(st.lists(st.sampled_from(["rows", "batch"]), min_size=1, max_size=4))
    return Stream(asked, events, ways, own, draw(cuts(events)))


class Oracle:
    """One evaluator a key; by the watermark of the stream, all are advanced after each row."""

    def __init__(self, stream: Stream) -> None:
        self._query, self._own = stream.query, stream.own
        self._own_watermark = stream.own == "key"
        self._evaluators: dict[Any, Evaluator] = {}
        self._watermarks: dict[str, Any] = {}
        self._advances: list[Event] = []
        self.results: dict[Any, list[Row]] = {}

    def play(self, events: Sequence[Event]) -> dict[Any, list[Row]]:
        for event in events:
            if event[0] != "row":
                self._all(event)
                continue
            key = named(event[1]["key"])
            if key not in self._evaluators:
                self._evaluators[key] = Evaluator(self._query, self._own_watermark)
                for advance in self._advances:
                    self._on(key, advance)
            self._on(key, event)
            if self._own is True:
                self._move(event[1])
        return {key: results for key, results in self.results.items() if results}

    def _move(self, row: Row) -> None:
        for lane in self._query.lanes:
            if lane.order is not None:
                mark = row[lane.order] - lane.delay
                if lane.order not in self._watermarks or mark > self._watermarks[lane.order]:
                    self._watermarks[lane.order] = mark
        if self._watermarks:
            self._all(("advance", dict(self._watermarks)))

    def _all(self, event: Event) -> None:
        if event[0] == "advance":
            self._advances.append(event)
            if not isinstance(event[1], dict):
                for lane in self._query.lanes:
                    if lane.order is not None:
                        known = self._watermarks.get(lane.order, event[1])
                        self._watermarks[lane.order] = max(known, event[1])
        for key in self._evaluators:
            self._on(key, event)

    def _on(self, key: Any, event: Event) -> None:
        self.results.setdefault(key, []).extend(self._evaluators[key].on(event))


def named(key: Any) -> Any:
    return "NaN" if key != key else key


def play(stream: Stream) -> tuple[dict[Any, list[Row]], int]:
    """What an operator emits, by key; the state is saved and restored at the cuts."""
    op = sash.Operator(stream.query, own_watermark=stream.own)
    results: dict[Any, list[Row]] = {}
    waiting: list[Row] = []

    def note(emitted: Sequence[Row]) -> None:
        for row in emitted:
            results.setdefault(named(row["key"]), []).append({name: row[name] for name in row if name != "key"})

    def flush() -> None:
        if waiting:
            table = op.process_batch({name: [row[name] for row in waiting] for name in waiting[0]})
            note([dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)])
            waiting.clear()

    for number, event in enumerate(stream.events):
        if number in stream.cuts:
            flush()
            op = sash.Operator.restore(stream.query, op.snapshot(trusted=True), own_watermark=stream.own, trusted=True)
        way = stream.ways[number * len(stream.ways) // len(stream.events)]
        if event[0] == "row" and way == "batch":
            waiting.append(event[1])
            continue
        flush()
        match event:
            case "row", row:
                note(op.process(row))
            case "advance", watermark:
                note(op.advance(watermark))
            case _:
                note(op.close())
    flush()
    return results, op.metrics["late_dropped"]


@settings(deadline=None)
@given(stream=streams(corrected_queries()))
def test_late_rows_of_all_keys(stream: Stream) -> None:
    assert play(stream)[0] == Oracle(stream).play(stream.events)


def by_order(query: sash.Query, results: dict[Any, list[Row]]) -> dict[Any, dict[Any, list[Row]]]:
    orders = {name: lane.order for lane in query.lanes for name in lane.names}
    grouped: dict[Any, dict[Any, list[Row]]] = {}
    for key, emitted in results.items():
        for row in emitted:
            grouped.setdefault(key, {}).setdefault(orders[row.get("window")], []).append(row)
    return grouped


@settings(deadline=None)
@given(stream=streams(queries()))
def test_all_windows_of_all_keys(stream: Stream) -> None:
    expected = Oracle(stream).play(stream.events)
    results, _ = play(stream)
    assert by_order(stream.query, results) == by_order(stream.query, expected)


@settings(deadline=None, max_examples=40)
@given(stream=streams(arrival_queries()))
def test_in_the_order_of_arrival(stream: Stream) -> None:
    results, dropped = play(stream)
    assert results == Oracle(stream).play(stream.events)
    assert dropped == 0


QUERY = sash.Query(key="plug", windows=sash.tumbling(3, on="ts"), aggregates={"total": sash.Sum("load")}, time="ts")


def row(plug: Any, ts: int, load: int = 1) -> Row:
    return {"plug": plug, "ts": ts, "load": load}


class TestWatermark:
    def test_keys_are_kept_apart(self) -> None:
        op = sash.Operator(sash.Query(key="plug", windows=sash.tumbling(2), aggregates={"total": sash.Sum("load")}))
        assert op.process({"plug": "a", "load": 5}) == []
        assert op.process({"plug": "b", "load": 100}) == []
        assert op.process({"plug": "a", "load": 5}) == [{"plug": "a", "window_start": 0, "window_end": 2, "total": 10}]

    def test_a_silent_key_is_answered_when_another_goes_on(self) -> None:
        op = sash.Operator(QUERY)
        assert op.process(row("a", 1)) + op.process(row("b", 2, 7)) == []
        assert op.process(row("a", 4)) == [
            {"plug": "a", "window_start": 0, "window_end": 3, "total": 1},
            {"plug": "b", "window_start": 0, "window_end": 3, "total": 7},
        ]

    def test_a_watermark_a_key_leaves_it_open(self) -> None:
        op = sash.Operator(QUERY, own_watermark="key")
        assert op.process(row("a", 1)) + op.process(row("b", 2, 7)) == []
        assert [result["plug"] for result in op.process(row("a", 4))] == ["a"]
        assert [result["plug"] for result in op.process(row("b", 0))] == []
        assert [result["plug"] for result in op.close()] == ["a", "b"]

    def test_a_tuple_behind_the_watermark_of_another_key_is_late(self) -> None:
        for way in ("rows", "batch"):
            op = sash.Operator(QUERY)
            if way == "rows":
                op.process(row("a", 10))
                assert op.process(row("b", 5)) == []
                assert list(op.dropped) == [0]
            else:
                op.process_batch({"plug": ["a", "b"], "ts": [10, 5], "load": [1, 1]})
                assert list(op.dropped) == [1]
            assert op.metrics["late_dropped"] == 1

    @pytest.mark.parametrize("way", ["rows", "batch", "restored"])
    def test_a_watermark_that_completes_nothing_is_kept(self, way: str) -> None:
        op = sash.Operator(QUERY.using(windows=sash.tumbling(100, on="ts")))
        assert op.process(row("a", 5)) + op.advance(50) == []
        if way == "restored":
            op = sash.Operator.restore(op.query, op.snapshot())
        if way == "rows":
            op.process(row("a", 20))
        else:
            op.process_batch({"plug": ["a"], "ts": [20], "load": [1]})
        assert (list(op.dropped), op.metrics["late_dropped"]) == ([0], 1)

    def test_rows_ask_only_the_keys_whose_windows_end(self) -> None:
        """2,000 keys, one of which goes on: a row does not ask them all."""
        op = sash.Operator(QUERY.using(windows=sash.tumbling(1_000_000, on="ts")))
        for number in range(2_000):
            op.process(row(number, 1))
        asked = []
        for lane in op._driver.lanes[0].rows().lanes:
            lane.move = lambda *call, own=lane.move: asked.append(call) or own(*call)  # type: ignore[func-returns-value, method-assign]
        for ts in range(2, 102):
            op.process(row(7, ts))
        assert len(asked) <= 300

    def test_a_key_that_cannot_be_hashed_is_named(self) -> None:
        op = sash.Operator(QUERY)
        op.process(row("a", 1))
        with pytest.raises(TypeError, match=r"column 'plug', row 1: \['b'\] cannot be a key"):
            op.process(row(["b"], 2))
        assert op.keys == 1
        assert op.process(row("b", 2)) == []


def test_a_state_of_one_key_is_refused_for_all_keys() -> None:
    from sash.runtime.operator import KeyOperator

    saved = KeyOperator(QUERY).snapshot()
    with pytest.raises(StateError):
        sash.Operator.restore(QUERY, saved)


@pytest.mark.parametrize("own", ["stream", "keys", None, 1, ["km"]])
def test_an_unknown_owner_of_the_watermark_is_refused(own: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"own_watermark must be True, False, 'key' or columns"):
        sash.Operator(QUERY, own_watermark=own)


@pytest.mark.parametrize("rows_first", [True, False])
@pytest.mark.parametrize(
    ("moments", "moment"),
    [
        (pd.to_datetime(["2024-03-01 12:00"], utc=True), datetime(2024, 3, 1, 12, tzinfo=UTC)),
        (pd.to_datetime(["2024-03-01 12:00"]), datetime(2024, 3, 1, 12)),
        (pd.to_timedelta(["90s"]), timedelta(seconds=90)),
    ],
    ids=["zone", "no zone", "duration"],
)
def test_a_time_is_the_same_key_in_rows_and_in_batches(moments: Any, moment: Any, rows_first: bool) -> None:
    op = sash.Operator(sash.Query(key="k", windows=sash.tumbling(2), aggregates={"n": sash.Count()}))
    if rows_first:
        assert op.process({"k": moment}) == []
        table = op.process_batch(pd.DataFrame({"k": moments}))
        assert table["k"].tolist() == [moments[0]] and table["k"].dtype == pd.DataFrame({"k": moments})["k"].dtype
    else:
        assert op.process_batch(pd.DataFrame({"k": moments})).empty
        assert op.process({"k": moment}) == [{"k": moment, "window_start": 0, "window_end": 2, "n": 2}]
    assert op.keys == 1
