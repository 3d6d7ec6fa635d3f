"""The lane of one count window in arrival order, whose tuples are taken a shorter way: nothing tells it from the other.

W[4, 2]   0  1 │ 2  3 │ 4  5 │ 6     even ones begin a slice, odd ones end it and, from 3 on, complete a window
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from inside import row_lane
from sash.engine.rows.count_fast_path import CountFastPath
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


def is_steady(op: sash.Operator) -> bool:
    return row_lane(op)._count_path is not None


@pytest.fixture
def the_other_way(monkeypatch: pytest.MonkeyPatch) -> Callable[..., sash.Operator]:
    """Makes operators that do not take the shorter way."""

    def other(*args: Any, **options: Any) -> sash.Operator:
        with monkeypatch.context() as patch:
            patch.setattr(CountFastPath, "of", staticmethod(lambda lane: None))
            op = made(*args, **options)
            op.warm_up()
        return op

    return other


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("algorithm", ["sba", "pba"])
def test_state_results_and_merges_are_those_of_the_other_way(
    the_other_way: Callable[..., sash.Operator], shape: tuple[int, int], partial: bool, algorithm: str
) -> None:
    """After each tuple, to the byte; long enough for slices to be dropped many times."""
    aggregation = sash.Concat("x")
    ours = made(*shape, aggregation, partial=partial, algorithm=algorithm)
    other = the_other_way(*shape, aggregation, partial=partial, algorithm=algorithm)
    assert is_steady(ours) and not is_steady(other)
    for i in range(3 * shape[0] + 150):
        row = {"x": None if i % 5 == 3 else str(i % 10)}
        assert ours.process(row) == other.process(row)
        assert ours.metrics == other.metrics
        if not i % 7:
            assert ours.snapshot() == other.snapshot()


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
            with pytest.raises(ValueError, match=f"row {len(taken)}: {x} brings bad luck"):
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
    assert is_steady(op)
    values = list(range(40))
    found = [row for x in values[:10] for row in op.process({"x": x})]
    op.add_window("long", sash.sliding(5))
    assert not is_steady(op)  # two windows
    found += [row for x in values[10:20] for row in op.process({"x": x})]
    op.remove_window("long")
    assert is_steady(op)
    found += [row for x in values[20:] for row in op.process({"x": x})]
    assert [row["a"] for row in found if row["window"] == "short"] == [sum(w) for w in count_windows(values, 3)]
    assert [row["a"] for row in found if row["window"] == "long"] == [sum(w) for w in count_windows(values[10:20], 5)]


@pytest.mark.parametrize("more", [{}, {"b": sash.Sum("x")}])
def test_an_operator_that_nobody_needs_is_gone_at_once(more: dict[str, sash.Aggregation]) -> None:
    """Without Python's search for cycles, which would walk through all its slices."""
    op = sash.Operator(sash.Query(windows=sash.sliding(8), aggregates={"a": sash.Max("x"), **more}))
    for row in rows(300):
        op.process(row)
    assert is_steady(op)
    held = weakref.ref(row_lane(op).slicer)
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
def test_all_else_goes_the_other_way(options: dict[str, Any]) -> None:
    assert not is_steady(sash.Operator(sash.Query(aggregates={"a": sash.Sum("x")}, **options)))
