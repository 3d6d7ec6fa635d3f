"""The columnar engine against the brute-force evaluator: all windows, many keys, batches cut anywhere."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.engine.columns.engine import ColumnEngine
from sash.engine.decisions import unsupported
from sash.engine.planner import plan
from sash.engine.results import Outcome
from sash.engine.rows.lane import RowLane
from sash.state.key_states import KeyState, gather, scatter
from sash.testing import Evaluator, Failing
from sash.windows import Window
from strategies import (
    DISORDER,
    HALVES,
    HALVES_IN_DISORDER,
    HALVES_IN_ORDER,
    IN_ORDER,
    TENTHS,
    TENTHS_IN_DISORDER,
    TENTHS_IN_ORDER,
    WHOLE,
    Changes,
    Growing,
    GrowingCounts,
    Pace,
    advances,
    aggregates,
    changing,
    corrected_queries,
    count_windows,
    cumulatives,
    cuts,
    is_zero,
    lasts,
    queries,
    rows,
    sessions,
    time_windows,
)

Event = tuple[Any, ...]
masked_array: Any = np.ma.MaskedArray
pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")


def windows(numbers: st.SearchStrategy[Any] = WHOLE) -> st.SearchStrategy[Window]:
    punctuated = st.sampled_from([sash.punctuated("mark"), sash.punctuated(is_zero, "x")])
    users = st.sampled_from([Growing("ts"), GrowingCounts()])
    return st.one_of(time_windows(numbers), count_windows(), sessions(numbers), punctuated, lasts(numbers), users)


ARRIVAL = st.one_of(
    count_windows(), count_windows(), st.sampled_from([sash.punctuated("mark"), Growing(), GrowingCounts()])
)


@dataclass
class Stream:
    """A query, what happens to it, by key, and where it is cut."""

    query: sash.Query
    events: list[Event]
    cuts: list[int]
    own: bool

    def __repr__(self) -> str:
        shown = "\n".join(f"    {event!r}," for event in self.events)
        return f"Stream(\n  {self.query!r},\n  [\n{shown}\n  ],\n  cuts={self.cuts}, own={self.own})"


@st.composite
def streams(
    draw: st.DrawFn,
    query: st.SearchStrategy[sash.Query],
    paces: Sequence[Pace] = (IN_ORDER, DISORDER, DISORDER),
    most_keys: int = 3,
    changes: Any = None,
) -> Stream:
    asked = draw(query)
    stream = draw(rows(draw(st.sampled_from(paces)), 50))
    own = asked.time is None or draw(st.integers(0, 3)) > 0
    events: list[Event] = draw(advances(stream)) if asked.time is not None else [("row", row) for row in stream]
    keys = draw(st.integers(1, most_keys))
    if keys > 1:
        events = [_keyed(event, draw(st.integers(0, keys - 1))) for event in events]
    if changes is not None:
        events = draw(changing(asked, events, changes))
    if draw(st.booleans()):
        events.append(("close",))
    return Stream(asked, events, draw(cuts(events)), own)


def _keyed(event: Event, key: int) -> Event:
    return ("row", event[1] | {"key": key}) if event[0] == "row" else event


def column(values: Sequence[Any]) -> Any:
    """Numbers as an array, masked where they are null; else objects."""
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int, bool}:
        filled = np.array([0 if value is None else value for value in values])
        nulls = np.array([value is None for value in values])
        return masked_array(filled, nulls) if nulls.any() else filled
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects


class Player:
    """Plays events into a lane of columns, batch by batch; results by key."""

    def __init__(self, stream: Stream) -> None:
        self.query, self.own = stream.query, stream.own
        (lane,) = stream.query.lanes
        self.lane = ColumnEngine(stream.query, lane, "key" if stream.own else None, keys=1)
        self.results: dict[int, list[dict[str, Any]]] = {}

    def play(self, events: Sequence[Event]) -> None:
        batch: list[Mapping[str, Any]] = []
        for event in events:
            if event[0] == "row":
                batch.append(event[1])
                continue
            self._process(batch)
            batch = []
            if event[0] == "advance":
                self._take(self.lane.advance(event[1]))
            elif event[0] == "close":
                self._take(self.lane.advance(math.inf))
            else:
                self._change(event)
        self._process(batch)

    def _process(self, batch: Sequence[Mapping[str, Any]]) -> None:
        if batch:
            order = self.lane.lane.order
            columns = {name: column([row[name] for row in batch]) for name in ("x", "s", "mark")}
            codes = np.array([row.get("key", 0) for row in batch])
            times = None if order is None else np.array([row[order] for row in batch])
            single = self.lane.keys == 1 and not codes.any()
            self._take(self.lane.take(None if single else codes, times, columns, len(batch)))

    def _take(self, results: Outcome) -> None:
        for code, row in zip(results.codes.tolist(), rows_of(results, self.query, self.lane), strict=True):
            self.results.setdefault(code, []).append(row)

    def _change(self, event: Event) -> None:
        """As an operator does it: the neutral state is changed."""
        state = self.lane.save()
        named = {name: window for name, window in self.query.named.items() if event[0] == "add" or name != event[1]}
        if event[0] == "add":
            named[event[1]] = event[2]
        self.query = self.query.using(windows=named)
        (lane,) = self.query.lanes
        state.fit(lane.names, self.query.values)
        self.lane = ColumnEngine(self.query, lane, "key" if self.own else None, keys=1)
        self.lane.load(state)

    def reload(self) -> None:
        lane = ColumnEngine(self.query, self.lane.lane, "key" if self.own else None, keys=1)
        lane.load(self.lane.save())
        self.lane = lane


def key_states(lane: ColumnEngine) -> list[KeyState]:
    return scatter(lane.save(), list(lane.query.aggregates.values()), lane.query.values)


def rows_of(results: Outcome, query: sash.Query, lane: ColumnEngine) -> Iterator[dict[str, Any]]:
    columns = [_listed(query.aggregates[name], values) for name, values in results.aggregates.items()]
    for i in range(len(results)):
        row = {"window": lane.lane.names[int(results.window[i])]} if isinstance(query.windows, Mapping) else {}
        row |= {"window_start": results.start[i].item(), "window_end": results.end[i].item()}
        row |= {"revision": results.revision[i].item()} if lane.lane.lateness else {}
        yield row | {name: values[i] for name, values in zip(results.aggregates, columns, strict=True)}


def _listed(aggregation: sash.Aggregation, values: Any) -> list[Any]:
    if aggregation.fields:
        return list(zip(*(part.tolist() for part in values), strict=True))
    return list(values.tolist())


def expected(stream: Stream) -> tuple[dict[int, list[dict[str, Any]]], int, int]:
    """Results by key, and how many rows were dropped, and late but not dropped."""
    results, dropped, corrected = {}, 0, 0
    for key in {event[1].get("key", 0) for event in stream.events if event[0] == "row"} | {0}:
        evaluator = Evaluator(stream.query, own_watermark=bool(stream.own))
        own = [event for event in stream.events if event[0] != "row" or event[1].get("key", 0) == key]
        found = [result for event in own for result in evaluator.on(event)]
        dropped += evaluator.late_dropped
        corrected += evaluator.late_corrected
        if found:
            results[key] = found
    return results, dropped, corrected


def check(stream: Stream, reload: bool = False) -> None:
    player = Player(stream)
    for begin, end in zip([0, *stream.cuts], [*stream.cuts, len(stream.events)], strict=True):
        player.play(stream.events[begin:end])
        if reload:
            player.reload()
    results, dropped, corrected = expected(stream)
    assert player.results == results
    assert player.lane.metrics()["late_dropped"] == dropped
    assert player.lane.metrics()["late_corrected"] == corrected
    assert player.lane.metrics()["results_out"] == sum(map(len, results.values()))


def asked(of: st.SearchStrategy[Window] | None = None, computed: Any = None) -> st.SearchStrategy[sash.Query]:
    return queries(windows() if of is None else of, latenesses=(None,), computed=computed)


def by_arrival(window: Window, computed: dict[str, sash.Aggregation]) -> sash.Query:
    return sash.Query(windows={"a": window, "b": sash.tumbling(3)}, aggregates=computed)


class TestAgainstTheEvaluator:
    @settings(max_examples=200, deadline=None)
    @given(streams(asked()))
    def test_all_windows(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=200, deadline=None)
    @given(streams(asked(time_windows()), most_keys=2))
    def test_windows_on_time(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=80, deadline=None)
    @given(streams(asked(st.one_of(sessions(), time_windows())), paces=[DISORDER]))
    def test_sessions(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=80, deadline=None)
    @given(streams(asked(lasts())))
    def test_last(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=80, deadline=None)
    @given(streams(asked(st.sampled_from([sash.punctuated("mark"), sash.punctuated(is_zero, "x")]))))
    def test_punctuated(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=80, deadline=None)
    @given(streams(st.builds(by_arrival, ARRIVAL, aggregates())))
    def test_in_the_order_of_arrival(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=80, deadline=None)
    @given(streams(queries(windows(HALVES), (None, 1.5, 5), (None,)), [HALVES_IN_ORDER, HALVES_IN_DISORDER]))
    def test_times_that_are_floats(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=80, deadline=None)
    @given(streams(queries(windows(TENTHS), (None, 0.3, 1), (None,)), [TENTHS_IN_ORDER, TENTHS_IN_DISORDER]))
    def test_times_that_are_not_exact(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=80, deadline=None)
    @given(streams(queries(windows(), (None, 3), (None,)), [HALVES_IN_ORDER, HALVES_IN_DISORDER]))
    def test_whole_windows_over_floats(self, stream: Stream) -> None:
        check(stream)


class TestCorrections:
    """Late rows in batches: each result and each revision of it, in order."""

    @settings(max_examples=400, deadline=None)
    @given(streams(corrected_queries(), paces=[DISORDER]))
    def test_late_rows(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=150, deadline=None)
    @given(streams(corrected_queries(), paces=[DISORDER]))
    def test_saved_and_loaded_between_batches(self, stream: Stream) -> None:
        check(stream, reload=True)

    @settings(max_examples=100, deadline=None)
    @given(streams(corrected_queries(HALVES, (1.5, 6), (None, 1.5)), [HALVES_IN_DISORDER]))
    def test_times_that_are_floats(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=100, deadline=None)
    @given(streams(corrected_queries(TENTHS, (0.3, 1.1), (None, 0.3)), [TENTHS_IN_DISORDER]))
    def test_times_that_are_not_exact(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=60, deadline=None)
    @given(streams(corrected_queries(latenesses=(2.5,)), paces=[DISORDER]))
    def test_whole_times_and_a_lateness_that_is_not(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=150, deadline=None)
    @given(streams(corrected_queries(), paces=[DISORDER], changes=st.one_of(time_windows(), cumulatives())))
    def test_windows_come_and_go(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=150, deadline=None)
    @given(streams(corrected_queries(), paces=[DISORDER], most_keys=1), st.randoms(use_true_random=False))
    def test_rows_and_columns_take_turns(self, stream: Stream, random: Any) -> None:
        take_turns(stream, random)


class TestState:
    @settings(max_examples=80, deadline=None)
    @given(streams(asked()))
    def test_dump_and_load_at_any_point(self, stream: Stream) -> None:
        check(stream, reload=True)

    @settings(max_examples=80, deadline=None)
    @given(streams(asked(), changes=windows()))
    def test_windows_come_and_go(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=80, deadline=None)
    @given(streams(asked(), most_keys=1), st.randoms(use_true_random=False))
    def test_rows_and_columns_take_turns(self, stream: Stream, random: Any) -> None:
        take_turns(stream, random)


def take_turns(stream: Stream, random: Any) -> None:
    """Parts of a stream row by row, others as batches, by the engine that has been handed the state."""
    player = Player(stream)
    planned = plan(stream.query, stream.own).lanes[0]
    for begin, end in zip([0, *stream.cuts], [*stream.cuts, len(stream.events)], strict=True):
        if random.random() < 0.5:
            player.play(stream.events[begin:end])
            continue
        rows = RowLane(stream.query, planned.lane, planned.decisions, planned.store, stream.own)
        rows.load(key_states(player.lane)[0])
        for event in stream.events[begin:end]:
            player.results.setdefault(0, []).extend(_row_by_row(rows, event, stream.query))
        names, buffered = planned.lane.names, planned.decisions.buffered
        player.lane.load(
            gather([rows.dump()], len(stream.query.aggregates), stream.query.values, names, buffered=buffered)
        )
    results, dropped, corrected = expected(stream)
    assert {key: found for key, found in player.results.items() if found} == results
    metrics = player.lane.metrics()
    assert (metrics["late_dropped"], metrics["late_corrected"]) == (dropped, corrected)


def _row_by_row(rows: RowLane, event: Event, query: sash.Query) -> Iterator[dict[str, Any]]:
    rows.mark()
    if event[0] == "row":
        found = rows.take(0, event[1]["ts"], tuple(event[1][name] for name in query.values))
    else:
        found = rows.move(0, event[1] if event[0] == "advance" else math.inf)
    for result in found or []:
        row: dict[str, Any] = {"window": rows.lane.names[result.window]} if isinstance(query.windows, Mapping) else {}
        row |= {"window_start": result.start, "window_end": result.end}
        row |= {"revision": result.revision} if rows.lane.lateness else {}
        yield row | dict(zip(query.aggregates, result.aggregates, strict=True))


def lane_of(window: Any, computed: Any = None, keys: int = 1, own: bool = True, **options: Any) -> ColumnEngine:
    query = sash.Query(windows=window, aggregates=computed or {"m": sash.Max("x")}, **options)
    return ColumnEngine(query, query.lanes[0], "key" if own else None, keys=keys)


def seen(lane: ColumnEngine) -> Any:
    """All that can be seen of a lane."""
    return key_states(lane), lane.metrics()


class TestFailures:
    def test_a_batch_that_fails_has_not_been(self) -> None:
        failing = Failing(sash.Sum("x"))
        lane = lane_of(sash.sliding(4, 2, on="ts"), {"m": failing, "n": sash.Collect("x")}, time="ts")
        times, x = np.array([0, 1, 3, 5, 6]), np.array([1, 2, 3, 4, 5])
        lane.take(None, times, {"x": x})
        before = repr(seen(lane))
        for merges in itertools.count(1):
            failing.fuse = merges
            try:
                found = lane.take(None, times + 7, {"x": x})
                break
            except ArithmeticError:
                assert repr(seen(lane)) == before
        assert merges > 5 and found.end.tolist() == [8, 10, 12]

    def test_an_overflow(self) -> None:
        lane = lane_of(sash.sliding(2), {"m": sash.Sum("x")})
        large = np.array([2**62, 2**62 - 1])
        assert lane.take(None, None, {"x": large}).aggregates["m"].tolist() == [2**63 - 1]
        before = repr(seen(lane))
        with pytest.raises(OverflowError):
            lane.take(None, None, {"x": large + 1})
        assert repr(seen(lane)) == before
        assert lane.take(None, None, {"x": -large}).aggregates["m"].tolist() == [-1, 1 - 2**63]

    def test_a_value_of_a_wrong_type_is_refused_when_it_comes(self) -> None:
        lane = lane_of(sash.tumbling(3), {"m": sash.Concat("x")}, time="ts", watermark_delay=10)
        lane.take(None, np.array([1, 2]), {"x": np.array(["a", "b"], object)})
        with pytest.raises(TypeError):
            lane.take(None, np.array([3]), {"x": np.array([b"c"], object)})
        assert lane.take(None, np.array([4]), {"x": np.array(["d"], object)}).codes.tolist() == []
        assert lane.advance(math.inf).aggregates["m"].tolist() == ["a,b,d"]

    def test_a_user_s_function_that_raises(self) -> None:
        lane = lane_of(sash.punctuated(lambda x: 1 // x, "x"), time="ts")
        lane.take(None, np.array([1, 2]), {"x": np.array([1, 2])})
        before = repr(seen(lane))
        with pytest.raises(ZeroDivisionError):
            lane.take(None, np.array([3, 4]), {"x": np.array([1, 0])})
        assert repr(seen(lane)) == before

    def test_a_warning_made_an_error(self) -> None:
        lane = lane_of(sash.tumbling(2), {"m": sash.Collect("x")})
        before = repr(seen(lane))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(sash.PerformanceWarning):
                lane.take(None, None, {"x": np.array([1, 2])})
        assert repr(seen(lane)) == before
        assert len(lane.take(None, None, {"x": np.array([1, 2])})) == 1

    def test_times_that_are_too_far_out(self) -> None:
        lane = lane_of(sash.sliding(10, 5, on="ts"), time="ts")
        with pytest.raises(OverflowError, match="column 'ts': 9223372036854775807 is too near"):
            lane.take(None, np.array([0, 2**63 - 1]), {"x": np.zeros(2)})
        assert lane.take(None, np.array([0, 2**63 - 100]), {"x": np.zeros(2)}).end.tolist() == [5, 10]

    def test_lengths_that_differ(self) -> None:
        with pytest.raises(ValueError, match=r"the same length; got \[2, 3\]"):
            lane_of(sash.tumbling(3)).take(None, np.arange(2), {"x": np.zeros(3)})

    def test_rows_of_many_keys_need_codes(self) -> None:
        with pytest.raises(ValueError, match="which of 2 keys"):
            lane_of(sash.tumbling(3), keys=2).take(None, None, {"x": np.zeros(3)})

    def test_what_is_not_supported(self) -> None:
        query = sash.Query(windows=Changes(), aggregates={"m": sash.Max("x")})
        reason = unsupported(query, query.lanes[0])
        assert reason is not None and "observes each tuple" in reason
        with pytest.raises(ValueError, match="observes each tuple"):
            ColumnEngine(query, query.lanes[0])


class TestScale:
    def test_long_gaps_take_no_time(self) -> None:
        windows: dict[str, Window] = {"a": sash.sliding(5, 1, on="ts"), "b": sash.sliding(7, 3, on="ts")}
        windows |= {"s": sash.session(3, on="ts"), "l": sash.last(2, every=1, on="ts", partial=True)}
        times = [-(10**18), -(10**15), 0, 1, 10**15, 10**18]
        events: list[Event] = [("row", {"ts": time, "x": 1, "s": "a", "mark": True}) for time in times]
        for delay in (None, 4):
            query = sash.Query(windows=windows, aggregates={"m": sash.Max("x")}, time="ts", watermark_delay=delay)
            check(Stream(query, [*events, ("close",)], [], own=True))

    def test_long_gaps_of_many_keys(self) -> None:
        lane = lane_of(sash.sliding(5, 1, on="ts"), time="ts", keys=3)
        codes, times = np.array([0, 1, 2, 2, 1, 0]), np.array([0, -5, 7, 10**15, 10**16, 10**17])
        found = lane.take(codes, times, {"x": np.arange(6.0)})
        assert np.bincount(found.codes).tolist() == [5, 5, 5]
        assert np.bincount(lane.advance(math.inf).codes).tolist() == [5, 5, 5]

    def test_a_hundred_thousand_keys_in_one_call(self) -> None:
        keys, each = 100_000, 100
        codes, times = np.tile(np.arange(keys), each), np.repeat(np.arange(each), keys)
        x = np.random.default_rng(1).integers(0, 1000, keys * each)
        lane = lane_of(sash.sliding(20, 5, on="ts"), time="ts", keys=keys)
        found = lane.take(codes, times, {"x": x})
        grid = x.reshape(each, keys)
        assert len(found) == keys * 19
        for k, start in enumerate(range(-15, 80, 5)):
            wanted = grid[max(0, start) : start + 20].max(axis=0)
            assert (found.aggregates["m"][k::19] == wanted).all() and (found.start[k::19] == start).all()

    def test_slices_and_rows_held_stay_few(self) -> None:
        windows: dict[str, Window] = {"t": sash.sliding(40, 10, on="ts"), "s": sash.session(5, on="ts")}
        windows |= {"c": sash.sliding(8, 4), "p": sash.punctuated("x"), "l": sash.last(3, every=10, on="ts")}
        lane = lane_of(windows, time="ts", watermark_delay=6)
        for begin in range(0, 20_000, 7):
            times = np.arange(begin, begin + 7) // 20 * 26 + np.arange(begin, begin + 7) % 20
            lane.take(None, times, {"x": times % 52 == 0})
            assert lane.metrics()["slices_held"] < 40 and lane.metrics()["tuples_held"] < 15

    def test_single_rows_make_no_more_slices_than_a_batch(self) -> None:
        singly, at_once = (lane_of(sash.sliding(100, 10, on="ts"), time="ts") for _ in range(2))
        times, x = np.arange(95), np.arange(95.0)
        at_once.take(None, times, {"x": x})
        for i in range(95):
            singly.take(None, times[i : i + 1], {"x": x[i : i + 1]})
        assert singly.metrics()["slices_held"] == at_once.metrics()["slices_held"] == 10


class TestColumns:
    def test_rows_that_come_too_late_are_told(self) -> None:
        lane = lane_of(sash.tumbling(10), time="ts", watermark_delay=2, keys=2)
        codes, times = np.array([0, 0, 1, 0, 1, 0]), np.array([5, 9, 5, 6, 1, 7])
        lane.take(codes, times, {"x": np.zeros(6)})
        assert lane.dropped.tolist() == [3, 4] and lane.metrics()["late_dropped"] == 2
        lane.take(codes[:1], times[1:2], {"x": np.zeros(1)})
        assert lane.dropped.tolist() == []

    def test_a_key_that_comes_later_has_been_told_of_the_watermark(self) -> None:
        lane = lane_of(sash.tumbling(10), time="ts", watermark_delay=2)
        lane.advance(50)
        lane.take(np.array([3, 3]), np.array([49, 50]), {"x": np.zeros(2)})
        assert lane.dropped.tolist() == [0] and lane.keys == 4

    def test_a_type_that_changes(self) -> None:
        computed = {"max": sash.Max("x"), "sum": sash.Sum("x"), "all": sash.Collect("x")}
        lane = lane_of(sash.sliding(3), computed)
        columns: list[Any] = [
            np.array([1, 2, 3]),
            np.array([0.5, 4]),
            masked_array([9, 1], [True, False]),
            np.array([7], np.int8),
            np.array([1, None], object),
        ]
        found = [lane.take(None, None, {"x": column}) for column in columns]
        values = [value for column in columns for value in column.tolist()]
        spans = [values[i : i + 3] for i in range(len(values) - 2)]
        kept = [[value for value in span if value is not None] for span in spans]
        for name, compute in {"max": max, "sum": sum, "all": list}.items():
            got = [value for each in found for value in each.aggregates[name].tolist()]
            assert got == [compute(span) for span in kept]  # type: ignore[operator]

    def test_a_type_that_changes_while_rows_wait(self) -> None:
        lane = lane_of(sash.tumbling(2), {"m": sash.First("x")}, time="ts", watermark_delay=100)
        lane.take(None, np.array([3, 1]), {"x": np.array([1, 2])})
        lane.take(None, np.array([2, 0]), {"x": np.array([0.5, 1.5])})
        assert lane.advance(math.inf).aggregates["m"].tolist() == [1.5, 0.5]

    def test_arrays_that_cannot_be_written_to_or_change_later(self) -> None:
        lane = lane_of(sash.sliding(3), {"m": sash.Max("x"), "l": sash.Last("x")}, time="ts")
        times, x = np.arange(10)[::2], np.arange(5.0)
        times.flags.writeable = x.flags.writeable = False
        lane.take(None, times, {"x": x})
        times, x = np.array([10, 12]), np.array([5.0, 6.0])
        lane.take(None, times, {"x": x})
        times[:], x[:] = 99, 99
        found = lane.take(None, np.array([14]), {"x": np.array([1.0])})
        assert found.aggregates["m"].tolist() == [6.0] and found.start.tolist() == [5]

    def test_timestamps_are_results(self) -> None:
        lane = lane_of(sash.tumbling(2), {"m": sash.Last("x")})
        days = np.array(["2026-01-01", "2026-01-02"], "datetime64[D]")
        assert lane.take(None, None, {"x": days}).aggregates["m"].tolist() == days[1:].tolist()

    def test_rows_that_nothing_is_read_of(self) -> None:
        lane = lane_of(sash.tumbling(2), {"n": sash.Count()})
        assert lane.take(None, None, {}, size=5).aggregates["n"].tolist() == [2, 2]

    def test_an_empty_batch(self) -> None:
        lane = lane_of(sash.tumbling(2), {"n": sash.Max("x"), "m": sash.M4("x")})
        found = lane.take(None, None, {"x": np.zeros(0)})
        assert len(found) == 0 and len(found.aggregates["m"]) == 4

    def test_one_warning_an_engine(self) -> None:
        lane = lane_of(sash.tumbling(2), {"m": sash.Concat("x"), "n": sash.Max("y")})
        columns = {"x": np.array(["a", "b"]), "y": np.zeros(2)}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            lane.take(None, None, columns)
            lane.take(None, None, columns)
        assert [str(each.message).split(" runs")[0] for each in told] == ["Concat('x', separator=',')"]
        assert told[0].category is sash.PerformanceWarning and told[0].filename == __file__
        assert [form.compiled for form in lane.forms.values()] == [False, True]
        assert "not of numbers" in lane.forms["m"].reason
