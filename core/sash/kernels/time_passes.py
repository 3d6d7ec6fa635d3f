"""One pass over a column of times, whole numbers or floats: whether it ascends, which edges it lies between."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernels.inputs import readable
from sash.kernels.tiers import one_pass

__all__ = ["is_sorted", "locate"]

Array = np.ndarray[Any, Any]


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
