"""Break-even points: from which window size on an algorithm is faster than recalculation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sash import Aggregation
from sash_experiments.compiled import rung
from sash_experiments.compiled.operations import has_operations
from sash_experiments.contenders import over_values, paired, uniform_values
from sash_experiments.raw import COMPILED, PYTHON, Measured
from sash_experiments.timing import mean_seconds

__all__ = ["NEVER", "break_even", "break_evens"]

NEVER = 0.0
"""What is written for an algorithm that is not faster at any size that was tried."""


def break_even(ratios: dict[int, float], factor: float = 1) -> float:
    """The least size from which on recalculation takes at least ``factor`` times as long at all larger sizes, too.

    >>> break_even({8: 0.5, 16: 1.2, 32: 0.9, 64: 1.5, 128: 3})
    64
    >>> break_even({8: 0.5, 16: 0.9})
    0.0
    """
    found = NEVER
    for size in sorted(ratios, reverse=True):
        if ratios[size] < factor:
            break
        found = size
    return found


def break_evens(
    functions: dict[str, Callable[[], Aggregation]],
    names: Sequence[str],
    sizes: Sequence[int],
    factors: dict[str, float],
    slides: int,
    budget: float,
    number: int,
) -> Iterator[Measured]:
    """A panel for each of ``factors``: the break-even point of each function (x) and algorithm (series)."""
    everyone = ("Recalc", *names)
    for label, make in functions.items():
        aggregation = make()
        seconds = {n: _in_python(everyone, aggregation, n, slides, budget) for n in sizes}
        yield from _points(label, names, seconds, factors, number, PYTHON)
        if has_operations(aggregation):
            seconds = {n: _compiled(everyone, aggregation, n, budget) for n in sizes}
            yield from _points(label, names, seconds, factors, number, COMPILED)


def _in_python(names: Sequence[str], aggregation: Aggregation, n: int, slides: int, budget: float) -> dict[str, float]:
    values = paired(aggregation, uniform_values(n))
    contenders = over_values(names, aggregation, n, values, recalc_most=n)
    return {name: mean_seconds(build(), values, slides, budget) for name, build in contenders}


def _compiled(names: Sequence[str], aggregation: Aggregation, n: int, budget: float) -> dict[str, float]:
    source = rung.uniform_source(aggregation, n)
    windows = rung.over(names, aggregation, n, source)
    return {name: rung.seconds_per_value(name, window, source, budget) for name, window in windows}


def _points(
    label: str,
    names: Sequence[str],
    seconds: dict[int, dict[str, float]],
    factors: dict[str, float],
    number: int,
    on: str,
) -> Iterator[Measured]:
    """The break-even points from the seconds of a slide, by size and algorithm."""
    for panel, factor in factors.items():
        for name in names:
            ratios = {n: each["Recalc"] / each[name] for n, each in seconds.items()}
            yield Measured(panel, label, name, number, "values", break_even(ratios, factor), on)
