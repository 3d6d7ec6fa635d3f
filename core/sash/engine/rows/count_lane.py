"""The most common lane, one count window over tuples in the order of arrival, as plain lists of partials.

    chunk 0      │ chunk 1      │ chunk 2 (open)         W[8, 1] in chunks of 4
    p p p p      │ p p p p      │ saa  p  p              the slices, as a snapshot has them
    · lcs lcs lcs│ whole        │ csa  c  c
          `------------- window -------'                 = lcs ⊕ whole chunks ⊕ csa

Everything about a tuple follows from its position, so there are no objects for slices, nothing to search, and nothing
comes late. What RowLane computes, this computes with the same merges. Chunks keep their slices beside ``lcs``, because
snapshots consist of slices.

A call appends to the lists of the open chunk, or closes it and opens another. So the old lists and their length are all
that :meth:`CountLane.undo` needs.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

from sash.aggregators.sba import Chunk, extend_csa
from sash.engine.planner import LanePlan
from sash.engine.rows.bundle import Bundle, Values
from sash.engine.rows.watches.base import Result
from sash.query import Query
from sash.state.key_states import KeyState, SliceState
from sash.state.lane_state import WindowState, next_block
from sash.windows import CountWindow

__all__ = ["CountLane"]

_new = tuple.__new__  # creates a named tuple faster than its class does


class CountLane:
    """One key of a lane of W[range, slide] on counts, where the slide divides the range. Offers what a RowLane does.

    Costs a tuple a lift and a merge into its slice; a slice 1 merge for ``csa`` and 1 for ``lcs``; a window at most 2
    merges, and 2 more once a chunk. Holds at most twice the slices of a window.
    """

    tuples_held = 0
    """None is kept once it is in its slice."""
    quiet_until = math.inf
    """No time completes a window."""

    def __init__(self, query: Query, planned: LanePlan, window: CountWindow) -> None:
        (self._name,) = planned.lane.names
        self.bundle = Bundle(query)
        self._lift, self._combine, self._lower = self.bundle.lift, self.bundle.combine, self.bundle.lower
        self._range, self._slide, self._slices = window.range, window.slide, window.range // window.slide
        self._soonest = 1 if window.partial else self._slices  # slices before the first window ends
        self._chunk = planned.chunks.get(self._name, 1)
        self.accepted = 0
        self._open: Any = None  # the partial of the slice that takes tuples
        self._saa: list[Any] = []
        self._csa: list[Any] = []
        self._last_closed = -1
        self._closed: dict[int, tuple[list[Any], Chunk]] = {}  # slices and lcs of chunks, by their number
        self._unready: Chunk | None = None  # the closed chunk whose lcs is not complete
        self._leaving: list[Any] = []  # emptied by and by: to free a long list at once takes milliseconds
        self._whole: tuple[int, int] | None = None  # the chunks that _middle is the total of
        self._middle: Any = None
        self._oldest: Any = None  # the chunk before them
        self._ended = False
        self._loaded = self._shift = 0  # the first slice of the state that was loaded; from our numbers to a state's
        self._earlier = 0  # results that our windows do not account for
        self.late_dropped = self.late_corrected = 0
        self.mark()

    @staticmethod
    def of(query: Query, planned: LanePlan, state: KeyState | None = None) -> CountLane | None:
        """The lane of a key that is new or goes on from ``state``; None: a RowLane has to run it. O(state)."""
        lane = planned.lane
        window = query.named[lane.names[0]]
        if lane.order is not None or len(lane.names) > 1 or planned.decisions.keeps or planned.parallel:
            return None
        if planned.algorithm not in ("SBA", "PBA"):
            return None
        if type(window) is not CountWindow or window.exact_slices is None:  # a subclass may have windows of its own
            return None
        counting = CountLane(query, planned, window)
        return counting if state is None or counting._load(state) else None

    def begin_slice(self) -> None:
        """Windows may have come: not to this lane, whose slices are those of its only window."""

    # tuples

    def take(self, time: Any, values: Values) -> list[Result]:
        """Take a tuple and return the results that it completes."""
        combine, saa, csa = self._combine, self._saa, self._csa
        partial = self._lift(values)
        number, inside = divmod(self.accepted, self._slide)
        if inside:
            partial = combine(self._open, partial)
        end = self.accepted = self.accepted + 1
        if inside + 1 < self._slide:
            self._open = partial
            return []
        csa.append(combine(csa[-1], partial) if csa else partial)
        saa.append(partial)
        if self._unready is not None and not self._unready.step():
            self._unready = None
        if self._leaving:
            del self._leaving[-2:]
        if len(saa) == self._chunk:
            self._close()
        if number + 1 < self._soonest:
            return []
        aggregates = self._lower(self._total(number + 1))
        return [_new(Result, (0, end - self._range if end > self._range else 0, end, 0, aggregates))]

    def _close(self) -> None:
        """Close the open chunk. A merge with each slice to come completes its ``lcs`` before a window needs it."""
        saa, number = self._saa, self._last_closed + 1
        self._unready = chunk = Chunk(self._combine, list(saa), self._csa[-1])
        self._closed[number] = saa, chunk
        self._last_closed, self._saa, self._csa = number, [], []
        needed = self._kept_from(self.marked[0] // self._slide) // self._chunk  # an undo needs it, too
        for gone in [other for other in self._closed if other < needed]:
            self._leaving = self._closed.pop(gone)[1].lcs

    def _total(self, high: int) -> Any:
        """The partial of the window that ends with the first ``high`` slices."""
        low, csa = high - self._slices, self._csa
        place = low % self._chunk if low > 0 else 0
        if place == 1 or not csa or self._whole is None:
            self._choose_chunks(max(low, 0), high)
        total = self._middle
        if place:
            oldest = self._oldest
            if place < oldest.done:
                oldest.finish()
            total = self._combine(oldest.lcs[place], total)
        return self._combine(total, csa[-1]) if csa else total

    def _choose_chunks(self, low: int, high: int) -> None:
        """Merge the chunks that are whole in a window, if they are others than those of the last window."""
        whole = -(-low // self._chunk), high // self._chunk
        if whole != self._whole:
            chunks = [self._closed[number][1] for number in range(*whole)]
            self._middle = reduce(self._combine, [chunk.lcs[0] for chunk in chunks], None)
            self._oldest = self._closed.get(whole[0] - 1, (None, None))[1]
            self._whole = whole

    def _need(self, slices: int) -> int:
        """The first slice that the next window needs when there are so many; negative at first."""
        return slices + 1 - self._slices

    def _kept_from(self, slices: int) -> int:
        """The first slice that belongs to the state when there are so many; the newest always does."""
        return max(min(self._need(slices), slices - 1), self._loaded)

    def move(self, watermark: Any) -> list[Result]:
        """The end of the input, which completes no window: before it tuples arrive in whatever order."""
        self._ended = self._ended or watermark == math.inf
        return []

    # all or nothing

    def mark(self) -> None:
        """Begin a call: from now on, :meth:`undo` comes back to here. O(1)."""
        self.marked = self.accepted, self._saa, self._csa, self._open, self.bundle.count.merges, self._ended

    def undo(self) -> None:
        """Take back all since :meth:`mark`: O(what changed and a chunk). If it is interrupted itself, call it again."""
        self._whole = self._unready = None
        self.accepted, self._saa, self._csa, self._open, self.bundle.count.merges, self._ended = self.marked
        chunks, slices = divmod(self.accepted // self._slide, self._chunk)
        del self._saa[slices:]
        del self._csa[slices:]
        for number in [number for number in self._closed if number >= chunks]:
            del self._closed[number]
        self._last_closed = chunks - 1
        for number, (saa, chunk) in self._closed.items():
            if chunk.done > 1:  # a merge may be there that it does not know of
                self._unready = Chunk(self._combine, list(saa), chunk.lcs[0])
                self._closed[number] = saa, self._unready

    # what it holds

    @property
    def newest(self) -> Any:
        return self.accepted - 1 if self.accepted else None

    @property
    def watermark(self) -> Any:
        return math.inf if self._ended else self.accepted or None

    @property
    def results(self) -> int:
        return self._earlier + self._completed()

    def _completed(self) -> int:
        """How many windows the accepted tuples complete."""
        return max(self.accepted // self._slide - self._soonest + 1, 0)

    @property
    def slices_held(self) -> int:
        whole, inside = divmod(self.accepted, self._slide)
        return whole - self._kept_from(whole) + (inside > 0)

    @property
    def merges(self) -> int:
        return self.bundle.count.merges

    def next_end(self) -> Any:
        """The timer: there is none."""
        return None

    # state

    def dump(self) -> KeyState:
        """The state: the slices that windows to come need, or at least the newest."""
        slide, separate = self._slide, self.bundle.separate
        whole, inside = divmod(self.accepted, slide)
        low = self._kept_from(whole)
        held = [partial for saa, _ in self._closed.values() for partial in saa] + self._saa
        slices = [
            SliceState(number * slide, number * slide + slide - 1, slide, separate(partial))
            for number, partial in enumerate(held[len(held) - whole + low :], low)
        ]
        if inside:
            slices.append(SliceState(whole * slide, self.accepted - 1, inside, separate(self._open)))
        return KeyState(
            self.watermark,
            self.newest,
            self.accepted,
            slices,
            [],
            {self._name: WindowState()},
            final=max(len(slices) - 1, 0),
            numbered=low + self._shift,
            late_dropped=self.late_dropped,
            late_corrected=self.late_corrected,
            results=self.results,
            merges=self.merges,
        )

    def _load(self, state: KeyState) -> bool:
        """Go on from a state, if it is one of this window alone, whichever engine it is of. O(slices)."""
        plain = state.windows[self._name] == WindowState() and not state.pending and state.direct_until is None
        slices = self._aligned(state) if plain and state.watermark in (None, state.accepted) else None
        if slices is None:
            return False
        self.accepted, (whole, inside) = state.accepted, divmod(state.accepted, self._slide)
        self._loaded = whole + (inside > 0) - len(slices)
        padding = self._loaded % self._chunk  # slices of its chunk that no window needs any more
        self._last_closed, self._saa, self._csa = self._loaded // self._chunk - 1, [None] * padding, [None] * padding
        for partial in slices[:-1] if inside else slices:
            extend_csa(self._combine, self._csa, [partial])
            self._saa.append(partial)
            if len(self._saa) == self._chunk:
                self._close()
        self._open = slices[-1] if inside else None
        self.late_dropped, self.late_corrected = state.late_dropped, state.late_corrected
        self._earlier, self.bundle.count.merges = state.results - self._completed(), state.merges
        self.mark()
        return True

    def _aligned(self, state: KeyState) -> list[Any] | None:
        """The partials of the slices that windows to come need, cut at our edges; None: that is not possible.

        Slices are shorter where an earlier state was saved, or had more windows. Merged ones take new numbers.
        """
        slide, need = self._slide, self._need(state.accepted // self._slide)
        position = state.accepted - sum(slice_.count for slice_ in state.slices)
        held = -(-position // slide)
        if held > max(need, 0):
            return None
        low = max(min(need, state.accepted // slide - 1), held)
        slices: dict[int, Any] = {}
        gone = 0
        for slice_ in state.slices:
            number, last = position // slide, (position + slice_.count - 1) // slide
            position += slice_.count
            if last < low:
                gone += 1
            elif number < last or slice_.tuples is not None:
                return None
            else:
                slices[number] = self._combine(slices.get(number), self.bundle.join(slice_.partials))
        merged = len(state.slices) - gone > len(slices)
        numbered = next_block(state.numbered, len(state.slices)) if merged else state.numbered + gone
        self._shift = numbered - low
        return list(slices.values())
