"""Passes over rows and slices, compiled where NumPy would have to look at every row several times.

Rows and slices are grouped by key: ``codes`` number the keys, ``begins[c]`` is where the slices of key c begin.
Times are whole numbers or floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernels.inputs import readable
from sash.kernels.partition import Partition, locate_slots
from sash.kernels.tiers import one_pass, one_pass_after
from sash.values.shares import is_sorted

__all__ = [
    "admit_many",
    "admit_one",
    "locate",
    "order_of",
    "overlaps",
    "positions_in",
    "search",
    "watermarks_before",
]

Array = np.ndarray[Any, Any]

_BLOCK = 1 << 14


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
def watermarks_before(codes: Array, times: Array, watermark: Array, delay: Any, own: bool) -> Array:
    """The watermark before each row comes; ``watermark``, one a key, is brought up to date."""
    before = np.empty(times.shape[0], times.dtype)
    for i in range(times.shape[0]):
        time, code = times[i], codes[i]
        before[i] = watermark[code]
        if own and time - delay > watermark[code]:
            watermark[code] = time - delay
    return before


@one_pass
def positions_in(codes: Array, counts: Array) -> Array:
    """The position of each row among those of its key; ``counts``, one a key, go on from where they are."""
    positions = np.empty(codes.shape[0], np.int64)
    for i in range(codes.shape[0]):
        positions[i] = counts[codes[i]]
        counts[codes[i]] += 1
    return positions


def _ordered(codes: Array, times: Array) -> bool:
    """Whether rows come key by key, and those of a key by time."""
    for begin in range(0, len(codes) - 1, _BLOCK):
        code, time = codes[begin : begin + _BLOCK + 1], times[begin : begin + _BLOCK + 1]
        if (code[1:] < code[:-1]).any() or ((time[1:] < time[:-1]) & (code[1:] == code[:-1])).any():
            return False
    return True


def order_of(codes: Array | None, times: Array | None, keys: int) -> Array | None:
    """The order that has rows key by key, then by time, then as they came; None: they have it.

    ``codes`` is None for the rows of one key, ``times`` where those of each key are in order.
    """
    if codes is None:
        return None if times is None or is_sorted(times) else np.argsort(times, kind="stable")
    if is_sorted(codes) if times is None else _ordered(codes, times):
        return None
    by_time = None if times is None or is_sorted(times) else np.argsort(times, kind="stable")
    codes = codes if by_time is None else codes[by_time]
    few = keys <= 4 * len(codes) + 1024
    order = Partition(codes, keys).order() if few else np.argsort(codes, kind="stable")
    return order if by_time is None else by_time[order]


def search(values: Array, begins: Array, codes: Array, wanted: Array) -> Array:
    """The first slice of a key whose value is not below the wanted one; the end of its slices if there is none.

    It is looked for as far behind the one before as that was behind its predecessor: so wanted values at regular
    distances cost O(1) each, others O(log distance).
    """
    places = np.empty(len(wanted), np.int64)
    _search(values, begins, codes, wanted, places)
    return places


def _search_vectorised(values: Array, begins: Array, codes: Array, wanted: Array, places: Array) -> None:
    """Bisection of all at once."""
    low, high = begins[codes], begins[1:][codes]
    last = len(values) - 1
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        below = (values[np.minimum(middle, last)] < wanted) & (low < high)
        low = np.where(below, middle + 1, low)
        high = np.where(below, high, middle)
    places[:] = low


@one_pass_after(_search_vectorised)
def _search(values: Array, begins: Array, codes: Array, wanted: Array, places: Array) -> None:
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
        places[i] = low
        stride, before = low - before, low


def overlaps(code: Array, first: Array, last: Array) -> tuple[Array, Array]:
    """(whether a slice begins before all that came before it in its key has ended; the latest time before it)."""
    same = code[1:] == code[:-1]
    over, before = np.zeros(len(code), np.bool_), last.copy()
    if not (same & (last[1:] < last[:-1])).any():  # the latest before a slice is its predecessor's
        before[1:] = np.where(same, last[:-1], last[1:])
        over[1:] = same & (first[1:] <= last[:-1])
    else:
        _overlaps(code, first, last, over, before)
    return over, before


@one_pass
def _overlaps(code: Array, first: Array, last: Array, over: Array, before: Array) -> None:
    latest = last[0]
    for i in range(1, code.shape[0]):
        if code[i] != code[i - 1]:
            latest = last[i]
        else:
            before[i] = latest
            over[i] = first[i] <= latest
            latest = max(latest, last[i])


def locate(edges: Array, times: Array) -> Array:
    """The place of the last edge at or before each time, -1 if there is none: fast where times go on as they come.

    >>> locate(np.array([0, 10, 20]), np.array([3, 12, 9, 25, -1])).tolist()
    [0, 1, 0, 2, -1]
    """
    return locate_slots(readable(times), np.zeros(len(times), np.int64), readable(edges, times.dtype), 1)[0] - 1
