"""Rows of many keys in one pass: brought together key by key, or told which slice they belong to."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernels.inputs import readable
from sash.kernels.tiers import one_pass_after, prefetch
from sash.values.shares import Shares, in_shares, is_sorted, shares_of

__all__ = ["Partition", "ascends_by_group", "count_codes", "locate_slots"]

Array = np.ndarray[Any, Any]

_BLOCK = 1 << 14
_LINE = 8
"""How many places ahead a group's next line is fetched."""
_AS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Partition:
    """The order that has rows group by group, those of a group as they came. O(rows), and again for each column.

    ``starts`` says where each group begins, and the end. Rows are shared out over the cores: each core counts its own,
    and so knows the places that they go to.

    >>> partition = Partition(np.array([1, 0, 1]), 2)
    >>> partition.take(np.array([1.5, 2.5, 3.5])).tolist(), partition.starts.tolist()
    ([2.5, 1.5, 3.5], [0, 1, 3])
    """

    def __init__(self, codes: Array, groups: int) -> None:
        self._codes, self._groups = readable(codes, np.int64), groups
        size = len(codes)
        self._shares = shares_of(size) if groups <= size // 8 else [(0, size)]
        counts = count_codes(self._codes, groups, self._shares)
        self.counts: Array = counts.sum(axis=0)
        """How many rows each group has."""
        self.starts = np.concatenate([[0], np.cumsum(self.counts)])
        self._places = self.starts[:-1] + np.cumsum(counts, axis=0) - counts
        self.is_identity = is_sorted(self._codes)
        """Whether rows come group by group already."""
        self._order: Array | None = None

    def take(self, array: Array) -> Array:
        """A column in this order; the array itself if it is in order already."""
        if self.is_identity:
            return array
        if isinstance(array, np.ma.MaskedArray):
            masked: Array = np.ma.MaskedArray(*map(self.take, (np.ma.getdata(array), np.ma.getmaskarray(array))))
            return masked
        if array.dtype == object or array.dtype.itemsize not in _AS:
            if self._order is None:
                self._order = _stable_order(self._codes, self._groups)
            return array[self._order]
        bits, result = readable(array.view(_AS[array.dtype.itemsize])), np.empty(len(array), array.dtype)
        moved = result.view(bits.dtype)

        def move(share: int, rows: tuple[int, int]) -> None:
            part = slice(*rows)
            _scatter(bits[part], self._codes[part], self._places[share].copy(), moved)

        in_shares(move, list(enumerate(self._shares)))
        return result

    def order(self) -> Array:
        """The rows in this order."""
        return self.take(np.arange(len(self._codes)))


def count_codes(codes: Array, groups: int, shares: Shares | None = None) -> Array:
    """How many rows each group has, in each share of the rows. O(rows + groups).

    >>> count_codes(np.array([1, 0, 1]), 3).tolist()
    [[1, 2, 0]]
    """
    codes = readable(codes, np.int64)
    size = len(codes)
    shares = shares or (shares_of(size) if groups <= size // 8 else [(0, size)])
    counts = np.zeros((len(shares), groups), np.int64)
    in_shares(lambda share, rows: _count(codes[slice(*rows)], counts[share]), list(enumerate(shares)))
    return counts


def _count_vectorised(codes: Array, counts: Array) -> None:
    counts += np.bincount(codes, minlength=len(counts))


@one_pass_after(_count_vectorised)
def _count(codes: Array, counts: Array) -> None:
    for i in range(codes.shape[0]):
        counts[np.uint64(codes[i])] += 1


def _stable_order(codes: Array, groups: int) -> Array:
    """The rows group by group, as they came within one: by NumPy, which counts small codes and sorts others."""
    return np.argsort(codes.astype(np.uint16) if groups <= 1 << 16 else codes, kind="stable")


def _scatter_vectorised(array: Array, codes: Array, places: Array, result: Array) -> None:
    counts = np.bincount(codes, minlength=len(places))
    shift = places - np.cumsum(counts) + counts
    result[np.arange(len(codes)) + np.repeat(shift, counts)] = array[_stable_order(codes, len(places))]


@one_pass_after(_scatter_vectorised)
def _scatter(array: Array, codes: Array, places: Array, result: Array) -> None:
    for i in range(array.shape[0]):
        code = np.uint64(codes[i])
        place = places[code]
        result[np.uint64(place)] = array[i]
        places[code] = place + 1
        prefetch(result, place + _LINE)  # so many groups' ends the nearest cache does not hold


def ascends_by_group(times: Array, starts: Array) -> bool:
    """Whether times ascend within each group, rows starts[g] … starts[g + 1] - 1."""
    for begin in range(0, len(times) - 1, _BLOCK):
        part = times[begin : begin + _BLOCK + 1]
        down = np.flatnonzero(part[1:] < part[:-1]) + begin + 1
        if len(down) and (starts[np.searchsorted(starts, down)] != down).any():
            return False
    return True


def locate_slots(
    times: Array, codes: Array, edges: Array, keys: int, shares: Shares | None = None
) -> tuple[Array, Array, Array, Array]:
    """(the slot of each row; the first and last time and the number of rows of each slot).

    Slot ``cell * keys + code``: cell 0 lies before the first edge, cell i begins with edge i - 1. Fast where times go
    on as they come. ``shares`` are parts of the rows of which no two have a row in one cell.
    """
    size = (len(edges) + 1) * keys
    slots = np.empty(len(times), np.int64)
    first, last = np.empty(size, times.dtype), np.empty(size, times.dtype)
    count = np.zeros(size, np.int64)

    def locate(begin: int, end: int) -> None:
        rows = slice(begin, end)
        _locate_slots(times[rows], codes[rows], edges, keys, slots[rows], first, last, count)

    in_shares(locate, shares or [(0, len(times))])
    return slots, first, last, count


def _locate_slots_vectorised(
    times: Array, codes: Array, edges: Array, keys: int, slots: Array, first: Array, last: Array, count: Array
) -> None:
    np.multiply(np.searchsorted(edges, times, side="right"), keys, out=slots)
    slots += codes
    first[slots] = last[slots] = times
    np.minimum.at(first, slots, times)
    np.maximum.at(last, slots, times)
    np.add.at(count, slots, 1)


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
