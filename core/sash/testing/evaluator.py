"""The results of a stream by brute force: after each event, all windows are recomputed from all tuples so far.

Windows that are complete now and were not before are emitted: the watermark has reached them, or a late tuple has
changed them. The evaluator is the oracle of the engines and shares no code with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.aggregations.sums import Count
from sash.query import Query
from sash.testing.definition import Complete, Stream, Tuple, complete_windows, early_windows, naive, replaces
from sash.windows import Edges, Window

__all__ = ["Evaluator", "evaluate"]

Event = tuple[Any, ...]
Row = Mapping[str, Any]


def evaluate(query: Query, events: Iterable[Event]) -> list[dict[str, Any]]:
    """The results of one key's stream, in order.

    An event is ("row", row), ("advance", watermark), ("add", name, window), ("remove", name) or ("close",). A result
    has no key.

    >>> import sash
    >>> query = sash.Query(windows=sash.session(10, on="ts"), aggregates={"all": sash.Concat("x")}, time="ts")
    >>> events = [("row", {"ts": ts, "x": x}) for ts, x in [(0, "a"), (5, "b"), (20, "c")]]
    >>> evaluate(query, [*events, ("close",)])
    [{'window_start': 0, 'window_end': 15, 'all': 'a,b'}, {'window_start': 20, 'window_end': 30, 'all': 'c'}]
    """
    evaluator = Evaluator(query)
    return [result for event in events for result in evaluator.on(event)]


@dataclass
class _Watched:
    """A window of the query, and what has been emitted of it."""

    window: Window
    since: Any = -math.inf
    """The time of the newest tuple when it was added."""
    edges: Edges = field(default_factory=Edges)
    observed: set[int] = field(default_factory=set)
    standing: set[Complete] = field(default_factory=set)
    """The windows that were complete after the event before."""
    emitted: list[tuple[Complete, int]] = field(default_factory=list)
    """All that was ever emitted, with its revision."""

    def revision_of(self, window: Complete) -> int:
        """One more than that of any result that it replaces."""
        return max((n + 1 for old, n in self.emitted if replaces(self.window, window, old)), default=0)


@dataclass
class _Lane:
    """The windows with one order: that of a column or, if it is None, of arrival."""

    order: str | None
    delay: Any = 0
    lateness: Any = 0
    early: Any = None
    """How often open windows are emitted."""
    emitted_upto: Any = -math.inf
    """The watermark when results were last emitted."""
    time_unit: str | None = None
    """The unit of times that are plain numbers."""
    watched: dict[str | None, _Watched] = field(default_factory=dict)
    tuples: list[Tuple] = field(default_factory=list)
    watermark: Any = -math.inf
    late_dropped: int = 0
    late_corrected: int = 0
    kind: Any = None
    """A time in the user's type."""


class Evaluator:
    """Takes what an ``Operator`` takes and returns the same results. A row costs as much as all before it.

    Without ``own_watermark``, rows do not move the watermark; ``advance`` does.
    """

    def __init__(self, query: Query, own_watermark: bool = True) -> None:
        self.query = query
        self._own_watermark = own_watermark
        self.rows: list[Row] = []
        self.lanes = {
            lane.order: _Lane(
                lane.order, lane.delay, lane.lateness, lane.early and lane.early.range, time_unit=lane.time_unit
            )
            for lane in query.lanes
        }
        for name, window in query.named.items():
            self._lane_of(window).watched[name] = _Watched(window)
        self._places = list(query.named)

    @property
    def late_dropped(self) -> int:
        """How many tuples were dropped as too late."""
        return sum(lane.late_dropped for lane in self.lanes.values())

    @property
    def late_corrected(self) -> int:
        """How many late tuples were accepted."""
        return sum(lane.late_corrected for lane in self.lanes.values())

    def on(self, event: Event) -> list[dict[str, Any]]:
        """Take an event of :func:`evaluate`."""
        match event:
            case "row", row:
                return self.process(row)
            case "advance", watermark:
                return self.advance(watermark)
            case "add", name, window:
                return self.add_window(name, window)
            case "remove", name:
                return self.remove_window(name)
            case ("close",):
                return self.close()
        raise ValueError(f"not an event: {event!r}")

    def process(self, row: Row) -> list[dict[str, Any]]:
        """Take a row. It is late if the watermark has passed it, too late if by more than the allowed lateness."""
        self.rows.append(row)
        results = []
        for lane in self.lanes.values():
            self._accept(lane, row)
            results += self._emit(lane)
        return results

    def _accept(self, lane: _Lane, row: Row) -> None:
        arrival = len(self.rows) - 1
        if lane.order is None:
            lane.tuples.append(Tuple(arrival, arrival))
            lane.watermark = arrival + 1
            return
        time = _inside(row[lane.order], lane.time_unit)
        lane.kind = row[lane.order]
        if time < lane.watermark - lane.lateness:
            lane.late_dropped += 1
            return
        lane.late_corrected += time < lane.watermark
        lane.tuples = sorted([*lane.tuples, Tuple(time, arrival)])
        if self._own_watermark:
            lane.watermark = max(lane.watermark, time - lane.delay)

    def advance(self, watermark: Any) -> list[dict[str, Any]]:
        """Move the watermark. With several orders, it may be a mapping from their columns."""
        results = []
        for lane in self.lanes.values():
            time = watermark.get(lane.order) if isinstance(watermark, Mapping) else watermark
            if lane.order is not None and time is not None:
                lane.kind = time
                lane.watermark = max(lane.watermark, _inside(time, lane.time_unit))
                results += self._emit(lane)
        return results

    def close(self) -> list[dict[str, Any]]:
        """End the input, which completes all windows."""
        results = []
        for lane in self.lanes.values():
            lane.watermark = math.inf
            results += self._emit(lane)
        return results

    def add_window(self, name: str, window: Window) -> list[dict[str, Any]]:
        """Add a window, whose results start after all tuples so far."""
        lane = self._lane_of(window)
        newest = max((tuple_.time for tuple_ in lane.tuples), default=-math.inf)
        lane.watched[name] = _Watched(window, since=newest)
        self._places.append(name)
        return []

    def remove_window(self, name: str) -> list[dict[str, Any]]:
        """Remove a window. It emits no more results."""
        for lane in self.lanes.values():
            lane.watched.pop(name, None)
        self._places.remove(name)
        return []

    def _lane_of(self, window: Window) -> _Lane:
        order = self.query.time if window.on is None else window.on
        return self.lanes.setdefault(order, _Lane(order))

    def _emit(self, lane: _Lane) -> list[dict[str, Any]]:
        """The results that are new, in the order of results: by completion, kind of bounds, end, place and start."""
        results: list[tuple[Any, str | None, Complete, int]] = []
        for name, watched in lane.watched.items():
            self._observe(lane, watched)
            stream = Stream(lane.tuples, lane.watermark, watched.since, watched.edges, self._aggregates)
            complete = complete_windows(watched.window, stream)
            new = [(window, watched.revision_of(window)) for window in complete if window not in watched.standing]
            watched.standing = set(complete)
            watched.emitted += new
            if lane.early is not None:
                new += [(window, 0) for window in early_windows(watched.window, stream, lane.early, lane.emitted_upto)]
            place = self._places.index(name)
            for window, revision in new:
                order = (window.completion, window.rank, window.end, place, window.start)
                results += [(order, name, window, revision)] * (window.results or 1)
        lane.emitted_upto = lane.watermark
        results.sort(key=lambda entry: entry[0])
        return [self._result(lane, name, window, revision) for _, name, window, revision in results]

    def _observe(self, lane: _Lane, watched: _Watched) -> None:
        """Show a context-aware window the tuples that the watermark has passed, in order except for late ones."""
        observe = getattr(watched.window, "observe", None)  # which context-aware windows have
        if observe is None:
            return
        for time, arrival in ((tuple_.time, tuple_.arrival) for tuple_ in lane.tuples):
            if watched.since < time <= lane.watermark and arrival not in watched.observed:
                watched.observed.add(arrival)
                observe(time, self.rows[arrival], watched.edges)

    def _result(self, lane: _Lane, name: str | None, window: Complete, revision: int) -> dict[str, Any]:
        bounds = [window.start, window.end]
        if not window.counted:
            bounds = [_outside(bound, lane.kind, lane.time_unit) for bound in bounds]
        row = {"window": name, "window_start": bounds[0], "window_end": bounds[1], "revision": revision}
        row["final"] = not window.early
        row |= self._aggregates(window.tuples)
        least = self.query.named[name].least_values if name in self.query.named else 0
        row |= {column: None for column in self.query.aggregates if self._values(column, window.tuples) < least}
        return {column: row[column] for column in self.query.results if column not in self.query.keys}

    def _values(self, column: str, tuples: Sequence[Tuple]) -> int:
        """How many values an aggregate takes, as pandas counts them: of a count every row is one."""
        aggregation = self.query.aggregates[column]
        if isinstance(aggregation, Count):
            return len(tuples)
        return sum(aggregation.lift(_value(aggregation, self.rows[tuple_.arrival])) is not None for tuple_ in tuples)

    def _aggregates(self, tuples: Sequence[Tuple]) -> dict[str, Any]:
        return {
            column: naive(aggregation, [_value(aggregation, self.rows[tuple_.arrival]) for tuple_ in tuples])
            for column, aggregation in self.query.aggregates.items()
        }


def _value(aggregation: Aggregation, row: Row) -> Any:
    """What an aggregation reads of a row: a value, or a tuple of values if it has several columns."""
    values = tuple(row[column] for column in aggregation.columns)
    return values[0] if len(values) == 1 else values


_EPOCH = datetime(1970, 1, 1)
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def _inside(time: Any, time_unit: str | None) -> Any:
    """A time as nanoseconds since 1970; a plain number without a unit stays as it is."""
    if time_unit is not None:
        return round(Fraction(time) * _NANOSECONDS[time_unit])
    if isinstance(time, datetime):
        return (time - _EPOCH.replace(tzinfo=time.tzinfo)) // timedelta(microseconds=1) * 1000
    if isinstance(time, np.datetime64):
        return int(time.astype("datetime64[ns]").astype(np.int64))
    return time


def _outside(time: Any, kind: Any, time_unit: str | None) -> Any:
    """The inverse of :func:`_inside`, in the type of ``kind``."""
    if time_unit is not None:
        number = Fraction(time, _NANOSECONDS[time_unit])
        return float(number) if isinstance(kind, float) else int(number)
    if isinstance(kind, datetime):
        return _EPOCH.replace(tzinfo=kind.tzinfo) + timedelta(microseconds=time // 1000)
    if isinstance(kind, np.datetime64):
        return np.datetime64(time, "ns")
    return time
