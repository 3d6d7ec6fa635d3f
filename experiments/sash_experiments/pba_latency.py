"""The latency experiments of the PBA paper: tables 2 and 3, and the spikes of figure 7.

In Python a slide is timed twice: by the main thread's own time on the processor, and by the clock on the wall, which
also counts waiting for the other thread, for Python's lock and for other programs. Compiled, it is timed by the
processor's counter of cycles, which counts what the clock does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import sash
from sash_experiments.compiled import rung
from sash_experiments.compiled.window import Window
from sash_experiments.contenders import over_slices, over_values, slices_of, uniform_values
from sash_experiments.experiment import Experiment
from sash_experiments.raw import Measured
from sash_experiments.slick_moments import over_moments
from sash_experiments.timing import latencies, spikes, summary

__all__ = ["BY_CLOCK", "EXPERIMENTS"]

TIMED = ("TwoStacks", "SlickDeque", "DABA", "SBA", "PBA")
Compiled = dict[str, int]
"""Rounds, slides, slides to warm up, and the values that slices are made of, of the compiled rung."""
BY_CLOCK = ", by the clock"
"""What latencies are called that are not of the main thread's own time."""
GAP = "In Python one thread runs at a time, so by the clock PBA's second thread is in the way there. Not so compiled."


def _latency_of(
    contenders: Any, supply: list[Any], panel: str, number: int, slides: int, warm: int, budget: float
) -> Iterator[Measured]:
    for name, make in contenders:
        for suffix, clock in (("", time.thread_time_ns), (BY_CLOCK, time.perf_counter_ns)):
            taken = latencies(make(), supply, slides, budget, clock)[warm:]
            for measure, value in summary(taken).items():
                yield Measured(f"{panel}{suffix}", measure, name, number, "ns", value)
            for x, value in spikes(taken):
                yield Measured(f"{panel}{suffix}: slowest slides in time", str(x), name, number, "ns", value)


def _compiled(
    panel: str, number: int, windows: Iterator[tuple[str, Window]], source: Any, sizes: Compiled
) -> Iterator[Measured]:
    yield from rung.latencies_of(f"{panel}{BY_CLOCK}", number, windows, source, sizes["slides"], sizes["warm"])


def latency_max(
    rounds: int, exponents: list[int], slides: int, warm: int, budget: float, compiled: Compiled
) -> Iterator[Measured]:
    """Latency of Max over windows of counts at slide 1."""
    values = uniform_values(2 ** max(exponents))
    source = np.array(uniform_values(compiled["slides"]))
    for exponent in exponents:
        for number in range(compiled["rounds"]):
            windows = rung.over(TIMED, sash.Max(), 2**exponent, source)
            yield from _compiled(f"2^{exponent}", number, windows, source, compiled)
        for number in range(rounds):
            made = over_values(TIMED, sash.Max(), 2**exponent, values[: 2**exponent])
            yield from _latency_of(made, values, f"2^{exponent}", number, slides, warm, budget)


def latency_sketch(
    rounds: int, hours: list[float], a_slice: int, slides: int, warm: int, budget: float, compiled: Compiled
) -> Iterator[Measured]:
    """Latency of a moment sketch over windows on time with slides of a second: merging slices at a window's end."""
    sketch = sash.MomentSketch(k=10)
    few = slices_of(sketch, uniform_values(64 * a_slice), a_slice)
    source = rung.rows_of(sketch, slices_of(sketch, uniform_values(compiled["values"]), a_slice))
    for each in hours:
        count = int(each * 3600)
        slices = [few[i % len(few)] for i in range(count)]
        for number in range(compiled["rounds"]):
            windows = rung.over(TIMED, sketch, count, source, partials=True)
            yield from _compiled(f"{each:g} h", number, windows, source, compiled)
        for number in range(rounds):
            made = (*over_slices(TIMED, sketch, slices), over_moments(slices))
            yield from _latency_of(made, few, f"{each:g} h", number, slides, warm, budget)


SEVEN = ("Min", "Max", "Avg", "Std", "LQ", "Med", "HQ")


def _published(lines: dict[str, tuple[float, ...]]) -> dict[str, dict[str, Any]]:
    return {row: dict(zip(SEVEN, numbers, strict=True)) for row, numbers in lines.items()}


TABLE_2 = _published(
    {
        "TwoStacks, 2^13": (57, 74543, 69.21, 754.3, 60, 60, 61),
        "SlickDeque, 2^13": (57, 667, 81.77, 22.12, 64, 79, 88),
        "SBA, 2^13": (43, 15160, 50.39, 233.64, 45, 46, 47),
        "PBA, 2^13": (40, 559, 53.93, 10.41, 45, 48, 65),
        "TwoStacks, 2^14": (63, 150024, 77.55, 1077.86, 67, 68, 70),
        "SlickDeque, 2^14": (61, 647, 83.07, 21.86, 65, 80, 90),
        "SBA, 2^14": (43, 31031, 50.06, 331.25, 45, 46, 47),
        "PBA, 2^14": (42, 537, 46.06, 5.24, 44, 45, 47),
    }
)
TABLE_3 = _published(
    {
        "TwoStacks, 1 h": (203, 365582, 337.65, 5348.91, 223, 230, 258),
        "SlickDeque, 1 h": (267, 13638, 385.28, 101.5, 336, 370, 415),
        "SBA, 1 h": (131, 103716, 194.85, 1566.49, 160, 163, 166),
        "PBA, 1 h": (129, 12837, 164.24, 73.35, 141, 145, 168),
        "TwoStacks, 2 h": (207, 934212, 381.1, 9999.85, 226, 235, 290),
        "SlickDeque, 2 h": (266, 13175, 392.72, 84.86, 342, 380, 427),
        "SBA, 2 h": (132, 226099, 201.77, 2471.56, 162, 164, 168),
        "PBA, 2 h": (135, 12971, 171.75, 64.59, 145, 150, 191),
    }
)
_COMPILED = {"compiled": {"rounds": 9, "slides": 1_000_000, "warm": 30_000, "values": 400_000}}
_COMPILED_SMOKE = {"compiled": {"rounds": 1, "slides": 500, "warm": 10, "values": 400}}
_LATENCY_SMALL = {"rounds": 3, "slides": 60_000, "warm": 1000, "budget": 20, **_COMPILED}
_LATENCY_PAPER = {"rounds": 1, "slides": 1_000_000, "warm": 30_000, "budget": 3600, **_COMPILED}
_SKETCH = "A moment sketch (k = 10) over windows on time, slide 1 s of about 100 values, ranges 1 and 2 h"
_MAX = "Max over windows of 2^13 and 2^14 values at slide 1, uniform values"

EXPERIMENTS = [
    Experiment(
        "pba-tab2",
        "Latency of Max, and Figure 7 (left): its spikes",
        f"{_MAX}; nanoseconds of each slide, of the main thread's own time "
        "and by the clock: seven summaries, and the slowest slides in time.",
        {
            "smoke": {"rounds": 1, "exponents": [5, 6], "slides": 300, "warm": 10, "budget": 1, **_COMPILED_SMOKE},
            "small": {"exponents": [13, 14], **_LATENCY_SMALL},
            "paper": {"exponents": [13, 14], **_LATENCY_PAPER},
        },
        latency_max,
        x="summary",
        x_log=False,
        table=True,
        published=TABLE_2,
        published_unit="ns (Java 8)",
        gap=GAP,
    ),
    Experiment(
        "pba-tab3",
        "Latency of a moment sketch, and Figure 7 (right): its spikes",
        f"{_SKETCH}; nanoseconds of each slide, of the main thread's own time "
        "and by the clock: seven summaries, and the slowest slides in time. SlickDeque takes "
        "the sketch by components, as in the paper: the extremes are selective, the sums invertible.",
        {
            "smoke": {
                "rounds": 1,
                "hours": [0.01, 0.02],
                "a_slice": 5,
                "slides": 100,
                "warm": 10,
                "budget": 1,
                **_COMPILED_SMOKE,
            },
            "small": {"hours": [1, 2], "a_slice": 100, **(_LATENCY_SMALL | {"slides": 20_000})},
            "paper": {"hours": [1, 2], "a_slice": 100, **_LATENCY_PAPER},
        },
        latency_sketch,
        x="summary",
        x_log=False,
        table=True,
        published=TABLE_3,
        published_unit="ns (Java 8)",
        gap=GAP,
    ),
]
