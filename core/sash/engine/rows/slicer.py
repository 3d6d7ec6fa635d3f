"""The stream slicer and the slice manager: puts each tuple into a slice.

A tuple in order extends the last slice or begins another. A tuple out of order goes into the slice of its time. Where
order matters, tuples wait outside of any slice until the watermark settles their places.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import Any

from sash.engine.decisions import Decisions
from sash.engine.rows.bundle import Bundle, Values
from sash.engine.rows.slices import Slice, Slices
from sash.engine.rows.watches.all import Watches
from sash.query.lanes import Lane
from sash.state.key_states import KeyState
from sash.state.lane_state import Tuple

__all__ = ["Slicer"]


class Slicer:
    """Cuts the tuples of one key into slices, at the edges that ``watches`` know. Call :meth:`watch` first."""

    watches: Watches

    def __init__(self, lane: Lane, decisions: Decisions, bundle: Bundle, columns: tuple[str, ...]) -> None:
        self._bundle = bundle
        self._decisions = decisions
        self._buffered, self._slices_keep = decisions.buffered, decisions.slices_keep
        self._places = {column: i for i, column in enumerate(columns)}
        self._ordered = lane.order is not None
        self.slices = Slices(bundle)
        self.pending: list[tuple[Any, int, Values]] = []
        self.settling: list[tuple[Any, int, Values]] = []  # those that the current call has taken out of pending
        self.accepted = 0
        self.newest: Any = None
        self.direct_until: Any = None
        self._tips = False  # whether tuples of the newest time are apart, in case that an edge comes to lie there

    def watch(self, watches: Watches) -> None:
        """Cut at the edges of these windows from now on."""
        self.watches = watches
        self._tips = bool(watches.edged) and self._ordered

    @property
    def settled(self) -> int:
        """The number of tuples that have their place, which is the position of the next one."""
        return self.accepted - len(self.pending)

    def accept(self, time: Any, values: Values, partial: Any, late: bool) -> int | None:
        """Put a tuple where it belongs. Returns its position if it is late, because it may correct windows."""
        newest = self.newest
        self.accepted += 1
        self.newest = time if newest is None else max(newest, time)
        if self.watches.added:
            self.watches.skip_one(time)
        direct = self.direct_until is not None and time <= self.direct_until
        if self._buffered and not direct:
            if not late:
                heappush(self.pending, (time, self.accepted, values))
                return None
            position = self._insert(time, values, partial)
        elif self._decisions.in_order or newest is None or (time >= newest and not self.pending):
            position = self.settled - 1
            self._observe(time, values)
            self._append(time, values, partial, position)
        else:
            position = self._place(time, values, partial)
        return position if late else None

    # tuples that wait

    def settle(self, upto: Any) -> None:
        """Slice the waiting tuples up to the watermark ``upto``."""
        pending = self.pending
        while pending and pending[0][0] <= upto:
            self.settling.append(pending[0])
            time, _, values = heappop(pending)
            self._observe(time, values)
            self._append(time, values, self._bundle.lift(values), self.settled - 1)

    def wait_again(self) -> None:
        """Restore the waiting tuples of before the current call. ``accepted`` must be restored already."""
        if self.pending or self.settling:
            waiting = {entry[1]: entry for entry in (*self.settling, *self.pending) if entry[1] <= self.accepted}
            self.pending = list(waiting.values())
            heapify(self.pending)
            self.settling = []

    def place_pending(self) -> None:
        """Put all waiting tuples into slices: no window makes them wait any more."""
        waiting, self.pending = sorted(self.pending), []
        for time, _, values in waiting:
            self._place(time, values, self._bundle.lift(values))

    # in order

    def _append(self, time: Any, values: Values, partial: Any, position: int) -> None:
        """Put a tuple behind all others."""
        slices, held, watches = self.slices, self.slices.all, self.watches
        edge = any(watch.has_edge(held[-1].last if held else time, time) for watch in watches.edged)
        counted = bool(watches.counts) and position == watches.count_clock.next(position - 1)
        apart = False
        if held:
            last = held[-1]
            # One from before tuples were kept must not take more: they could not be split off.
            apart = self._slices_keep and last.tuples is None
            edge = edge or time >= last.end or time - last.last >= watches.gap
            if self._tips and time == last.last:
                edge = False  # an edge at a time is before all tuples of that time
            if not counted and not edge and not apart and (not self._tips or time == last.last):
                slices.add_last(last, time, partial, values)
                return
            if self._tips and time > last.last and not last.edge and not last.counted:
                self._merge_tip()
        kept = [(time, values)] if self._slices_keep else None
        new = slices.insert(len(held), time, position, partial, watches.time_clock.next(time), kept)
        new.edge, new.counted = edge or apart, counted

    def _merge_tip(self) -> None:
        """Join the tuples of the newest time to the slice before: no edge came between them."""
        tip = len(self.slices.all) - 1
        if tip - 1 >= max(self.slices.sealed, 0):
            self.slices.merge(tip - 1)

    def _observe(self, time: Any, values: Values) -> None:
        """Show a tuple to context aware windows, before it is sliced."""
        for watch in self.watches.edged:
            row = {column: values[self._places[column]] for column in watch.window.columns}
            for new in watch.observe(time, row):
                if new > time or (new < time and not watch.window.forward):
                    raise ValueError(
                        f"{watch.window} put an edge at {new!r} for a tuple at {time!r}: edges are put at the "
                        "tuple, or, with forward = True, before it"
                    )
                if watch.begun_after(new):
                    self._split_time(new)

    def _split_time(self, time: Any) -> None:
        """Split the slice around an edge that lies before the newest tuples."""
        slices = self.slices
        at = slices.begin(time)
        if at and slices.all[at - 1].last >= time:
            tuples = slices.all[at - 1].tuples
            assert tuples is not None
            slices.split(at - 1, sum(kept[0] < time for kept in tuples))
        if at < len(slices.all):
            slices.all[at].edge = True

    # out of order

    def _place(self, time: Any, values: Values, partial: Any) -> int:
        """Put a tuple into the slice of its time. Returns its position."""
        slices, held, watches = self.slices, self.slices.all, self.watches
        at = slices.covering(time)
        end = held[at].end if at >= 0 and time < held[at].end else watches.time_clock.next(time)
        after = at + 1
        fits_next = after < len(held) and held[after].first < end and held[after].first - time < watches.gap
        position = held[after].position if after < len(held) else self.settled - 1
        if self._fits(at, time):
            slices.add(held[at], time, partial, values)
            if fits_next and watches.gap < math.inf:
                slices.merge(at)
        elif fits_next:
            slices.add(held[after], time, partial, values)
        else:
            # Apart from its neighbours, perhaps by a gap only, and perhaps the newest: it is no tip to merge.
            slices.insert(after, time, position, partial, end, None).edge = True
        if watches.on_positions:
            slices.move_positions(slices.covering(time) + 1)
        for session in watches.sessions:
            session.look_again(time)
        for trailing in watches.trailing:
            trailing.look_again(time)
        return position

    def _fits(self, at: int, time: Any) -> bool:
        """Whether a tuple belongs to slice ``at``, the last one that begins at or before it."""
        slice_ = self.slices.all[at] if at >= 0 else None
        return slice_ is not None and bool(time < slice_.end and time - slice_.last < self.watches.gap)

    def _insert(self, time: Any, values: Values, partial: Any) -> int:
        """Put a late tuple among the tuples that slices keep. Returns its position."""
        slices, watches = self.slices, self.watches
        self._observe(time, values)
        at = slices.covering(time)
        if watches.edged or not self._fits(at, time):
            return self._slice_again(max(at, 0), time, values)
        slice_ = slices.all[at]
        position = slice_.position + bisect_right(slice_.tuples or (), time, key=itemgetter(0))
        slices.add(slice_, time, partial, values)
        slices.move_positions(at + 1)
        if watches.counts:
            self._shift(at)
        for watch in watches.sessions:
            watch.look_again()
        return position

    def _shift(self, at: int) -> None:
        """Move every edge on counts behind slice ``at``, which got a tuple, one tuple to the left."""
        slices, held, watches = self.slices, self.slices.all, self.watches
        counted = {slice_.key for slice_ in held[at + 1 :] if slice_.counted}
        slices.note_counted()
        for slice_ in held[at + 1 :]:
            slice_.counted = False
        watches.look_at_counts()
        edge = watches.count_clock.next(held[at].position)
        while edge < self.settled:
            number = slices.at(edge)
            behind = held[number] if number < len(held) else None
            moves = behind is not None and behind.position == edge + 1 and behind.key in counted
            if moves and not held[number].edge and held[number - 1].count > 1:
                slices.shift(number - 1)
            else:
                slices.split_at(edge)
            held[number].counted = True
            edge = watches.count_clock.next(edge)

    def _slice_again(self, at: int, time: Any, values: Values) -> int:
        """Slice the tuples from slice ``at`` on again, with a new one among them. Returns its position."""
        slices = self.slices
        while at < len(slices.all) and slices.all[at].tuples is None:
            at += 1  # from before tuples were kept: it ends where they begin
        begin = slices.all[at].position if at < len(slices.all) else self.settled - 1
        tuples = slices.cut_off(at)
        place = bisect_right(tuples, time, key=itemgetter(0))
        tuples.insert(place, (time, values))
        self._append_all(tuples, begin)
        return begin + place

    def _append_all(self, tuples: list[Tuple], begin: int) -> None:
        self.watches.look_at_counts()
        for place, (time, values) in enumerate(tuples):
            self._append(time, values, self._bundle.lift(values), begin + place)
        for watch in self.watches.sessions:
            watch.look_again()

    # state

    def waiting(self) -> list[Tuple]:
        """The tuples that wait, in order of arrival."""
        return [(time, values) for time, _, values in sorted(self.pending, key=itemgetter(1))]

    def fill(self, state: KeyState) -> None:
        """Take over the tuples and slices of a state. The caller sets the edges afterwards. O(state)."""
        self.accepted, self.newest, self.direct_until = state.accepted, state.newest, state.direct_until
        first = -len(state.pending)
        self.pending = [(time, first + number, values) for number, (time, values) in enumerate(state.pending)]
        heapify(self.pending)
        self.slices = slices = Slices(self._bundle)
        position = self.settled - sum(slice_.count for slice_ in state.slices)
        for at, saved in enumerate(state.slices):
            partial = self._bundle.join(saved.partials)
            slice_ = slices.insert(at, saved.first, position, partial, math.inf, saved.tuples)
            slice_.last, slice_.count, slice_.edge = saved.last, saved.count, True
            position += saved.count
        slices.journal = None

    # what can change no more

    def begin_slice(self) -> None:
        """Let the next tuple begin a slice, because a window was added that must not see older tuples."""
        for slice_ in self.slices.all[-1:]:
            slice_.end = min(slice_.end, slice_.last)

    def final(self, watermark: Any, horizon: Any) -> int:
        """The number of oldest slices that cannot change any more if no tuple before ``horizon`` comes."""
        held, decisions = self.slices.all, self._decisions
        if decisions.forward or watermark is None or not held:
            return 0
        if decisions.in_order or (decisions.buffered and not decisions.revises):
            return max(len(held) - 1 - self._tips, 0)
        at = max(self.slices.covering(horizon), 0)
        gap = 0 if self.watches.gap == math.inf else self.watches.gap  # without sessions, tuples apart join nothing
        while at and (held[at - 1].end > horizon or held[at - 1].last + gap > horizon > -math.inf):
            at -= 1
        return at

    def drop_tuples(self, horizon: Any) -> None:
        """Drop the tuples that slices before ``horizon`` keep: no tuple can come among them any more."""
        if not self._slices_keep or self._decisions.forward:
            return
        closed = self.slices.all[: self.closed(horizon)]
        self.slices.drop_tuples([slice_ for slice_ in closed if slice_.tuples is not None])

    def closed(self, horizon: Any) -> int:
        """The number of oldest slices before ``horizon``, without the newest one, which takes tuples."""
        held = self.slices.all
        at = min(self.slices.begin(horizon), len(held) - 1 - self._tips)
        while at > 0 and held[at - 1].last >= horizon:
            at -= 1
        return max(at, 0)

    def around(self, time: Any) -> Slice | None:
        """The slice that covers ``time`` and keeps no tuples; None if there is none."""
        at = self.slices.covering(time)
        slice_ = self.slices.all[at]
        return slice_ if at >= 0 and time <= slice_.last and slice_.tuples is None else None
