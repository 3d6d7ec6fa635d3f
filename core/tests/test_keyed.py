"""The operator of many keys against one brute-force evaluator a key: batches, watermarks, states saved anywhere."""

from __future__ import annotations

import cProfile
import pstats
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.engine.columns import table as column_table
from sash.runtime.operator import KeyedOperator, KeyOperator
from sash.state.snapshot_format import StateError
from sash.testing import Evaluator
from strategies import (
    DISORDER,
    HALVES,
    HALVES_IN_DISORDER,
    IN_ORDER,
    advances,
    arrival_queries,
    corrected_queries,
    count_windows,
    cuts,
    lasts,
    ordered_windows,
    queries,
    rows,
    sessions,
    time_windows,
)

Event = tuple[Any, ...]
Row = dict[str, Any]
pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
KEYS = ["a", None, "c"]


@dataclass
class Stream:
    """A query, what happens to it, and where its state is saved and loaded."""

    query: sash.Query
    events: list[Event]
    cuts: list[int]
    own: bool

    def __repr__(self) -> str:
        shown = "\n".join(f"    {event!r}," for event in self.events)
        return f"Stream(\n  {self.query!r},\n  [\n{shown}\n  ],\n  {self.cuts}, {self.own})"


@st.composite
def streams(draw: st.DrawFn, query: Any, paces: Sequence[Any] = (IN_ORDER, DISORDER, DISORDER)) -> Stream:
    asked = draw(query).using(key="key")
    stream = draw(rows(draw(st.sampled_from(paces)), 40))
    own = asked.time is None or draw(st.booleans())
    events: list[Event] = draw(advances(stream)) if asked.time is not None else [("row", row) for row in stream]
    events = [
        ("row", event[1] | {"key": draw(st.sampled_from(KEYS))}) if event[0] == "row" else event for event in events
    ]
    if draw(st.booleans()):
        events.append(("close",))
    return Stream(asked, events, draw(cuts(events)), own)


def expected(stream: Stream) -> tuple[dict[Any, list[Row]], int]:
    results, dropped = {}, 0
    for key in KEYS:
        evaluator = Evaluator(stream.query, own_watermark=bool(stream.own))
        own = [event for event in stream.events if event[0] != "row" or event[1]["key"] == key]
        found = [result for event in own for result in evaluator.on(event)]
        dropped += evaluator.late_dropped
        if found:
            results[key] = found
    return results, dropped


class Player:
    """Plays events, rows in batches; results by key."""

    def __init__(self, stream: Stream) -> None:
        self.query, self.own = stream.query, stream.own
        self.op = KeyedOperator(stream.query, own_watermark="key" if stream.own else False)
        self.results: dict[Any, list[Row]] = {}
        self.dropped = 0

    def play(self, events: Sequence[Event]) -> None:
        batch: list[Row] = []
        for event in events:
            if event[0] == "row":
                batch.append(event[1])
                continue
            self.process(batch)
            batch = []
            self.take(self.op.advance(event[1]) if event[0] == "advance" else self.op.close())
        self.process(batch)

    def process(self, batch: list[Row]) -> None:
        if batch:
            columns = {name: [row[name] for row in batch] for name in batch[0]}
            self.take(self.op.process_batch(columns))
            self.dropped += len(self.op.dropped)

    def take(self, table: Mapping[str, list[Any]]) -> None:
        for values in zip(*table.values(), strict=True):
            row = dict(zip(table, values, strict=True))
            self.results.setdefault(row.pop("key"), []).append(row)

    def reload(self) -> None:
        state = self.op.snapshot(trusted=True)
        self.op = KeyedOperator.restore(self.query, state, own_watermark="key" if self.own else False, trusted=True)


def check(stream: Stream, reload: bool = True) -> None:
    player = Player(stream)
    for begin, end in zip([0, *stream.cuts], [*stream.cuts, len(stream.events)], strict=True):
        player.play(stream.events[begin:end])
        if reload:
            player.reload()
    results, dropped = expected(stream)
    assert player.results == results
    assert (player.op.metrics["late_dropped"], player.dropped) == (dropped, dropped)
    assert player.op.metrics["results_out"] == sum(map(len, results.values()))
    assert player.op.metrics["tuples_in"] == sum(event[0] == "row" for event in stream.events)


class TestAgainstTheEvaluator:
    @settings(max_examples=100)
    @given(streams(queries(latenesses=(None,))))
    def test_by_columns(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=50)
    @given(streams(queries(latenesses=(2, 5, 20))))
    def test_with_corrections(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=80)
    @given(streams(corrected_queries(), paces=[DISORDER]))
    def test_with_corrections_by_columns(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=50)
    @given(streams(arrival_queries()))
    def test_in_the_order_of_arrival(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=30)
    @given(streams(queries(ordered_windows(HALVES), (None, 1.5), (None, None, 2)), [HALVES_IN_DISORDER]))
    def test_times_that_are_floats(self, stream: Stream) -> None:
        check(stream)

    @settings(max_examples=30)
    @given(streams(queries(latenesses=(None, None, 5))))
    def test_without_a_state(self, stream: Stream) -> None:
        check(stream, reload=False)


class TestInPieces:
    """Slices of keys that have many are copied as one: here of all."""

    @settings(max_examples=100)
    @given(streams(st.one_of(queries(latenesses=(None, None, 5)), arrival_queries())))
    def test_as_few_slices(self, stream: Stream) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(column_table, "PIECE", 0)
            check(stream)

    def test_long_windows_of_some_keys(self) -> None:
        """With keys that are silent, that come later, and whose slices all leave."""
        query = sash.Query(
            key="k",
            windows={"long": sash.sliding(300), "short": sash.sliding(40, 4)},
            aggregates={"max": sash.Max("x"), "all": sash.Count()},
        )
        rng = np.random.default_rng(5)
        op = KeyedOperator(query)
        loads: dict[int, list[int]] = {}
        found: dict[int, list[tuple[Any, ...]]] = {}
        for batch in range(12):
            keys = rng.choice([1, 2, 3] if batch < 4 else [1, 3, 4] if batch < 8 else [4, 9], 400)
            values = rng.integers(0, 1000, 400)
            for key, value in zip(keys.tolist(), values.tolist(), strict=True):
                loads.setdefault(key, []).append(value)
            results = op.process_batch({"k": keys, "x": values})
            for key, *result in zip(*(list(column) for column in results.values()), strict=True):
                found.setdefault(int(key), []).append(tuple(result))
            needed = sum(min(len(each), 299) for each in loads.values())
            assert needed <= op.metrics["slices_held"] <= needed * 4 // 3 + 1, "what left is a quarter at most"
        for key, each in loads.items():
            expected = [
                (name, end - range_, end, max(each[end - range_ : end]), range_)
                for name, range_, slide in (("long", 300, 1), ("short", 40, 4))
                for end in range(range_, len(each) + 1, slide)
            ]
            assert sorted(found.get(key, [])) == sorted(expected)
        assert op.metrics["slices_held"] >= 64 * len(loads), "long enough to be copied in pieces"


class TestTimers:
    TIMELY = st.one_of(time_windows(), sessions(), count_windows(), lasts())

    @settings(max_examples=80)
    @given(streams(queries(TIMELY, latenesses=(None, None, 5))))
    def test_nothing_is_complete_before_the_next_timer(self, stream: Stream) -> None:
        op = KeyedOperator(stream.query, own_watermark="key" if stream.own else False)
        for kind, *what in stream.events:
            if kind == "row":
                op.process_batch({name: [value] for name, value in what[0].items()})
            elif kind == "advance":
                op.advance(what[0])
        at = op.next_timer()
        again = KeyedOperator.restore(stream.query, op.snapshot(), own_watermark="key" if stream.own else False)
        if at is None:
            assert not again.advance(10**6)["window_end"]
        elif at > -1000:
            assert not again.advance(at - 1)["window_end"]

    def test_a_new_key_before_any_watermark_beside_many_slices_of_another(self) -> None:
        """Of such a key no window is complete, and its numbers begin at the least that there is."""
        query = sash.Query(key="k", windows=sash.sliding(1, on="t"), aggregates={"n": sash.Count()}, time="t")
        op = KeyedOperator(query, own_watermark=False)
        for t in range(1, 10):
            assert not op.process_batch({"k": ["a"], "t": [t]})["k"]
        assert not op.process_batch({"k": ["b"], "t": [10]})["k"]
        assert op.advance(100)["window_end"] == list(range(2, 12))

    def test_of_time_windows(self) -> None:
        query = sash.Query(key="k", windows=sash.sliding("10s", "5s"), aggregates={"n": sash.Count()}, time="ts")
        op = KeyedOperator(query)
        assert op.next_timer() is None
        op.process_batch({"k": ["a", "b"], "ts": [datetime(2024, 1, 1, 0, 0, 12), datetime(2024, 1, 1, 0, 0, 3)]})
        assert op.next_timer() == datetime(2024, 1, 1, 0, 0, 5)
        assert op.advance(datetime(2024, 1, 1, 0, 0, 5))["k"] == ["b"]
        assert op.next_timer() == datetime(2024, 1, 1, 0, 0, 10)
        op.advance(datetime(2024, 1, 1, 0, 1))
        assert op.next_timer() is None


QUERY = sash.Query(
    key="k", windows={"a": sash.sliding(4, 2, on="ts")}, aggregates={"n": sash.Sum("x")}, time="ts", watermark_delay=3
)
BATCH = {"k": [1, 2, 1], "ts": [1, 2, 5], "x": [1, 2, 3]}


class TestState:
    def test_a_window_is_added_and_one_removed(self) -> None:
        op = KeyedOperator(QUERY, own_watermark="key")
        op.process_batch(BATCH)
        more = QUERY.using(windows={"b": sash.tumbling(3, on="ts")})
        op = KeyedOperator.restore(more, op.snapshot(), own_watermark="key")
        found = op.process_batch({"k": [1, 1, 2], "ts": [6, 20, 20], "x": [5, 7, 9]})
        assert found == {"k": [1], "window": ["b"], "window_start": [6], "window_end": [9], "n": [5]}

    def test_lateness_that_became_less(self) -> None:
        query = QUERY.using(allowed_lateness=5)
        op = KeyedOperator(query, own_watermark="key")
        op.process_batch(BATCH)
        op = KeyedOperator.restore(QUERY, op.snapshot(), own_watermark="key")  # from rows to columns
        assert op.process_batch({"k": [1], "ts": [9], "x": [1]})["n"] == [1, 3]

    @pytest.mark.parametrize(
        ("query", "says"),
        [
            (QUERY.using(aggregates={"n": sash.Max("x")}), "aggregate 'n' differs from the one"),
            (QUERY.using(windows={"a": sash.tumbling(4, on="ts")}), "window 'a' differs from the one"),
            (QUERY.using(allowed_lateness=3), "allowed_lateness"),
            (QUERY.using(key="x"), "its key is \\['k'\\], that of the query is \\['x'\\]"),
        ],
    )
    def test_another_query_is_refused(self, query: sash.Query, says: str) -> None:
        op = KeyedOperator(QUERY)
        op.process_batch(BATCH)
        with pytest.raises(StateError, match=says):
            KeyedOperator.restore(query, op.snapshot())

    def test_damage_is_seen(self) -> None:
        op = KeyedOperator(QUERY)
        op.process_batch(BATCH)
        blob = op.snapshot()
        for at in range(0, len(blob), 7):
            with pytest.raises(StateError):
                KeyedOperator.restore(QUERY, blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :])
        with pytest.raises(StateError):
            KeyedOperator.restore(QUERY, KeyOperator(QUERY).snapshot())  # of one key

    def test_keys_are_saved_and_loaded_as_columns(self) -> None:
        """Ten times as many keys take no more calls of Python functions."""
        query = sash.Query(key="k", windows=sash.sliding(64), aggregates={"n": sash.Max("x")})
        calls: dict[int, int] = {}
        for keys in (1_000, 1_000, 10_000):  # the first time, modules are imported
            op = KeyedOperator(query)
            op.process_batch({"k": np.arange(20 * keys) % keys, "x": np.arange(20.0 * keys)})
            profile = cProfile.Profile()
            blob = profile.runcall(op.snapshot)
            op = profile.runcall(KeyedOperator.restore, query, blob)
            calls[keys] = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
        assert calls[10_000] < 1.2 * calls[1_000] + 100
        assert len(blob) < 4_000_000
        assert op.keys == 10_000
        found = op.process_batch({"k": np.repeat(5, 44), "x": np.zeros(44)})
        assert found["n"].tolist() == [190_005.0]


class TestKeys:
    def test_several_columns_nulls_and_nan(self) -> None:
        query = sash.Query(key=["k", "f"], windows=sash.tumbling(2), aggregates={"n": sash.Count()})
        op = KeyedOperator(query)
        op.process_batch({"k": ["a", None, None], "f": [float("nan"), 0.0, None]})
        op = KeyedOperator.restore(query, op.snapshot())
        found = op.process_batch({"k": [None, None, "a", "b"], "f": [-0.0, None, float("nan"), 1.0]})
        assert found["k"] == ["a", None, None]
        assert found["f"][0] != found["f"][0] and found["f"][1:] == [0.0, None]
        assert op.keys == 4

    def test_without_a_key(self) -> None:
        op = KeyedOperator(sash.Query(windows=sash.tumbling(2), aggregates={"n": sash.Count()}))
        assert op.process_batch([{"x": 1}, {"x": 2}]) == [{"window_start": 0, "window_end": 2, "n": 2}]

    def test_arrow_in_arrow_out(self) -> None:
        query = sash.Query(key="k", windows=sash.tumbling("1s"), aggregates={"m": sash.Max("x")}, time="ts")
        stamps = pa.array([0, 1_500_000], pa.timestamp("us", "Europe/Berlin"))
        table = pa.table({"k": pa.array(["a", "a"]), "ts": stamps, "x": pa.array([1, 2], pa.int32())})
        op = KeyedOperator(query)
        assert op.process_batch(table).num_rows == 0
        op = KeyedOperator.restore(query, op.snapshot())
        found = op.advance(datetime.fromisoformat("1970-01-01T00:00:05+00:00"), like=table.slice(0, 0))
        assert found.schema.field("window_start").type.tz == "Europe/Berlin"
        assert found.schema.field("m").type == pa.int32()
        assert found["m"].to_pylist() == [1, 2]

    def test_silent_keys_are_forgotten(self) -> None:
        query = sash.Query(key="k", windows=sash.sliding(3), aggregates={"n": sash.Sum("x")}, time="ts")
        for asked in (query, query.using(algorithm="daba")):
            op = KeyedOperator(asked, own_watermark="key")
            op.process_batch({"k": ["a", "b", "a", "b"], "ts": [1, 2, 3, 9], "x": [1, 2, 3, 4]})
            before = op.metrics
            assert op.forget_silent(4) == 1
            assert op.keys == 1
            assert op.metrics["results_out"] == before["results_out"]
            found = op.process_batch({"k": ["a", "b"], "ts": [10, 10], "x": [5, 6]})
            assert (found["k"], found["n"]) == (["b"], [12])
            assert op.forget_silent(0) == 0

    def test_corrections_go_on_when_other_keys_are_forgotten(self) -> None:
        query = QUERY.using(windows=sash.tumbling(10, on="ts"), aggregates={"n": sash.Count()}, allowed_lateness=30)
        op = KeyedOperator(query, own_watermark="key")
        found = op.process_batch({"k": ["a", "b", "b", "b", "b"], "ts": [1, 1, 25, 2, 3], "x": [1] * 5})
        assert (found["k"], found["n"], found["revision"]) == (["b"] * 3, [1, 2, 3], [0, 1, 2])
        assert op.forget_silent(20) == 1
        found = op.process_batch({"k": ["b"], "ts": [4], "x": [1]})
        assert (found["k"], found["n"], found["revision"]) == (["b"], [4], [3])
        assert op.metrics["late_corrected"] == 3

    def test_silence_needs_a_time(self) -> None:
        op = KeyedOperator(sash.Query(key="k", windows=sash.sliding(3), aggregates={"n": sash.Count()}))
        with pytest.raises(ValueError, match="name time="):
            op.forget_silent(3)


class TestErrors:
    @pytest.mark.parametrize("lateness", [None, 5])
    def test_a_batch_that_fails_has_not_been(self, lateness: Any) -> None:
        query = QUERY.using(allowed_lateness=lateness)
        op, other = KeyedOperator(query, own_watermark="key"), KeyedOperator(query, own_watermark="key")
        op.process_batch(BATCH)
        other.process_batch(BATCH)
        with pytest.raises(TypeError, match="row 4"):
            op.process_batch({"k": [3, 1], "ts": [7, 30], "x": [1, "two"]})
        assert op.keys == 2
        assert op.metrics == other.metrics
        more = {"k": [3, 1], "ts": [7, 30], "x": [1, 2]}
        assert op.process_batch(more) == other.process_batch(more)

    def test_a_missing_column(self) -> None:
        with pytest.raises(KeyError, match="'x'"):
            KeyedOperator(QUERY).process_batch({"k": [1], "ts": [1]})

    def test_what_runs_row_by_row_is_said(self) -> None:
        corrected = QUERY.using(allowed_lateness=5)
        query = corrected.using(aggregates={"last": sash.Last("x")})
        with pytest.warns(sash.PerformanceWarning, match="each key runs row by row"):
            op = KeyedOperator(query)
        told = op.explain()
        assert "keys       row by row, each on its own: results can be corrected (allowed_lateness), and Last" in told
        assert "compiled   no: results can be corrected (allowed_lateness), and Last" in told
        for by_columns in (QUERY, corrected):
            assert "keys       all at once, by columns" in KeyedOperator(by_columns).explain()


MOMENTS = st.sampled_from([None, datetime(2024, 3, 31, 0, 30, tzinfo=UTC), datetime(2024, 3, 31, 1, 30, tzinfo=UTC)])
BERLIN = ZoneInfo("Europe/Berlin")


def batch_of_moments(form: str, moments: list[datetime | None]) -> Any:
    """The same keys as rows or as columns, in one zone or another."""
    zone = UTC if form.endswith("UTC") else BERLIN
    local = [moment if moment is None else moment.astimezone(zone) for moment in moments]
    if form.startswith("rows"):
        return [{"at": moment} for moment in local]
    unit = "ns" if form.startswith("fine") else "us"
    return pa.table({"at": pa.array(local, pa.timestamp(unit, str(zone)))})


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["rows UTC", "rows Berlin", "table UTC", "table Berlin", "fine Berlin"]),
            st.lists(MOMENTS, min_size=1, max_size=4),
            st.booleans(),
        ),
        min_size=1,
        max_size=5,
    ),
    st.booleans(),
)
def test_a_moment_is_one_key_as_rows_and_as_columns(batches: list[Any], keyed: bool) -> None:
    query = sash.Query(key="at", windows=sash.sliding(99, 1, partial=True), aggregates={"n": sash.Count()})
    kind: Any = KeyedOperator if keyed else sash.Operator
    op, counts = kind(query), Counter[Any]()
    for form, moments, fails in batches:
        if fails:  # and is taken back
            with pytest.raises(TypeError, match="cannot be a key"):
                op.process_batch([*batch_of_moments("rows Berlin", moments), {"at": []}])
        results = op.process_batch(batch_of_moments(form, moments))
        rows = results if isinstance(results, list) else results.to_pylist()
        expected = Counter[Any]()
        for moment in moments:
            counts[moment] += 1
            expected[moment, counts[moment]] += 1
        assert Counter((row["at"], row["n"]) for row in rows) == expected
        op = kind.restore(query, op.snapshot())


def test_results_without_a_type_name_their_column() -> None:
    table = pa.table({"m": pa.array([[("x", 1)]], pa.map_(pa.string(), pa.int64()))})
    query = sash.Query(windows=sash.sliding(2, partial=True), aggregates={"all": sash.Collect("m")})
    with pytest.raises(TypeError, match=r"column 'all': no type was found .* pass rows instead of a table"):
        sash.run(query, table)
