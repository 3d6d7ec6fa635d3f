"""Rows of many keys in one pass: brought together key by key, or told which slice they belong to."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernels.inputs import readable
from sash.kernels.tiers import one_pass

__all__ = ["ascends_by_group", "locate_slots", "partition"]

Array = np.ndarray[Any, Any]


def partition(array: Array, codes: Array, starts: Array) -> Array:
    """A column group by group, those of code c from ``starts[c]`` on, as they came within a group. O(rows).

    >>> partition(np.array([1.5, 2.5, 3.5]), np.array([1, 0, 1]), np.array([0, 1])).tolist()
    [2.5, 1.5, 3.5]
    """
    if isinstance(array, np.ma.MaskedArray):
        data, mask = (partition(part, codes, starts) for part in (np.ma.getdata(array), np.ma.getmaskarray(array)))
        return np.ma.MaskedArray(data, mask)
    if array.dtype == object or array.dtype.itemsize not in _AS:
        return array[np.argsort(codes, kind="stable")]
    bits = readable(array.view(_AS[array.dtype.itemsize]))
    result = np.empty(len(array), array.dtype)
    _scatter(bits, codes, starts.copy(), result.view(bits.dtype))
    return result


_AS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@one_pass
def _scatter(array: Array, codes: Array, places: Array, result: Array) -> None:
    for i in range(array.shape[0]):
        code = np.uint64(codes[i])
        place = np.uint64(places[code])
        result[place] = array[i]
        places[code] += 1


@one_pass
def ascends_by_group(times: Array, starts: Array) -> bool:
    """Whether times ascend within each group, rows starts[g] … starts[g + 1] - 1."""
    for g in range(starts.shape[0] - 1):
        down = 0
        part = times[starts[g] : starts[g + 1]]
        for k in range(1, part.shape[0]):
            down += part[k] < part[k - 1]
        if down:
            return False
    return True


@one_pass
def locate_slots(times: Array, codes: Array, edges: Array, keys: int) -> Any:
    """(the slot of each row; the first and last time and the number of rows of each slot).

    Slot ``cell * keys + code``: cell 0 lies before the first edge, cell i begins with edge i - 1. Fast where times go
    on as they come.
    """
    size = (edges.shape[0] + 1) * keys
    slots = np.empty(times.shape[0], np.int64)
    first, last = np.empty(size, times.dtype), np.empty(size, times.dtype)
    count = np.zeros(size, np.int64)
    cell = 0
    for i in range(times.shape[0]):
        time = times[i]
        while cell < edges.shape[0] and edges[cell] <= time:
            cell += 1
            if cell < edges.shape[0] and edges[cell] <= time:
                cell = np.searchsorted(edges, time, side="right")
        while cell > 0 and edges[cell - 1] > time:
            cell -= 1
            if cell > 0 and edges[cell - 1] > time:
                cell = np.searchsorted(edges, time, side="right")
        slot = cell * keys + codes[i]
        slots[i] = slot
        place = np.uint64(slot)
        if count[place] == 0:
            first[place] = last[place] = time
        elif time > last[place]:
            last[place] = time
        elif time < first[place]:
            first[place] = time
        count[place] += 1
    return slots, first, last, count
