"""Break-even points: from which window size on an algorithm is faster than recalculation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sash import Aggregation
from sash_experiments.contenders import over_values, paired, uniform_values
from sash_experiments.raw import Measured
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
    for label, make in functions.items():
        ratios: dict[str, dict[int, float]] = {name: {} for name in names}
        aggregation = make()
        for n in sizes:
            values = paired(aggregation, uniform_values(n))
            slide = {
                name: mean_seconds(build(), values, slides, budget)
                for name, build in over_values(("Recalc", *names), aggregation, n, values, recalc_most=n)
            }
            for name in names:
                ratios[name][n] = slide["Recalc"] / slide[name]
        for panel, factor in factors.items():
            for name in names:
                yield Measured(panel, label, name, number, "values", break_even(ratios[name], factor))
