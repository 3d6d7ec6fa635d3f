"""Who takes part, by the papers' names: each made for one window, as a slide over values or over slices."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any

import sash
from sash import Aggregation
from sash.aggregators import ABA, DABA, PBA, SBA, FlatFAT, Recalc, SlickDeque, TwoStacks
from sash_experiments.slides import Slide, boundary, fifo

__all__ = ["ALGORITHMS", "RECALC_MOST", "over_slices", "over_values", "paired", "slices_of", "uniform_values"]

ALGORITHMS: dict[str, type[Any]] = {
    "Recalc": Recalc,
    "TwoStacks": TwoStacks,
    "SlickDeque": SlickDeque,
    "ABA": ABA,
    "DABA": DABA,
    "FlatFAT": FlatFAT,
    "SBA": SBA,
    "PBA": PBA,
}
RECALC_MOST = 2**10
"""Recalculation is linear: beyond this the papers, too, stop reporting it."""
Make = Callable[[], Slide]


def over_values(
    names: Sequence[str], aggregation: Aggregation, n: int, values: list[Any], recalc_most: int = RECALC_MOST
) -> Iterator[tuple[str, Make]]:
    """(name, how to make it) of those that admit the aggregation, for windows of n values at slide 1."""
    for name in names:
        algorithm = ALGORITHMS[name]
        if issubclass(algorithm, SBA):
            yield name, partial(boundary, _made(algorithm, aggregation, n), values)
        elif (name != "Recalc" or n <= recalc_most) and _admits(algorithm, aggregation):
            yield name, partial(fifo, algorithm, aggregation, values)


def over_slices(names: Sequence[str], aggregation: Aggregation, slices: list[Any]) -> Iterator[tuple[str, Make]]:
    """The same for windows of slices, whose partials are given: it is merging that is compared, not ``lower``."""
    ready = sash.aggregation(lift=_itself, combine=aggregation.combine, selective=aggregation.selective)
    return over_values(names, ready, len(slices), slices)


def _itself(partial: Any) -> Any:
    return partial


def _made(algorithm: type[Any], aggregation: Aggregation, n: int) -> Callable[[], SBA]:
    """PBA with its second thread, as in its paper, whether or not that is of use."""
    return partial(PBA, aggregation, n, parallel=True) if algorithm is PBA else partial(SBA, aggregation, n)


def _admits(algorithm: type[Any], aggregation: Aggregation) -> bool:
    try:
        algorithm(aggregation)
    except TypeError:  # it needs an inverse or a selective combine, and says so
        return False
    return True


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
