"""Measuring compiled contenders: all agree with recalculation first, and the last answer is looked at again after."""

from __future__ import annotations

import math
import statistics
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

import sash
from sash import Aggregation
from sash.aggregators import Recalc
from sash_experiments.benchmark import Case, Contender, check, same
from sash_experiments.compiled.atomics import nanoseconds_per_tick
from sash_experiments.compiled.operations import Array, operations
from sash_experiments.compiled.window import Window, is_admitted
from sash_experiments.contenders import paired, uniform_values
from sash_experiments.raw import COMPILED, WAITS, Measured
from sash_experiments.timing import spikes, summary

__all__ = ["SPIKE", "latencies_of", "over", "rows_of", "seconds_per_value", "throughputs", "uniform_source"]

SPIKE = "Spike"
"""The slowest slide of two windows' worth of them, at the median: other programs do not disturb the most of these."""
UNFORESEEN = 2**18
"""Values that come again and again teach the processor which way branches go; it does not remember so many."""
CHECKED, SLIDES = 8, 40
"""The window in which contenders are compared with recalculation, and for how many slides."""


def over(
    names: Sequence[str], aggregation: Aggregation, range_: int, source: Array, slide: int = 1, partials: bool = False
) -> Iterator[tuple[str, Window]]:
    """(name, filled window) of those that admit the aggregation. If one of them is wrong, this exits."""
    admitted = tuple(name for name in names if is_admitted(name, aggregation))
    _agree(admitted, aggregation, 3 if slide > 1 else 1, partials)
    for name in admitted:
        window = Window(name, aggregation, range_, slide, partials=partials)
        window.fill(source)
        yield name, window


@cache
def _agree(names: tuple[str, ...], aggregation: Aggregation, slide: int, partials: bool) -> None:
    """Compare all with recalculation by the core, over few values: whole numbers, so that sums are exact."""
    values: list[Any] = [float(place * 7 % 19 + 1) for place in range(CHECKED + SLIDES)]
    if aggregation.arity == 2:
        values = [(value, float(place)) for place, value in enumerate(values)]
    answers = {"Recalc": partial(_expected, aggregation, values, slide)}
    answers |= {f"{name}, compiled": partial(_answer, name, aggregation, values, slide, partials) for name in names}
    check(Case({"aggregation": aggregation}, [Contender(name, tuple, answer) for name, answer in answers.items()]))


def _expected(aggregation: Aggregation, values: list[Any], slide: int) -> list[Any]:
    if aggregation.flat() is not None:  # large partials are compared themselves: they are the compiled rung's results
        aggregation = sash.aggregation(lift=aggregation.lift, combine=aggregation.combine)
    found = []
    for start in range(0, len(values) - CHECKED + 1, slide):
        window = Recalc(aggregation)
        window.insert_many(values[start : start + CHECKED])
        found.append(window.query())
    return found


def _answer(name: str, aggregation: Aggregation, values: list[Any], slide: int, partials: bool) -> list[Any]:
    window = Window(name, aggregation, CHECKED, slide, partials=partials, answers=64)
    source = rows_of(aggregation, map(aggregation.lift, values)) if partials else window.source(values)
    window.fill(source)
    window.run(source, len(values) - CHECKED)
    return window.results()


def rows_of(aggregation: Aggregation, partials: Iterable[Any]) -> Array:
    """Large partials as rows of an array."""
    flat = aggregation.flat()
    if flat is None:
        raise TypeError(f"partials of {aggregation!r} are not rows")
    return np.array([flat.to_row(each) for each in partials])


@cache
def uniform_source(aggregation: Aggregation, n: int) -> Array:
    """Uniform values as compiled contenders take them: so many for windows of n that no branch can be foreseen.

    Large partials are merged without branches, so that n values do.
    """
    values = uniform_values(n if aggregation.flat() is not None else max(n, UNFORESEEN))
    return operations(aggregation).source(paired(aggregation, values))


def _look_again(name: str, window: Window, source: Array) -> None:
    """Exit unless the newest answer is that of recalculation over the same values."""
    found, oracle = window.results()[-1], window.recalculated(source)
    undefined = isinstance(found, float) and math.isnan(found) and math.isnan(oracle)
    if not (same(oracle, found) or undefined):
        raise SystemExit(f"{name}, compiled, ended with {found}, not {oracle}: nothing to compare")


def seconds_per_value(name: str, window: Window, source: Array, budget: float) -> float:
    """By the clock, of as many values as the budget of seconds allows, a window's worth of them to warm up."""
    step = window.slide
    window.run(source, max(window.range // step, 1) * step)
    done, batch, begin = 0, 512 * step, time.perf_counter()
    while (now := time.perf_counter()) - begin < budget or not done:
        window.run(source, batch)
        done, batch = done + batch, batch * 2
    _look_again(name, window, source)
    return (now - begin) / done


def throughputs(
    panel: str,
    x: str,
    number: int,
    contenders: Iterable[tuple[str, Window]],
    source: Array,
    budget: float,
    unit: str = "values/s",
) -> Iterator[Measured]:
    """Values a second of compiled contenders, one after the other."""
    for name, window in contenders:
        seconds = seconds_per_value(name, window, source, budget)
        yield Measured(panel, x, name, number, unit, 1 / seconds, COMPILED)
        yield from _waits(panel, x, number, name, window)


def _waits(panel: str, x: str, number: int, name: str, window: Window) -> Iterator[Measured]:
    waits = window.waits_percent
    if waits is not None:
        yield Measured(f"{panel}: {WAITS}", x, name, number, "% of chunks", waits, COMPILED)


def latencies_of(
    panel: str,
    number: int,
    contenders: Iterable[tuple[str, Window]],
    source: Array,
    slides: int,
    warm: int,
) -> Iterator[Measured]:
    """Nanoseconds of each slide by the processor's counter: summaries, the slowest, and how often PBA waited."""
    per_tick = nanoseconds_per_tick()
    for name, window in contenders:
        nanoseconds = slide_nanoseconds(name, window, source, slides, warm, per_tick)
        slowest = spikes(nanoseconds, points=max(min(len(nanoseconds) // (2 * window.range), 120), 1))
        for measure, value in summary(nanoseconds).items():
            yield Measured(panel, measure, name, number, "ns", value, COMPILED)
        typical = statistics.median(value for _, value in slowest)
        yield Measured(panel, SPIKE, name, number, "ns", typical, COMPILED)
        for x, value in slowest:
            yield Measured(f"{panel}: slowest slides in time", str(x), name, number, "ns", value, COMPILED)
        yield from _waits(panel, "waits", number, name, window)


def slide_nanoseconds(name: str, window: Window, source: Array, slides: int, warm: int, per_tick: float) -> array[int]:
    """Nanoseconds of each slide, those to warm up left out."""
    taken = np.ones(slides, np.int64)  # written once, so that no page of it is new when it is timed
    window.run(source, slides, taken)
    _look_again(name, window, source)
    return array("q", np.rint(taken[warm:] * per_tick).astype(np.int64).tolist())
