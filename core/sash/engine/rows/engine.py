"""The row engine as a lane: one small lane for each key, one tuple at a time.

When rows of any key move the watermark of all (``watermark_of="stream"``), silent keys must emit too, but a row must
not visit every key. So each key has a timer, the next time at which it may emit, and a heap holds the timers:

    row (key c, time t) --> c catches up with the watermark --> takes the row
                        --> watermark t - delay --> keys whose timers it has passed catch up, and emit
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from sash.engine.planner import LanePlan
from sash.engine.results import Emitted, RowOutcome
from sash.engine.rows.count_lane import CountLane
from sash.engine.rows.lane import RowLane
from sash.engine.rows.time_lane import TimeLane
from sash.frames import Frame
from sash.query import Query
from sash.query.lanes import WatermarkOf
from sash.state.key_states import KeyState, gather, scatter
from sash.state.lane_state import LaneState

__all__ = ["AnyLane", "RowEngine"]

Array = np.ndarray[Any, Any]
AnyLane = RowLane | CountLane | TimeLane
NONE = np.zeros(0, np.int64)
_COUNTED = ("late_corrected", "late_dropped", "slices_held", "tuples_held", "merges")


class RowEngine:
    """Holds a lane for each key, by the number of the key: flat ones where they can run the query, else a RowLane.

    ``watermark_of`` says whose watermark a row moves: "key", "stream" (all keys'), or None: only :meth:`advance` does.
    """

    def __init__(self, query: Query, planned: LanePlan, watermark_of: WatermarkOf) -> None:
        self.dropped: Array = NONE
        self.lanes: list[AnyLane] = []
        self.advanced: Any = None
        """The watermark of all keys, of those to come too. None: before all times."""
        self._query, self._planned, self.lane = query, planned, planned.lane
        self._moves = watermark_of is not None  # rows move the watermark of their key, at least
        self.streams = watermark_of == "stream" and planned.lane.order is not None
        self._touched: dict[int, AnyLane] = {}  # the keys that the current call changes
        self._timers: list[tuple[Any, int]] | None = None  # None: to build from the lanes
        self._timer_of: list[Any] = []

    # rows

    def process(self, codes: Array, times: Array | None, frame: Frame, keys: int) -> RowOutcome:
        """Take a batch, key by key."""
        self.grow(keys)
        columns = [frame.to_list(column) for column in self._query.values]
        values = list(zip(*columns, strict=True)) if columns else [()] * len(frame)
        inside = [None] * len(frame) if times is None else times.tolist()
        marks = self._watermarks(inside) if self.streams else None
        order = np.argsort(codes, kind="stable")
        emitted: list[Emitted] = []
        late: list[int] = []
        for places in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []:
            code = int(codes[places[0]])
            lane = self._touch(code)
            for place in places.tolist():
                if marks is not None and marks[place] is not None:
                    emitted += lane.move(code, marks[place])
                results = lane.take(code, inside[place], values[place])
                if results is None:
                    late.append(place)
                else:
                    emitted += results
            if marks is not None:
                self._set_timer(code, lane)
        if marks is not None and marks[-1] is not None:
            emitted += self._advance_stream(marks[-1])
        self.dropped = np.array(sorted(late), np.int64)
        return RowOutcome(self.lane, emitted, self._query)

    def take(self, code: int, time: Any, values: tuple[Any, ...]) -> list[Emitted] | None:
        """Take a row, as part of a call, and return its results. None: it is too late, and dropped."""
        if code >= len(self.lanes):
            self.grow(code + 1)
        lane = self.lanes[code]
        if code not in self._touched:
            lane.mark()
            self._touched[code] = lane
        if self.streams:
            return self._take_in_stream(code, lane, time, values)
        return lane.take(code, time, values)

    def _take_in_stream(self, code: int, lane: AnyLane, time: Any, values: tuple[Any, ...]) -> list[Emitted] | None:
        """:meth:`take` where the row moves the watermark of all keys."""
        advanced, caught_up = self.advanced, None
        if advanced is not None and (lane.watermark is None or advanced > lane.watermark):
            caught_up = lane.move(code, advanced)
        emitted = lane.take(code, time, values)
        if emitted is None:
            return None
        if caught_up:
            emitted = caught_up + emitted
        timers = self._timers if self._timers is not None else self._heap()
        watermark = time - self.lane.delay
        if advanced is None or watermark > advanced:
            if timers and timers[0][0] <= watermark:
                emitted += self._advance_stream(watermark)
            else:
                self.advanced = watermark
        if self._timer_of[code] > lane.quiet_until:
            self._set_timer(code, lane)
        return emitted

    def _watermarks(self, times: Sequence[Any]) -> list[Any]:
        """The watermark of the stream before each row, and after the last."""
        watermark, marks = self.advanced, [self.advanced]
        for time in times:
            if watermark is None or time - self.lane.delay > watermark:
                watermark = time - self.lane.delay
            marks.append(watermark)
        return marks

    def grow(self, keys: int) -> None:
        """Add keys until there are ``keys``. New ones start at the watermark of all."""
        while len(self.lanes) < keys:
            lane = self._new_lane()
            if self.advanced is not None:
                lane.move(len(self.lanes), self.advanced)
            self._timer_of.append(math.inf)
            self.lanes.append(lane)

    def _new_lane(self, state: KeyState | None = None) -> AnyLane:
        """The lane of a key that is new, or goes on from ``state``."""
        for flat in (CountLane, TimeLane):
            if (suited := flat.of(self._query, self._planned, state)) is not None:
                return suited
        lane = RowLane(self._query, self.lane, self._planned.decisions, self._planned.store, self._moves)
        if state is not None:
            lane.load(state)
        return lane

    # time

    def advance(self, watermark: Any) -> RowOutcome:
        """Move the watermark of all keys."""
        self.dropped = NONE
        if self.lane.order is None and watermark != math.inf:
            return RowOutcome(self.lane, (), self._query)
        if self.streams and watermark != math.inf:
            emitted = self._advance_stream(watermark) if self.advanced is None or watermark > self.advanced else []
            return RowOutcome(self.lane, emitted, self._query)
        self.advanced = watermark if self.advanced is None else max(self.advanced, watermark)
        emitted = [result for code in range(len(self.lanes)) for result in self._touch(code).move(code, watermark)]
        return RowOutcome(self.lane, emitted, self._query)

    def end_key(self, code: int) -> RowOutcome:
        """No row of one key comes any more."""
        self.dropped = NONE
        emitted = self._touch(code).move(code, math.inf) if code < len(self.lanes) else []
        return RowOutcome(self.lane, emitted, self._query)

    def _advance_stream(self, watermark: Any) -> list[Emitted]:
        """Move the watermark of the stream. Keys whose timers it passes emit, in the order of their numbers."""
        self.advanced = watermark
        timers = self._heap()
        codes = set()
        while timers and timers[0][0] <= watermark:
            time, code = heappop(timers)
            if self._timer_of[code] == time:
                self._timer_of[code] = math.inf
                codes.add(code)
        emitted = []
        for code in sorted(codes):
            lane = self._touch(code)
            emitted += lane.move(code, watermark)
            self._set_timer(code, lane)
        return emitted

    def _heap(self) -> list[tuple[Any, int]]:
        """The heap of timers. O(1), or O(keys) after a change that dropped it."""
        if self._timers is None:
            self._timer_of = [math.inf if (time := lane.next_end()) is None else time for lane in self.lanes]
            timers = [(time, code) for code, time in enumerate(self._timer_of) if time != math.inf]
            heapify(timers)
            self._timers = timers
        return self._timers

    def _set_timer(self, code: int, lane: AnyLane) -> None:
        timers, time = self._heap(), lane.next_end()
        if time is not None and time < self._timer_of[code]:
            self._timer_of[code] = time
            heappush(timers, (time, code))

    def next_end(self) -> Any:
        """The earliest timer of a key. O(keys)."""
        times = [time for lane in self.lanes if (time := lane.next_end()) is not None]
        return min(times, default=None)

    @property
    def watermark(self) -> Any:
        """The latest watermark of a key; None: there is none. O(1), or O(keys) where each has its own."""
        if self.streams:
            return self.advanced
        watermarks = [self.advanced, *(lane.watermark for lane in self.lanes)]
        return max((watermark for watermark in watermarks if watermark is not None), default=None)

    def newest(self) -> list[Any]:
        """The latest time of each key."""
        return [lane.newest for lane in self.lanes]

    def keep(self, which: Array) -> None:
        """Forget the other keys."""
        self.lanes = [lane for lane, kept in zip(self.lanes, which.tolist(), strict=False) if kept]
        self._timers = None

    # all or nothing

    def _touch(self, code: int) -> AnyLane:
        """The lane of a key, marked when the current call first changes it."""
        lane = self.lanes[code]
        if code not in self._touched:
            lane.mark()
            self._touched[code] = lane
        return lane

    def mark(self) -> Any:
        """Begin a call."""
        self._touched = {}
        return self.lanes, len(self.lanes), self.advanced, self.dropped

    def undo(self, mark: Any) -> None:
        """Roll back all since ``mark``."""
        self.lanes, keys, self.advanced, self.dropped = mark
        self._timers = None
        for lane in self._touched.values():
            lane.undo()
        del self.lanes[keys:]
        self._touched = {}

    # state

    def save(self) -> LaneState:
        """The state of all keys. O(state)."""
        query, buffered = self._query, self._planned.decisions.buffered
        states = [lane.dump() for lane in self.lanes]
        for state in states:
            if self.advanced is not None and (state.watermark is None or state.watermark < self.advanced):
                state.watermark = self.advanced  # the key has not caught up, for no window of it completes by then
        return gather(states, len(query.computed), query.values, self.lane.names, self.advanced, buffered)

    def load(self, saved: LaneState) -> None:
        """Go on from a state, of this engine or of the columnar one. O(state)."""
        saved.let_wait(self._planned.decisions.buffered)
        self.advanced, self.lanes, self._timers = saved.advanced, [], None
        for state in scatter(saved, list(self._query.computed.values()), self._query.values):
            self.lanes.append(self._new_lane(state))

    def begin_slices(self) -> None:
        """Let the next tuple of each key begin a slice, because added windows must not see older tuples."""
        for lane in self.lanes:
            lane.begin_slice()

    def metrics(self) -> Mapping[str, int]:
        """Counters of work done and of what is held."""
        names = {"results_out": "results", **{name: name for name in _COUNTED}}
        return {name: sum(getattr(lane, attribute) for lane in self.lanes) for name, attribute in names.items()}
