"""Parts of the operator by themselves: how long a store takes for a window, a slice for a split, and what is held."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import sash
from sash.engine.rows.aggregate_store import Chunks, Eager, Lazy
from sash.engine.rows.bundle import Bundle, Merging
from sash.engine.rows.slices import Slices
from sash_experiments.benchmarks.slicing.football import football
from sash_experiments.timing import collector_off

__all__ = ["bytes_of", "firings", "holdings", "split_seconds", "stores"]

Merge = tuple[Callable[[int, Any], None], Callable[[int, int], Any]]
"""How a store takes the partial of slice i, and what it gives for the slices from one to before another."""


def stores() -> dict[str, Callable[[sash.Aggregation], Merge]]:
    """The stores that are compared: ours is the planner's choice for slices that are final."""
    return {"lazy": _lazy, "eager": _eager, "sash": _chunks}


def _chunks(aggregation: sash.Aggregation) -> Merge:
    store = Chunks(Merging(aggregation))
    return lambda i, partial: store.append(partial), store.total


def _lazy(aggregation: sash.Aggregation) -> Merge:
    store = Lazy(Merging(aggregation))
    return lambda i, partial: store.put((i,), partial), lambda low, high: store.total((low,), (high,))


def _eager(aggregation: sash.Aggregation) -> Merge:
    store = Eager(Merging(aggregation))
    return lambda i, partial: store.put((i,), partial), lambda low, high: store.total((low,), (high,))


def firings(
    store: Callable[[sash.Aggregation], Merge],
    aggregation: sash.Aggregation,
    partials: list[Any],
    slices: int,
    budget: float,
) -> list[float]:
    """Seconds of consecutive firings of a window of ``slices`` slices, apart from what a store does when a slice comes.

    As many as that if the budget allows. For ours in any case, and after as many that are not timed: a whole cycle of
    chunks, in a stream that has been running. That it makes its lcs when slices come shows in throughput, not here.
    """
    put, total = store(aggregation)
    for i in range(slices):
        put(i, partials[i])
    clock, taken, spent = time.perf_counter, [], 0.0
    warm = slices if store is _chunks else 0
    with collector_off():
        total(0, slices)  # what is prepared once for all firings
        for i in range(1, warm + slices + 1):
            put(slices + i - 1, partials[(slices + i - 1) % len(partials)])
            begin = clock()
            total(i, slices + i)
            if i <= warm:
                continue
            taken.append(clock() - begin)
            spent += taken[-1]
            if spent > budget and store is not _chunks:
                break
    return taken


def split_seconds(aggregation: sash.Aggregation, size: int) -> float:
    """Seconds that it takes to split a slice of ``size`` tuples in the middle."""
    given = football(size)
    values = [(value,) for value in getattr(given, aggregation.columns[0]).tolist()]
    tuples = list(zip(given.ts.tolist(), values, strict=True))
    slices = Slices(Bundle(sash.Query(windows=sash.tumbling(1), aggregates={"result": aggregation})))
    slice_ = slices.insert(0, tuples[0][0], 0, None, 10**18, tuples)
    slice_.count, slice_.last = size, tuples[-1][0]
    with collector_off():
        begin = time.process_time()
        slices.split(0, size // 2)
        return time.process_time() - begin


def holdings(measure: str, slices: int, tuples: int) -> dict[str, int]:
    """Bytes that each technique holds for tuples that may still be joined by late ones, in windows of 5 slices."""
    given = football(tuples)
    slide = max(int(given.ts[-1]) // slices, 1) if measure == "time" else tuples // slices
    window = sash.sliding(5 * slide, slide, on="ts" if measure == "time" else None)
    query = sash.Query(windows=window, aggregates={"result": sash.Sum("ball")}, time="ts", allowed_lateness=10**9)
    operator = sash.Operator(query)
    for row in given.rows:
        operator.process(row)
    pairs = list(zip(given.ts.tolist(), given.ball.tolist(), strict=True))
    tree = sash.aggregators.FiBA(sash.Sum())
    tree.insert_many_at([((ts, place), value) for place, (ts, value) in enumerate(pairs)])
    buckets = _buckets_on_time(pairs, slide) if measure == "time" else _buckets_on_counts(pairs, slide)
    return {
        "sash": bytes_of(operator),
        "buckets": bytes_of(buckets),
        "tuple buffer": bytes_of(pairs),
        "FiBA on tuples": bytes_of(tree),
    }


def _buckets_on_time(pairs: list[tuple[int, int]], slide: int) -> dict[int, Any]:
    """A partial a window."""
    buckets: dict[int, Any] = {}
    aggregation = sash.Sum()
    for ts, value in pairs:
        partial = aggregation.lift(value)
        for start in range(ts - ts % slide, ts - ts % slide - 5 * slide, -slide):
            buckets[start] = aggregation.combine(buckets.get(start), partial)
    return buckets


def _buckets_on_counts(pairs: list[tuple[int, int]], slide: int) -> dict[int, Any]:
    """A list of tuples a window: a late one would shift those behind it to the next."""
    buckets: dict[int, Any] = {}
    for place, pair in enumerate(pairs):
        newest = place - place % slide
        for start in range(newest, newest - 5 * slide, -slide):
            buckets.setdefault(start, []).append(pair)
    return buckets


def bytes_of(root: Any) -> int:
    """Bytes of all objects that one holds, but for code."""
    seen: set[int] = set()
    found, size = [root], 0
    while found:
        held = found.pop()
        if id(held) in seen or isinstance(held, type | ModuleType | FunctionType | BuiltinFunctionType):
            continue
        seen.add(id(held))
        size += sys.getsizeof(held)
        found += gc.get_referents(held)
    return size
