"""The operator against the definition: however a stream comes, is cut, saved and asked, the results are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.engine.rows.lane import RowLane
from sash.testing import Evaluator, Failing, evaluate
from strategies import (
    COMMUTATIVE,
    DISORDER,
    HALVES,
    HALVES_IN_DISORDER,
    HALVES_IN_ORDER,
    IN_ORDER,
    TENTHS,
    TENTHS_IN_DISORDER,
    TENTHS_IN_ORDER,
    Event,
    Lookback,
    Row,
    Scenario,
    arrival_queries,
    arrival_scenarios,
    count_windows,
    ordered_windows,
    queries,
    scenarios,
    sessions,
    time_windows,
    timestamp_scenarios,
    two_lane_scenarios,
)

# Not all that is tested here can be compiled.
pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")

MODERATE = settings(max_examples=60, deadline=None)
FEW = settings(max_examples=25, deadline=None)
ALGORITHMS = [
    *"lazy eager sba pba recalc twostacks two_stacks_lite aba daba DABALite flatfat flatfit slideside fiba".split(),
    *"slickdeque subtractonevict".split(),
]


def on(op: sash.Operator, event: Event) -> list[Row]:
    """Any event but a batch."""
    match event:
        case "row", row:
            return op.process(row)
        case "advance", watermark:
            return op.advance(watermark)
        case "add", name, window:
            op.add_window(name, window)
            return []
        case "remove", name:
            op.remove_window(name)
            return []
        case ("close",):
            return op.close()
    raise ValueError(f"not an event: {event!r}")


def columns(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows as arrays; with nulls, or of what NumPy has no type for, as arrays of objects."""
    arrays = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        plain = {type(value) for value in values} <= {int, float, bool}
        arrays[name] = np.array(values) if plain else np.array([*values, None], dtype=object)[:-1]
    return arrays


def rows_of(results: dict[str, Any]) -> list[Row]:
    """Columns of results as rows of Python's own values."""
    lists = [_plain(column) for column in results.values()]
    return [dict(zip(results, values, strict=True)) for values in zip(*lists, strict=True)]


def _plain(column: Any) -> list[Any]:
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        return list(column)
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def batch(op: sash.Operator, events: Sequence[Event]) -> list[Row]:
    """The events, neighbouring rows as one batch."""
    results, waiting = [], []
    for event in [*events, ("end",)]:
        if event[0] == "row":
            waiting.append(event[1])
            continue
        if waiting:
            results += rows_of(op.process_batch(columns(waiting)))
            waiting = []
        if event != ("end",):
            results += on(op, event)
    return results


def check_rows_and_batches(scenario: Scenario) -> None:
    """The definition's results row by row, and in batches with a restore after each."""
    expected = evaluate(scenario.query, scenario.events)
    by_row, by_batch = sash.Operator(scenario.query), sash.Operator(scenario.query)
    assert [row for event in scenario.events for row in on(by_row, event)] == expected
    results: list[Row] = []
    for begin, end in zip([0, *scenario.cuts], [*scenario.cuts, len(scenario.events)], strict=True):
        results += batch(by_batch, scenario.events[begin:end])
        by_batch = sash.Operator.restore(by_batch.query, by_batch.snapshot())
    assert results == expected


def singly(op: sash.Operator, events: Sequence[Event]) -> list[Row]:
    return [result for event in events for result in on(op, event)]


def by_place(op: sash.Operator, events: Sequence[Event]) -> list[Row]:
    """Rows and results without names."""
    results = []
    for event in events:
        match event:
            case "row", row:
                found = op.take(tuple(row[column] for column in op.query.columns))
            case "advance", watermark:
                found = op.advance_values(watermark)
            case ("close",):
                found = op.close_values()
            case _:
                assert not on(op, event)
                continue
        results += [dict(zip(op.query.results, values, strict=True)) for values in found]
    return results


def pieces(scenario: Scenario) -> Iterator[list[Event]]:
    """The events between the cuts."""
    edges = [0, *scenario.cuts, len(scenario.events)]
    return (scenario.events[a:b] for a, b in pairwise(edges))


def by_order(asked: sash.Query, results: list[Row]) -> dict[Any, list[Row]]:
    """Results by what orders their windows: only among those is there an order."""
    orders = {name: lane.order for lane in asked.lanes for name in lane.names}
    parted: dict[Any, list[Row]] = {}
    for result in results:
        parted.setdefault(orders.get(result.get("window"), asked.time), []).append(result)
    return parted


def check(scenario: Scenario, op: sash.Operator, results: list[Row]) -> None:
    """The results, and what has been counted, are those of the definition."""
    evaluator = Evaluator(scenario.query)
    expected = [result for event in scenario.events for result in evaluator.on(event)]
    assert by_order(scenario.query, results) == by_order(scenario.query, expected)
    assert op.metrics["late_dropped"] == evaluator.late_dropped


def flipped(blob: bytes) -> bytes:
    middle = len(blob) // 2
    return blob[:middle] + bytes([blob[middle] ^ 0xFF]) + blob[middle + 1 :]


def example(**options: Any) -> sash.Query:
    asked: dict[str, Any] = {
        "windows": sash.tumbling(10, on="ts"),
        "aggregates": {"total": sash.Sum("x")},
        "time": "ts",
    }
    return sash.Query(**asked | options)


class TestRows:
    """Row by row: compared after each event."""

    def check(self, scenario: Scenario, algorithm: str = "auto") -> None:
        op, evaluator = sash.Operator(scenario.query.using(algorithm=algorithm)), Evaluator(scenario.query)
        for i, event in enumerate(scenario.events):
            expected = evaluator.on(event)
            assert by_order(scenario.query, on(op, event)) == by_order(scenario.query, expected), (i, event)
            assert op.metrics["late_dropped"] == evaluator.late_dropped

    @settings(max_examples=150, deadline=None)
    @given(scenario=scenarios())
    def test_all_windows_in_any_order(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(scenario=scenarios(queries(delays=[None], latenesses=[None]), paces=[IN_ORDER]))
    def test_in_order(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(scenario=scenarios(queries(windows=st.one_of(time_windows(), sessions()), latenesses=[5, 20])))
    def test_corrections_of_time_windows_and_sessions(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(scenario=scenarios(queries(windows=count_windows(), latenesses=[5, 20]), paces=[DISORDER]))
    def test_corrections_of_count_windows(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(scenario=scenarios(arrival_queries()))
    def test_in_the_order_of_arrival(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(scenario=scenarios(queries(windows=ordered_windows(HALVES)), paces=[HALVES_IN_ORDER, HALVES_IN_DISORDER]))
    def test_times_that_are_floats(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(
        scenario=scenarios(
            queries(
                windows=st.one_of(time_windows(TENTHS), sessions(TENTHS)), delays=[None, 0.3], latenesses=[None, 2.1]
            ),
            paces=[TENTHS_IN_ORDER, TENTHS_IN_DISORDER],
        )
    )
    def test_times_that_are_not_exact(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(scenario=st.one_of(timestamp_scenarios(), timestamp_scenarios(UTC)))
    def test_timestamps(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(scenario=two_lane_scenarios())
    def test_windows_in_different_orders(self, scenario: Scenario) -> None:
        self.check(scenario)

    @settings(max_examples=100, deadline=None)
    @given(scenario=scenarios(changes=True))
    def test_windows_come_and_go(self, scenario: Scenario) -> None:
        self.check(scenario)

    @pytest.mark.parametrize("late", [[14, 15, 12], [10, 12, 9]])
    def test_slices_from_before_tuples_were_kept_take_no_more(self, late: list[int]) -> None:
        """A late tuple has those behind them sliced anew; another window has come meanwhile."""
        query = example(windows={"w": sash.session(2, on="ts")}, allowed_lateness=5)
        rows = [("row", {"ts": ts, "x": 1}) for ts in [1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 8, 9, *late]]
        last, short = ("add", "last", sash.last(3, 3, offset=1, on="ts")), ("add", "short", sash.tumbling(1, on="ts"))
        self.check(Scenario(query, [*rows[:7], last, *rows[7:12], short, *rows[12:]]))

    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    @FEW
    @given(scenario=scenarios())
    def test_an_algorithm_forced(self, algorithm: str, scenario: Scenario) -> None:
        """It gives the same results, or says at once why it cannot."""
        try:
            sash.Operator(scenario.query.using(algorithm=algorithm))
        except (TypeError, ValueError):
            assert algorithm not in ("lazy", "eager")
        else:
            self.check(scenario, algorithm)


class TestBatches:
    """Columns, cut anywhere: the same as row by row."""

    def check(self, scenario: Scenario) -> None:
        op = sash.Operator(scenario.query)
        check(scenario, op, [result for piece in pieces(scenario) for result in batch(op, piece)])

    @settings(max_examples=150, deadline=None)
    @given(scenario=scenarios())
    def test_all_windows_in_any_order(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(scenario=scenarios(queries(delays=[None], latenesses=[None]), paces=[IN_ORDER], advanced=False))
    def test_in_order(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(scenario=scenarios(queries(latenesses=[None], delays=[3, 10]), paces=[DISORDER], advanced=False))
    def test_out_of_order(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(scenario=scenarios(arrival_queries()))
    def test_in_the_order_of_arrival(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(scenario=scenarios(queries(windows=ordered_windows(HALVES)), paces=[HALVES_IN_ORDER, HALVES_IN_DISORDER]))
    def test_times_that_are_floats(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(
        scenario=scenarios(
            queries(windows=st.one_of(time_windows(TENTHS), sessions(TENTHS)), delays=[None, 0.3], latenesses=[None]),
            paces=[TENTHS_IN_ORDER, TENTHS_IN_DISORDER],
        )
    )
    def test_times_that_are_not_exact(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(scenario=two_lane_scenarios())
    def test_windows_in_different_orders(self, scenario: Scenario) -> None:
        self.check(scenario)

    @MODERATE
    @given(scenario=scenarios(changes=True))
    def test_windows_come_and_go(self, scenario: Scenario) -> None:
        self.check(scenario)

    def test_a_batch_of_nothing(self) -> None:
        op = sash.Operator(example())
        assert rows_of(op.process_batch({"ts": np.array([], int), "x": np.array([], int)})) == []
        assert op.process({"ts": 5, "x": 1}) == []


class TestByPlace:
    """Rows that have no names: all that can be seen is as with names, bad rows included."""

    @MODERATE
    @given(scenario=st.one_of(scenarios(), arrival_scenarios(), two_lane_scenarios(), timestamp_scenarios()))
    def test_as_with_names(self, scenario: Scenario) -> None:
        op = sash.Operator(scenario.query)
        check(scenario, op, by_place(op, scenario.events))
        other = sash.Operator(scenario.query)
        singly(other, scenario.events)
        assert op.snapshot() == other.snapshot()
        assert op.metrics == other.metrics

    def test_late_and_bad_ones(self) -> None:
        op = sash.Operator(example())
        assert op.take((5, 1)) == []
        assert op.take((25, 1)) == [(0, 10, 1)]
        assert (op.take((5, 1)), list(op.dropped)) == ([], [0])
        with pytest.raises(ValueError, match="column 'ts', row 3"):
            op.take((None, 1))
        assert (op.take((26, 1)), list(op.dropped)) == ([], [])
        arrived = sash.Operator(sash.Query(windows=sash.sliding(2), aggregates={"total": sash.Sum("x")}))
        with pytest.raises(TypeError, match=r"row 0: Sum\('x'\) cannot aggregate 'one'"):
            arrived.take(("one",))
        with pytest.raises(ValueError, match="row 0 has 0 values; it needs one for each of 'x'"):
            arrived.take(())
        assert arrived.close_values() == []
        with pytest.raises(RuntimeError, match="closed"):
            arrived.take((1,))
        with pytest.raises(RuntimeError, match="closed"):
            arrived.advance_values(1)
        with pytest.raises(RuntimeError, match="closed"):
            arrived.close_values()

    def test_rows_and_time_that_passes_do_not_copy_the_state(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(RowLane, "dump", lambda self: pytest.fail("it is copied"))
        arrived = sash.Operator(sash.Query(windows=sash.sliding(2), aggregates={"total": sash.Sum("x")}))
        assert (arrived.take((1,)), arrived.advance(5), arrived.close()) == ([], [], [])
        op = sash.Operator(example())
        assert (op.take((5, 1)), op.advance_values(10), op.close()) == ([], [(0, 10, 1)], [])
        windows = {"by time": sash.tumbling(10, on="ts"), "by count": sash.tumbling(2)}
        op = sash.Operator(sash.Query(windows=windows, aggregates={"total": sash.Sum("x")}))
        assert (op.take((5, 1)), op.take((7, 2))) == ([], [("by count", 0, 2, 3)])
        assert (op.advance_values(10), op.close()) == ([("by time", 0, 10, 3)], [])

    def test_a_watermark_that_is_refused_does_not_tell_what_times_are_like(self) -> None:
        op = sash.Operator(example())
        with pytest.raises(ValueError, match="column 'ts' holds datetimes"):
            op.advance_values(datetime(2024, 1, 1))
        assert op.take((5, 1)) == []
        assert op.advance_values(10) == [(0, 10, 1)]


class TestMixed:
    """Rows and columns, with the state saved and restored in between."""

    @settings(max_examples=120, deadline=None)
    @given(scenario=scenarios(), ways=st.lists(st.sampled_from([batch, singly]), min_size=6, max_size=6))
    def test_rows_and_batches_mixed(self, scenario: Scenario, ways: list[Callable[..., list[Row]]]) -> None:
        op = sash.Operator(scenario.query)
        results = [row for way, piece in zip(ways, pieces(scenario), strict=False) for row in way(op, piece)]
        check(scenario, op, results)

    @settings(max_examples=120, deadline=None)
    @given(scenario=scenarios(), ways=st.lists(st.sampled_from([batch, singly]), min_size=6, max_size=6))
    def test_saved_and_restored(self, scenario: Scenario, ways: list[Callable[..., list[Row]]]) -> None:
        op, results = sash.Operator(scenario.query), []
        for way, piece in zip(ways, pieces(scenario), strict=False):
            results += way(op, piece)
            op = sash.Operator.restore(scenario.query, op.snapshot())
        check(scenario, op, results)

    @MODERATE
    @given(scenario=st.one_of(arrival_scenarios(), two_lane_scenarios(), timestamp_scenarios()))
    def test_other_orders_saved_and_restored(self, scenario: Scenario) -> None:
        op, results = sash.Operator(scenario.query), []
        for piece in pieces(scenario):
            results += singly(op, piece)
            op = sash.Operator.restore(scenario.query, op.snapshot())
        check(scenario, op, results)

    @MODERATE
    @given(scenario=scenarios(changes=True))
    def test_saved_and_restored_after_windows_came_and_went(self, scenario: Scenario) -> None:
        op, results = sash.Operator(scenario.query), []
        for piece in pieces(scenario):
            results += singly(op, piece)
            op = sash.Operator.restore(op.query, op.snapshot())
        check(scenario, op, results)

    def test_late_tuples_stay_apart_from_sessions_before_once_a_window_is_added(self) -> None:
        """Sessions 1-5 and 8-10 are a gap apart, although late tuples led from 10 to 8.

        1 2 3 4 5     8 9 10   12
        |-------|     |----|   ▲ emits 8-10
        """
        asked = sash.Query(
            windows={"runs": sash.session(2, on="ts")}, aggregates={"max": sash.Max("x")}, time="ts", allowed_lateness=3
        )
        times = [1, 2, 3, 4, 5, 10, 8, 9, 12]
        events: list[Event] = [("row", {"ts": ts, "x": ts, "mark": False}) for ts in times]
        events.insert(6, ("add", "marks", sash.punctuated("mark")))
        scenario = Scenario(asked, events)
        op = sash.Operator(asked)
        check(scenario, op, [result for event in events for result in on(op, event)])

    @FEW
    @given(scenario=scenarios())
    def test_saving_changes_nothing(self, scenario: Scenario) -> None:
        op, results = sash.Operator(scenario.query), []
        for event in scenario.events:
            results += on(op, event)
            blob = op.snapshot()
            assert isinstance(blob, bytes)
            assert sash.Operator.restore(scenario.query, blob).snapshot() == blob
        check(scenario, op, results)

    @MODERATE
    @given(scenario=scenarios(queries(latenesses=[1000]), paces=[DISORDER], advanced=False))
    def test_corrections_end_where_order_would_have_led(self, scenario: Scenario) -> None:
        """What stands after all corrections is what the same tuples give in order."""
        if any(isinstance(window, Lookback) for window in scenario.query.named.values()):
            return  # a late tuple finds other edges than it would have found in order
        rows = [event[1] for event in scenario.events if event[0] == "row"]
        in_order = sorted(rows, key=lambda row: row["ts"])
        expected = standing(
            scenario.query, singly(sash.Operator(scenario.query), [*map(as_event, in_order), ("close",)])
        )
        found = standing(scenario.query, singly(sash.Operator(scenario.query), [*map(as_event, rows), ("close",)]))
        assert found == expected


def as_event(row: Row) -> Event:
    return "row", row


def standing(asked: sash.Query, results: list[Row]) -> list[Row]:
    """The results that no later one replaces, without their revisions."""
    stand: list[Row] = []
    for new in results:
        stand = [old for old in stand if not replaces(asked.named[new.get("window")], new, old)]
        stand.append(new)
    bare = [{name: value for name, value in row.items() if name != "revision"} for row in stand]
    return sorted(bare, key=lambda row: (row.get("window", ""), row["window_end"], row["window_start"]))


def replaces(window: Any, new: Row, old: Row) -> bool:
    if new.get("window") != old.get("window"):
        return False
    if isinstance(window, sash.windows.Session | sash.windows.ContextAware):
        return bool(old["window_start"] < new["window_end"] and new["window_start"] < old["window_end"])
    if isinstance(window, sash.windows.Last):
        return bool(new["window_end"] == old["window_end"])
    return (new["window_start"], new["window_end"]) == (old["window_start"], old["window_end"])


SUMMED = st.just({"total": sash.Sum("x"), "all": sash.Collect("s")})


def bad(row: Row) -> Row:
    return row | {"x": "two", "ts": row["ts"] + 100}


class TestErrors:
    """What is wrong is named, and has not been."""

    @pytest.mark.parametrize(
        ("row", "error", "words"),
        [
            ({"ts": 112, "x": "two"}, TypeError, r"row 2.*Sum\('x'\) cannot aggregate 'two' of type str"),
            ({"ts": None, "x": 1}, (TypeError, ValueError), "column 'ts', row 2"),
            ({"ts": "noon", "x": 1}, (TypeError, ValueError), "column 'ts', row 2"),
            ({"ts": float("nan"), "x": 1}, (TypeError, ValueError), "column 'ts', row 2"),
            ({"ts": float("inf"), "x": 1}, (TypeError, ValueError), "column 'ts', row 2"),
            ({"ts": datetime(2024, 2, 29), "x": 1}, (TypeError, ValueError), "column 'ts', row 2"),
        ],
    )
    @pytest.mark.parametrize("way", ["a row", "a batch"])
    def test_a_bad_row(self, row: Row, error: Any, words: str, way: str) -> None:
        self.check_refused([row], error, words, way)

    @pytest.mark.parametrize(
        ("row", "way", "words"),
        [
            ({"ts": 12}, "a row", "row 2 has no column 'x'; it has 'ts'"),
            ({"x": 1}, "a row", "row 2 has no column 'ts'; it has 'x'"),
            ({"ts": 12}, "a batch", "column 'x' is not in the data, which has 'ts'"),
            ({"x": 1}, "a batch", "column 'ts' is not in the data, which has 'x'"),
        ],
    )
    def test_a_column_that_is_not_there(self, row: Row, way: str, words: str) -> None:
        self.check_refused([row], KeyError, words, way)

    @pytest.mark.parametrize("row", [[1, 2], (), None, "x", 5])
    def test_what_is_not_a_row(self, row: Any) -> None:
        op = sash.Operator(example())
        op.process({"ts": 3, "x": 1})
        with pytest.raises(TypeError, match="row 1 must be a mapping of column names to values; got"):
            op.process(row)
        assert op.process({"ts": 15, "x": 4}) == [{"window_start": 0, "window_end": 10, "total": 1}]

    def test_a_bad_row_within_a_batch(self) -> None:
        rows: list[Row] = [{"ts": 112, "x": 1}, {"ts": 113, "x": "two"}, {"ts": 114, "x": 3}]
        self.check_refused(rows, TypeError, r"row 3.*Sum\('x'\) cannot aggregate 'two'", "a batch")

    def check_refused(self, rows: list[Row], error: Any, words: str, way: str) -> None:
        op = sash.Operator(example())
        assert singly(op, [as_event({"ts": 3, "x": 1}), as_event({"ts": 4, "x": 2})]) == []
        arrays = {name: np.array([row[name] for row in rows], dtype=object) for name in rows[0]}
        with pytest.raises(error, match=words):
            op.process(rows[0]) if way == "a row" else op.process_batch(arrays)
        assert op.process({"ts": 15, "x": 4}) == [{"window_start": 0, "window_end": 10, "total": 3}]

    def test_a_row_that_is_bad_for_one_order_is_not_taken_by_another(self) -> None:
        windows = {"time": sash.tumbling(10, on="ts"), "km": sash.tumbling(10, on="km")}
        op = sash.Operator(example(windows=windows))
        op.process({"ts": 1, "km": 1, "x": 1})
        with pytest.raises((TypeError, ValueError), match="column 'km', row 1"):
            op.process({"ts": 2, "km": "far", "x": 1})
        assert [row["total"] for row in op.process({"ts": 30, "km": 30, "x": 1})] == [1, 1]

    def test_a_first_row_that_is_bad_decides_nothing(self) -> None:
        op = sash.Operator(example(windows=sash.sliding(2)))
        with pytest.raises(TypeError, match="'x'"):
            op.process({"ts": datetime(2024, 2, 29), "x": "two"})
        assert op.process({"ts": 1, "x": 1}) == []

    @MODERATE
    @given(scenario=scenarios(queries(computed=SUMMED)), data=st.data())
    def test_bad_rows_have_not_been(self, scenario: Scenario, data: st.DataObject) -> None:
        """They would have moved the watermark far."""
        op, results = sash.Operator(scenario.query), []
        for event in scenario.events:
            if event[0] == "row" and data.draw(st.integers(0, 3)) == 3:
                with pytest.raises(TypeError, match="'x'"):
                    op.process(bad(event[1]))
            results += on(op, event)
        check(scenario, op, results)

    @MODERATE
    @given(scenario=scenarios(queries(computed=SUMMED)), data=st.data())
    def test_bad_batches_have_not_been(self, scenario: Scenario, data: st.DataObject) -> None:
        op, results = sash.Operator(scenario.query), []
        for piece in pieces(scenario):
            rows = [event[1] for event in piece if event[0] == "row"]
            spoiled = data.draw(st.booleans())
            if rows and spoiled:
                at = data.draw(st.integers(0, len(rows) - 1))
                with pytest.raises(TypeError, match="'x'"):
                    op.process_batch(columns([*rows[:at], bad(rows[at]), *rows[at + 1 :]]))
            results += batch(op, piece)
        check(scenario, op, results)

    @MODERATE
    @given(scenario=scenarios(queries(windows=st.one_of(time_windows(), count_windows(), sessions()))), data=st.data())
    def test_a_merge_that_fails_has_not_been(self, scenario: Scenario, data: st.DataObject) -> None:
        """A row at which a user's combine raises can be given again."""
        failing = Failing(data.draw(st.sampled_from([*COMMUTATIVE[:2], sash.Collect("x")])))
        scenario.query = scenario.query.using(aggregates={"it": failing})
        op, results = sash.Operator(scenario.query), []
        for event in scenario.events:
            failing.fuse = data.draw(st.sampled_from([0, 0, 1, 2, 5]))
            try:
                results += on(op, event)
            except ArithmeticError:
                results += on(op, event)
            failing.fuse = 0
        check(scenario, op, results)

    @pytest.mark.parametrize("damage", [lambda blob: blob[:-1], lambda blob: b"x" + blob, lambda blob: b"", flipped])
    def test_a_damaged_state_is_refused(self, damage: Callable[[bytes], bytes]) -> None:
        op = sash.Operator(example())
        op.process({"ts": 3, "x": 1})
        with pytest.raises(ValueError, match=r"state|snapshot"):
            sash.Operator.restore(example(), damage(op.snapshot()))

    def test_a_state_of_another_query_is_refused(self) -> None:
        blob = sash.Operator(example()).snapshot()
        for other in (example(windows=sash.sliding(3)), example(aggregates={"total": sash.Collect("x")})):
            with pytest.raises(ValueError, match="query"):
                sash.Operator.restore(other, blob)

    def test_windows_that_cannot_come_or_go(self) -> None:
        op = sash.Operator(example(windows={"a": sash.tumbling(10, on="ts")}))
        with pytest.raises(ValueError, match="'a'"):
            op.add_window("a", sash.tumbling(5, on="ts"))
        with pytest.raises((KeyError, ValueError), match="'b'"):
            op.remove_window("b")


ORDERED = {"first": sash.First("x"), "peak": sash.Max("x")}


ROOM = 64
"""Slices are let go in bulk: there may be this many before it is worth the effort, and twice as many as are needed."""


class TestMemory:
    """No tuple is kept that need not be, and what is kept does not grow."""

    @pytest.mark.parametrize(
        ("windows", "slices"),
        [
            (sash.sliding(100, 10, on="ts"), 12),
            (sash.sliding(25, 10, on="ts"), 7),
            (sash.sliding(100, 10), 12),
            (sash.sliding(25, 10, partial=True), 7),
            (sash.session(3, on="ts"), 3),
            (sash.punctuated("mark"), 3),
            ({"a": sash.sliding(100, 10, on="ts"), "b": sash.session(3, on="ts"), "c": sash.tumbling(7)}, 60),
        ],
    )
    @pytest.mark.parametrize("algorithm", ["auto", "lazy", "eager"])
    def test_in_order(self, windows: Any, slices: int, algorithm: str) -> None:
        op = sash.Operator(sash.Query(windows=windows, aggregates=ORDERED, time="ts", algorithm=algorithm))
        for row in self.stream(2000):
            op.process(row)
            assert op.metrics["tuples_held"] == 0
            assert op.metrics["slices_held"] <= ROOM + 2 * slices

    @pytest.mark.parametrize("windows", [sash.sliding(100, 10, on="ts"), sash.session(3, on="ts")])
    @pytest.mark.parametrize("lateness", [None, 40])
    def test_out_of_order_but_commutative(self, windows: Any, lateness: int | None) -> None:
        asked = sash.Query(
            windows=windows,
            aggregates={"peak": sash.Max("x"), "middle": sash.Median("x")},
            time="ts",
            watermark_delay=20,
            allowed_lateness=lateness,
        )
        op = sash.Operator(asked)
        for row in self.stream(2000, behind=20):
            op.process(row)
            assert op.metrics["tuples_held"] == 0
            assert op.metrics["slices_held"] <= ROOM + 2 * 40

    @pytest.mark.parametrize(
        "windows", [sash.sliding(100, 10, on="ts"), sash.sliding(100, 10), sash.punctuated("mark")]
    )
    def test_out_of_order_tuples_wait_until_they_are_settled(self, windows: Any) -> None:
        op = sash.Operator(sash.Query(windows=windows, aggregates=ORDERED, time="ts", watermark_delay=20))
        for row in self.stream(2000, behind=20):
            op.process(row)
            assert op.metrics["tuples_held"] <= 2 * 21

    def test_a_state_does_not_grow(self) -> None:
        op = sash.Operator(
            sash.Query(windows=sash.sliding(100, 10, on="ts"), aggregates={"n": sash.Count()}, time="ts")
        )
        sizes = []
        for i, row in enumerate(self.stream(2000)):
            op.process(row)
            if i > 200 and i % 10 == 0:
                sizes.append(len(op.snapshot()))
        half = len(sizes) // 2
        assert max(sizes[half:]) <= 1.1 * max(sizes[:half])

    @staticmethod
    def stream(number: int, behind: int = 0) -> Iterator[Row]:
        """About a tuple a unit of time, a pause now and then."""
        random = np.random.default_rng(5)
        steps = random.choice([0, 1, 1, 1, 2, 9], number, p=[0.3, 0.2, 0.2, 0.2, 0.05, 0.05])
        times = np.cumsum(steps) - random.integers(0, behind + 1, number)
        for i, ts in enumerate(times.tolist()):
            yield {"ts": ts, "x": i % 17, "mark": i % 13 == 0}


def test_metrics() -> None:
    op = sash.Operator(example(watermark_delay=5, allowed_lateness=10))
    for ts in (1, 2, 20, 9, 3, 31):
        op.process({"ts": ts, "x": 1})
    found = {name: op.metrics[name] for name in ("tuples_in", "results_out", "late_corrected", "late_dropped")}
    assert found == {"tuples_in": 6, "results_out": 2, "late_corrected": 1, "late_dropped": 1}
    assert op.metrics["tuples_held"] == 0 and op.metrics["merges"] > 0


MOMENTS = {
    "naive": [datetime(2024, 3, 1, 12, 0, i) for i in range(10)],
    "zoned": [datetime(2024, 3, 1, 12, 0, i, tzinfo=UTC) for i in range(10)],
    "dates": [date(2024, 3, 1 + i) for i in range(10)],
    "durations": [timedelta(seconds=i) for i in range(10)],
}


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@pytest.mark.parametrize("values", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize(
    "aggregation", [sash.Max("v"), sash.First("v"), sash.ArgMax("v", "x"), sash.Collect("v")], ids=str
)
def test_rows_and_batches_of_moments_alternate(aggregation: sash.Aggregation, values: list[Any]) -> None:
    query = sash.Query(windows=sash.sliding(3), aggregates={"m": aggregation})
    rows = [{"v": value, "x": i} for i, value in enumerate(values)]
    expected = [result["m"] for result in evaluate(query, [("row", row) for row in rows])]
    for cuts in ("br", "rb", "bb"):
        op = sash.Operator(query)
        found: list[Any] = []
        for how, part in zip(cuts, (rows[:5], rows[5:]), strict=True):
            op = sash.Operator.restore(query, op.snapshot())
            if how == "b":
                found += pd.DataFrame(op.process_batch(pd.DataFrame(part)))["m"].tolist()
            else:
                found += [result["m"] for row in part for result in op.process(row)]
        assert found == expected


@pytest.mark.parametrize("own_watermark", [True, False])
def test_a_batch_of_rows_reads_a_column_of_time_that_is_aggregated_once(own_watermark: bool) -> None:
    query = sash.Query(windows=sash.tumbling(10, on="t"), aggregates={"n": sash.Count(), "newest": sash.Max("t")})
    op = sash.Operator(query, own_watermark=own_watermark)
    rows = [{"t": t} for t in (1, 2, 12)]
    assert op.process_batch(rows) + op.close() == [
        {"window_start": 0, "window_end": 10, "n": 2, "newest": 2},
        {"window_start": 10, "window_end": 20, "n": 1, "newest": 12},
    ]
    assert op.metrics["tuples_in"] == 3
