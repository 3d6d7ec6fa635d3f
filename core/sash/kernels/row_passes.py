"""Compiled passes over rows and slices: what NumPy cannot do without looking at every row several times.

Rows and slices are grouped by key: ``codes`` number the keys, ``begins[c]`` is where the slices of key c begin.
Times are whole numbers or floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernels.inputs import readable
from sash.kernels.tiers import one_pass

__all__ = [
    "admit_many",
    "admit_one",
    "group_order",
    "group_starts",
    "is_sorted",
    "locate",
    "order_of",
    "overlaps",
    "positions_in",
    "search",
    "tied_rows",
]

Array = np.ndarray[Any, Any]


@one_pass
def admit_one(times: Array, watermark: Any, newest: Any, delay: Any, own: bool) -> Any:
    """(which rows are late, how many; the watermark and the newest time after them) for the rows of one key."""
    late = np.zeros(times.shape[0], np.bool_)
    count = 0
    for i in range(times.shape[0]):
        time = times[i]
        if time < watermark:
            late[i] = True
            count += 1
        else:
            newest = max(newest, time)
        if own:
            watermark = max(watermark, time - delay)
    return late, count, watermark, newest


@one_pass
def admit_many(codes: Array, times: Array, watermark: Array, newest: Array, delay: Any, own: bool) -> Any:
    """(which rows are late, how many); watermarks and newest times, one a key, are brought up to date."""
    late = np.zeros(times.shape[0], np.bool_)
    count = 0
    for i in range(times.shape[0]):
        time, code = times[i], codes[i]
        if time < watermark[code]:
            late[i] = True
            count += 1
        elif time > newest[code]:
            newest[code] = time
        if own and time - delay > watermark[code]:
            watermark[code] = time - delay
    return late, count


@one_pass
def tied_rows(codes: Array, times: Array, watermark: Array, delay: Any, own: bool) -> Array:
    """Whether the watermark, brought up to date, is at a row's time before the row comes."""
    tied = np.zeros(times.shape[0], np.bool_)
    for i in range(times.shape[0]):
        time, code = times[i], codes[i]
        tied[i] = time == watermark[code]
        if own and time - delay > watermark[code]:
            watermark[code] = time - delay
    return tied


@one_pass
def positions_in(codes: Array, counts: Array) -> Array:
    """The position of each row among those of its key; ``counts``, one a key, go on from where they are."""
    positions = np.empty(codes.shape[0], np.int64)
    for i in range(codes.shape[0]):
        positions[i] = counts[codes[i]]
        counts[codes[i]] += 1
    return positions


def group_starts(codes: Array, groups: int) -> Array:
    """Where the rows of each group begin, and the end, when rows come group by group."""
    return np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=groups))])


@one_pass
def group_order(codes: Array, starts: Array) -> Array:
    """The rows group by group, as they came within one: counting sort."""
    places = starts.copy()
    order = np.empty(codes.shape[0], np.int64)
    for row in range(codes.shape[0]):
        code = codes[row]
        order[places[code]] = row
        places[code] += 1
    return order


@one_pass
def _ordered(codes: Array, times: Array) -> bool:
    """Whether rows come key by key, and those of a key by time."""
    for i in range(1, codes.shape[0]):
        if codes[i] < codes[i - 1] or (codes[i] == codes[i - 1] and times[i] < times[i - 1]):
            return False
    return True


def order_of(codes: Array | None, times: Array, keys: int) -> Array | None:
    """The order that has rows key by key, then by time, then as they came; None: they have it."""
    if codes is None:
        return None if is_sorted(times) else np.argsort(times, kind="stable")
    if _ordered(codes, times):
        return None
    by_time = None if is_sorted(times) else np.argsort(times, kind="stable")
    codes = codes if by_time is None else codes[by_time]
    few = keys <= 4 * len(codes) + 1024
    order = group_order(codes, group_starts(codes, keys)) if few else np.argsort(codes, kind="stable")
    return order if by_time is None else by_time[order]


@one_pass
def search(values: Array, begins: Array, codes: Array, wanted: Array) -> Array:
    """The first slice of a key whose value is not below the wanted one; the end of its slices if there is none.

    It is looked for as far behind the one before as that was behind its predecessor: so wanted values at regular
    distances cost O(1) each, others O(log distance).
    """
    found = np.empty(wanted.shape[0], np.int64)
    before = stride = 0
    for i in range(wanted.shape[0]):
        code, value = codes[i], wanted[i]
        low, high = begins[code], begins[code + 1]
        guess = min(max(before + stride, low), high)
        step = 1
        if guess < high and values[guess] < value:
            low = guess + 1
            while low + step < high and values[low + step] < value:
                low += step + 1
                step *= 2
            high = min(high, low + step)
        else:
            high = guess
            while high - step >= low and not values[high - step] < value:
                high -= step
                step *= 2
            low = max(low, high - step)
        while low < high:
            middle = (low + high) // 2
            if values[middle] < value:
                low = middle + 1
            else:
                high = middle
        found[i] = low
        stride, before = low - before, low
    return found


@one_pass
def overlaps(code: Array, first: Array, last: Array) -> Any:
    """(whether a slice begins before all that came before it in its key has ended; the latest time before it)."""
    over = np.zeros(code.shape[0], np.bool_)
    before = np.empty(code.shape[0], last.dtype)
    before[0] = latest = last[0]
    for i in range(1, code.shape[0]):
        if code[i] != code[i - 1]:
            before[i] = latest = last[i]
        else:
            before[i] = latest
            over[i] = first[i] <= latest
            latest = max(latest, last[i])
    return over, before


def is_sorted(times: Array) -> bool:
    """Whether no time is before its predecessor.

    >>> is_sorted(np.array([1, 2, 2])), is_sorted(np.array([1, 3, 2]))
    (True, False)
    """
    return bool(_is_sorted(readable(times)))


@one_pass
def _is_sorted(times: Array) -> bool:
    begin = 0
    while begin + 1 < times.shape[0]:  # in blocks: a loop that ends early is not vectorised
        part = times[begin : begin + 1025]
        down = 0
        for k in range(1, part.shape[0]):
            down += part[k] < part[k - 1]
        if down:
            return False
        begin += 1024
    return True


def locate(edges: Array, times: Array) -> Array:
    """The place of the last edge at or before each time, -1 if there is none: fast where times go on as they come.

    >>> locate(np.array([0, 10, 20]), np.array([3, 12, 9, 25, -1])).tolist()
    [0, 1, 0, 2, -1]
    """
    times = readable(times)
    return _locate(readable(edges, times.dtype), times)


@one_pass
def _locate(edges: Array, times: Array) -> Array:
    places = np.empty(times.shape[0], np.int64)
    size = edges.shape[0]
    at = np.int64(-1)
    for k in range(times.shape[0]):
        time = times[k]
        if at + 1 < size and edges[at + 1] <= time:
            at += 1
            if at + 1 < size and edges[at + 1] <= time:
                at = np.searchsorted(edges, time, side="right") - 1
        elif at >= 0 and edges[at] > time:
            at -= 1
            if at >= 0 and edges[at] > time:
                at = np.searchsorted(edges, time, side="right") - 1
        places[k] = at
    return places
