"""The experiments of the DABA paper: break-even points, latency and its deviation, throughput."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import sash
from sash import Aggregation
from sash_experiments.breakeven import break_evens
from sash_experiments.compiled import rung
from sash_experiments.compiled.window import Window
from sash_experiments.contenders import RECALC_MOST, UNCACHED, over_values, paired, uniform_values
from sash_experiments.experiment import Experiment
from sash_experiments.raw import COMPILED, Measured
from sash_experiments.timing import latencies, mean_seconds, spikes
from sash_experiments.waiting_merges import chains

__all__ = ["EXPERIMENTS"]


def _bloom() -> Aggregation:
    return sash.Bloom(capacity=1700, error_rate=0.01)  # about 2^14 bits, as in the paper


FUNCTIONS: dict[str, Callable[[], Aggregation]] = {
    "Sum": sash.Sum,
    "Max": sash.Max,
    "ArithmeticMean": sash.Mean,
    "GeometricMean": sash.GeometricMean,
    "MinCount": sash.MinCount,
    "SampleStdDev": sash.SampleStdDev,
    "ArgMax": sash.ArgMax,
    "Bloom": _bloom,
    "Collect": sash.Collect,
}
SHOWN = ("Sum", "GeometricMean", "Bloom")
NAMES = ("FlatFAT", "TwoStacks", "ABA", "DABA")


def tab1(rounds: int, functions: list[str], sizes: list[int], slides: int, budget: float) -> Iterator[Measured]:
    """Break-even points of the four algorithms."""
    wanted = {name: FUNCTIONS[name] for name in functions}
    for number in range(rounds):
        yield from break_evens(wanted, NAMES, sizes, {"break-even": 1}, slides, budget, number)


def tab2(
    rounds: int, functions: list[str], n: int, slides: int, budget: float, compiled: dict[str, int]
) -> Iterator[Measured]:
    """Mean and standard deviation of the latency."""
    for label in functions:
        aggregation = FUNCTIONS[label]()
        values = paired(aggregation, uniform_values(n))
        for number in range(rounds):
            for name, make in over_values(NAMES[1:], aggregation, n, values):
                taken = latencies(make(), values, slides, budget)
                yield Measured("average", label, name, number, "ns", statistics.fmean(taken))
                yield Measured("deviation", label, name, number, "ns", statistics.pstdev(taken))
                if label in SHOWN:
                    for x, value in spikes(taken):
                        yield Measured(f"{label}: slowest slides in time", str(x), name, number, "ns", value)
        source = rung.uniform_source(aggregation, n)
        for number in range(compiled["rounds"]):
            windows = rung.over(NAMES[1:], aggregation, n, source)
            yield from _latencies(label, number, windows, source, compiled)
            for name, window in rung.over(NAMES[1:], aggregation, n, source):
                seconds = rung.seconds_per_value(name, window, source, min(budget, 0.2))
                yield Measured("average", label, name, number, "ns", seconds * 1e9, COMPILED)


def _latencies(
    label: str, number: int, windows: Iterator[tuple[str, Window]], source: Any, sizes: dict[str, int]
) -> Iterator[Measured]:
    """The deviation on the compiled rung, and the slowest slide of two windows' worth."""
    panels = {"Std": "deviation", rung.SPIKE: "slowest"}
    for row in rung.latencies_of(label, number, windows, source, sizes["slides"], sizes["warm"]):
        if row.panel == label and row.x in panels:
            yield row._replace(panel=panels[row.x], x=label)
        elif row.panel != label and label in SHOWN:
            yield row


def fig18(rounds: int, exponents: list[int], slides: int, budget: float, bloom: list[int]) -> Iterator[Measured]:
    """Throughput by window size; ``bloom`` are the exponents of Bloom, of which a partial has 2 kB."""
    contenders = ("Recalc", *NAMES, UNCACHED)
    for label in SHOWN:
        aggregation = FUNCTIONS[label]()
        for n in (2**exponent for exponent in (bloom if label == "Bloom" else exponents)):
            values = uniform_values(n)
            source = rung.uniform_source(aggregation, n)
            for number in range(rounds):
                for name, make in over_values(contenders, aggregation, n, values):
                    seconds = mean_seconds(make(), values, slides, budget)
                    yield Measured(label, str(n), name, number, "values/s", 1 / seconds)
                names = contenders if n <= RECALC_MOST else contenders[1:]
                windows = rung.over(names, aggregation, n, source)
                yield from rung.throughputs(label, str(n), number, windows, source, budget)
    yield from chains([2**exponent for exponent in exponents], rounds, budget)


_HEAD = ("FlatFAT", "TwoStacks", "ABA", "DABA")
_POINTS: dict[str, tuple[Any, ...]] = {
    "Sum": (1024, 48, 8, 64),
    "Max": (704, 28, 4, 64),
    "ArithmeticMean": (1024, 48, 28, 112),
    "GeometricMean": (704, 32, 16, 64),
    "MinCount": (512, 28, 16, 64),
    "SampleStdDev": (704, 28, 16, 64),
    "ArgMax": (704, 28, 28, 48),
    "Bloom": (28, 16, 28, 28),
    "Collect": ("never", "never", "never", "never"),
}
TABLE_1 = {row: dict(zip(_HEAD, numbers, strict=True)) for row, numbers in _POINTS.items()}
_CYCLES = {
    "Sum": (183, 1428, 172, 142, 210, 56),
    "Max": (188, 1467, 160, 184, 209, 58),
    "ArithmeticMean": (194, 1170, 171, 294, 227, 69),
    "GeometricMean": (206, 1169, 185, 306, 244, 84),
    "SampleStdDev": (218, 1323, 199, 359, 255, 86),
    "ArgMax": (197, 2047, 163, 249, 218, 64),
    "Bloom": (6771, 338700, 7253, 213800, 9762, 7957),
}
_COLUMNS = [f"{name}{of}" for name in _HEAD[1:] for of in ("", ", σ")]
TABLE_2 = {row: dict(zip(_COLUMNS, numbers, strict=True)) for row, numbers in _CYCLES.items()}
_MILLION = {"compiled": {"rounds": 5, "slides": 1_000_000, "warm": 30_000}}
SIZES = [4, 8, 16, 28, 48, 64, 112, 256, 512, 704, 1024]

EXPERIMENTS = [
    Experiment(
        "daba-tab1",
        "Break-even points",
        "The least window size from which on an algorithm is faster on average than recalculation, by aggregation. "
        "FlatFAT is the paper's Reactive. 0: never, up to 1,024 values.",
        {
            "smoke": {"rounds": 1, "functions": ["Sum"], "sizes": [4, 64], "slides": 64, "budget": 0.02},
            "small": {"rounds": 1, "functions": list(FUNCTIONS), "sizes": SIZES, "slides": 4096, "budget": 0.06},
            "paper": {"rounds": 5, "functions": list(FUNCTIONS), "sizes": SIZES, "slides": 1_000_000, "budget": 10},
        },
        tab1,
        x="aggregation",
        x_log=False,
        y_log=False,
        table=True,
        published=TABLE_1,
        published_unit="values (C++)",
        gap="In Python recalculation is a loop of Python, where it was optimised C++ in the paper: points are lower.",
    ),
    Experiment(
        "daba-tab2",
        "Latency and its deviation, and Figure 18 (bottom): its spikes",
        "Windows of 2^14 values, rounds of evict, insert, query; nanoseconds of each, in Python of the thread's own "
        "time, compiled by the processor's counter. The compiled average is that of a run in which it is not read: to "
        "read it takes longer than a slide.",
        {
            "smoke": {"rounds": 1, "functions": ["Sum", "ArgMax"], "n": 64, "slides": 300, "budget": 1}
            | {"compiled": {"rounds": 1, "slides": 500, "warm": 10}},
            "small": {"rounds": 2, "functions": list(_CYCLES), "n": 2**14, "slides": 50_000, "budget": 4} | _MILLION,
            "paper": {"rounds": 1, "functions": list(_CYCLES), "n": 2**14, "slides": 1_000_000, "budget": 3600}
            | _MILLION,
        },
        tab2,
        x="aggregation",
        x_log=False,
        table=True,
        published=TABLE_2,
        published_unit="processor cycles (C++)",
    ),
    Experiment(
        "daba-fig18",
        "Throughput by window size",
        "Sum, GeometricMean and Bloom (2^14 bits) over windows of 2^0 to 2^20 values at slide 1, DABA with its cached "
        "sums and without; values a second. And the compiled algorithms with merges of three latencies, in nanoseconds "
        "a slide.",
        {
            "smoke": {"rounds": 1, "exponents": [2, 5], "slides": 64, "budget": 0.02, "bloom": [5]},
            "small": {"rounds": 1, "exponents": list(range(2, 21, 2)), "slides": 100_000, "budget": 0.2}
            | {"bloom": list(range(2, 17, 2))},
            "paper": {"rounds": 5, "exponents": list(range(21)), "slides": 10_000_000, "budget": 600}
            | {"bloom": list(range(21))},
        },
        fig18,
    ),
]
