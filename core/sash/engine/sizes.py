"""How large a state is: the formulas of ``docs/operations.md``, in slices a key and bytes a slice.

::

    slices      reach / distance of edges; at a rate of λ tuples a slice, 1 − e^−λ of them have a tuple
    in memory   slices × (columns of numbers: the partials' and 4 of the slice's own)
    saved       at most slices × (8 a number of its partials + 24)

``reach`` is the longest window, and the time that the lane waits for late tuples and corrects results with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sash.kernels.kinds import NotCompilable
from sash.kernels.ranges.aggregate import ranges_aggregate
from sash.query import Query
from sash.query.lanes import Lane
from sash.windows import Window

__all__ = ["SliceBytes", "slice_bytes", "slices_a_key"]

_OWN_COLUMNS = 4
"""A slice's key, its first and last times, its number of tuples."""
_SAVED_COLUMNS = 3
"""The same without the key, which a snapshot has once."""


class SliceBytes(NamedTuple):
    """What one slice takes, of all aggregates together."""

    in_memory: int
    """In the columns of batches; rows of Python objects take several times as much."""
    saved: int
    """In a snapshot, at most: numbers that lie close together take less."""


def slice_bytes(query: Query, types: Mapping[str, Any]) -> SliceBytes | None:
    """The bytes of a slice for columns of these NumPy types; None: a partial grows with what it covers. O(aggregates).

    >>> import sash
    >>> query = sash.Query(sash.sliding(8), {"peak": sash.Max("load"), "mean": sash.Mean("load")})
    >>> slice_bytes(query, {"load": "f8"})
    SliceBytes(in_memory=90, saved=80)
    """
    flags = numbers = 0
    for aggregation in query.aggregates.values():
        of = aggregation.unfiltered
        try:
            form = ranges_aggregate(of, tuple(np.dtype(types[column]) for column in of.columns))
        except NotCompilable:
            return None
        partials = form.empty(1)
        flags += partials[0].nbytes
        numbers += sum(array.nbytes for array in partials[1:])
    return SliceBytes(8 * _OWN_COLUMNS + flags + numbers, 8 * _SAVED_COLUMNS + numbers)


def slices_a_key(query: Query, lane: Lane, tuples_a_unit: float) -> float | None:
    """The slices that a lane keeps of one key, whose tuples come at a rate; None: no formula says. O(windows).

    The rate is in tuples by nanosecond where the lane's unit is a duration, otherwise by the column's own unit.

    >>> import sash
    >>> query = sash.Query(sash.sliding("1m", "1s"), {"n": sash.Count()}, time="ts", watermark_delay="5s")
    >>> (lane,) = query.lanes
    >>> [round(slices_a_key(query, lane, tuples / 10**9), 2) for tuples in (1000, 0.01)]
    [65.0, 0.65]
    """
    windows = [query.named[name] for name in lane.names]
    if any(window.slices_a_window is None for window in windows):
        return None
    if any(window.bounds_are_positions for window in windows):
        exact = [window.slices_a_window for window in windows if window.bounds_are_positions]
        return float(max(map(int, filter(None, exact)))) if len(exact) == len(windows) else None
    reach = max(map(_reach, windows)) + lane.delay + lane.lateness
    steps = _distinct(_reach(window) / (window.slices_a_window or 1) for window in windows)
    distance = 1 / sum(1 / step for step in steps)
    return float(reach / distance * -math.expm1(-tuples_a_unit * distance))


def _reach(window: Window) -> float:
    return float(window.bound_steps[0])


def _distinct(steps: Iterable[float]) -> list[float]:
    """The distances of edges, without those whose edges are also edges of a shorter one."""
    kept: list[float] = []
    for step in sorted(steps):
        if not any(math.isclose(step / shorter, round(step / shorter), rel_tol=1e-9) for shorter in kept):
            kept.append(step)
    return kept
