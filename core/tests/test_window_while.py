"""Windows that a slide policy decides on, in queries: beside the evaluator, saved and restored, refused."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.aggregators import PolicyError
from sash.query.file import parse_query
from sash.runtime.operator import KeyedOperator
from sash.testing import evaluate

Row = dict[str, Any]
Event = tuple[Any, ...]
AGGREGATES = {"sum": sash.Sum("x"), "newest": sash.Last("x"), "all": sash.Concat("name"), "many": sash.Count()}


def at_most_ten(total: Row, oldest: Row) -> bool:
    """The paper's running example: a tuple stays if it and all behind it add up to at most 10."""
    return bool(total["sum"] - oldest["sum"] + oldest["newest"] > 10)


def last_five(total: Row, oldest: Row) -> bool:
    return bool(total["many"] - oldest["many"] >= 5)


def everything(total: Row, oldest: Row) -> bool:
    return True


POLICIES = [at_most_ten, last_five, everything]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@st.composite
def streams(draw: st.DrawFn, ordered: bool = False) -> list[Row]:
    times = draw(st.lists(st.integers(0, 30), max_size=40))
    if ordered:
        times = sorted(times)
    names = itertools.cycle(LETTERS)
    return [{"ts": time, "x": draw(st.integers(1, 7)), "name": next(names)} for time in times]


def query(windows: Any, **options: Any) -> sash.Query:
    return sash.Query(windows=windows, aggregates=AGGREGATES, **options)


def given_by(op: sash.Operator, events: list[Event]) -> Iterator[Row]:
    for event in events:
        match event:
            case "row", row:
                yield from op.process(row)
            case "advance", watermark:
                yield from op.advance(watermark)
            case "add", name, window:
                op.add_window(name, window)
            case ("close",):
                yield from op.close()


def same(query: sash.Query, events: list[Event]) -> None:
    assert list(given_by(sash.Operator(query), events)) == evaluate(query, events)


class TestBesideTheEvaluator:
    @settings(max_examples=60)
    @given(rows=streams(), policy=st.sampled_from(POLICIES))
    def test_in_the_order_of_arrival(self, rows: list[Row], policy: Any) -> None:
        same(query(sash.window_while(policy)), [("row", row) for row in rows])

    @settings(max_examples=60)
    @given(rows=streams(), delay=st.integers(0, 9), policy=st.sampled_from(POLICIES))
    def test_out_of_order(self, rows: list[Row], delay: int, policy: Any) -> None:
        timed = query(sash.window_while(policy), time="ts", watermark_delay=delay)
        same(timed, [*(("row", row) for row in rows), ("advance", 12), ("close",)])

    @settings(max_examples=40)
    @given(rows=streams(), delay=st.integers(0, 9))
    def test_among_other_windows(self, rows: list[Row], delay: int) -> None:
        windows = {
            "ten": sash.window_while(at_most_ten),
            "three": sash.sliding(3, 2),
            "five": sash.window_while(last_five),
            "session": sash.session(4, on="ts"),
        }
        same(query(windows, time="ts", watermark_delay=delay), [*(("row", row) for row in rows), ("close",)])

    @settings(max_examples=40)
    @given(rows=streams(), delay=st.integers(0, 9), at=st.integers(0, 20))
    def test_one_that_comes_while_the_stream_runs(self, rows: list[Row], delay: int, at: int) -> None:
        timed = query({"three": sash.sliding(3)}, time="ts", watermark_delay=delay)
        events: list[Event] = [("row", row) for row in rows]
        events.insert(min(at, len(rows)), ("add", "ten", sash.window_while(at_most_ten)))
        same(timed, [*events, ("close",)])

    @settings(max_examples=40)
    @given(rows=streams(), delay=st.integers(0, 9), cut=st.lists(st.integers(0, 40), max_size=3))
    def test_batches(self, rows: list[Row], delay: int, cut: list[int]) -> None:
        timed = query(sash.window_while(at_most_ten), time="ts", watermark_delay=delay)
        expected = evaluate(timed, [("row", row) for row in rows])
        op, found = sash.Operator(timed), []
        edges = sorted({0, len(rows), *(min(each, len(rows)) for each in cut)})
        for low, high in itertools.pairwise(edges):
            found += op.process_batch(rows[low:high])
        assert found == expected

    @settings(max_examples=40)
    @given(rows=streams(), delay=st.integers(0, 9), policy=st.sampled_from(POLICIES))
    def test_saved_and_restored_at_each_row(self, rows: list[Row], delay: int, policy: Any) -> None:
        timed = query(sash.window_while(policy), time="ts", watermark_delay=delay)
        op, found = sash.Operator(timed), []
        for row in rows:
            op = sash.Operator.restore(timed, op.snapshot())
            found += op.process(row)
        assert found == evaluate(timed, [("row", row) for row in rows])

    @settings(max_examples=30)
    @given(rows=streams(), policy=st.sampled_from(POLICIES))
    def test_whole_data_sets_by_key(self, rows: list[Row], policy: Any) -> None:
        for i, row in enumerate(rows):
            row["key"] = "ab"[i % 2]
        keyed = query(sash.window_while(policy), time="ts", key="key")
        expected = []
        for key in "ab":
            mine = sorted((row for row in rows if row["key"] == key), key=lambda row: row["ts"])
            expected += [
                {"key": key, **each} for each in evaluate(keyed, [("row", row) for row in mine] + [("close",)])
            ]
        found = sash.run(keyed, rows)
        assert sorted(found, key=lambda row: row["key"]) == expected
        with pytest.warns(UserWarning, match="row by row"):
            op = KeyedOperator(keyed)
        found = list(op.process_batch(rows[:13]))
        with pytest.warns(UserWarning, match="row by row"):
            op = KeyedOperator.restore(keyed, op.snapshot())
        found += [*op.process_batch(rows[13:]), *op.close(rows)]
        assert sorted(found, key=lambda row: row["key"]) == expected


def test_a_long_window_is_dropped_by_and_by() -> None:
    op = sash.Operator(query(sash.window_while(last_five)))
    for i in range(3000):
        (result,) = op.process({"x": i, "name": "a"})
        assert result["window_start"] == max(0, i - 4) and result["window_end"] == i + 1
    assert op.metrics["slices_held"] < 200
    assert op.metrics["merges"] < 3000 * 20


class TestFailures:
    def test_a_policy_that_raises_has_not_been(self) -> None:
        def picky(total: Row, oldest: Row) -> bool:
            if total["newest"] < 0:
                raise ArithmeticError("negative")
            return at_most_ten(total, oldest)

        op = sash.Operator(query(sash.window_while(picky)))
        rows = [{"x": x, "name": "a"} for x in [2, 2, 3, 3, 4, 5]]
        found = []
        for row in rows:
            with pytest.raises(ArithmeticError, match="negative"):
                op.process({"x": -1, "name": "b"})
            found += op.process(row)
        assert found == evaluate(op.query, [("row", row) for row in rows])

    def test_a_policy_that_is_not_monotone(self) -> None:
        def odd(total: Row, oldest: Row) -> bool:
            return bool(total["many"] >= 20 and oldest["many"] != 3)

        op = sash.Operator(query(sash.window_while(odd)))
        for _ in range(19):
            op.process({"x": 1, "name": "a"})
        with pytest.raises(PolicyError, match=r"row 19: the slide policy is not monotone: of 20 values it lets the"):
            op.process({"x": 1, "name": "a"})

    def test_what_cannot_be(self) -> None:
        with pytest.raises(TypeError, match=r"window_while takes a function policy\(total, oldest\) .*; got 10"):
            sash.window_while(10)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="results cannot be corrected; leave out allowed_lateness"):
            query(sash.window_while(at_most_ten), time="ts", allowed_lateness=3)
        with pytest.raises(ValueError, match=r"algorithm 'daba' cannot be used here: while at_most_ten .* AMTA finds"):
            sash.Operator(query(sash.window_while(at_most_ten), algorithm="daba"))

    def test_explain_says_how(self) -> None:
        text = sash.explain(query(sash.window_while(at_most_ten)), verbose=True)
        assert "AMTA: it searches for what a slide policy lets go" in text
        assert "while at_most_ten lets the oldest go" in text


def test_as_a_file() -> None:
    before = query(sash.window_while(operator.contains, on="km"))  # any function of a module
    text = sash.dump_query(before)
    assert 'policy = "_operator:contains"' in text
    assert parse_query(text, allow_imports=["_operator"]) == before
