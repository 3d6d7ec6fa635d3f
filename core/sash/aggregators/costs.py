"""What decides between SBA and PBA: the time of a merge, and that of handing a chunk to another thread.

Both are measured when first asked for, once a process, and rounded to one digit, so that plans differ less between
processes. The functions of users are not called to measure them: they may count, print or fail.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from time import perf_counter_ns
from typing import Literal, NamedTuple

from sash.aggregations.base import Aggregation
from sash.aggregations.custom import Together

__all__ = ["ASSUMED_MERGE_NS", "MergeTime", "handover_ns", "merge_time"]

ASSUMED_MERGE_NS = 1000
"""What a merge is taken to cost if it cannot be measured: as much as a small function in Python."""
_ROUNDS, _CALLS = 5, 50


class MergeTime(NamedTuple):
    """The time of one merge, in nanoseconds, and how it is known."""

    ns: int
    source: Literal["given", "measured", "assumed"]


@lru_cache(maxsize=256)
def merge_time(aggregation: Aggregation) -> MergeTime:
    """The time of ``aggregation.combine``: measured on numbers where the code is Sash's own, else assumed.

    Costs about a millisecond, once a process.

    >>> import sash
    >>> merge_time(sash.Max("load")).source
    'measured'
    >>> merge_time(sash.aggregation("load", lift=float, combine=max))
    MergeTime(ns=1000, source='assumed')
    """
    parts = aggregation.parts if isinstance(aggregation, Together) else (aggregation,)
    parts = tuple(part.unfiltered for part in parts)
    if not all(_is_own(part) for part in parts):
        return MergeTime(ASSUMED_MERGE_NS, "assumed")
    try:
        partials = [part.lift(1.5 if part.arity == 1 else (1.5,) * part.arity) for part in parts]
    except TypeError:  # it does not take numbers
        return MergeTime(ASSUMED_MERGE_NS, "assumed")
    pairs = list(zip(parts, partials, strict=True))

    def merge() -> None:
        for part, partial in pairs:
            part.combine(partial, partial)

    return MergeTime(_rounded(_fastest(merge)), "measured")


@cache
def handover_ns() -> int:
    """The time of giving a task to another thread and hearing that it is done, in nanoseconds."""
    done = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="sash-measure") as pool:
        return _rounded(_fastest(lambda: pool.submit(done.set).result()))


def _fastest(call: Callable[[], object]) -> float:
    """Nanoseconds of a call, in the fastest of some rounds: the others were interrupted."""
    rounds = []
    for _ in range(_ROUNDS):
        begin = perf_counter_ns()
        for _ in range(_CALLS):
            call()
        rounds.append((perf_counter_ns() - begin) / _CALLS)
    return min(rounds)


def _rounded(ns: float) -> int:
    return max(1, int(float(f"{ns:.0e}")))


def _is_own(aggregation: Aggregation) -> bool:
    module = type(aggregation).__module__
    return module.startswith("sash.aggregations.") and module != "sash.aggregations.custom"
