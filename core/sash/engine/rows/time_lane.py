"""The lane of one sliding or tumbling window on time whose tuples come in order: late ones are dropped.

    time      |  0    1    2  |  3    4    5  |  6  |       W[6, 3]: slices are as long as the slide
    slices    |    number 0   |    number 1   |  2 (open)   the tuple at 6 completes the window [0, 6)

A slice's number follows from its time. Slices without a tuple are None, which costs no merge.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Any

from sash.engine.planner import LanePlan
from sash.engine.results import Emitted
from sash.engine.rows.bundle import Values
from sash.engine.rows.flat_lane import FlatLane
from sash.query import Query
from sash.state.key_states import KeyState, SliceState
from sash.state.lane_state import WindowState, next_block
from sash.windows import TimeWindow

__all__ = ["TimeLane"]

MOST_SLICES = 1024
"""Slices of a window up to which lists are short, even of keys with few tuples. A RowLane keeps no empty slices."""
_new = tuple.__new__  # creates a named tuple faster than its class does
_Extent = tuple[int, Any, Any, int]
"""The number of a slice, the first and the last time of its tuples, and how many they are."""


class TimeLane(FlatLane):
    """One key of a lane of W[range, slide] on time, where the slide divides the range. Offers what a RowLane does.

    Costs a tuple a lift and a merge into its slice, besides what slices and windows cost (:class:`FlatLane`).
    """

    _extents: list[_Extent]
    """Of the slices of the open chunk that have tuples."""
    _closed_extents: dict[int, list[_Extent]]
    """Of those of closed chunks, by the number of the chunk."""

    def __init__(self, query: Query, planned: LanePlan, window: TimeWindow) -> None:
        super().__init__(query, planned, window.slices_a_window)
        self._index, (self._range, self._slide, self._offset) = window.index, window.numbers
        self.watermark: Any = None
        self.newest: Any = None
        self.results = 0
        self._number: int | None = None  # of the open slice; None: no window to come has a tuple yet
        self._end: Any = -math.inf  # of the open slice
        self._first: Any = None  # the time of its first tuple
        self._count = 0  # of its tuples
        self._full = 0  # closed slices with tuples so far, as a state numbers them
        self.mark()

    @staticmethod
    def of(query: Query, planned: LanePlan, state: KeyState | None = None) -> TimeLane | None:
        """The lane of a key that is new or goes on from ``state``; None: a RowLane has to run it. O(state)."""
        lane, decisions = planned.lane, planned.decisions
        window = query.named[lane.names[0]]
        if lane.order is None or len(lane.names) > 1 or lane.early is not None or planned.parallel:
            return None
        if decisions.keeps or not decisions.in_order or planned.algorithm not in ("SBA", "PBA"):
            return None
        if type(window) is not TimeWindow or not window.aligned:  # a subclass may have windows of its own
            return None
        if query.computed is not query.aggregates:
            return None
        if window.slices_a_window > MOST_SLICES:
            return None
        timed = TimeLane(query, planned, window)
        return timed if state is None or timed._load(state) else None

    # tuples

    def take(self, code: int, time: Any, values: Values) -> list[Emitted] | None:
        """Take a tuple of the key ``code`` and return its results. None: it is too late, and dropped."""
        watermark = self.watermark
        if watermark is not None and time < watermark:
            self.late_dropped += 1
            return None
        partial, results = self._lift(values), []
        if time < self._end:
            partial = self._combine(self._open, partial)
        else:
            results = self._complete(code, time)
            if self._number is None:
                number = self._index(time)
                self._begin_at(number)
                self._open_slice(number)
        if not self._count:
            self._first = time
        self._open = partial
        self._count += 1
        self.accepted += 1
        self.newest = self.watermark = time
        return results

    def move(self, code: int, watermark: Any) -> list[Emitted]:
        """Move the watermark: no tuple before it comes any more. Returns the results of complete windows."""
        if self.watermark is not None and watermark <= self.watermark:
            return []
        results = [] if watermark < self._end else self._complete(code, watermark)
        self.watermark = watermark
        return results

    def _complete(self, code: int, upto: Any) -> list[Emitted]:
        """Close the slices that end by the time ``upto``, and emit the windows that end with them."""
        results: list[Emitted] = []
        while self._number is not None and self._end <= upto:
            after, end = self._number + 1, self._end
            self._close_slice(self._number)
            results.append(_new(Emitted, (code, 0, end - self._range, end, 0, self._aggregates(after))))
            self.results += 1
            if self._last_full() + self._slices <= after:
                self._number, self._end = None, -math.inf
            else:
                self._open_slice(after)
        return results

    def _close_slice(self, number: int) -> None:
        if self._count:
            self._extents.append((number, self._first, self.newest, self._count))
            self._full += 1
        self._count = 0
        self._push(self._open)
        self._open = None

    def _close(self) -> None:
        super()._close()
        self._closed_extents[self._last_closed], self._extents = self._extents, []
        for old in [number for number in self._closed_extents if number not in self._closed]:
            del self._closed_extents[old]

    def _begin_at(self, slice_: int) -> None:
        super()._begin_at(slice_)
        self._extents, self._closed_extents = [], {}

    def _open_slice(self, number: int) -> None:
        """Go on with this slice, which comes behind those that are closed."""
        self._number, self._end = number, self._offset + (number + 1) * self._slide

    # all or nothing

    def mark(self) -> None:
        """Begin a call: from now on, :meth:`undo` comes back to here. O(1)."""
        self.marked = (
            (self.watermark, self.newest, self.accepted, self.late_dropped, self.results, self.bundle.count.merges),
            (self._number, self._end, self._open, self._first, self._count, self._full),
            (self._origin, self._last_closed, self._closed, self._closed_extents),
            (self._saa, len(self._saa), self._csa, self._extents, len(self._extents)),
        )

    def undo(self) -> None:
        """Take back all since :meth:`mark`: O(what changed and a chunk). If it is interrupted itself, call it again."""
        counts, of_slice, of_chunks, of_chunk = self.marked
        self.watermark, self.newest, self.accepted, self.late_dropped, self.results, self.bundle.count.merges = counts
        self._number, self._end, self._open, self._first, self._count, self._full = of_slice
        self._origin, self._last_closed, self._closed, self._closed_extents = of_chunks
        self._saa, slices, self._csa, self._extents, full = of_chunk
        self._cut_chunks((self._last_closed + 1) * self._chunk + slices)
        del self._extents[full:]
        for number in [number for number in self._closed_extents if number > self._last_closed]:
            del self._closed_extents[number]

    def _first_kept(self) -> int:
        number = self.marked[1][0]
        return self._origin if number is None else number + 1 - self._slices

    # what it holds

    @property
    def quiet_until(self) -> Any:
        """No window completes before this time."""
        return math.inf if self._number is None else self._end

    def next_end(self) -> Any:
        """The timer: no window completes before this time unless tuples come; None: none does. O(1)."""
        return None if self._number is None else self._end

    @property
    def slices_held(self) -> int:
        low = self._low
        extents = [*self._closed_extents.values(), self._extents]
        return sum(len(of_chunk) - bisect_left(of_chunk, (low,)) for of_chunk in extents) + (self._count > 0)

    @property
    def _low(self) -> int:
        """The first slice that belongs to the state: the first of the next window, or else the newest with tuples."""
        if self._number is not None:
            return self._number + 1 - self._slices
        return self._last_full()

    def _last_full(self) -> int:
        """The number of the newest closed slice that has tuples; if none has, of any before them."""
        extents = self._extents or next((some for some in reversed(self._closed_extents.values()) if some), [])
        return extents[-1][0] if extents else self._origin

    # state

    def dump(self) -> KeyState:
        """The state: the slices that windows to come need, or at least the newest."""
        chunks = [(number, saa, self._closed_extents[number]) for number, (saa, _) in self._closed.items()]
        chunks.append((self._last_closed + 1, self._saa, self._extents))
        low = self._low
        closed = [
            SliceState(first, last, count, self.bundle.separate(saa[number - chunk * self._chunk]))
            for chunk, saa, extents in chunks
            for number, first, last, count in extents
            if number >= low
        ]
        slices = list(closed)
        if self._count:
            slices.append(SliceState(self._first, self.newest, self._count, self.bundle.separate(self._open)))
        return KeyState(
            self.watermark,
            self.newest,
            self.accepted,
            slices,
            [],
            {self._name: WindowState()},
            final=max(len(slices) - 1, 0),
            numbered=self._full - len(closed),
            late_dropped=self.late_dropped,
            late_corrected=self.late_corrected,
            results=self.results,
            merges=self.merges,
        )

    def _load(self, state: KeyState) -> bool:
        """Go on from a state, if it is one of this window alone, whichever engine it is of. O(slices)."""
        plain = state.windows[self._name] == WindowState() and not state.pending and state.direct_until is None
        watermark, slices = state.watermark, self._aligned(state) if plain else None
        if slices is None or (watermark is None and slices) or watermark == math.inf:
            return False
        if slices and watermark < state.newest:  # then more tuples may come before the newest
            return False
        self.watermark, self.newest, self.accepted = watermark, state.newest, state.accepted
        self._full = state.numbered
        if len(slices) < len(state.slices):  # merged ones take new numbers
            self._full = next_block(state.numbered, len(state.slices))
        if slices:
            self._fill(slices, self._index(watermark))
        self.late_dropped, self.late_corrected = state.late_dropped, state.late_corrected
        self.results, self.bundle.count.merges = state.results, state.merges
        self.mark()
        return True

    def _aligned(self, state: KeyState) -> dict[int, tuple[_Extent, Any]] | None:
        """Extent and partial of each slice, by our numbers; None: they are cut at other edges.

        Where an earlier state was saved, several are one of ours.
        """
        slices: dict[int, tuple[_Extent, Any]] = {}
        for slice_ in state.slices:
            number, first, count = self._index(slice_.first), slice_.first, slice_.count
            if slice_.tuples is not None or self._index(slice_.last) != number:
                return None
            partial = self.bundle.join(slice_.partials)
            if number in slices:
                (_, first, _, before), older = slices[number]
                count, partial = before + count, self._combine(older, partial)
            slices[number] = (number, first, slice_.last, count), partial
        return slices

    def _fill(self, slices: dict[int, tuple[_Extent, Any]], current: int) -> None:
        """Take over slices; ``current`` is the number of the one at the watermark."""
        newest = max(slices)
        goes_on = newest + self._slices > current  # the next window has a tuple
        low = current + 1 - self._slices if goes_on else newest
        begin = min(number for number in slices if number >= low)
        self._full += sum(number < low for number in slices)
        self._begin_at(begin)
        for number in range(begin, current if goes_on else newest + 1):
            extent, partial = slices.get(number, (None, None))
            if extent is not None:
                self._extents.append(extent)
                self._full += 1
            self._push(partial)
        if goes_on:
            self._open_slice(current)
            if current in slices:
                (_, self._first, _, self._count), self._open = slices[current]
