"""Tuples and watermarks that complete nothing are taken a shorter way: nothing tells it from the other.

W[6, 3] on time   0 . . │ 3 4 . │ 6 …     3 begins a slice, 4 goes into it; the watermark may pass 4, not 6
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from inside import row_lane
from sash.engine.rows.lane import RowLane
from sash.engine.rows.time_lane import TimeLane
from sash.testing import Failing

WINDOWS: dict[str, dict[str, Any]] = {
    "sliding": {"w": sash.sliding(6, 3, on="t")},
    "edges apart": {"w": sash.sliding(5, 3, on="t")},
    "tumbling": {"w": sash.tumbling(4, on="t")},
    "session": {"w": sash.session(3, on="t")},
    "two": {"a": sash.sliding(6, 2, on="t"), "b": sash.sliding(9, 3, on="t", offset=1)},
    "with a session": {"a": sash.sliding(6, 2, on="t"), "b": sash.session(3, on="t")},
    "with counts": {"a": sash.sliding(6, 2, on="t"), "b": sash.sliding(4, 2)},
    "the last": {"a": sash.sliding(6, 2, on="t"), "b": sash.last(3, 4, on="t")},
}
AGGREGATES: dict[str, Callable[[], sash.Aggregation]] = {
    "sum": lambda: sash.Sum("x"),  # its tuples need no order
    "concat": lambda: sash.Concat("x"),
}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("tuple"), st.integers(-6, 4)),  # as far behind the newest, or before it
        st.tuples(st.just("watermark"), st.integers(0, 4)),
        st.tuples(st.just("silence"), st.integers(5, 40)),
    ),
    max_size=80,
)


@pytest.fixture(scope="module", autouse=True)
def no_time_lanes() -> Iterator[None]:
    """Run windows on time by a RowLane, whatever lane suits them best."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TimeLane, "of", staticmethod(lambda *_: None))
        yield


def query_of(windows: str, aggregate: str, delay: int, lateness: int) -> sash.Query:
    return sash.Query(
        time="t",
        windows=WINDOWS[windows],
        aggregates={"a": AGGREGATES[aggregate]()},
        watermark_delay=delay or None,
        allowed_lateness=lateness or None,
    )


def never_quiet(op: sash.Operator) -> sash.Operator:
    """The same operator, all of whose tuples and watermarks go the long way."""
    lane = row_lane(op)
    assert isinstance(lane, RowLane)
    # Of this lane alone: the other operator, made in the same test, must look out.
    lane._arm_quiet_path = lambda: None  # type: ignore[method-assign]
    return op


def seen(op: sash.Operator) -> tuple[bytes, dict[str, int]]:
    return op.snapshot(), op.metrics


def value(number: int, aggregate: str) -> Any:
    return None if number % 7 == 5 else number if aggregate == "sum" else str(number)


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("aggregate", AGGREGATES)
@given(STEPS, st.booleans(), st.sampled_from([(0, 0), (3, 0), (0, 5), (2, 4)]))
def test_state_results_and_merges_are_those_of_the_long_way(
    windows: str, aggregate: str, steps: list[tuple[str, int]], own: bool, bounds: tuple[int, int]
) -> None:
    query = query_of(windows, aggregate, *bounds)
    ours = sash.Operator(query, own_watermark=own)
    row_lane(ours)  # is there in both, before any tuple
    other = never_quiet(sash.Operator(query, own_watermark=own))
    newest = 0
    for number, (what, far) in enumerate(steps):
        if what == "tuple":
            time = newest + far
            newest = max(newest, time)
            row = {"t": time, "x": value(number, aggregate)}
            assert ours.process(row) == other.process(row)
            assert ours.dropped == other.dropped
        elif what == "watermark":
            assert ours.advance(newest - 4 + far) == other.advance(newest - 4 + far)
        else:
            newest += far
        assert seen(ours) == seen(other)
        assert ours.next_timer() == other.next_timer()
    assert ours.close() == other.close()


@pytest.mark.parametrize("own", [True, False])
def test_slices_are_dropped_as_soon_as_on_the_long_way(own: bool) -> None:
    query = query_of("sliding", "sum", 0, 0)
    ours = sash.Operator(query, own_watermark=own)
    row_lane(ours)  # is there in both, before any tuple
    other = never_quiet(sash.Operator(query, own_watermark=own))
    held = set()
    for t in range(0, 3000, 2):
        assert ours.process({"t": t, "x": t}) == other.process({"t": t, "x": t})
        if not own and not t % 50:
            assert ours.advance(t - 10) == other.advance(t - 10)
        assert seen(ours) == seen(other)
        held.add(ours.metrics["slices_held"])
    assert max(held) < 150


def test_most_tuples_and_watermarks_are_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    plain = RowLane._commit

    def commit(lane: RowLane) -> None:
        calls.append(lane.watermark)
        plain(lane)

    monkeypatch.setattr(RowLane, "_commit", commit)
    op = sash.Operator(query_of("sliding", "sum", 0, 0), own_watermark=False)
    for t in range(0, 3000, 3):  # each begins a slice
        op.process({"t": t, "x": 1})
        op.advance(t - t % 30)  # a window is complete with one in ten
    assert len(calls) < 3000 // 30 + 10


@pytest.mark.parametrize("what", ["lift", "combine"])
def test_a_tuple_that_fails_has_not_been(what: str) -> None:
    failing = Failing(sash.Sum("x"))
    query = sash.Query(time="t", windows=sash.sliding(6, 3, on="t"), aggregates={"a": failing})
    op = sash.Operator(query, own_watermark=False)
    op.advance(0)
    op.process({"t": 1, "x": 1})
    before = op.metrics
    failing.fuse = 1
    with pytest.raises((ArithmeticError, TypeError)):
        op.process({"t": 2, "x": 1} if what == "combine" else {"t": 4, "x": "one"})
    failing.fuse = 0
    assert {**op.metrics, "merges": 0} == {**before, "merges": 0}  # one that fails is counted, too
    assert op.process({"t": 4, "x": 2}) == []
    assert [row["a"] for row in op.advance(9)] == [1, 3, 2]
