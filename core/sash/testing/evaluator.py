"""What a stream results in, by brute force: after each event all windows are worked out anew from all tuples so far.

What is complete now and was not before is emitted: a window that the watermark has reached, or one that a late tuple
has changed. That is the whole of it. It shares nothing with what it is the oracle of; the meanings are those of
section 3 of the design.
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
from sash.query import Query
from sash.testing.definition import naive
from sash.testing.readings import Complete, Tuple, complete_windows
from sash.windows import ContextAware, Edges, Last, Session, Window

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
class _Asked:
    """A window of the query, and what has been said of it."""

    window: Window
    since: Any = -math.inf
    """The newest tuple when it was added."""
    edges: Edges = field(default_factory=Edges)
    observed: set[int] = field(default_factory=set)
    standing: set[Complete] = field(default_factory=set)
    """The windows that were complete after the event before."""
    said: list[tuple[Complete, int]] = field(default_factory=list)
    """All that was ever emitted, with its revision."""

    def revision_of(self, found: Complete) -> int:
        """Windows that tuples draw replace those that they overlap; others are what they were."""
        if isinstance(self.window, Session | ContextAware):
            return max((n + 1 for old, n in self.said if old.start < found.end and found.start < old.end), default=0)
        if isinstance(self.window, Last):
            return sum(old.end == found.end for old, _ in self.said)
        return sum((old.start, old.end) == (found.start, found.end) for old, _ in self.said)


@dataclass
class _Lane:
    """What one column orders, or, if it is None, arrival."""

    order: str | None
    delay: Any = 0
    lateness: Any = 0
    asked: dict[str | None, _Asked] = field(default_factory=dict)
    tuples: list[Tuple] = field(default_factory=list)
    watermark: Any = -math.inf
    late_dropped: int = 0
    late_corrected: int = 0
    kind: Any = None
    """A time as the user gave it."""
    time_unit: str | None = None
    """What plain numbers are."""


class Evaluator:
    """Takes what an ``Operator`` takes, gives the same results. A row costs as much as all before it."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.rows: list[Row] = []
        self.lanes = {lane.order: _Lane(lane.order, lane.delay, lane.lateness) for lane in query.lanes}
        for lane in query.lanes:
            self.lanes[lane.order].time_unit = lane.time_unit
        for name, window in query.named.items():
            self._lane_of(window).asked[name] = _Asked(window)
        self._places = list(query.named)

    @property
    def late_dropped(self) -> int:
        """How many tuples came too late."""
        return sum(lane.late_dropped for lane in self.lanes.values())

    @property
    def late_corrected(self) -> int:
        """How many tuples came late, but not too late."""
        return sum(lane.late_corrected for lane in self.lanes.values())

    def on(self, event: Event) -> list[dict[str, Any]]:
        """Any event."""
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
        """A tuple is late if the watermark has passed it, and too late if that was longer ago than is allowed."""
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
        lane.watermark = max(lane.watermark, time - lane.delay)

    def advance(self, watermark: Any) -> list[dict[str, Any]]:
        """No tuple before this will come any more; with several orders, a mapping from their columns."""
        results = []
        for lane in self.lanes.values():
            given = watermark.get(lane.order) if isinstance(watermark, Mapping) else watermark
            if lane.order is not None and given is not None:
                lane.kind = given
                lane.watermark = max(lane.watermark, _inside(given, lane.time_unit))
                results += self._emit(lane)
        return results

    def close(self) -> list[dict[str, Any]]:
        """Nothing will come any more."""
        results = []
        for lane in self.lanes.values():
            lane.watermark = math.inf
            results += self._emit(lane)
        return results

    def add_window(self, name: str, window: Window) -> list[dict[str, Any]]:
        """It gives the windows that begin behind all tuples so far."""
        lane = self._lane_of(window)
        newest = max((each.time for each in lane.tuples), default=-math.inf)
        lane.asked[name] = _Asked(window, since=newest)
        self._places.append(name)
        return []

    def remove_window(self, name: str) -> list[dict[str, Any]]:
        """It gives nothing any more."""
        for lane in self.lanes.values():
            lane.asked.pop(name, None)
        self._places.remove(name)
        return []

    def _lane_of(self, window: Window) -> _Lane:
        order = self.query.time if window.on is None else window.on
        return self.lanes.setdefault(order, _Lane(order))

    def _emit(self, lane: _Lane) -> list[dict[str, Any]]:
        new: list[tuple[Any, str | None, Complete, int]] = []
        for name, asked in lane.asked.items():
            self._observe(lane, asked)
            found = complete_windows(
                asked.window, lane.tuples, lane.watermark, asked.since, asked.edges, self._aggregates
            )
            emitted = [(each, asked.revision_of(each)) for each in found if each not in asked.standing]
            asked.standing = set(found)
            asked.said += emitted
            for each, revision in emitted:
                place = (each.completion, each.counted, each.end, self._places.index(name), each.start)
                new.append((place, name, each, revision))
        new.sort(key=lambda entry: entry[0])
        return [self._result(lane, name, each, revision) for _, name, each, revision in new]

    def _observe(self, lane: _Lane, asked: _Asked) -> None:
        """Tell a context-aware window of the tuples that are settled now: in order, but for late ones."""
        if not isinstance(asked.window, ContextAware):
            return
        for each in lane.tuples:
            if asked.since < each.time <= lane.watermark and each.arrival not in asked.observed:
                asked.observed.add(each.arrival)
                asked.window.observe(each.time, self.rows[each.arrival], asked.edges)

    def _result(self, lane: _Lane, name: str | None, found: Complete, revision: int) -> dict[str, Any]:
        extent = [found.start, found.end]
        if not found.counted:
            extent = [_outside(edge, lane.kind, lane.time_unit) for edge in extent]
        said = {"window": name, "window_start": extent[0], "window_end": extent[1], "revision": revision}
        said |= self._aggregates(found.tuples)
        return {column: said[column] for column in self.query.results if column not in self.query.keys}

    def _aggregates(self, tuples: Sequence[Tuple]) -> dict[str, Any]:
        return {
            column: naive(aggregation, [_value(aggregation, self.rows[each.arrival]) for each in tuples])
            for column, aggregation in self.query.aggregates.items()
        }


def _value(aggregation: Aggregation, row: Row) -> Any:
    """What an aggregation takes of a row: a value, or those of its several columns together."""
    values = tuple(row[column] for column in aggregation.columns)
    return values[0] if len(values) == 1 else values


_EPOCH = datetime(1970, 1, 1)


_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def _inside(time: Any, time_unit: str | None) -> Any:
    """Nanoseconds since 1970, or the plain number that it is."""
    if time_unit is not None:
        return round(Fraction(time) * _NANOSECONDS[time_unit])
    if isinstance(time, datetime):
        return (time - _EPOCH.replace(tzinfo=time.tzinfo)) // timedelta(microseconds=1) * 1000
    if isinstance(time, np.datetime64):
        return int(time.astype("datetime64[ns]").astype(np.int64))
    return time


def _outside(time: Any, kind: Any, time_unit: str | None) -> Any:
    """As the user gives times."""
    if time_unit is not None:
        number = Fraction(time, _NANOSECONDS[time_unit])
        return float(number) if isinstance(kind, float) else int(number)
    if isinstance(kind, datetime):
        return _EPOCH.replace(tzinfo=kind.tzinfo) + timedelta(microseconds=time // 1000)
    if isinstance(kind, np.datetime64):
        return np.datetime64(time, "ns")
    return time
