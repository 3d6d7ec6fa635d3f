"""The experiments of the Reactive Aggregator's paper. RA is FlatFAT; ISS, which re-evaluates windows, is Recalc."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sash
from sash import Aggregation
from sash.aggregators import FlatFAT, Recalc
from sash_experiments.breakeven import break_evens
from sash_experiments.compiled import rung
from sash_experiments.contenders import over_values, uniform_values
from sash_experiments.experiment import Experiment
from sash_experiments.raw import COMPILED, Measured
from sash_experiments.timing import mean_seconds

__all__ = ["COARSE", "EXPERIMENTS", "FUNCTIONS", "MICROS", "PAPER", "RA", "SMOKE", "batches", "small"]

FUNCTIONS: dict[str, Callable[[], Aggregation]] = {
    "Count": sash.Count,
    "Sum": sash.Sum,
    "Max": sash.Max,
    "ArithmeticMean": sash.Mean,
    "MinCount": sash.MinCount,
    "SampleStdDev": sash.SampleStdDev,
    "PopulationStdDev": sash.PopulationStdDev,
    "ArgMax": sash.ArgMax,
    "Collect": sash.Collect,
}
TWO = {"Max": sash.Max, "StdDev": sash.SampleStdDev}
RA, ISS = "RA (FlatFAT)", "ISS (Recalc)"
MICROS = "µs a tuple"


def tab3(rounds: int, functions: list[str], sizes: list[int], slides: int, budget: float) -> Iterator[Measured]:
    """Where FlatFAT is faster than recalculation, and where ten times as fast."""
    wanted = {name: FUNCTIONS[name] for name in functions}
    factors = {"break-even": 1.0, "10x": 10.0}
    for number in range(rounds):
        yield from break_evens(wanted, ("FlatFAT",), sizes, factors, slides, budget, number)


def _each(sizes: list[int], rounds: int) -> Iterator[tuple[str, Aggregation, int, list[float], int]]:
    for label, make in TWO.items():
        for n in sizes:
            values = uniform_values(max(n, 64))
            for number in range(rounds):
                yield label, make(), n, values, number


def fig6(rounds: int, exponents: list[int], slides: int, budget: float) -> Iterator[Measured]:
    """Throughput of both on small and medium windows."""
    for label, aggregation, n, values, number in _each([2**e for e in exponents], rounds):
        for name, make in over_values(("FlatFAT", "Recalc"), aggregation, n, values[:n]):
            seconds = mean_seconds(make(), values, slides, budget)
            yield Measured("throughput", str(n), f"{_own(name)} {label}", number, "tuples/s", 1 / seconds)
        for name, seconds in _compiled(("FlatFAT", "Recalc"), aggregation, n, budget):
            series = f"{_own(name)} {label}"
            yield Measured("throughput", str(n), series, number, "tuples/s", 1 / seconds, COMPILED)


def _compiled(names: tuple[str, ...], aggregation: Aggregation, n: int, budget: float) -> Iterator[tuple[str, float]]:
    """(name, seconds a tuple) of the compiled rung."""
    source = rung.uniform_source(aggregation, n)
    for name, window in rung.over(names, aggregation, n, source):
        yield name, rung.seconds_per_value(name, window, source, budget)


def _own(name: str) -> str:
    return RA if name == "FlatFAT" else ISS


def fig7(rounds: int, exponents: list[int], slides: int, budget: float) -> Iterator[Measured]:
    """Cost of a tuple by window size: logarithmic."""
    for label, aggregation, n, values, number in _each([2**e for e in exponents], rounds):
        for _, make in over_values(("FlatFAT",), aggregation, n, values[:n]):
            seconds = mean_seconds(make(), values, slides, budget)
            yield Measured("cost", str(n), f"RA {label}", number, MICROS, seconds * 1e6)
        for _, seconds in _compiled(("FlatFAT",), aggregation, n, budget):
            yield Measured("cost", str(n), f"RA {label}", number, MICROS, seconds * 1e6, COMPILED)


def batches(
    algorithm: Callable[[Aggregation], Any], aggregation: Aggregation, n: int, m: int, values: list[float]
) -> Callable[[Any], None]:
    """A firing: m values leave, m come, and the result is asked for."""
    window = algorithm(aggregation)
    window.insert_many(values[:n])
    window.query()
    batch = values[:m]

    def fire(_: Any) -> None:
        window.evict_many(m)
        window.insert_many(batch)
        window.query()

    return fire


def fig8(rounds: int, exponents: list[int], slides: int, budget: float) -> Iterator[Measured]:
    """Cost of a firing of tumbling windows: nothing can be reused."""
    for label, aggregation, n, values, number in _each([2**e for e in exponents], rounds):
        for name, algorithm in ((RA, FlatFAT), (ISS, Recalc)):
            seconds = mean_seconds(batches(algorithm, aggregation, n, n, values), [0], slides, budget)
            yield Measured("cost", str(n), f"{name} {label}", number, "µs a firing", seconds * 1e6)


def fig9(rounds: int, exponents: list[int], slides: int, budget: float) -> Iterator[Measured]:
    """Cost of a tuple where the capacity is fixed, and where it swings between n and 2n."""
    for label, aggregation, n, values, number in _each([2**e for e in exponents], rounds):
        for _, make in over_values(("FlatFAT",), aggregation, n, values[:n]):
            seconds = mean_seconds(make(), values, slides, budget)
            yield Measured("cost", str(n), f"RA {label}, fixed", number, MICROS, seconds * 1e6)
        seconds = mean_seconds(_swinging(aggregation, n, values), values, slides, budget)
        yield Measured("cost", str(n), f"RA {label}, oscillating", number, MICROS, seconds * 1e6)


def _swinging(aggregation: Aggregation, n: int, values: list[float]) -> Callable[[float], None]:
    """A tuple comes or goes, and the result is asked for: from n/2 - 1 to n + 1 and back, so that it is resized."""
    window = FlatFAT(aggregation)
    window.insert_many(values[:n])
    low, high = max(n // 2 - 1, 1), n + 1
    grows = True

    def step(value: float) -> None:
        nonlocal grows
        if grows:
            window.insert(value)
            grows = len(window) < high
        else:
            window.evict()
            grows = len(window) <= low
        window.query()

    return step


COARSE: dict[str, Callable[[int], int]] = {
    "m = 1": lambda n: 1,
    "m = 4": lambda n: 4,
    "m = 64": lambda n: 64,
    "m = n/16": lambda n: n // 16,
    "m = n/4": lambda n: n // 4,
    "m = n": lambda n: n,
}


def fig10(rounds: int, exponents: list[int], slides: int, budget: float) -> Iterator[Measured]:
    """Cost of a tuple where m tuples come and go between firings."""
    aggregation = sash.SampleStdDev()
    for n in (2**exponent for exponent in exponents):
        values = uniform_values(n)
        for number in range(rounds):
            for name, size in COARSE.items():
                if 1 <= (m := size(n)) <= n:
                    fire = batches(FlatFAT, aggregation, n, m, values)
                    seconds = mean_seconds(fire, [0], max(slides // m, 1), budget)
                    yield Measured("cost", str(n), name, number, MICROS, seconds / m * 1e6)


_POINTS: dict[str, tuple[Any, Any]] = {
    "Count": ("never", "never"),
    "Sum": (370, 5200),
    "Sum (double)": (290, 5200),
    "Max": (260, 5200),
    "Max (double)": (130, 3600),
    "ArithmeticMean": (10, 900),
    "MinCount": (200, 4480),
    "SampleStdDev": (10, 700),
    "PopulationStdDev": (10, 700),
    "ArgMax": (130, 2770),
    "ArgMax (double)": (250, 5810),
    "Collect": ("never", "never"),
}
TABLE_3 = {row: dict(zip(("break-even", "10x"), numbers, strict=True)) for row, numbers in _POINTS.items()}
SIZES = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]
SMOKE = {"rounds": 1, "exponents": [2, 5], "slides": 64, "budget": 0.02}
PAPER = {"rounds": 3, "exponents": list(range(23)), "slides": 120_000_000, "budget": 600}


def small(exponents: list[int]) -> dict[str, Any]:
    return {"rounds": 1, "exponents": exponents, "slides": 50_000, "budget": 0.2}


EXPERIMENTS = [
    Experiment(
        "ra-tab3",
        "Break-even and tenfold points",
        "The least window size from which on FlatFAT is faster than recalculation, and ten times as fast, by "
        "aggregation, at slide 1. 0: never, up to 8,192 values.",
        {
            "smoke": {"rounds": 1, "functions": ["Sum"], "sizes": [8, 256], "slides": 64, "budget": 0.02},
            "small": {"rounds": 1, "functions": list(FUNCTIONS), "sizes": SIZES, "slides": 4096, "budget": 0.06},
            "paper": {"rounds": 3, "functions": list(FUNCTIONS), "sizes": SIZES, "slides": 1_000_000, "budget": 10},
        },
        tab3,
        x="aggregation",
        x_log=False,
        y_log=False,
        table=True,
        published=TABLE_3,
        published_unit="values (C++)",
    ),
    Experiment(
        "ra-fig6",
        "Throughput of RA and of re-evaluation",
        "Max and StdDev over windows of 1 to 1,024 values at slide 1; tuples a second.",
        {"smoke": SMOKE, "small": small([0, 2, 4, 6, 8, 10]), "paper": PAPER | {"exponents": list(range(11))}},
        fig6,
    ),
    Experiment(
        "ra-fig7",
        "Cost of a tuple by window size",
        "Max and StdDev by FlatFAT over windows of up to 2^22 values at slide 1; µs a tuple.",
        {"smoke": SMOKE, "small": small([2, 4, 6, 8, 10, 12, 14, 16]), "paper": PAPER},
        fig7,
        y_log=False,
    ),
    Experiment(
        "ra-fig8",
        "Tumbling windows",
        "All values leave and as many come between firings; µs a firing.",
        {"smoke": SMOKE, "small": small([2, 4, 6, 8, 10, 12]), "paper": PAPER | {"exponents": list(range(17))}},
        fig8,
    ),
    Experiment(
        "ra-fig9",
        "Dynamic windows",
        "Windows of a fixed size, and windows that shrink to n/2 and grow again, which resizes the tree; µs a tuple.",
        {"smoke": SMOKE, "small": small([2, 4, 6, 8, 10, 12, 14, 16]), "paper": PAPER},
        fig9,
        y_log=False,
    ),
    Experiment(
        "ra-fig10",
        "Coarse slides",
        "StdDev by FlatFAT where m values leave and come between firings; µs a tuple.",
        {"smoke": SMOKE, "small": small([4, 6, 8, 10, 12, 14, 16]), "paper": PAPER},
        fig10,
        y_log=False,
    ),
]
