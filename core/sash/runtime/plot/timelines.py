"""What a plot shows of a query over data: the tuples, windows, slices and results of one key, as plain numbers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from sash.engine.planner import plan
from sash.engine.results import Emitted
from sash.frames import Frame, columns_of, factorize
from sash.query import Query
from sash.query.lanes import Lane
from sash.runtime.driver import Driver
from sash.runtime.times import Times
from sash.values.arrays import Array, to_list

__all__ = ["Bar", "Timeline", "timelines"]


@dataclass(frozen=True)
class Bar:
    """A window with its results."""

    name: str | None
    start: float
    end: float
    results: dict[str, Any]
    bounds: str
    """Where it begins and ends, in words."""
    closed_left: bool = True
    closed_right: bool = False
    """Whether it has tuples at its very start and end."""

    def edges(self) -> tuple[tuple[float, bool], ...]:
        """Where it cuts: before the tuples of that place, or behind them."""
        return (self.start, not self.closed_left), (self.end, self.closed_right)


@dataclass
class Timeline:
    """The windows of one order, of one key. Places are numbers along that order."""

    order: str | None
    key: str
    """The key in words; empty without one."""
    tuples: list[float]
    """In order."""
    outside: Callable[[Any], Any]
    """A place as users write it."""
    moments: bool = False
    """Whether places are points in time; otherwise they are plain numbers."""
    bars: list[Bar] = field(default_factory=list)
    left_out: int = 0
    """So many windows behind those of ``bars``."""

    def slices(self) -> Iterator[tuple[float, float, int]]:
        """(begin, end, number of tuples) of the slices that the windows' edges cut, empty ones left out."""
        edges = sorted({edge for bar in self.bars for edge in bar.edges()})
        cuts = [(bisect_right if behind else bisect_left)(self.tuples, place) for place, behind in edges]
        for ((begin, _), (end, _)), (first, last) in zip(pairwise(edges), pairwise(cuts), strict=True):
            if last > first:
                yield begin, end, last - first


def timelines(query: Query, data: Any, key: Any, most: int) -> list[Timeline]:
    """A timeline for each order of ``query``, of ``key`` or else of the first row's key, of ``most`` windows each.

    Costs what :func:`sash.run` does, and O(results) in Python: for data of a size that one would look at.
    """
    frame = columns_of(data, query.columns)
    codes, distinct = factorize(frame, query.keys)
    number = _number(query, distinct, key)
    driver = Driver(plan(query.using(allowed_lateness=None, early=None), own_watermark=False), own_watermark=False)
    outcomes = driver.run(frame, codes, int(codes.max(initial=-1)) + 1)
    text = ", ".join(f"{name} = {column[number]}" for name, column in distinct.items()) if len(frame) else ""
    made = []
    for lane in query.lanes:
        of_lane = _empty(lane, text, driver.times, frame, codes == number)
        emitted = [one for outcome in outcomes if outcome.lane == lane for one in outcome.rows() if one.code == number]
        emitted.sort(key=lambda one: (one.end, one.start))
        of_lane.left_out = max(len(emitted) - most, 0)
        of_lane.bars = [_bar(query, lane, one, of_lane) for one in emitted[:most]]
        made.append(of_lane)
    return made


def _number(query: Query, distinct: dict[str, Array], key: Any) -> int:
    """The number of a key; without one, that of the first row."""
    if key is None:
        return 0
    if not query.keys:
        raise ValueError(f"the query has no key, so there is no {key!r}")
    wanted = tuple(key) if isinstance(key, tuple | list) else (key,)
    keys = list(zip(*(to_list(column) for column in distinct.values()), strict=True))
    if wanted not in keys:
        some = ", ".join(repr(one if len(one) > 1 else one[0]) for one in keys[:5])
        raise KeyError(f"no row has the key {key!r}; there are {some}{', …' * (len(keys) > 5)}")
    return keys.index(wanted)


def _empty(lane: Lane, key: str, times: Times, frame: Frame, mine: Array) -> Timeline:
    """The tuples of a lane, and no windows yet."""
    array, times = times.of_array(lane, frame)
    if array is None:
        return Timeline(None, key, [place + 0.5 for place in range(int(mine.sum()))], _position)
    known = times.knows(lane)
    outside = partial(times.outside, lane) if known else _position
    moments = known and not times.codecs[str(lane.order)].is_number
    return Timeline(lane.order, key, np.sort(array[mine]).tolist(), outside, moments)


def _bar(query: Query, lane: Lane, emitted: Emitted, timeline: Timeline) -> Bar:
    name, start, end = lane.names[emitted.window], emitted.start, emitted.end
    window = query.named[name]
    outside = _position if window.bounds_are_positions else timeline.outside
    bounds = f"{outside(start)} to {outside(end)}"
    results = dict(zip(query.aggregates, emitted.aggregates, strict=True))
    if window.bounds_are_positions and timeline.order is not None:  # drawn from the first of its tuples to the last
        first, last = timeline.tuples[max(start, 0)], timeline.tuples[end - 1]
        return Bar(name, first, last, results, bounds, closed_right=True)
    return Bar(name, start, end, results, bounds, window.closed_left, window.closed_right)


def _position(place: float) -> Any:
    return int(place)
