"""Who takes part, by the papers' names: each made for one window, as a slide over values or over slices."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import cycle, islice
from typing import Any

import sash
from sash import Aggregation
from sash.aggregators import DABA, FIFO, PBA, SBA, FiBA, Recalc
from sash_experiments.benchmark import Case, Contender, check
from sash_experiments.timing import Slide

__all__ = [
    "ALGORITHMS",
    "RECALC_MOST",
    "UNCACHED",
    "fifo",
    "over_slices",
    "over_values",
    "paired",
    "slices_of",
    "uniform_values",
]


_AT_ONCE = 1 << 12


def fifo(algorithm: Callable[[Aggregation], Any], aggregation: Aggregation, values: list[Any]) -> Slide:
    """Evict, insert, query, in a window that is filled with ``values``."""
    window = algorithm(aggregation)
    for start in range(0, len(values), _AT_ONCE):  # a bulk insert remembers how to undo all of it
        window.insert_many(values[start : start + _AT_ONCE])
    window.query()
    evict, insert, query = window.evict, window.insert, window.query

    def slide(value: Any) -> Any:
        evict()
        insert(value)
        return query()

    return slide


READ_OFF: dict[type[Aggregation], Callable[[deque[Any]], Any]] = {sash.Count: len, sash.Collect: list}
"""What re-evaluation reads off the values that it holds: it merges none of them, as the papers' does not either."""


def recalculation(aggregation: Aggregation, n: int, values: list[Any]) -> Slide:
    """Re-evaluation at each slide: all merged, but a count is how many are held, and a collection a copy of them."""
    read_off = READ_OFF.get(type(aggregation))
    if read_off is None:
        return fifo(Recalc, aggregation, values)
    held = deque(values)

    def slide(value: Any) -> Any:
        held.popleft()
        held.append(value)
        return read_off(held)

    return slide


def fiba(aggregation: Aggregation, values: list[Any]) -> Slide:
    """FiBA, whose values have times."""
    window = FiBA(aggregation)
    window.insert_many_at(enumerate(values))
    window.query()
    clock = len(values)

    def slide(value: Any) -> Any:
        nonlocal clock
        window.evict()
        window.insert_at(clock, value)
        clock += 1
        return window.query()

    return slide


def boundary(make: Callable[[], SBA], values: list[Any]) -> Slide:
    """SBA and PBA, which evict by themselves."""
    window = make()
    window.insert_many(values)
    insert, query = window.insert, window.query

    def slide(value: Any) -> Any:
        return query() if insert(value) else None

    return slide


UNCACHED = "DABA, no cache"
"""DABA without the sums that it keeps to save merges, here and compiled."""
ALGORITHMS: dict[str, Callable[[Aggregation, int, list[Any]], Slide]] = {
    **{kind.__name__: lambda aggregation, n, values, kind=kind: fifo(kind, aggregation, values) for kind in FIFO},  # type: ignore[misc]
    "Recalc": recalculation,
    UNCACHED: lambda aggregation, n, values: fifo(partial(DABA, cached=False), aggregation, values),
    "FiBA": lambda aggregation, n, values: fiba(aggregation, values),
    "SBA": lambda aggregation, n, values: boundary(lambda: SBA(aggregation, n), values),
    "PBA (1 thread)": lambda aggregation, n, values: boundary(lambda: PBA(aggregation, n, parallel=False), values),
    "PBA (2 threads)": lambda aggregation, n, values: boundary(lambda: PBA(aggregation, n, parallel=True), values),
}
ALGORITHMS["PBA"] = ALGORITHMS["PBA (2 threads)"]
"""By name, how to make a window of n values. PBA has its second thread, as in its paper, of use or not."""
RECALC_MOST = 2**10
"""Recalculation is linear: beyond this the papers, too, stop reporting it."""
CHECKED = 8
"""Values of the window in which algorithms are compared with recalculation."""


def over_values(
    names: Sequence[str], aggregation: Aggregation, n: int, values: list[Any], recalc_most: int = RECALC_MOST
) -> Iterator[tuple[str, Callable[[], Slide]]]:
    """(name, how to make it) of those that admit the aggregation, for windows of n values at slide 1.

    All of them give what recalculation gives; else this exits.
    """
    few = list(islice(cycle(values), 4 * CHECKED))
    oracle = partial(_results, fifo(Recalc, aggregation, few[:CHECKED]), few[CHECKED:])
    admitted = [name for name in names if _admits(name, aggregation, few)]
    answers = {"the definition": oracle}
    answers |= {name: partial(_answer, name, aggregation, few) for name in admitted}
    check(Case({"aggregation": aggregation}, [Contender(name, tuple, answer) for name, answer in answers.items()]))
    for name in admitted:
        if name != "Recalc" or n <= recalc_most:
            yield name, partial(ALGORITHMS[name], aggregation, n, values)


def _answer(name: str, aggregation: Aggregation, values: list[Any]) -> list[Any]:
    """The results of some slides of a small window."""
    return _results(ALGORITHMS[name](aggregation, CHECKED, values[:CHECKED]), values[CHECKED:])


def _results(slide: Slide, values: list[Any]) -> list[Any]:
    return [slide(value) for value in values]


def _admits(name: str, aggregation: Aggregation, values: list[Any]) -> bool:
    try:
        ALGORITHMS[name](aggregation, CHECKED, values[:CHECKED])
    except TypeError:  # it needs an inverse or a selective combine, and says so
        return False
    return True


def over_slices(
    names: Sequence[str], aggregation: Aggregation, slices: list[Any]
) -> Iterator[tuple[str, Callable[[], Slide]]]:
    """The same for windows of slices, whose partials are given: it is merging that is compared, not ``lower``."""
    ready = sash.aggregation(lift=_itself, combine=aggregation.combine, selective=aggregation.selective)
    return over_values(names, ready, len(slices), slices)


def _itself(partial: Any) -> Any:
    return partial


def slices_of(aggregation: Aggregation, values: Sequence[Any], size: int) -> list[Any]:
    """The partials of slices of so many values."""
    return [
        reduce(aggregation.combine, map(aggregation.lift, values[start : start + size]))
        for start in range(0, len(values) - size + 1, size)
    ]


def uniform_values(count: int, seed: int = 5) -> list[float]:
    """Uniform in [1, 100): all aggregations are defined there."""
    rng = random.Random(seed)
    return [1 + 99 * rng.random() for _ in range(count)]


def paired(aggregation: Aggregation, values: list[Any]) -> list[Any]:
    """The values as the aggregation takes them: with a second one each, if it is of two columns."""
    return [(value, i) for i, value in enumerate(values)] if aggregation.arity == 2 else values
