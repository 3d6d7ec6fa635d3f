"""In order, slices begin only where windows begin: a window that ends inside one is emitted before that slice goes on.

W[10, 3]   |--------- window 0 ---------|
                    |--------- window 1 ----------|
edges      0        3        6        9  10     12  13
slices     |--------|--------|--------|---------|---     the tuple at 11 emits [0, 10) before it joins the slice of 9
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from inside import row_lane
from sash.engine import planner
from sash.engine.decisions import Decisions, decide
from sash.engine.rows.lane import RowLane
from sash.query import Query
from sash.query.lanes import Lane
from sash.testing import Failing, evaluate

Events = list[tuple[str, Any]]
WINDOWS: dict[str, dict[str, Any]] = {
    "apart": {"w": sash.sliding(10, 3, on="t")},
    "floats": {"w": sash.sliding(2.5, 1.0, on="t", offset=0.1)},
    "counts": {"w": sash.sliding(10, 3)},
    "few counts": {"w": sash.sliding(5, 2, partial=True)},
    "cumulative": {"w": sash.cumulative(12, 4, on="t")},
    "two": {"a": sash.sliding(10, 3, on="t"), "b": sash.sliding(7, 2, on="t", offset=1)},
    "times and counts": {"a": sash.sliding(10, 3, on="t"), "b": sash.sliding(5, 2)},
    "with a session": {"a": sash.sliding(5, 3, on="t"), "b": sash.session(3, on="t")},
    "with trailing": {"a": sash.sliding(5, 3, on="t"), "b": sash.trailing(4, on="t")},
}
ALGORITHMS = ["auto", "sba", "pba", "daba", "twostackslite", "flatfat", "eager", "lazy"]


class Halves(sash.windows.TimeWindow):
    """A subclass with windows of its own, some of which begin where those of its parent do not."""

    def windows(self, after: Any, upto: Any) -> Any:
        end = after // 5 * 5 + 5
        while end <= upto:
            yield end - 5, end
            end += 5

    def next_edge(self, after: Any) -> Any:
        return after // 5 * 5 + 5


def query_of(windows: str, algorithm: str = "auto") -> Query:
    return Query(
        time="t",
        windows=WINDOWS[windows],
        aggregates={"a": sash.Concat("x"), "n": sash.Count()},
        algorithm=algorithm,
    )


@st.composite
def streams(draw: st.DrawFn, kinds: tuple[str, ...] = ()) -> Events:
    """Rows whose times mostly grow by little, some late; watermarks; and events of further kinds, now and then."""
    time, events = draw(st.integers(-20, 20)), []
    for _ in range(draw(st.integers(0, 60))):
        kind = draw(st.sampled_from(["row"] * 12 + ["advance", *kinds]))
        time += draw(st.sampled_from([0, 0, 1, 1, 1, 2, 3, 7, 30, 200, -1, -5]))
        row = {"t": time, "x": draw(st.sampled_from([None, *"abc"]))}
        events.append((kind, row if kind in ("row", "batch") else time))
    return events


@pytest.mark.parametrize("windows", WINDOWS)
@given(events=streams(), algorithm=st.sampled_from(ALGORITHMS))
def test_results_are_those_of_the_definition(windows: str, events: Events, algorithm: str) -> None:
    query = query_of(windows, algorithm)
    op, emitted = sash.Operator(query), list[Any]()
    row_lane(op)
    for kind, what in events:
        emitted += op.process(what) if kind == "row" else op.advance(what)
    assert [*emitted, *op.close()] == evaluate(query, [*events, ("close",)])


def cut_at_ends_too(query: Query, lane: Lane, own_watermark: bool = True) -> Decisions:
    """As versions before this rule cut."""
    return replace(decide(query, lane, own_watermark), begins_only=False)


@pytest.mark.parametrize("windows", WINDOWS)
@given(events=streams(("before", "now", "batch", "batch")))
def test_a_state_of_slices_that_are_cut_at_ends_too_goes_on(windows: str, events: Events) -> None:
    """And the other way round: both mean the same, by rows and by batches."""
    query, emitted = query_of(windows), list[Any]()
    op = sash.Operator(query)
    for kind, what in events:
        if kind in ("before", "now"):
            with pytest.MonkeyPatch.context() as patch:
                if kind == "before":
                    patch.setattr(planner, "decide", cut_at_ends_too)
                op = sash.Operator.restore(query, op.snapshot())
        elif kind == "advance":
            emitted += op.advance(what)
        elif kind == "row":
            emitted += op.process(what)
        else:
            emitted += op.process_batch([what])
    rows = [("row" if kind == "batch" else kind, what) for kind, what in events if kind not in ("before", "now")]
    assert [*emitted, *op.close()] == evaluate(query, [*rows, ("close",)])


@pytest.mark.parametrize(
    ("windows", "covering", "before"),
    [("apart", 4, 7), ("counts", 4, 7), ("cumulative", 1, 3), ("two", 7, 10), ("times and counts", 7, 10)],
)
def test_slices_held(monkeypatch: pytest.MonkeyPatch, windows: str, covering: int, before: int) -> None:
    """How many slices the longest window covers at most, one tuple at each time, and how many it did with ends cut."""
    assert most_covered(query_of(windows)) == covering
    monkeypatch.setattr(planner, "decide", cut_at_ends_too)
    assert most_covered(query_of(windows)) == before


def most_covered(query: Query) -> int:
    op, most = sash.Operator(query), 0
    lane = row_lane(op)
    assert isinstance(lane, RowLane)
    for t in range(200):
        op.process({"t": t, "x": "a"})
        lane._evict()
        if t > 100:
            most = max(most, op.metrics["slices_held"])
    return most


def test_windows_of_a_subclass_are_cut_at_all_their_edges() -> None:
    query = Query(windows={"w": Halves(10, 3, on="t")}, aggregates={"a": sash.Concat("x")}, time="t")
    op = sash.Operator(query)
    row_lane(op)
    emitted = [row["a"] for t in range(40) for row in op.process({"t": t, "x": str(t % 10)})]
    assert [*emitted, *(row["a"] for row in op.close())] == ["0,1,2,3,4", "5,6,7,8,9"] * 4


@pytest.mark.parametrize("windows", ["apart", "counts", "times and counts"])
def test_a_tuple_that_fails_after_it_has_completed_windows_is_rolled_back(windows: str) -> None:
    failing = Failing(sash.Concat("x"))
    query = Query(time="t", windows=WINDOWS[windows], aggregates={"a": failing})
    plain, op = sash.Operator(query_of(windows)), sash.Operator(query)
    row_lane(plain), row_lane(op)
    failed = 0
    for t in range(60):
        row = {"t": t, "x": str(t % 10)}
        for merge in range(1, 5):
            failing.fuse = merge
            before = op.snapshot()
            try:
                op.process(row)
            except ArithmeticError:
                failed += 1
                assert op.snapshot() == before
            else:
                op = sash.Operator.restore(query, before)
        failing.fuse = 0
        emitted = [{name: value for name, value in result.items() if name != "n"} for result in plain.process(row)]
        assert op.process(row) == emitted
    assert failed > 60
