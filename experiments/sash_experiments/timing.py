"""How slides are timed: a budget of time, the garbage collector off, contenders in turn, round by round.

Means are of the process's seconds on the processor, all threads together, so that others on the same machine count
less. Latencies of single slides are of the main thread's seconds on the processor, or by the clock on the wall. Rates
of columns, where a second thread is to be seen, are by the clock.
"""

from __future__ import annotations

import gc
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from typing import Any

import numpy as np

__all__ = ["Slide", "collector_off", "latencies", "mean_seconds", "microseconds", "per_second", "spikes", "summary"]

Slide = Callable[[Any], Any]
"""A merging algorithm as a function of one value: what a window of fixed size does when the value comes."""
_GLANCE = 64
"""Slides between two looks at the clock, where only the mean is wanted."""


@contextmanager
def collector_off() -> Iterator[None]:
    """As timeit does it."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def mean_seconds(slide: Slide, values: list[Any], most: int, budget: float) -> float:
    """Seconds a slide: of ``most`` slides, or of as many as the budget of seconds allows, whichever is less."""
    supply = cycle(values)
    done, clock = 0, time.process_time
    with collector_off():
        begin = now = clock()
        while done < most and now - begin < budget:
            for value in islice(supply, _GLANCE):
                slide(value)
            done += _GLANCE
            now = clock()
    return (now - begin) / done


def per_second(function: Callable[[], int], budget: float) -> float:
    """How many of what it counts a function does a second: it is called once to warm up, then until time is up."""
    function()
    done, begin = 0, time.perf_counter()
    while (now := time.perf_counter()) - begin < budget or not done:
        done += function()
        now = time.perf_counter()
    return done / (now - begin)


def latencies(
    slide: Slide, values: list[Any], count: int, budget: float, clock: Callable[[], int] = time.thread_time_ns
) -> array[int]:
    """Nanoseconds of each of ``count`` slides, or of those that the budget of seconds allows."""
    taken = array("q")
    supply = cycle(values)
    with collector_off():
        stop = clock() + int(budget * 1e9)
        after = 0
        while len(taken) < count and after < stop:
            value = next(supply)
            before = clock()
            slide(value)
            after = clock()
            taken.append(after - before)
    return taken


def summary(taken: array[int]) -> dict[str, float]:
    """The seven numbers of the PBA paper's tables, in nanoseconds."""
    numbers = np.frombuffer(taken, np.int64)  # there are millions
    low, middle, high = map(float, np.quantile(numbers, (0.25, 0.5, 0.75)))
    return {
        "Min": float(numbers.min()),
        "Max": float(numbers.max()),
        "Avg": float(numbers.mean()),
        "Std": float(numbers.std()),
        "LQ": low,
        "Med": middle,
        "HQ": high,
    }


def microseconds(taken: Sequence[int], cpu: float) -> dict[str, float]:
    """Mean, percentiles and the worst of the nanoseconds of steps, and the mean of their CPU seconds, in microseconds.

    >>> microseconds([3000, 1000, 2000], 6e-6)
    {'mean_us': 2.0, 'cpu_us': 2.0, 'p50_us': 2.0, 'p999_us': 3.0, 'worst_us': 3.0}
    """
    ordered, count = sorted(taken), len(taken)
    found = {"mean_us": sum(ordered) / count, "cpu_us": cpu * 1e9 / count, "p50_us": ordered[count // 2]}
    found |= {"p999_us": ordered[count * 999 // 1000], "worst_us": ordered[-1]}
    return {name: round(nanoseconds / 1e3, 3) for name, nanoseconds in found.items()}


def spikes(taken: array[int], points: int = 120) -> list[tuple[int, int]]:
    """(slide, the slowest of those since the point before) at so many points: a series that keeps its spikes."""
    step = max(len(taken) // points, 1)
    return [(start + step, max(taken[start : start + step])) for start in range(0, len(taken) - step + 1, step)]
