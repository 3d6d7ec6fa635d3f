"""``peek``: what close would return, without any change."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.testing import Evaluator
from strategies import Scenario, arrival_scenarios, scenarios, two_lane_scenarios
from test_operator import batch, on

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")


def peeked(op: sash.Operator, *key: Any) -> list[Any]:
    """What an operator shows; it must be the same after it as before."""
    before, metrics, dropped = op.snapshot(trusted=True), op.metrics, op.dropped
    rows = op.peek(*key)
    assert op.snapshot(trusted=True) == before
    assert (op.metrics, op.dropped) == (metrics, dropped)
    return rows


@settings(max_examples=40, deadline=None)
@given(st.one_of(scenarios(changes=True), arrival_scenarios(), two_lane_scenarios()))
def test_it_shows_what_close_returns_and_changes_nothing(scenario: Scenario) -> None:
    by_row, by_batch, evaluator = (
        sash.Operator(scenario.query),
        sash.Operator(scenario.query),
        Evaluator(scenario.query),
    )
    events = [event for event in scenario.events if event[0] != "close"]
    for begin, end in zip([0, *scenario.cuts], [*scenario.cuts, len(events)], strict=True):
        part = events[begin:end]
        for event in part:
            evaluator.on(event)
            on(by_row, event)
        batch(by_batch, part)
        closed = sash.Operator.restore(by_row.query, by_row.snapshot(trusted=True), trusted=True).close()
        assert peeked(by_row) == peeked(by_batch) == closed
    assert peeked(by_row) == evaluator.close()


def query(**options: Any) -> sash.Query:
    windows = {"time": sash.sliding(10, 5, on="t"), "session": sash.session(4, on="t")}
    return sash.Query(windows=windows, aggregates={"all": sash.Collect("t")}, time="t", **options)


@pytest.mark.parametrize("by_batch", [False, True])
@pytest.mark.parametrize("key", ["k", ["k", "j"]])
def test_of_one_key(by_batch: bool, key: Any) -> None:
    op = sash.Operator(query(key=key, watermark_delay=3))
    rows = [{"k": "aab"[t % 3], "j": 1, "t": t + t % 2} for t in range(12)]
    if by_batch:
        op.process_batch(rows)
    else:
        for row in rows:
            op.process(row)
    every = peeked(op)
    assert {row["k"] for row in every} == {"a", "b"}
    for name in "ab":
        assert peeked(op, name if key == "k" else (name, 1)) == [row for row in every if row["k"] == name]
    assert peeked(op, "c" if key == "k" else ("c", 1)) == []
    with pytest.raises(TypeError, match="cannot be a key"):
        op.peek(["a"] if key == "k" else (["a"], 1))
    assert op.close() == every
    with pytest.raises(RuntimeError, match="closed"):
        op.peek()


def test_of_nothing_and_of_null() -> None:
    op = sash.Operator(query(key="k"))
    assert peeked(op) == [] == peeked(op, "a")
    op.process({"k": None, "t": 1})
    assert peeked(op, (None,)) == peeked(op) != []
