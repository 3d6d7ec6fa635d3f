"""The most common lane: one count window over tuples in the order of arrival.

Everything about a tuple follows from its position, and nothing comes late.
"""

from __future__ import annotations

import math
from typing import Any

from sash.engine.planner import LanePlan
from sash.engine.results import Emitted
from sash.engine.rows.bundle import Values
from sash.engine.rows.flat_lane import FlatLane
from sash.query import Query
from sash.state.key_states import KeyState, SliceState
from sash.state.lane_state import WindowState, next_block
from sash.windows import CountWindow

__all__ = ["CountLane"]

_new = tuple.__new__  # creates a named tuple faster than its class does


class CountLane(FlatLane):
    """One key of a lane of W[range, slide] on counts, where the slide divides the range. Offers what a RowLane does.

    Costs a tuple a lift and a merge into its slice, besides what slices and windows cost (:class:`FlatLane`).
    """

    quiet_until = math.inf
    """No time completes a window."""

    def __init__(self, query: Query, planned: LanePlan, window: CountWindow) -> None:
        super().__init__(query, planned, window.range // window.slide)
        self._range, self._slide = window.range, window.slide
        self._first_end = window.slide if window.partial else window.range
        self._ended = False
        self._loaded = self._shift = 0  # the first slice of the state that was loaded; from our numbers to a state's
        self._earlier = 0  # results that our windows do not account for
        self.mark()

    @staticmethod
    def of(query: Query, planned: LanePlan, state: KeyState | None = None) -> CountLane | None:
        """The lane of a key that is new or goes on from ``state``; None: a RowLane has to run it. O(state)."""
        lane = planned.lane
        window = query.named[lane.names[0]]
        if lane.order is not None or len(lane.names) > 1 or planned.decisions.keeps or planned.parallel:
            return None
        if planned.algorithm not in ("SBA", "PBA") or query.computed is not query.aggregates:
            return None
        if type(window) is not CountWindow or window.exact_slices is None:  # a subclass may have windows of its own
            return None
        counting = CountLane(query, planned, window)
        return counting if state is None or counting._load(state) else None

    # tuples

    def take(self, code: int, time: Any, values: Values) -> list[Emitted]:
        """Take a tuple of the key ``code`` and return the results that it completes."""
        slide = self._slide
        partial = self._lift(values)
        inside = self.accepted % slide
        if inside:
            partial = self._combine(self._open, partial)
        end = self.accepted = self.accepted + 1
        if inside + 1 < slide:
            self._open = partial
            return []
        self._push(partial)
        if end < self._first_end:
            return []
        aggregates = self._aggregates(end // slide)
        return [_new(Emitted, (code, 0, end - self._range if end > self._range else 0, end, 0, aggregates))]

    def _first_kept(self) -> int:
        return self._kept_from(self.marked[0] // self._slide)

    def _need(self, slices: int) -> int:
        """The first slice that the next window needs when there are so many; negative at first."""
        return slices + 1 - self._slices

    def _kept_from(self, slices: int) -> int:
        """The first slice that belongs to the state when there are so many; the newest always does."""
        return max(min(self._need(slices), slices - 1), self._loaded)

    def move(self, code: int, watermark: Any) -> list[Emitted]:
        """The end of the input, which completes no window: before it tuples arrive in whatever order."""
        self._ended = self._ended or watermark == math.inf
        return []

    # all or nothing

    def mark(self) -> None:
        """Begin a call: from now on, :meth:`undo` comes back to here. O(1)."""
        self.marked = self.accepted, self._saa, self._csa, self._open, self.bundle.count.merges, self._ended

    def undo(self) -> None:
        """Take back all since :meth:`mark`: O(what changed and a chunk). If it is interrupted itself, call it again."""
        self.accepted, self._saa, self._csa, self._open, self.bundle.count.merges, self._ended = self.marked
        self._cut_chunks(self.accepted // self._slide)

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
        return max((self.accepted - self._first_end) // self._slide + 1, 0)

    @property
    def slices_held(self) -> int:
        whole, inside = divmod(self.accepted, self._slide)
        return whole - self._kept_from(whole) + (inside > 0)

    def next_end(self) -> Any:
        """The timer: there is none."""
        return None

    # state

    def dump(self) -> KeyState:
        """The state: the slices that windows to come need, or at least the newest."""
        slide, separate = self._slide, self.bundle.separate
        whole, inside = divmod(self.accepted, slide)
        low = self._kept_from(whole)
        held = self._held()
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
        self._begin_at(self._loaded)
        for partial in slices[:-1] if inside else slices:
            self._push(partial)
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
        skipped = 0
        for slice_ in state.slices:
            number, last = position // slide, (position + slice_.count - 1) // slide
            position += slice_.count
            if last < low:
                skipped += 1
            elif number < last or slice_.tuples is not None:
                return None
            else:
                slices[number] = self._combine(slices.get(number), self.bundle.join(slice_.partials))
        merged = len(state.slices) - skipped > len(slices)
        numbered = next_block(state.numbered, len(state.slices)) if merged else state.numbered + skipped
        self._shift = numbered - low
        return list(slices.values())
