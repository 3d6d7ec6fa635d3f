"""Merges that wait for each other: why small windows are faster than the count of merges says.

A sum is made of the one before it, so a loop takes as long as its merges take one after the other, unless the processor
finds others to do meanwhile. In small windows it does: a flip begins new sums, which do not wait for the old ones. So
the same algorithms, with the same number of merges, are measured with merges of three latencies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import sash
from sash import Aggregation
from sash_experiments.compiled import rung
from sash_experiments.raw import COMPILED, Measured

__all__ = ["AT_ONCE", "CHAINS", "chains"]

NAMES = ("TwoStacks", "ABA", "DABA")


def _itself(value: float) -> float:
    return value


def _lift_one(value: float) -> float:
    return 1.0


def _one(older: float, newer: float) -> float:
    return 1.0


def _added(older: float, newer: float) -> float:
    return older + newer


def _length(older: float, newer: float) -> float:
    return math.sqrt(older * older + newer * newer)


AT_ONCE = "merges do not wait for each other"
CHAINS: dict[str, Callable[[Any, Any], Any]] = {
    AT_ONCE: _one,
    "each merge waits for an addition": _added,
    "each merge waits for a square root": _length,
}
"""By what a merge waits for of the one before it: its ``combine``."""


def chains(sizes: list[int], rounds: int, budget: float) -> Iterator[Measured]:
    """Nanoseconds of a slide of the compiled algorithms, by window size and latency of a merge."""
    for chain, combine in CHAINS.items():
        lift = _lift_one if chain == AT_ONCE else _itself  # else a window of one value has another result
        aggregation: Aggregation = sash.aggregation(lift=lift, combine=combine, lower=_itself)
        for n in sizes:
            source = rung.uniform_source(aggregation, n)
            for number in range(rounds):
                for name, window in rung.over(NAMES, aggregation, n, source):
                    seconds = rung.seconds_per_value(name, window, source, budget)
                    yield Measured(chain, str(n), name, number, "ns", seconds * 1e9, COMPILED)
