"""The Reactive Aggregator's memory beside that of re-evaluation, and what a resize takes: figure 12 of its paper."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any

import sash
from sash.aggregators import FlatFAT, Recalc
from sash_experiments.children import in_child
from sash_experiments.contenders import uniform_values
from sash_experiments.experiment import Experiment, scales
from sash_experiments.processes import memory_kb
from sash_experiments.raw import Measured
from sash_experiments.reactive import ISS, RA
from sash_experiments.timing import collector_off

__all__ = ["EXPERIMENTS", "GROWN", "PROCESS", "RESIZE"]

PROCESS, GROWN, RESIZE = "the process", "grown by", "one resize"
"""What its panels are called: the resident set, what the window adds to it, and the insert that resizes the tree."""
ALGORITHMS: dict[str, Any] = {RA: FlatFAT, ISS: Recalc}


def fig12(rounds: int, exponents: list[int], resized: list[int]) -> Iterator[Measured]:
    """Memory of both by window size, each in a process of its own, and the time of a resize."""
    for n in (2**exponent for exponent in exponents):
        for number in range(rounds):
            for name in ALGORITHMS:
                for panel, megabytes in in_child(held, name, n):
                    yield Measured(panel, str(n), name, number, "MB", megabytes)
    for n in (2**exponent for exponent in resized):
        for number in range(rounds):
            yield Measured(RESIZE, str(n), RA, number, "µs", resize_seconds(n) * 1e6)


def held(name: str, n: int) -> Iterator[tuple[str, float]]:
    """The memory of this process with a window of n values that has been slid through once, in MB."""
    values, window = uniform_values(2 * n), ALGORITHMS[name](sash.SampleStdDev())
    gc.collect()
    before = memory_kb()["RssAnon"]
    for start in range(0, n, _AT_ONCE):
        window.insert_many(values[start : min(start + _AT_ONCE, n)])
    for value in values[n : n + min(n, _AT_ONCE)]:
        window.evict()
        window.insert(value)
    window.query()
    gc.collect()
    after = memory_kb()
    yield PROCESS, after["VmRSS"] / 1024
    yield GROWN, max(after["RssAnon"] - before, 0) / 1024


_AT_ONCE = 1 << 12


def resize_seconds(n: int, times: int = 3) -> float:
    """The insert into a full tree of n leaves, which makes it one of 2n: the fastest of some, by the process's time."""
    values, taken = uniform_values(n), []
    for _ in range(times):
        window = FlatFAT(sash.SampleStdDev())
        for start in range(0, n, _AT_ONCE):
            window.insert_many(values[start : min(start + _AT_ONCE, n)])
        window.query()
        with collector_off():
            begin = time.process_time()
            window.insert(1.0)
            window.query()
            taken.append(time.process_time() - begin)
    return min(taken)


EXPERIMENTS = [
    Experiment(
        "ra-fig12",
        "Memory, and the latency of a resize",
        "StdDev over windows of n values at slide 1, by FlatFAT and by recalculation, each in a process of its own: "
        "its resident set, what the window adds to it; and the insert that makes a full tree of n leaves one of 2n.",
        scales(
            rounds=(1, 1, 5),
            exponents=([2, 12], [0, 4, 8, 12, 14, 16, 18, 20], list(range(0, 23, 2))),
            resized=([4, 8], [8, 10, 12, 14, 16, 18], list(range(8, 23, 2))),
        ),
        fig12,
    ),
]
