"""``Operator.process`` of one stream without keys, as ``bench local`` measures it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np

import sash
from sash_experiments.benchmark import Contender
from sash_experiments.benchmarks.local.contenders import CHECKED, DEFINITIONS, INTERVAL_US, START, measure_call

__all__ = ["row_contender", "row_queries"]

Array = np.ndarray[Any, Any]
Columns = tuple[Array, ...]


def row_queries(rows: int) -> dict[tuple[str, str], sash.Query]:
    """{(window, aggregates): query} of the workload row by row; a count window is at most half of the rows."""
    size = min(1024, rows // 2)
    one = {"max": sash.Max("load")}
    three = {**one, "mean": sash.Mean("load"), "sample std": sash.SampleStdDev("load")}
    return {
        (f"last {size} rows", "max"): sash.Query(windows=sash.sliding(size), aggregates=one),
        (f"last {size} rows", "max + mean + sample std"): sash.Query(windows=sash.sliding(size), aggregates=three),
        ("600 s by 1 s", "max"): sash.Query(windows=sash.sliding("600s", "1s"), aggregates=one, time="ts"),
    }


def row_contender(query: sash.Query, rows: int) -> Contender:
    """``Operator.process`` of one stream without keys, a dict a row."""
    loads = np.random.default_rng(8).random(rows)
    start, step = START.item(), timedelta(microseconds=INTERVAL_US)
    stream = [{"ts": start + number * step, "load": load} for number, load in enumerate(loads.tolist())]
    names = list(query.aggregates)

    def run() -> list[dict[str, Any]]:
        process, results = sash.Operator(query).process, []
        for row in stream:
            results += process(row)
        return results

    def answer() -> Columns:
        results = run()
        return tuple(np.array([result[name] for result in results], float) for name in names)

    def definition() -> Columns:
        return tuple(
            np.array([DEFINITIONS[name](window) for window in _windows_of_rows(query, loads)]) for name in names
        )

    return Contender("sash", partial(measure_call, run, rows), answer, definition)


def _windows_of_rows(query: sash.Query, loads: Array) -> Iterator[Array]:
    """The loads of the first windows."""
    if query.time is None:
        window: Any = query.windows
        yield from np.lib.stride_tricks.sliding_window_view(loads, window.range)[:CHECKED]
    else:
        per_slide = 1_000_000 // INTERVAL_US
        for end in range(per_slide, len(loads), per_slide)[:CHECKED]:  # the first 600 windows reach back to the start
            yield loads[:end]
