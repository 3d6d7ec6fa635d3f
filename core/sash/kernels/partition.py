"""Rows of many keys in one pass: brought together key by key, or told which slice they belong to."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernels.inputs import readable
from sash.kernels.tiers import one_pass_after

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
        return array[_stable_order(codes, len(starts))]
    bits = readable(array.view(_AS[array.dtype.itemsize]))
    result = np.empty(len(array), array.dtype)
    _scatter(bits, codes, starts.copy(), result.view(bits.dtype))
    return result


_BLOCK = 1 << 14
_AS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _stable_order(codes: Array, groups: int) -> Array:
    """The rows group by group, as they came within one: by NumPy, which counts small codes and sorts others."""
    return np.argsort(codes.astype(np.uint16) if groups <= 1 << 16 else codes, kind="stable")


def _scatter_vectorised(array: Array, codes: Array, places: Array, result: Array) -> None:
    result[:] = array[_stable_order(codes, len(places))]


@one_pass_after(_scatter_vectorised)
def _scatter(array: Array, codes: Array, places: Array, result: Array) -> None:
    for i in range(array.shape[0]):
        code = np.uint64(codes[i])
        place = np.uint64(places[code])
        result[place] = array[i]
        places[code] += 1


def ascends_by_group(times: Array, starts: Array) -> bool:
    """Whether times ascend within each group, rows starts[g] … starts[g + 1] - 1."""
    for begin in range(0, len(times) - 1, _BLOCK):
        part = times[begin : begin + _BLOCK + 1]
        down = np.flatnonzero(part[1:] < part[:-1]) + begin + 1
        if len(down) and (starts[np.searchsorted(starts, down)] != down).any():
            return False
    return True


def locate_slots(times: Array, codes: Array, edges: Array, keys: int) -> tuple[Array, Array, Array, Array]:
    """(the slot of each row; the first and last time and the number of rows of each slot).

    Slot ``cell * keys + code``: cell 0 lies before the first edge, cell i begins with edge i - 1. Fast where times go
    on as they come.
    """
    size = (len(edges) + 1) * keys
    slots = np.empty(len(times), np.int64)
    first, last = np.empty(size, times.dtype), np.empty(size, times.dtype)
    count = np.zeros(size, np.int64)
    _locate_slots(times, codes, edges, keys, slots, first, last, count)
    return slots, first, last, count


def _locate_slots_vectorised(
    times: Array, codes: Array, edges: Array, keys: int, slots: Array, first: Array, last: Array, count: Array
) -> None:
    np.multiply(np.searchsorted(edges, times, side="right"), keys, out=slots)
    slots += codes
    first[slots] = last[slots] = times
    np.minimum.at(first, slots, times)
    np.maximum.at(last, slots, times)
    count += np.bincount(slots, minlength=len(count))


@one_pass_after(_locate_slots_vectorised)
def _locate_slots(
    times: Array, codes: Array, edges: Array, keys: int, slots: Array, first: Array, last: Array, count: Array
) -> None:
    size = edges.shape[0]
    cell = 0
    for i in range(times.shape[0]):
        time = times[i]
        low, high = cell, cell
        if cell < size and edges[cell] <= time:
            low, high = cell + 1, size
            if low == size or edges[low] > time:
                high = low
        elif cell > 0 and edges[cell - 1] > time:
            low, high = 0, cell - 1
            if high == 0 or edges[high - 1] <= time:
                low = high
        while low < high:
            middle = (low + high) // 2
            if edges[middle] <= time:
                low = middle + 1
            else:
                high = middle
        cell = low
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
