"""A call happens or it does not: whatever raises half-way, the structure is as it was before."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import sash
from catalogue import UncachedDABA
from sash.aggregators import DABA, FIFO, PBA, SBA, FifoAggregator, FlatFAT, SlideSide
from sash.testing import Failing, count_windows

VALUES = [5, None, 3, 8, 1, 9, 2, 7, 2, 6, 4, 0]


def prepared(algorithm: type[FifoAggregator], aggregation: sash.Aggregation, evicted: int) -> FifoAggregator:
    window = algorithm(aggregation)
    window.insert_many(VALUES)
    for _ in range(evicted):
        window.evict()
        window.query()
    window.insert_many([11, 3])
    return window


def contents(window: FifoAggregator) -> list[Any]:
    """All that can be seen of a window: its results while it is drained."""
    results = [window.query()]
    while len(window):
        window.evict()
        window._check()
        results.append(window.query())
    return results


OPERATIONS: dict[str, Callable[[FifoAggregator], Any]] = {
    "insert": lambda window: window.insert(4),
    "insert_many": lambda window: window.insert_many([6, 1, None, 8, 8, 2, 4]),
    "evict": lambda window: window.evict(),
    "evict_many": lambda window: window.evict_many(len(window) - 2),
    "query": lambda window: window.query(),
    "grow": lambda window: window.insert_many(range(40)),
}


def aggregation_for(algorithm: type[FifoAggregator]) -> sash.Aggregation:
    # Last is selective, invertible and not commutative; Collect shows every mistake but is not selective
    return sash.Last() if algorithm.__name__ == "SlickDeque" else sash.Collect()


@pytest.mark.parametrize("algorithm", [*FIFO, UncachedDABA])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("evicted", [0, 1, 3, 6, 7, 11, 12])
def test_a_combine_that_raises_changes_nothing(algorithm: type[FifoAggregator], operation: str, evicted: int) -> None:
    run = OPERATIONS[operation]
    expected = contents(prepared(algorithm, aggregation_for(algorithm), evicted))
    for fuse in range(1, 200):
        failing = Failing(aggregation_for(algorithm))
        window = prepared(algorithm, failing, evicted)
        failing.fuse = fuse
        try:
            run(window)
        except ArithmeticError:
            assert contents(window) == expected, f"after a failure in combine {fuse}"
        else:
            failing.fuse = 0
            return  # the operation makes fewer combines than that
    pytest.fail("the operation never succeeded")


@pytest.mark.parametrize("aggregation", [sash.Max(), sash.Collect()], ids=str)
def test_slide_side_query_last(aggregation: sash.Aggregation) -> None:
    for fuse in range(1, 60):
        failing = Failing(aggregation)
        window = prepared(SlideSide, failing, 3)
        failing.fuse = fuse
        try:
            window.query_last(2)  # type: ignore[attr-defined]
        except ArithmeticError:
            assert contents(window) == contents(prepared(SlideSide, aggregation, 3))
        else:
            return


@pytest.mark.parametrize("number", [1, 5, 11])
def test_flatfat_evict_at(number: int) -> None:
    for fuse in range(1, 60):
        failing = Failing(sash.Collect())
        window = prepared(FlatFAT, failing, 1)
        failing.fuse = fuse
        try:
            window.evict_at(number)  # type: ignore[attr-defined]
        except ArithmeticError:
            assert contents(window) == contents(prepared(FlatFAT, sash.Collect(), 1))
        else:
            return


@pytest.mark.parametrize("algorithm", FIFO)
def test_a_value_that_cannot_be_lifted_changes_nothing(algorithm: type[FifoAggregator]) -> None:
    picky = sash.aggregation(  # makes the offers of Last, so that every algorithm admits it
        lift=float, combine=lambda a, b: b, invert=lambda total, oldest: total, selective=True, name="picky"
    )
    window = algorithm(picky)
    window.insert_many([1, 2, 3])
    with pytest.raises((TypeError, ValueError), match="four"):
        window.insert_many([4, "four", 5])
    with pytest.raises((TypeError, ValueError), match="four"):
        window.insert("four")
    assert len(window) == 3 and window.query() == 3.0


@pytest.mark.parametrize("algorithm", FIFO)
def test_bad_evictions(algorithm: type[FifoAggregator]) -> None:
    window = algorithm(sash.Last())
    with pytest.raises(IndexError, match="cannot evict: the window is empty"):
        window.evict()
    window.insert_many([1, 2])
    for count, error, words in [
        (3, IndexError, "the window has 2 values, not 3"),
        (-1, ValueError, "must not be negative; got -1"),
        (1.0, TypeError, "whole number; got 1.0"),
        (True, TypeError, "whole number; got True"),
        (None, TypeError, "whole number; got None"),
        (math.nan, TypeError, "whole number; got nan"),
    ]:
        with pytest.raises(error, match=words):
            window.evict_many(count)  # type: ignore[arg-type]
    window.evict_many(0)
    assert len(window) == 2 and window.query() == 2


@pytest.mark.parametrize("algorithm", [*FIFO, SBA, PBA])
@pytest.mark.parametrize("wrong", [None, max, "max", sash.Max])
def test_an_aggregation_is_asked_for(algorithm: Any, wrong: Any) -> None:
    arguments = (4,) if algorithm in (SBA, PBA) else ()
    with pytest.raises(TypeError, match=f"{algorithm.__name__} needs an aggregation such as sash.Max"):
        algorithm(wrong, *arguments)


def test_flatfat_evicts_what_is_there_only() -> None:
    window = FlatFAT(sash.Max())
    window.insert_many([1, 2, 3])
    window.evict_at(1)
    for gone in (1, 3, -1):
        with pytest.raises(IndexError, match=f"cannot evict value {gone}: it is not in the window"):
            window.evict_at(gone)
    assert len(window) == 2 and window.query() == 3


@pytest.mark.parametrize("algorithm", [SBA, PBA])
@pytest.mark.parametrize(("r", "s"), [(1, 1), (4, 1), (7, 1), (6, 2), (7, 3), (5, 4)])
@pytest.mark.parametrize("before", [0, 3, 7, 11, 20])
def test_boundary_aggregators(algorithm: type[SBA], r: int, s: int, before: int) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    expected = ["".join(window) for window in count_windows(letters, r, s)]
    for bulk in (1, 2, 9):
        for fuse in range(1, 40):
            failing = Failing(sash.Concat(separator=""))
            window = algorithm(failing, r, s)
            results = window.insert_many(letters[:before])
            failing.fuse = fuse
            try:
                results += window.insert_many(letters[before : before + bulk])
                failing.fuse = 0
                results += window.insert_many(letters[before + bulk :])
            except ArithmeticError:
                window._check()
                results += window.insert_many(letters[before:])
            else:
                fuse = 0
            assert results == expected
            if not fuse:
                break


def test_a_failed_query_can_be_repeated() -> None:
    failing = Failing(sash.Concat(separator=""))
    window = SBA(failing, 8)
    for letter in "abcdefghi":
        window.insert(letter)
    for fuse in (1, 2, 3):
        failing.fuse = fuse
        with pytest.raises(ArithmeticError):
            window.query()
    assert window.query() == "bcdefghi"


@pytest.mark.parametrize("algorithm", [SBA, PBA])
@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"range": 2, "slide": 3}, ValueError, "range 2 is below slide 3"),
        ({"range": 0}, ValueError, "range must be at least 1; got 0"),
        ({"range": 4, "slide": -1}, ValueError, "slide must be at least 1; got -1"),
        ({"range": 4.0}, TypeError, "range must be a whole number of values; got 4.0"),
        ({"range": math.nan}, TypeError, "range must be a whole number of values; got nan"),
        ({"range": None}, TypeError, "range must be a whole number of values; got None"),
        ({"range": 8, "chunk": 0}, ValueError, "chunk must be between 1 and the 8 slices of a window; got 0"),
        ({"range": 8, "slide": 2, "chunk": 5}, ValueError, "chunk must be between 1 and the 4 slices"),
        ({"range": 8, "chunk": 2.0}, TypeError, "chunk must be a whole number of slices; got 2.0"),
    ],
)
def test_bad_windows(algorithm: type[SBA], arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        algorithm(sash.Max(), **arguments)


def test_a_window_that_has_not_ended_has_no_result() -> None:
    window = SBA(sash.Max(), 3, 2)
    with pytest.raises(IndexError, match="no window ends here: the next one has 0 of its 3 values"):
        window.query()
    assert window.insert_many([1, 2, 3]) == [3]
    window.insert(4)
    with pytest.raises(IndexError, match="no window ends here: the next one has 2 of its 3 values"):
        window.query()


def test_nan_and_null_are_values_like_others() -> None:
    window = DABA(sash.Max())
    window.insert_many([1.0, None, math.nan, 2.0])
    assert math.isnan(window.query())
    window.evict_many(3)
    assert window.query() == 2.0
    window.insert(None)
    window.evict()
    assert len(window) == 1 and window.query() is None
