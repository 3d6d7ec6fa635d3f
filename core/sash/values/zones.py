"""Clocks of time zones: what they show at a time, and when they first show it, for arrays of nanoseconds since 1970.

A clock that is set back shows an hour twice. Here it stands still for that hour instead, so that days never go back:
a day starts when the clock first shows its midnight or, if it skips that, the first time after it.

    New York, 3 November 2024    UTC  5:00  5:30  6:00  6:30  7:00  7:30
                               local  1:00  1:30  1:00  1:30  2:00  2:30
                                here  1:00  1:30  2:00  2:00  2:00  2:30
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

import numpy as np

from sash.values import Array
from sash.values.timestamps import EPOCH_UTC, LEAST, MOST, zone_of

__all__ = ["ZoneClock"]

_FIRST, _LAST = datetime(1677, 9, 22, tzinfo=UTC), datetime(2262, 4, 11, tzinfo=UTC)
_STRIDE = timedelta(days=2)
"""No zone has ever changed its offset and changed back within less: the shortest was four days, in 1939."""
_SECOND = 10**9


class ZoneClock:
    """The clock of a zone. Converting n times costs O(n log changes of its offset).

    >>> clock = ZoneClock.of("America/New_York")
    >>> midnights = np.array(["2024-03-10", "2024-03-11"], "datetime64[ns]").astype(np.int64)
    >>> clock.first(midnights).astype("datetime64[ns]").astype("datetime64[m]")
    array(['2024-03-10T05:00', '2024-03-11T04:00'], dtype='datetime64[m]')
    """

    def __init__(self, starts: Array, offsets: Array) -> None:
        self._starts, self._offsets = starts, offsets
        ends = np.append(starts[1:] + offsets[:-1], MOST)
        self._reached = np.maximum.accumulate(ends)
        """The local time up to which the clock has been, before each change of its offset."""
        self._stands = np.concatenate([[LEAST], self._reached[:-1] - 1])

    @staticmethod
    @lru_cache
    def of(zone: str) -> ZoneClock:
        """The clock of the zone of this name. Some 50 ms for the first time in a process."""
        changes = list(_changes(zone_of(zone)))
        starts, offsets = (np.array(column, np.int64) for column in zip(*changes, strict=True))
        return ZoneClock(starts, offsets)

    def local(self, times: Array) -> Array:
        """The latest time that the clock has shown up to each of these times."""
        at = np.searchsorted(self._starts, times, side="right") - 1
        local: Array = np.maximum(times + self._offsets[at], self._stands[at])
        return local

    def first(self, local: Array) -> Array:
        """The first time at which the clock shows each of these local times, or a later one."""
        at = np.searchsorted(self._reached[:-1], local, side="right")
        first: Array = np.maximum(local - self._offsets[at], self._starts[at])
        return first


def _changes(zone: tzinfo) -> Iterator[tuple[int, int]]:
    """When the offset of a zone changes, and to what, in nanoseconds."""
    at, offset = _FIRST, _offset(zone, _FIRST)
    yield LEAST, offset * _SECOND
    while at < _LAST:
        after = at + _STRIDE
        new = _offset(zone, after)
        if new != offset:
            low, high = 0, int(_STRIDE.total_seconds())
            while high - low > 1:
                middle = (low + high) // 2
                if _offset(zone, at + timedelta(seconds=middle)) == offset:
                    low = middle
                else:
                    high = middle
            after = at + timedelta(seconds=high)
            offset = _offset(zone, after)
            yield (after - EPOCH_UTC) // timedelta(seconds=1) * _SECOND, offset * _SECOND
        at = after


def _offset(zone: tzinfo, at: datetime) -> int:
    """The offset of a zone in whole seconds."""
    offset = at.astimezone(zone).utcoffset()
    assert offset is not None, "zones by name have offsets"
    return int(offset.total_seconds())
