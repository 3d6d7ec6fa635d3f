"""Where trailing windows begin and end among rows: two pointers go over the rows of each key."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernels.row_passes import search
from sash.kernels.tiers import one_pass_after

__all__ = ["trailing_bounds"]

Array = np.ndarray[Any, Any]


def trailing_bounds(
    times: Array, starts: Array, start: Array, closed_left: bool, closed_right: bool
) -> tuple[Array, Array]:
    """From which row to before which the window of each row goes. O(1) a row.

    Rows are key by key from ``starts`` on, each key's in the order of ``times``; windows begin at ``start``. Neither
    bound ever goes back.

    >>> rows = np.array([0, 2, 4, 4, 7])
    >>> lo, hi = trailing_bounds(rows, np.array([0, 5]), rows - 3, False, True)
    >>> lo.tolist(), hi.tolist()
    ([0, 0, 1, 1, 4], [1, 2, 4, 4, 5])
    """
    lo, hi = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
    _bounds(times, starts, start, closed_left, closed_right, lo, hi)
    return lo, hi


def _bounds_by_search(
    times: Array, starts: Array, start: Array, closed_left: bool, closed_right: bool, lo: Array, hi: Array
) -> None:
    """The same by bisection."""
    codes = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    hi[:] = search(times, starts, codes, _behind(times) if closed_right else times)
    lo[:] = np.minimum(search(times, starts, codes, start if closed_left else _behind(start)), hi)


def _behind(times: Array) -> Array:
    return times + 1 if times.dtype.kind == "i" else np.nextafter(times, np.inf)


@one_pass_after(_bounds_by_search)
def _bounds(
    times: Array, starts: Array, start: Array, closed_left: bool, closed_right: bool, lo: Array, hi: Array
) -> None:
    for k in range(starts.shape[0] - 1):
        low = i = starts[k]
        end = starts[k + 1]
        while i < end:
            time, bound = times[i], start[i]
            behind = i + 1
            while behind < end and times[behind] == time:
                behind += 1
            high = behind if closed_right else i
            while low < high and (times[low] < bound or (times[low] == bound and not closed_left)):
                low += 1
            for j in range(i, behind):
                lo[j] = low
                hi[j] = high
            i = behind
