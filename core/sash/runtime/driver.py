"""The driver: leads rows and batches of any number of keys through the lanes of a query.

Everything that runs a query runs through it: operators, :func:`sash.run`, groups that a sort has left side by side, the
streams of engines. Keys are numbers here; who calls it knows which.

    frame, codes ──> times as they are inside ──> each lane: process ──> what it emits
    watermark    ──> as it is inside          ──> each lane: advance ──> what it emits

A call happens or does not: the caller marks, and undoes when the call or what it does with the results fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sash.aggregations.base import renamed
from sash.engine.lane import Mark, Switch
from sash.engine.planner import Plan
from sash.engine.results import AnyOutcome, Emitted
from sash.frames import Frame, Renumbered
from sash.query.lanes import Lane, OwnWatermark, watermark_of
from sash.runtime.times import Times
from sash.runtime.value_errors import raise_naming_row

__all__ = ["Driver", "DriverMark"]

Array = np.ndarray[Any, Any]
Converted = TypeVar("Converted")
_COUNTED = ("results_out", "late_corrected", "late_dropped", "slices_held", "tuples_held", "merges")


class DriverMark(NamedTuple):
    """Where a call began."""

    own: tuple[Any, ...]
    lanes: list[tuple[Switch, Mark]]


class Driver:
    """Runs a plan. ``mixed``: rows and batches may both come, in any order.

    ``one_key``: there is a single key, so that its watermark is that of the stream.
    """

    def __init__(self, plan: Plan, own_watermark: OwnWatermark, *, mixed: bool = False, one_key: bool = False) -> None:
        self.plan, self.query = plan, plan.query
        self.times = Times(plan.query)
        self.rows = 0
        """How many rows came."""
        self.dropped: Collection[int] = ()
        """The rows of the last call that came too late."""
        own: OwnWatermark = "key" if own_watermark is True and one_key else own_watermark
        self.lanes = [Switch(plan.query, planned, watermark_of(own, planned.lane), mixed) for planned in plan.lanes]
        ordered = [lane for lane in self.lanes if lane.lane.order is not None]
        by_time = [lane for lane in ordered if lane.lane.order == plan.query.time]
        self._timely = next(iter([*by_time, *ordered]), None)

    # rows

    def process(self, frame: Frame, codes: Array, keys: int) -> list[AnyOutcome]:
        """Take a batch, whose rows belong to the keys ``codes``, all below ``keys``; what each lane emits."""
        times, inside = self.times, []
        for lane in self.lanes:
            array, times = times.of_array(lane.lane, frame, self.rows)
            inside.append(array)
        outcomes: list[AnyOutcome] = []
        dropped: set[int] = set()
        for lane, array in zip(self.lanes, inside, strict=True):
            try:
                engine = lane.batches()
                outcomes.append(engine.process(codes, array, frame, keys))
            except Exception as error:  # a user's functions may raise anything
                raise_naming_row(error, self.query, frame, codes, self.rows)
            dropped.update(engine.dropped.tolist())
        self.times, self.dropped = times, sorted(dropped)
        self.rows += len(frame)
        return outcomes

    def run(self, frame: Frame, codes: Array | Renumbered, keys: int) -> list[AnyOutcome]:
        """Take a batch after which nothing comes; what each lane emits."""
        outcomes: list[AnyOutcome] = []
        for lane in self.lanes:
            array, self.times = self.times.of_array(lane.lane, frame, self.rows)
            try:
                outcomes += lane.run(codes, array, frame, keys)
            except Exception as error:
                raise_naming_row(error, self.query, frame, np.asarray(codes), self.rows)
        self.rows += len(frame)
        return outcomes

    def process_row(
        self, code: int, times: Sequence[Any], values: tuple[Any, ...], make: Callable[[Lane, Emitted], Converted]
    ) -> list[Converted]:
        """Take one row of key ``code``, with a time for each lane, and convert each result.

        All or nothing, the conversions included.
        """
        adopted, rows, inside = self.times, self.rows, []
        for lane, time in zip(self.lanes, times, strict=True):
            of_lane, adopted = adopted.of_row(lane.lane, time, rows)
            inside.append(of_lane)
        mark = self.mark()
        try:
            results, dropped = [], False
            for lane, time in zip(self.lanes, inside, strict=True):
                emitted = lane.rows().take(code, time, values)
                if emitted is None:
                    dropped = True
                elif emitted:
                    results += [(lane.lane, result) for result in emitted]
            self.times, self.dropped, self.rows = adopted, (0,) if dropped else (), rows + 1
            return [make(*result) for result in results]
        except BaseException as error:
            self.take_back_row(mark, error)
            raise

    def take_back_row(self, mark: DriverMark, error: BaseException) -> None:
        """Undo a row that failed. What a user can mend is raised as an error that names the row."""
        rows = mark.own[1]
        refused = self.rows == rows and isinstance(error, TypeError | ValueError | ArithmeticError | RuntimeError)
        self.undo(mark)
        if refused and isinstance(error, Exception):
            raise renamed(error, f"row {rows}: {error}") from error

    # time

    def advance(self, watermark: Any) -> list[AnyOutcome]:
        """No row before ``watermark`` comes any more, of any key; what each lane that it concerns emits.

        With several orders, a mapping from their columns to their watermarks.
        """
        times, moved = self.times, []
        for lane in self.lanes:
            order = lane.lane.order
            value = watermark.get(order) if isinstance(watermark, Mapping) else watermark
            if order is not None and value is not None:
                inside, times = times.of_watermark(lane.lane, value, self.rows)
                moved.append((lane, inside))
        outcomes: list[AnyOutcome] = [lane.running.advance(inside) for lane, inside in moved]
        self.times, self.dropped = times, ()
        return outcomes

    @property
    def watermark(self) -> Any:
        """That of the lane of the query's time, as it is inside; None: there is none. O(keys)."""
        return None if self._timely is None else self._timely.running.watermark

    def advance_timely(self, watermark: Any) -> list[AnyOutcome]:
        """:meth:`advance` of that lane alone; ``watermark`` is as it is inside."""
        assert self._timely is not None, "without an order nothing can be advanced"
        self.dropped = ()
        return [self._timely.running.advance(watermark)]

    def close(self, code: int | None = None) -> list[AnyOutcome]:
        """No row comes any more, of any key or of one."""
        engines = [lane.running for lane in self.lanes]
        outcomes: list[AnyOutcome] = [
            engine.advance(math.inf) if code is None else engine.end_key(code) for engine in engines
        ]
        self.dropped = ()
        return outcomes

    def next_end(self) -> Any:
        """No window completes before this time unless rows come, in the query's time, or else in the first order.

        None: none does. It may be too early, never too late. O(keys).
        """
        lane = self._timely
        time = None if lane is None or not self.times.knows(lane.lane) else lane.running.next_end()
        return time if lane is None or time is None or math.isinf(time) else self.times.outside_timer(lane.lane, time)

    def newest(self) -> Any:
        """The latest time of a row, in the order of :meth:`next_end`; None: there is none. O(keys)."""
        lane = self._timely
        if lane is None or not self.times.knows(lane.lane):
            return None
        newest = max((time for time in lane.running.newest() if time is not None), default=None)
        return None if newest is None else self.times.outside(lane.lane, newest)

    def silent(self, before: Any, keys: int) -> Array:
        """Which of the keys have had no row since ``before``."""
        lane = self._timely
        if lane is None:
            raise ValueError("in the order of arrival there is no time by which a key is silent: name time=")
        silent = np.zeros(keys, np.bool_)
        if self.times.knows(lane.lane):
            limit, _ = self.times.of_watermark(lane.lane, before, self.rows)
            newest = lane.running.newest()
            silent[:] = True
            silent[: len(newest)] = [time is None or time < limit for time in newest]
        return silent

    def keep(self, which: Array) -> None:
        """Forget the keys where ``which`` is False; the others are renumbered."""
        for lane in self.lanes:
            lane.running.keep(which)

    # all or nothing

    def mark(self) -> DriverMark:
        """Begin a call. O(1)."""
        own = self.times, self.rows, self.dropped
        return DriverMark(own, [(lane, lane.mark()) for lane in self.lanes])

    def undo(self, mark: DriverMark) -> None:
        """Take back all since ``mark``. What an interruption leaves undone, each lane does before anything else."""
        self.times, self.rows, self.dropped = mark.own
        for lane, of_lane in mark.lanes:
            lane.engine = of_lane
        for lane, of_lane in mark.lanes:
            lane.undo(of_lane)

    # what it has done and what it holds

    def metrics(self) -> dict[str, int]:
        """Rows in, results out, late ones corrected and dropped, slices and tuples held, merges done. O(keys)."""
        metrics = [lane.running.metrics() for lane in self.lanes]
        return {"tuples_in": self.rows, **{name: sum(of_lane[name] for of_lane in metrics) for name in _COUNTED}}

    def second_threads(self) -> Iterator[tuple[str, str]]:
        """For each aggregate whose ``lcs`` could be kept between batches, by another thread, what was chosen."""
        for lane in self.lanes:
            engine = lane.running
            second_thread = getattr(engine, "second_thread", None)
            if second_thread is not None:
                yield from ((name, second_thread.words(name)) for name in getattr(engine, "forms", {}))

    def compiled(self) -> Iterator[tuple[str, Any]]:
        """The form of each aggregate that batches have been run by."""
        for lane in self.lanes:
            yield from getattr(lane.running, "forms", {}).items()
