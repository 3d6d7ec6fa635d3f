"""The MTA paper's policies that let many values go at once: all that are older than the maximum, or the longest run.

    values:   … 7 3 9 2 5 4        nothing before the 9 can become the maximum again: it leaves, all at once

No window holds more than n values. Values are readings of a machine's memory, which rise and fall with the day; the
paper's own, two years of them, are not public.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import sash
from sash.aggregations.custom import Together
from sash.aggregators import AMTA, LogMTA
from sash_experiments.benchmark import Contender, Row
from sash_experiments.benchmarks.mta.contenders import Places, Policy, new_window

__all__ = ["POLICIES", "contenders", "readings", "rising_run", "slide"]

Run = tuple[Any, Any, int, int, int, int, int]


def rising_run() -> sash.Aggregation:
    """The longest run of rising values, the oldest of those: its length, and how many values are older."""

    def combine(a: Run, b: Run) -> Run:
        """(first, last, length, rising prefix, rising suffix, longest, how many are before it)"""
        joined = a[1] < b[0]
        prefix = a[2] + b[3] if joined and a[3] == a[2] else a[3]
        suffix = b[2] + a[4] if joined and b[4] == b[2] else b[4]
        longest, before = a[5], a[6]
        if joined and a[4] + b[3] > longest:
            longest, before = a[4] + b[3], a[2] - a[4]
        if b[5] > longest:
            longest, before = b[5], a[2] + b[6]
        return (a[0], b[1], a[2] + b[2], prefix, suffix, longest, before)

    return sash.aggregation(
        lift=lambda v: (v, v, 1, 1, 1, 1, 0), combine=combine, lower=lambda p: p[5:], name="longest rising run"
    )


def _before_the_maximum(n: int) -> Policy:
    return lambda total, oldest: total[0] - oldest[0] >= n or oldest[1] < total[1]


def _before_the_run(n: int) -> Policy:
    return lambda total, oldest: total[0] - oldest[0] >= n or oldest[0] <= total[1][1]


POLICIES: dict[str, tuple[Callable[[], sash.Aggregation], Callable[[int], Policy]]] = {
    "max, evicting in bulk": (sash.Max, _before_the_maximum),
    "longest rising run, evicting in bulk": (rising_run, _before_the_run),
}
"""By the paper's names: the aggregation beside a count, and what leaves a window of at most n values."""


@cache
def readings(count: int, day: int = 4000) -> list[float]:
    """Readings that follow the hours of the day, each rounded: several in a row are equal, rise or fall."""
    rng, found, drift = random.Random(11), list[float](), 0.0
    for second in range(count):
        drift = 0.999 * drift + rng.gauss(0, 0.4)
        found.append(round(50 + 25 * math.sin(2 * math.pi * second / day) + drift, 1))
    return found


def slide(window: Any, policy: Policy) -> Callable[[float], Any]:
    """A value comes, the policy lets some go, the result is asked for.

    A tree is searched; DABA and recalculation let one value go after the other, and what those come to is kept beside.
    """
    if isinstance(window, AMTA | LogMTA):

        def searched(value: float) -> Any:
            window.insert((value, value))
            window.evict_while(policy)
            return window.query()

        return searched
    held, both = deque[Any](), window.aggregation

    def one_by_one(value: float) -> Any:
        window.insert((value, value))
        held.append(both.lift((value, value)))
        total, gone = window.query(), held[0]
        while policy(total, both.lower(gone)):
            window.evict()
            held.popleft()
            if not held:
                break
            gone = both.combine(gone, held[0])
        return window.query()

    return one_by_one


def contenders(
    kind: str, n: int, names: list[str], places: Places, timed: Callable[..., Row], budget: float
) -> Iterator[Contender]:
    """Each is compared with the policy read literally, on a small window."""
    create, limit = POLICIES[kind]
    for name in names:
        measure = partial(_measure, create, limit(n), name, places, partial(timed, budget=budget, most=4 * n), 4 * n)
        answer = partial(_answer, create, limit(_FEW), name, places)
        yield Contender(name, measure, answer, partial(_expected, create, limit(_FEW)))


def _measure(
    create: Callable[[], sash.Aggregation],
    policy: Policy,
    name: str,
    places: Places,
    timed: Callable[..., Row],
    count: int,
) -> Iterator[Row]:
    values = readings(1000 + count)
    with new_window(name, Together([sash.Count(), create()]), places) as window:
        step = slide(window, policy)
        for value in values[:1000]:
            step(value)
        yield timed(partial(step, value) for value in values[1000:])


_FEW = 25


def _answer(create: Callable[[], sash.Aggregation], policy: Policy, name: str, places: Places) -> list[Any]:
    with new_window(name, Together([sash.Count(), create()]), places) as window:
        step = slide(window, policy)
        return [step(value) for value in readings(400, 150)]


def _expected(create: Callable[[], sash.Aggregation], policy: Policy) -> list[Any]:
    """After each value the longest run of oldest ones that the policy lets go has left."""
    found, window = list[Any](), list[float]()
    both = Together([sash.Count(), create()])

    def total(values: list[float]) -> Any:
        partials = [both.lift((value, value)) for value in values]
        whole = partials[0]
        for each in partials[1:]:
            whole = both.combine(whole, each)
        return both.lower(whole)

    for value in readings(400, 150):
        window.append(value)
        whole = total(window)
        gone = [count for count in range(1, len(window) + 1) if policy(whole, total(window[:count]))]
        del window[: max(gone, default=0)]
        found.append(total(window) if window else both.empty)
    return found
