"""One pass over a column of times: whether it ascends, which rows are late, where it crosses edges.

Times are whole numbers or floats, as they are; numbers besides them are converted to their type. ``None`` for a
watermark is before all times.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from sash.kernels.codegen.readable import readable

__all__ = ["cuts", "is_sorted", "late_rows", "late_rows_by", "locate"]

Array = np.ndarray[Any, Any]


def is_sorted(times: Array) -> bool:
    """Whether no time is before its predecessor.

    >>> is_sorted(np.array([1, 2, 2])), is_sorted(np.array([1, 3, 2]))
    (True, False)
    """
    return bool(_is_sorted(readable(times)))


@numba.njit(nogil=True, cache=True)
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


def late_rows(times: Array, watermark: Any, delay: Any, lateness: Any) -> tuple[Array | None, Any, Any]:
    """(which rows are too late, None if none is; the watermark after the last row; the largest time accepted).

    A row is too late if its time is below ``watermark - lateness``; after it the watermark is its time less ``delay``,
    if that is more. The largest time is None if no row is accepted.

    >>> dropped, watermark, newest = late_rows(np.array([10, 12, 9, 15, 11]), None, 1, 1)
    >>> dropped.tolist(), watermark, newest
    ([False, False, True, False, True], 14, 15)
    """
    starts = np.array([0, len(times)])
    dropped, watermarks, newest, known = late_rows_by(times, starts, [watermark], delay, lateness)
    return dropped, watermarks[0], newest[0].item() if known[0] else None


def late_rows_by(
    times: Array, starts: Array, watermarks: list[Any], delay: Any, lateness: Any
) -> tuple[Array | None, list[Any], Array, Array]:
    """The same for groups of rows, each with its watermark; of each its newest time, and whether it has one."""
    times = readable(times)
    least = np.iinfo(times.dtype).min if times.dtype.kind in "iu" else -np.inf
    marks = np.array([least if mark is None else mark for mark in watermarks], times.dtype)
    newest = np.full(len(marks), least, times.dtype)
    known = np.zeros(len(marks), np.bool_)
    dropped = np.zeros(len(times), np.bool_)
    limits = np.array([delay, lateness, least], times.dtype)
    count = _late_rows(times, readable(starts, np.int64), limits, (marks, newest, known), dropped)
    after = [None if mark == least else mark for mark in marks.tolist()]
    return (dropped if count else None), after, newest, known


@numba.njit(nogil=True, cache=True)
def _late_rows(times: Array, starts: Array, limits: Array, groups: Any, dropped: Array) -> int:
    delay, lateness, least = limits
    marks, newest, known = groups
    count = 0
    for group in range(marks.shape[0]):
        top = newest[group]
        mark = marks[group]
        bound = mark - lateness if mark > least + lateness else least
        high = mark + delay  # beyond this a time moves the watermark
        if mark == least:
            high = least
        for k in range(starts[group], starts[group + 1]):
            time = times[k]
            if time < bound:
                dropped[k] = True
                count += 1
                continue
            known[group] = True
            top = max(top, time)
            if time > high:
                high = time
                mark = max(mark, time - delay if time > least + delay else least)
                bound = mark - lateness if mark > least + lateness else least
        newest[group] = top
        marks[group] = mark
    return count


def cuts(times: Array, periods: Any, offsets: Any, starts: Array | None = None) -> tuple[Array, Array]:
    """Where ascending times cross edges, at ``offset + k * period`` of any period: (begins of segments, their edges).

    The begins end with the number of rows; the edge of a segment is the last one at or before its times. ``starts``
    are the begins of groups, likewise, within each of which times ascend: each begins a segment. Whole numbers only.

    >>> begins, edges = cuts(np.array([1, 4, 7, 31, 32]), [5], [0])
    >>> begins.tolist(), edges.tolist()
    ([0, 2, 3, 5], [0, 5, 30])
    """
    times = readable(times, np.int64)
    starts = np.array([0, len(times)]) if starts is None else readable(starts, np.int64)
    return _cuts(times, np.array(periods, np.int64), np.array(offsets, np.int64), starts)


@numba.njit(nogil=True, cache=True)
def _cuts(times: Array, periods: Array, offsets: Array, starts: Array) -> tuple[Array, Array]:
    begins = np.empty(times.shape[0] + 1, np.int64)  # of which only what is written takes memory
    edges = np.empty(times.shape[0], np.int64)
    count = 0
    for group in range(starts.shape[0] - 1):
        k, end = starts[group], starts[group + 1]
        while k < end:
            time = times[k]
            # the nearest edges at or before the time, and behind it, as distances, which cannot overflow
            back = forth = np.int64(-1)
            for grid in range(periods.shape[0]):
                into = (time - offsets[grid]) % periods[grid]
                back = into if back < 0 else min(back, into)
                left = periods[grid] - into
                forth = left if forth < 0 else min(forth, left)
            begins[count] = k
            edges[count] = time - back
            count += 1
            last = time + (forth - 1)  # the largest time before the next edge
            if last < time:
                last = np.int64(9223372036854775807)
            k += 1
            while k < end and times[k] <= last:
                k += 1
    begins[count] = times.shape[0]
    return begins[: count + 1].copy(), edges[:count].copy()


def locate(edges: Array, times: Array) -> Array:
    """The place of the last edge at or before each time, -1 if there is none: fast where times go on as they come.

    >>> locate(np.array([0, 10, 20]), np.array([3, 12, 9, 25, -1])).tolist()
    [0, 1, 0, 2, -1]
    """
    times = readable(times)
    return _locate(readable(edges, times.dtype), times)


@numba.njit(nogil=True, cache=True)
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
