"""The lane of one count window in arrival order, which keeps lists of partials: it computes what a RowLane does.

W[4, 2]   0  1 │ 2  3 │ 4  5 │ 6     even ones begin a slice, odd ones end it and, from 3 on, complete a window
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from functools import partial as bind
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from inside import row_lane
from sash.engine.planner import plan
from sash.engine.rows.count_lane import CountLane
from sash.testing import Counted, Failing, count_windows, naive

SHAPES = [(1, 1), (2, 1), (7, 1), (64, 1), (3, 3), (4, 2), (12, 3), (100, 4)]
VALUES = st.lists(st.one_of(st.integers(-9, 9), st.none()), max_size=60)


def made(range_: int, slide: int, aggregation: sash.Aggregation, **options: Any) -> sash.Operator:
    window = sash.sliding(range_, slide, partial=options.pop("partial", False))
    return sash.Operator(
        sash.Query(windows=window, aggregates={"a": aggregation}, algorithm=options.pop("algorithm", "sba"))
    )


def seen(op: sash.Operator) -> tuple[bytes, dict[str, int]]:
    """All that can be seen of an operator."""
    return op.snapshot(), op.metrics


def is_counting(op: sash.Operator) -> bool:
    return isinstance(row_lane(op), CountLane)


@pytest.fixture
def with_slices(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], sash.Operator]], sash.Operator]:
    """Makes operators that run on a RowLane."""

    def make(create: Callable[[], sash.Operator]) -> sash.Operator:
        with monkeypatch.context() as patch:
            patch.setattr(CountLane, "of", staticmethod(lambda *_: None))
            op = create()
            op.warm_up()
        return op

    return make


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("algorithm", ["sba", "pba"])
def test_results_and_states_are_those_of_a_row_lane(
    with_slices: Callable[[Callable[[], sash.Operator]], sash.Operator],
    shape: tuple[int, int],
    partial: bool,
    algorithm: str,
) -> None:
    """After each tuple, and both go on from the state of either; long enough for slices to be dropped often."""

    def create() -> sash.Operator:
        return made(*shape, sash.Concat("x"), partial=partial, algorithm=algorithm)

    ours, other = create(), with_slices(create)
    assert is_counting(ours) and not is_counting(other)
    for i in range(3 * shape[0] + 150):
        row = {"x": None if i % 5 == 3 else str(i % 10)}
        assert ours.process(row) == other.process(row)
        unlike = dict.fromkeys(["slices_held", "merges"])
        assert {**ours.metrics, **unlike} == {**other.metrics, **unlike}
        assert ours.metrics["slices_held"] <= other.metrics["slices_held"] <= shape[0] // shape[1] + 66
        if not i % 17:
            state, blob = _without_merges(ours), (ours if i % 2 else other).snapshot()
            ours = sash.Operator.restore(ours.query, blob)
            other = with_slices(bind(sash.Operator.restore, ours.query, blob))
            assert is_counting(ours) and not is_counting(other)
            assert _without_merges(ours) == state


@pytest.mark.parametrize("algorithm", ["sba", "pba"])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_needs_no_more_merges_than_documented_nor_than_a_row_lane(
    with_slices: Callable[[Callable[[], sash.Operator]], sash.Operator], shape: tuple[int, int], algorithm: str
) -> None:
    """1 for a tuple, 2 for a slice, 2 for a window, and 2 more for a chunk."""

    def create() -> sash.Operator:
        return made(*shape, sash.Concat("x"), algorithm=algorithm)

    ours, other = create(), with_slices(create)
    chunk = plan(ours.query).lanes[0].chunks.get(None, 1)
    for i in range(5 * shape[0] + 150):
        row = {"x": str(i % 10)}
        assert ours.process(row) == other.process(row)
        slices = (i + 1) // shape[1]
        assert ours.metrics["merges"] <= i + 1 + 2 * slices + 2 * ours.metrics["results_out"] + 2 * (slices // chunk)
        assert ours.metrics["merges"] <= other.metrics["merges"] + 3  # of a chunk whose lcs RowLane does not need yet


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [0, 1, 5, 70, 150])
def test_a_call_of_many_rows_is_taken_back_as_a_whole(shape: tuple[int, int], rows: int) -> None:
    """More than a window: what the state before the call consists of is still there."""
    (planned,) = plan(made(*shape, sash.Concat("x")).query).lanes
    lane = CountLane.of(made(*shape, sash.Concat("x")).query, planned)
    assert lane is not None
    for i in range(rows):
        lane.take(0, None, (str(i % 10),))
        lane.mark()
    before = lane.dump()
    for more in (1, 2, 3 * shape[0] + 1):
        expected = [lane.take(0, None, (str(i % 7),)) for i in range(more)]
        lane.undo()
        assert lane.dump() == before
        assert [lane.take(0, None, (str(i % 7),)) for i in range(more)] == expected
        lane.undo()


@given(st.sampled_from(SHAPES), VALUES, st.data())
def test_it_is_the_definition_however_rows_batches_and_restarts_alternate(
    shape: tuple[int, int], values: list[int | None], data: st.DataObject
) -> None:
    aggregation = sash.Last("x")
    op = made(*shape, aggregation)
    found: list[Any] = []
    at = 0
    while at < len(values):
        how = data.draw(st.sampled_from(["row", "row", "row", "batch", "restart"]))
        size = 1 if how == "row" else data.draw(st.integers(0, 5))
        some, at = values[at : at + size], at + size
        if how == "row":
            found += [row["a"] for row in op.process({"x": some[0]})]
        else:
            found += op.process_batch({"x": some})["a"]
        if how == "restart":
            op = sash.Operator.restore(op.query, op.snapshot())
    assert found == [naive(aggregation, window) for window in count_windows(values, *shape)]


def rows(count: int, start: int = 0) -> Iterator[dict[str, Any]]:
    return ({"x": (i * 7919) % 101} for i in range(start, start + count))


@pytest.mark.parametrize("shape", [(7, 1), (64, 1), (12, 3)])
@pytest.mark.parametrize("done", [0, 5, 60, 92])
def test_a_combine_that_raises_leaves_it_as_it_was(shape: tuple[int, int], done: int) -> None:
    failing = Failing(sash.Last("x"))
    op, whole = made(*shape, failing), made(*shape, sash.Last("x"))
    for row in rows(done):
        assert op.process(row) == whole.process(row)
    for row in rows(9, done):
        expected = whole.process(row)
        for fuse in range(1, 200):
            before, counts = op.snapshot(), op.metrics
            failing.fuse = fuse
            try:
                found = op.process(row)
            except ArithmeticError:
                assert {**op.metrics, "merges": 0} == {**counts, "merges": 0}
                assert _without_merges(op) == _without_merges(sash.Operator.restore(op.query, before))
            else:
                failing.fuse = 0
                assert found == expected
                break


def _without_merges(op: sash.Operator) -> list[Any]:
    state = row_lane(op).dump()
    times = [(slice_.first, slice_.last) for slice_ in state.slices]
    return [state.watermark, state.newest, state.accepted, times, state.results]


class Stumbling(sash.Last):
    """Cannot lift 13, nor give a result of 17."""

    @staticmethod
    def _lift(value: Any) -> Any:
        if value == 13:
            raise ValueError("13 brings bad luck")
        return value

    @staticmethod
    def _lower(partial: Any) -> Any:
        if partial == 17:
            raise ValueError("17 brings bad luck")
        return partial


def _completes(taken: int, range_: int, slide: int) -> bool:
    """Whether the tuple after so many completes a window."""
    return taken + 1 >= range_ and not (taken + 1 - range_) % slide


@pytest.mark.parametrize("shape", [(3, 1), (6, 2)])
def test_rows_that_a_users_lift_or_lower_refuses_have_not_been(shape: tuple[int, int]) -> None:
    op = made(*shape, Stumbling("x"))
    taken: list[int] = []
    found: list[Any] = []
    for x in [i % 20 for i in range(100)]:
        if x == 13 or (x == 17 and _completes(len(taken), *shape)):
            before = seen(op)
            with pytest.raises(ValueError, match=rf"row {len(taken)}: Stumbling\('x'\) cannot .*: {x} brings bad luck"):
                op.process({"x": x})
            assert {**before[1], "merges": 0} == {**op.metrics, "merges": 0}
            assert x == 17 or before[0] == op.snapshot()  # the merges that were done before it stay counted
        else:
            found += [row["a"] for row in op.process({"x": x})]
            taken.append(x)
    assert found == [window[-1] for window in count_windows(taken, *shape)]


@pytest.mark.parametrize("n", [2, 7, 64, 100])
def test_a_slide_costs_at_most_three_merges_besides_that_of_lcs(n: int) -> None:
    """1 for csa, at most 2 for the window and 1 for lcs; 2 more once a chunk."""
    counted = Counted(sash.Max("x"))
    op = made(n, 1, counted)
    worst = 0
    for i, row in enumerate(rows(20 * n)):
        before = counted.calls
        op.process(row)
        if i > 2 * n:
            worst = max(worst, counted.calls - before)
    assert worst <= 6 and counted.calls <= 4 * 20 * n + 2 * 20 * n // max(1 << (n.bit_length() - 2), 1)
    assert op.metrics["merges"] == counted.calls


def test_windows_come_and_go() -> None:
    query = sash.Query(windows={"short": sash.sliding(3)}, aggregates={"a": sash.Sum("x")})
    op = sash.Operator(query)
    assert is_counting(op)
    values = list(range(40))
    found = [row for x in values[:10] for row in op.process({"x": x})]
    op.add_window("long", sash.sliding(5))
    assert not is_counting(op)  # two windows
    found += [row for x in values[10:20] for row in op.process({"x": x})]
    op.remove_window("long")
    assert is_counting(op)
    found += [row for x in values[20:] for row in op.process({"x": x})]
    assert [row["a"] for row in found if row["window"] == "short"] == [sum(w) for w in count_windows(values, 3)]
    assert [row["a"] for row in found if row["window"] == "long"] == [sum(w) for w in count_windows(values[10:20], 5)]


@pytest.mark.parametrize("more", [{}, {"b": sash.Sum("x")}])
def test_an_operator_that_nobody_needs_is_gone_at_once(more: dict[str, sash.Aggregation]) -> None:
    """Without Python's search for cycles, which would walk through all its slices."""
    op = sash.Operator(sash.Query(windows=sash.sliding(8), aggregates={"a": sash.Max("x"), **more}))
    for row in rows(300):
        op.process(row)
    assert is_counting(op)
    held = weakref.ref(row_lane(op).bundle)
    gc.disable()
    try:
        del op
        assert held() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "options",
    [
        {"windows": sash.sliding(5, 2)},  # the slide does not divide the range
        {"windows": sash.sliding(4), "algorithm": "daba"},
        {"windows": sash.sliding(4), "algorithm": "eager"},
        {"windows": {"a": sash.sliding(4), "b": sash.sliding(6)}},
        {"windows": sash.sliding(4), "time": "t"},
        {"windows": sash.session(3, on="t")},
    ],
)
def test_all_else_runs_on_a_row_lane(options: dict[str, Any]) -> None:
    assert not is_counting(sash.Operator(sash.Query(aggregates={"a": sash.Sum("x")}, **options)))
