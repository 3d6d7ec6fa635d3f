"""Windows and edges that repeat, by their numbers: every so much time, or every so many days or months of a calendar.

Of periodic edges, edge k lies at ``offset + k · slide``, or ``shift`` behind that where a window ends elsewhere than
others begin. Numbers of edges have the type of times: whole, or float, where a quotient may be one off and is put
right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sash.values import Array
from sash.values.calendar import Calendar
from sash.windows import CalendarWindow, TimeWindow

__all__ = ["CalendarPeriods", "CumulativePeriods", "Grid", "Periods", "numbered"]


class Periods:
    """Windows [offset + k · slide, + range), or edges, by their numbers; each an array over the windows."""

    def __init__(self, numbers: Sequence[tuple[Any, Any, Any]], dtype: Any) -> None:
        self.range, self.slide, self.offset = (
            np.array([window[i] for window in numbers], dtype).reshape(-1) for i in range(3)
        )
        self.whole = self.slide.dtype.kind == "i"

    def __len__(self) -> int:
        return len(self.slide)

    def of(self, which: Any) -> Periods:
        """Those of the given places."""
        part = object.__new__(Periods)
        part.range, part.slide, part.offset, part.whole = (
            self.range[which],
            self.slide[which],
            self.offset[which],
            self.whole,
        )
        return part

    @property
    def tumble(self) -> bool:
        """Whether each time lies in one window, to be found without rounding."""
        return self.whole and bool((self.range == self.slide).all())

    def start(self, k: Array) -> Array:
        """Where window k begins."""
        start: Array = self.offset + k * self.slide
        return start

    def end(self, k: Array) -> Array:
        """Where window k ends."""
        end: Array = self.start(k) + self.range
        return end

    def index(self, time: Array) -> Array:
        """The largest k whose window begins at or before ``time``."""
        k: Array = (time - self.offset) // self.slide if self.whole else np.floor((time - self.offset) / self.slide)
        if self.whole:
            return k
        for _ in range(4):
            k = k - (self.start(k) > time)
        for _ in range(4):
            k = k + (self.start(k + 1) <= time)
        return k

    def first_behind(self, time: Array) -> Array:
        """The first k whose window ends behind ``time``."""
        behind = time - self.offset - self.range
        k: Array = (behind // self.slide if self.whole else np.floor(behind / self.slide)) + 1
        if self.whole:
            return k
        for _ in range(4):
            k = k + (self.end(k) <= time)
        for _ in range(4):
            k = k - (self.end(k - 1) > time)
        return k


class CumulativePeriods(Periods):
    """Windows numbered by the steps that they end with; a range has ``steps`` steps."""

    def __init__(self, numbers: Sequence[tuple[Any, Any, Any]], dtype: Any) -> None:
        self.ticks = Periods([(step, step, offset) for _, step, offset in numbers], dtype)
        self.steps = np.array([steps for steps, _, _ in numbers], dtype)

    def __len__(self) -> int:
        return len(self.ticks)

    def of(self, which: Any) -> CumulativePeriods:
        part = object.__new__(CumulativePeriods)
        part.ticks, part.steps = self.ticks.of(which), self.steps[which]
        return part

    @property
    def tumble(self) -> bool:
        return False

    def start(self, k: Array) -> Array:
        return self.ticks.start(self._first(k))

    def _first(self, k: Array) -> Array:
        """The first window that starts where window k does; with float times numbers may be infinite."""
        first: Array = (k // self.steps if self.ticks.whole else np.floor(k / self.steps)) * self.steps
        return first

    def end(self, k: Array) -> Array:
        return self.ticks.end(k)

    def index(self, time: Array) -> Array:
        last: Array = self._first(self.ticks.index(time)) + self.steps - 1
        return last

    def first_behind(self, time: Array) -> Array:
        return self.ticks.first_behind(time)


class CalendarPeriods(Periods):
    """The same counted in days or months of a calendar."""

    def __init__(self, numbers: Sequence[tuple[Any, Any, Any]], calendar: Calendar) -> None:
        super().__init__(numbers, np.int64)
        self.calendar = calendar

    def of(self, which: Any) -> CalendarPeriods:
        part = object.__new__(CalendarPeriods)
        part.__dict__ |= super().of(which).__dict__ | {"calendar": self.calendar}
        return part

    def start(self, k: Array) -> Array:
        return self.calendar.start(super().start(k))

    def end(self, k: Array) -> Array:
        return self.calendar.start(super().start(k) + self.range)

    def index(self, time: Array) -> Array:
        return super().index(self.calendar.index(time))

    def first_behind(self, time: Array) -> Array:
        return super().first_behind(self.calendar.index(time))


class Grid:
    """Several sets of periodic edges together; ``calendars`` are those counted by a calendar each."""

    def __init__(
        self, numbers: Sequence[tuple[Any, Any, Any]], dtype: Any, calendars: Sequence[CalendarPeriods] = ()
    ) -> None:
        self.sets = Periods(numbers, dtype)
        self.calendars = calendars
        self._whole = [(slide, offset) for _, slide, offset in numbers] if self.sets.whole and not calendars else []

    @staticmethod
    def of(windows: Iterable[TimeWindow | CalendarWindow], dtype: Any) -> Grid:
        """The bounds of all these windows, each set of edges once."""
        by_calendar: dict[Calendar | None, dict[tuple[Any, Any, Any], None]] = {None: {}}
        for window in windows:
            numbers = by_calendar.setdefault(window.calendar, {})
            range_, slide, offset = window.numbers
            numbers[_reduced(0, slide, offset, dtype)] = None
            if not window.aligned:  # of floats, even where range and slide are equal: sums are rounded
                numbers[_reduced(range_, slide, offset, dtype)] = None
        plain = list(by_calendar[None])
        return Grid(plain, dtype, [CalendarPeriods(list(by), of) for of, by in by_calendar.items() if of is not None])

    def __len__(self) -> int:
        return len(self.sets) + sum(map(len, self.calendars))

    def between(self, low: Any, high: Any, most: int) -> Array | None:
        """All edges in (low, high], in order; None if there are more than ``most``."""
        if not self.calendars:
            return self._between(low, high, most)
        parts = [part for part in (self.sets, *self.calendars) if len(part)]
        edges = [_edges_between(part, low, high, most) for part in parts]
        known = [part for part in edges if part is not None]
        return None if len(known) < len(edges) else np.unique(np.concatenate(known))

    def _between(self, low: Any, high: Any, most: int) -> Array | None:
        if len(self._whole) == 1:  # with single numbers NumPy is slow
            slide, offset = self._whole[0]
            first, last = (int(low) - offset) // slide + 1, (int(high) - offset) // slide
            return None if last - first >= most else np.arange(first, last + 1) * slide + offset
        return _edges_between(self.sets, low, high, most)

    def crossed(self, before: Array, after: Array) -> Array:
        """Whether an edge lies in (before, after]."""
        if len(before) == 1 and 0 < len(self._whole) < 8:
            low, high = int(before[0]), int(after[0])
            return np.array([any((low - o) // s != (high - o) // s for s, o in self._whole)])
        crossed = np.zeros(len(before), np.bool_)
        block = max(1, (1 << 20) // max(1, len(before)))
        for part in (self.sets, *self.calendars):
            for i in range(0, len(part), block):
                sets = part.of(slice(i, i + block))
                crossed |= (_last(sets, before[:, None]) != _last(sets, after[:, None])).any(axis=1)
        return crossed

    def cut(self, times: Array, cut: Array) -> None:
        """Mark the times that an edge separates from the previous one."""
        for part in (self.sets, *self.calendars):
            for i in range(len(part)):
                last = _last(part.of(i), times)
                cut[1:] |= last[1:] != last[:-1]


def _edges_between(sets: Periods, low: Any, high: Any, most: int) -> Array | None:
    """The edges of some sets in (low, high], in order; None if there are more than ``most``."""
    before, upto = _last(sets, low), _last(sets, high)
    counts = np.maximum(upto - before, 0)
    if counts.sum(dtype=np.float64) > most:
        return None
    which, k = numbered(before + 1, counts)
    edges = sets.of(which).end(k)
    return np.unique(edges) if len(sets) > 1 else edges


def _last(sets: Periods, time: Any) -> Array:
    """The last edge at or before ``time``, of each set."""
    return sets.first_behind(time) - 1


def numbered(first: Array, counts: Array) -> tuple[Array, Array]:
    """(i, first[i] + j) for each i and each j below counts[i].

    >>> numbered(np.array([5, 9, 2]), np.array([2, 0, 3]))
    (array([0, 0, 2, 2, 2]), array([5, 6, 2, 3, 4]))
    """
    counts = counts.astype(np.int64)
    which = np.repeat(np.arange(len(counts)), counts)
    begins = np.cumsum(counts) - counts
    return which, first[which] + (np.arange(len(which)) - begins[which]).astype(first.dtype)


def _reduced(shift: Any, slide: Any, offset: Any, dtype: Any) -> tuple[Any, Any, Any]:
    return (0, slide, (offset + shift) % slide) if np.dtype(dtype).kind == "i" else (shift, slide, offset)
