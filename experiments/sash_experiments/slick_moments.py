"""SlickDeque over moment sketches, as the PBA paper ran it: the extremes are selective, count and sums invertible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import add, sub
from typing import Any

import sash
from sash import Aggregation
from sash.aggregators import Recalc, SlickDeque
from sash_experiments.benchmark import Case, Contender, check
from sash_experiments.contenders import fifo
from sash_experiments.timing import Slide

__all__ = ["SlickMoments", "over_moments"]

Partial = tuple[float, ...]


def _add(a: Partial, b: Partial) -> Partial:
    return tuple(map(add, a, b))


def _subtract(total: Partial, oldest: Partial) -> Partial:
    return tuple(map(sub, total, oldest))


def _itself(partial: Partial) -> Partial:
    return partial


_SUMS = sash.aggregation(lift=_itself, combine=_add, invert=_subtract)
_SKETCHES = sash.aggregation(lift=_itself, combine=sash.MomentSketch().combine)


class SlickMoments:
    """A window of partials of moment sketches, as a SlickDeque for each component that needs its own.

    An insert and an evict cost an operation a component, amortised; n at worst.

    >>> sketch = sash.MomentSketch(k=1)
    >>> window = SlickMoments(sketch)
    >>> window.insert_many([sketch.lift(3.0), sketch.lift(1.0), sketch.lift(2.0)]); window.evict(); window.query()[:4]
    (2.0, 1.0, 2.0, 3.0)
    """

    def __init__(self, aggregation: Aggregation) -> None:
        self.aggregation = aggregation
        self._low, self._high, self._sums = SlickDeque(sash.Min()), SlickDeque(sash.Max()), SlickDeque(_SUMS)

    def insert(self, partial: Partial) -> None:
        """Add a partial."""
        count, low, high, *sums = partial
        self._low.insert(low)
        self._high.insert(high)
        self._sums.insert((count, *sums))

    def insert_many(self, partials: Sequence[Partial]) -> None:
        """Add partials in order."""
        for each in partials:
            self.insert(each)

    def evict(self) -> None:
        """Remove the oldest."""
        for window in (self._low, self._high, self._sums):
            window.evict()

    def query(self) -> Partial:
        """The partial of the window."""
        count, *sums = self._sums.query()
        return (count, self._low.query(), self._high.query(), *sums)


def over_moments(slices: Sequence[Partial]) -> tuple[str, Callable[[], Slide]]:
    """SlickDeque, and how to make it of windows of these slices; this exits if it does not give what Recalc does."""
    few, rest = list(slices[:8]), list(slices[8:32]) or list(slices[:8])
    algorithms = {"Recalc": Recalc, "SlickDeque": SlickMoments}
    contenders = [Contender(name, tuple, partial(_answer, kind, few, rest)) for name, kind in algorithms.items()]
    check(Case({"aggregation": "moment sketch by components"}, contenders))
    return "SlickDeque", partial(fifo, SlickMoments, _SKETCHES, list(slices))


def _answer(kind: type[Any], few: list[Partial], rest: list[Partial]) -> list[Partial]:
    slide = fifo(kind, _SKETCHES, few)
    return [slide(each) for each in rest]
