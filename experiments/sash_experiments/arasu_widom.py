"""The Reactive Aggregator beside the algorithm of Arasu and Widom: figure 11 and table 4 of its paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import sash
from sash import Aggregation
from sash.aggregators import FlatFAT
from sash_experiments.base_intervals import BaseIntervals
from sash_experiments.contenders import uniform_values
from sash_experiments.experiment import Experiment
from sash_experiments.raw import Measured
from sash_experiments.reactive import COARSE, FUNCTIONS, MICROS, PAPER, RA, SMOKE, batches, small
from sash_experiments.timing import mean_seconds

__all__ = ["AW", "EXPERIMENTS"]

AW = "AW (base intervals)"


def _both(n: int) -> dict[str, Callable[[Aggregation], Any]]:
    return {RA: FlatFAT, AW: partial(BaseIntervals, most=n)}


def fig11(
    rounds: int, exponents: list[int], slides: int, budget: float, functions: list[str], compared: list[int]
) -> Iterator[Measured]:
    """Cost of a tuple by FlatFAT and by base intervals; and Table 4, the ratio of the two."""
    for n in (2**exponent for exponent in exponents):
        for number in range(rounds):
            for label in ("m = 1", "m = n/16"):
                for name, algorithm in _both(n).items():
                    if m := COARSE[label](n):
                        fire = batches(algorithm, sash.Max(), n, m, uniform_values(n))
                        seconds = mean_seconds(fire, [0], max(slides // m, 1), budget)
                        yield Measured("cost", str(n), f"{name}, {label}", number, MICROS, seconds / m * 1e6)
    for label in functions:
        for n in compared:
            values = uniform_values(n)
            for number in range(rounds):
                taken = [
                    mean_seconds(batches(algorithm, FUNCTIONS[label](), n, 1, values), [0], slides, budget)
                    for algorithm in _both(n).values()
                ]
                yield Measured("AW over RA (Table 4)", label, f"n = {n:,}", number, "times", taken[1] / taken[0])


_RATIOS = {
    "Sum": (1.02, 1.20, 1.36),
    "Max": (1.02, 1.25, 1.37),
    "ArithmeticMean": (1.05, 1.24, 1.39),
    "MinCount": (1.04, 1.23, 1.35),
    "PopulationStdDev": (1.06, 1.26, 1.37),
}
_COMPARED = list(_RATIOS)
TABLE_4 = {
    row: dict(zip(("n = 8", "n = 8,192", "n = 8,388,608"), numbers, strict=True)) for row, numbers in _RATIOS.items()
}

EXPERIMENTS = [
    Experiment(
        "ra-fig11",
        "RA and the algorithm of Arasu and Widom",
        "Max by FlatFAT and by base intervals, where 1 or n/16 values leave and come between firings, µs a tuple; and "
        "Table 4: the time of base intervals over that of FlatFAT at m = 1, by aggregation.",
        {
            "smoke": SMOKE | {"functions": ["Sum"], "compared": [8]},
            "small": small([4, 6, 8, 10, 12, 14, 16]) | {"functions": _COMPARED, "compared": [2**3, 2**13]},
            "paper": PAPER | {"functions": _COMPARED, "compared": [2**3, 2**13, 2**23]},
        },
        fig11,
        y_log=False,
        published=TABLE_4,
        published_unit="times (C++)",
        gap="Base intervals are written for this experiment, after what is said of them; they are not one of Sash's.",
    ),
]
