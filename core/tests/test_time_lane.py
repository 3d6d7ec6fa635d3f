"""The lane of one window on time with tuples in order, which keeps lists of partials: it computes what a RowLane does.

W[6, 3]   0  1  2 │ 3  4  5 │ 6     the tuple at 6 begins a slice and completes the window [0, 6)
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from inside import row_lane
from sash.engine.planner import plan
from sash.engine.rows.time_lane import TimeLane
from sash.testing import Failing, evaluate

SHAPES = [(1, 1), (3, 1), (8, 1), (64, 1), (3, 3), (6, 3), (40, 4)]
Events = list[tuple[str, Any]]


def query_of(shape: tuple[Any, Any], aggregation: sash.Aggregation | None = None, **options: Any) -> sash.Query:
    window = sash.sliding(*shape, on="t")
    return sash.Query(windows=window, aggregates={"a": aggregation or sash.Concat("x")}, algorithm="sba", **options)


@st.composite
def streams(draw: st.DrawFn, most: int = 60) -> Events:
    """Rows whose times mostly grow by little, now and then by much or not at all; watermarks; some restarts."""
    time, events = draw(st.integers(-99, 99)), []
    for i in range(draw(st.integers(0, most))):
        kind = draw(st.sampled_from(["row"] * 12 + ["advance", "restart", "batch"]))
        time += draw(st.sampled_from([0, 0, 0, 1, 1, 1, 2, 3, 7, 30, 200, -1, -5]))
        row = {"t": time, "x": draw(st.sampled_from([None, *"abc"])), "k": i % 2}
        events.append((kind, row if kind in ("row", "batch") else time))
    return events


def run(query: sash.Query, events: Events, flat: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[Any]]:
    """The results of each event, and all that can be seen of the operator after it but merges and slices."""
    with monkeypatch.context() as patch:
        if not flat:
            patch.setattr(TimeLane, "of", staticmethod(lambda *_: None))
        op = sash.Operator(query)
        results: list[Any] = []
        seen: list[Any] = []
        for kind, what in [*events, ("close", None)]:
            if kind == "row":
                results.append(op.process(what))
            elif kind == "batch":
                table = op.process_batch([what])
                results.append(table)
            elif kind == "advance":
                results.append(op.advance(what))
            elif kind == "close":
                results.append((op.peek(), op.close()))
            else:
                op = sash.Operator.restore(query, op.snapshot())
            seen.append({**op.metrics, "merges": 0, "slices_held": 0, "dropped": list(op.dropped)})
            seen.append(op.newest)
        return results, seen


@pytest.mark.parametrize("key", [None, "k"])
@given(shape=st.sampled_from(SHAPES), events=streams())
def test_results_are_those_of_a_row_lane(key: str | None, shape: tuple[Any, Any], events: Events) -> None:
    query = query_of(shape, key=key)
    with pytest.MonkeyPatch.context() as monkeypatch:
        ours, other = (run(query, events, flat, monkeypatch) for flat in (True, False))
    assert ours == other


@given(shape=st.sampled_from(SHAPES), events=streams())
def test_results_are_those_of_the_definition(shape: tuple[Any, Any], events: Events) -> None:
    query = query_of(shape)
    plain = [(kind, what) for kind, what in events if kind in ("row", "advance")]
    op = sash.Operator(query)
    assert isinstance(row_lane(op), TimeLane)
    found: list[Any] = []
    for kind, what in plain:
        found += op.process(what) if kind == "row" else op.advance(what)
        assert op.next_timer() == min((row["window_end"] for row in op.peek()), default=None)
    assert [*found, *op.close()] == evaluate(query, [*plain, ("close",)])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [0, 1, 5, 70, 150])
@pytest.mark.parametrize("step", [1, 0.25, 9, 100])
def test_a_call_of_many_rows_is_taken_back_as_a_whole(shape: tuple[Any, Any], rows: int, step: float) -> None:
    query = query_of(shape)
    lane = TimeLane.of(query, plan(query).lanes[0])
    assert lane is not None
    for i in range(rows):
        lane.take(0, i * step - 50, (str(i % 10),))
        lane.mark()
    for more in (1, 2, 200):
        before = lane.dump(), lane.slices_held, lane.next_end()
        times = [(rows + i) * step - 50 for i in range(more)]
        expected = [lane.take(0, time, (str(i % 7),)) for i, time in enumerate(times)], lane.move(0, math.inf)
        lane.undo()
        assert (lane.dump(), lane.slices_held, lane.next_end()) == before
        again = [lane.take(0, time, (str(i % 7),)) for i, time in enumerate(times)], lane.move(0, math.inf)
        assert again == expected
        lane.undo()


@pytest.mark.parametrize("shape", [(3, 1), (64, 1), (40, 4)])
@pytest.mark.parametrize("done", [0, 5, 60, 92])
def test_a_combine_that_raises_leaves_it_as_it_was(shape: tuple[int, int], done: int) -> None:
    failing = Failing(sash.Concat("x"))
    op, whole = (sash.Operator(query_of(shape, one)) for one in (failing, sash.Concat("x")))
    rows = [{"t": i + 30 * (i > 93), "x": str(i % 10)} for i in range(100)]
    for row in rows[:done]:
        assert op.process(row) == whole.process(row)
    for row in rows[done : done + 9]:
        expected = whole.process(row)
        for fuse in range(1, 400):
            before = _without_merges(op)
            failing.fuse = fuse
            try:
                found = op.process(row)
            except ArithmeticError:
                assert _without_merges(op) == before
            else:
                failing.fuse = 0
                assert found == expected
                break


def _without_merges(op: sash.Operator) -> Any:
    state = row_lane(op).dump()
    state.merges = 0
    return state


@pytest.mark.parametrize("shape", [(64, 1), (100, 4), (6, 3)])
def test_it_needs_no_more_merges_than_documented(shape: tuple[int, int]) -> None:
    """1 for a tuple, 2 for a slice, 2 for a window, and 2 more for a chunk."""
    op = sash.Operator(query_of(shape))
    chunk = plan(op.query).lanes[0].chunks.get(None, 1)
    for i in range(5 * shape[0] + 150):
        op.process({"t": i, "x": str(i % 10)})
        slices = i // shape[1] + 1
        assert op.metrics["merges"] <= i + 1 + 2 * slices + 2 * op.metrics["results_out"] + 2 * (slices // chunk)
        assert op.metrics["slices_held"] <= 2 * (shape[0] // shape[1]) + 1


def test_a_gap_costs_nothing() -> None:
    """Neither slices nor windows of a gap are visited: this one has a million million of them."""
    op = sash.Operator(query_of((8, 1)))
    assert op.process({"t": 0, "x": "a"}) == []
    assert len(op.process({"t": 10**12, "x": "b"})) == 8
    assert op.metrics["slices_held"] == 1
    assert len(op.close()) == 8


def test_windows_come_and_go() -> None:
    op = sash.Operator(sash.Query(windows={"short": sash.sliding(3, 1, on="t")}, aggregates={"a": sash.Sum("x")}))
    assert isinstance(row_lane(op), TimeLane)
    found = [row for t in range(10) for row in op.process({"t": t, "x": t})]
    op.add_window("long", sash.sliding(5, 1, on="t"))
    assert not isinstance(row_lane(op), TimeLane)
    found += [row for t in range(10, 20) for row in op.process({"t": t, "x": t})]
    op.remove_window("long")
    assert isinstance(row_lane(op), TimeLane)
    found += [row for t in range(20, 40) for row in op.process({"t": t, "x": t})]
    short = [(row["window_end"], row["a"]) for row in found if row["window"] == "short"]
    assert short == [(end, sum(range(max(end - 3, 0), end))) for end in range(1, 40)]


@pytest.mark.parametrize(
    "options",
    [
        {"windows": sash.sliding(5, 2, on="t")},  # the slide does not divide the range
        {"windows": sash.sliding(4, on="t", slide=1), "algorithm": "daba"},
        {"windows": sash.sliding(4, on="t", slide=1), "watermark_delay": 1},
        {"windows": sash.sliding(4, on="t", slide=1), "allowed_lateness": 1},
        {"windows": {"a": sash.sliding(4, 1, on="t"), "b": sash.sliding(6, 1, on="t")}},
        {"windows": sash.session(3, on="t")},
        {"windows": sash.sliding(2000, 1, on="t")},  # empty slices would take much memory
        {"windows": sash.tumbling("1mo"), "time": "t"},
    ],
)
def test_all_else_runs_on_another_lane(options: dict[str, Any]) -> None:
    assert not isinstance(row_lane(sash.Operator(sash.Query(aggregates={"a": sash.Sum("x")}, **options))), TimeLane)
