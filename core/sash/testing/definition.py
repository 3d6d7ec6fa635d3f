"""The definition, as naively as it can be read: which windows are complete, and what they aggregate to.

One function a type of window reads its complete windows off all tuples so far. Nothing is remembered from one call to
the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from itertools import pairwise
from typing import Any

from sash.aggregations.base import Aggregation
from sash.testing.calendars import number_near, starts_at
from sash.windows import (
    AroundWindow,
    CalendarWindow,
    ContextAware,
    ContextFree,
    CountWindow,
    CumulativeWindow,
    Edges,
    Last,
    Session,
    TimeWindow,
    TrailingWindow,
    While,
    Window,
)

__all__ = [
    "Complete",
    "Stream",
    "Tuple",
    "complete_windows",
    "count_windows",
    "early_windows",
    "naive",
    "replaces",
]


def count_windows(values: Sequence[Any], range_: int, slide: int = 1) -> list[list[Any]]:
    """The full windows of W[range, slide]: window i has the values i·slide … i·slide + range - 1.

    >>> count_windows("abcdefg", 4, 2)
    [['a', 'b', 'c', 'd'], ['c', 'd', 'e', 'f']]
    """
    return [list(values[start : start + range_]) for start in range(0, len(values) - range_ + 1, slide)]


def naive(aggregation: Aggregation, values: Sequence[Any]) -> Any:
    """The result over ``values``, merged one after the other.

    >>> import sash
    >>> naive(sash.Concat(), ["a", "b", "c"])
    'a,b,c'
    """
    total = None
    for value in values:
        total = aggregation.combine(total, aggregation.lift(value))
    return aggregation.lower(total)


@dataclass(frozen=True, order=True)
class Tuple:
    """A tuple of the stream. Tuples are in the order of time and, among equal times, of arrival."""

    time: Any
    arrival: int


@dataclass(frozen=True)
class Complete:
    """A complete window: where it lies, what is in it, and the event time at which it became complete."""

    start: Any
    end: Any
    tuples: tuple[Tuple, ...]
    completion: Any
    early: bool = False
    """Whether it is still open at ``completion``."""
    counted: bool = False
    """Whether ``start`` and ``end`` are positions."""
    results: int | None = None
    """How many results it has, if it has one for each tuple at its end: then it may hold none, and is complete when the
    watermark is behind ``completion``."""

    @property
    def rank(self) -> int:
        """Its turn among windows of one completion."""
        return 2 if self.results else int(self.counted)

    def is_complete(self, watermark: Any) -> bool:
        return bool(self.completion < watermark if self.results else self.tuples and self.completion <= watermark)


Results = Callable[[Sequence[Tuple]], dict[str, Any]]
"""What tuples aggregate to, by the aggregate's name."""


@dataclass(frozen=True)
class Stream:
    """What is known of a lane when its complete windows are computed.

    ``since`` is the time of the newest tuple when the window was added to a running stream: its windows start after
    it, and it counts only later tuples. ``edges`` are those that tuples have added, if the window is context aware;
    ``results`` computes what tuples aggregate to.
    """

    tuples: Sequence[Tuple]
    watermark: Any
    since: Any
    edges: Edges
    results: Results

    @property
    def counted(self) -> list[Tuple]:
        """The tuples that the window counts."""
        return [tuple_ for tuple_ in self.tuples if tuple_.time > self.since]


def complete_windows(window: Window, stream: Stream) -> list[Complete]:
    """The complete windows of any type."""
    return [
        extent
        for extent in _windows(window, stream)
        if extent.is_complete(stream.watermark) and (extent.counted or extent.start > stream.since)
    ]


def early_windows(window: Window, stream: Stream, every: Any, after: Any) -> list[Complete]:
    """The windows that are open at the multiples of ``every`` behind ``after``, up to the watermark.

    They are those that the tuples before the multiple show, the newest of which came since the multiple before.
    """
    if not window.emits_early:
        return []
    ticks = {(t.time // every + 1) * every for t in stream.tuples}
    early = []
    for tick in (tick for tick in ticks if after < tick <= stream.watermark):
        known = replace(stream, tuples=[t for t in stream.tuples if t.time < tick])
        early += [
            replace(extent, completion=tick, early=True)
            for extent in _windows(window, known)
            if extent.tuples and extent.end > tick and extent.start > stream.since
            if extent.tuples[-1].time >= tick - every
        ]
    return early


@singledispatch
def _windows(window: Window, stream: Stream) -> Iterable[Complete]:
    """All windows that may hold a tuple, complete or not: a function for each type of window."""
    raise TypeError(f"expected a window; got {window!r}")


@singledispatch
def replaces(window: Window, new: Complete, old: Complete) -> bool:
    """Whether a result corrects another."""
    return (old.start, old.end) == (new.start, new.end)


def _overlaps(window: Window, new: Complete, old: Complete) -> bool:
    """Windows whose bounds depend on the tuples replace those that they overlap."""
    return bool(old.start < new.end and new.start < old.end)


replaces.register(Session, _overlaps)
replaces.register(ContextAware, _overlaps)


@replaces.register
def _(window: Last, new: Complete, old: Complete) -> bool:
    return bool(old.end == new.end)


def _between(start: Any, end: Any, tuples: Sequence[Tuple]) -> Complete:
    """[start, end): complete when no tuple before its end can arrive any more."""
    return Complete(start, end, tuple(tuple_ for tuple_ in tuples if start <= tuple_.time < end), completion=end)


@_windows.register
def _(window: TimeWindow, stream: Stream) -> Iterator[Complete]:
    """[k·s + o, k·s + o + r) for every whole k; those far from any tuple are empty and left out."""
    r, s, o = window.numbers
    near = {k for t in stream.tuples for k in _whole((t.time - r - o) // s, (t.time - o) // s)}
    for k in near:
        yield _between(o + k * s, o + k * s + r, stream.tuples)


@_windows.register
def _(window: CalendarWindow, stream: Stream) -> Iterator[Complete]:
    """From the start of day (or month) k·s + o to that of day k·s + o + r, for every whole k."""
    (r, s, o), calendar = window.numbers, window.calendar
    near = {number_near(calendar, t.time) for t in stream.tuples}
    for k in {k for number in near for k in _whole((number - r - o) // s, (number - o) // s)}:
        yield _between(starts_at(calendar, k * s + o), starts_at(calendar, k * s + o + r), stream.tuples)


def _whole(least: Any, most: Any) -> range:
    """The whole numbers from ``least`` to ``most`` and two more each way: a quotient of floats may be one off."""
    return range(int(least) - 2, int(most) + 3)


@_windows.register
def _(window: CumulativeWindow, stream: Stream) -> Iterator[Complete]:
    """[j·r + o, j·r + o + i·s) for i = 1 … r / s, with r as so many times s: sums of floats are rounded."""
    r, s, o = window.bound_steps
    steps = round(Fraction(r) / Fraction(s))
    near = {j for t in stream.tuples for j in _whole((t.time - o) // r, (t.time - o) // r)}
    for k in (j * steps + i for j in near for i in range(steps)):
        yield _between(o + (k - k % steps) * s, o + k * s + s, stream.tuples)


@_windows.register
def _(window: TrailingWindow, stream: Stream) -> Iterator[Complete]:
    """From t - r to t for the time t of each tuple; ``closed`` says whether tuples at these bounds are in it."""
    times = [tuple_.time for tuple_ in stream.tuples]
    for t in sorted(set(times)):
        start = t - window.number
        inside = {time for time in times if start < time < t}
        inside |= {start} if window.closed in ("left", "both") and start < t else set()
        inside |= {t} if window.closed == "both" or (window.closed == "right" and start < t) else set()
        held = tuple(tuple_ for tuple_ in stream.tuples if tuple_.time in inside)
        yield Complete(start, t, held, completion=t, results=times.count(t))


@_windows.register
def _(window: CountWindow, stream: Stream) -> list[Complete]:
    """Window i covers the positions i·s … i·s + r - 1; partial ones end j slides before the first full one."""
    r, s, tuples = window.range, window.slide, stream.counted
    partial = [(0, r - j * s) for j in range(1, r) if r - j * s > 0] if window.partial else []
    return _counted([*partial, *((i * s, i * s + r) for i in range(len(tuples)))], tuples)


@_windows.register
def _(window: AroundWindow, stream: Stream) -> Iterator[Complete]:
    """Of position i those from i + ahead - range + 1 to i + ahead, as far as there are tuples."""
    tuples, ahead = stream.counted, (window.range - 1) // 2 if window.center else 0
    for i in range(len(tuples)):
        start, end = max(0, i + ahead + 1 - window.range), i + ahead + 1
        completion = tuples[end - 1].time if end <= len(tuples) else math.inf
        yield Complete(start, end, tuple(tuples[start:end]), completion, counted=True)


def _counted(extents: Iterable[tuple[int, int]], tuples: Sequence[Tuple]) -> list[Complete]:
    """Windows on positions: complete when their last tuple is there and no earlier one can arrive any more."""
    return [
        Complete(start, end, tuple(tuples[max(0, start) : end]), tuples[end - 1].time, counted=True)
        for start, end in extents
        if end <= len(tuples)
    ]


@_windows.register
def _(window: Session, stream: Stream) -> Iterator[Complete]:
    """Runs of tuples less than the gap apart: a run starts where the tuple before is at least the gap earlier."""
    gap, tuples = window.number, stream.tuples
    starts = [i for i in range(len(tuples)) if i == 0 or tuples[i].time - tuples[i - 1].time >= gap]
    for i, j in pairwise([*starts, len(tuples)]):
        end = tuples[j - 1].time + gap
        yield Complete(tuples[i].time, end, tuple(tuples[i:j]), completion=end)


@_windows.register
def _(window: Last, stream: Stream) -> Iterator[Complete]:
    """At each edge k·T + o with a new tuple since the edge before: the last N before it."""
    (_, every, o), tuples = window.ticks.numbers, stream.counted
    near = {k for t in tuples for k in _whole((t.time - o) // every, (t.time - o) // every + 1)}
    for k in near:
        edge, edge_before = o + k * every, o + (k - 1) * every
        before = [tuple_ for tuple_ in tuples if tuple_.time < edge]
        is_new = any(tuple_.time >= edge_before for tuple_ in before)
        if is_new and (len(before) >= window.count or window.partial):
            held = tuple(before[-window.count :])
            yield Complete(held[0].time, edge, held, completion=edge)


@_windows.register
def _(window: While, stream: Stream) -> Iterator[Complete]:
    """At each tuple, all that remain: the oldest leave one by one while the policy evicts all that left so far."""
    held: list[Tuple] = []
    for end, newest in enumerate(stream.counted, 1):
        held.append(newest)
        total, evicted = stream.results(held), 0
        while evicted < len(held) and window.policy(total, stream.results(held[: evicted + 1])):
            evicted += 1
        del held[:evicted]
        yield Complete(end - len(held), end, tuple(held), newest.time, counted=True)


@_windows.register
def _(window: ContextAware, stream: Stream) -> list[Complete]:
    """What a user's window returns for its edges."""
    extents = window.windows(stream.edges, -math.inf, stream.watermark)
    return [_between(start, end, stream.tuples) for start, end in extents]


@_windows.register
def _(window: ContextFree, stream: Stream) -> list[Complete]:
    """What a user's window returns."""
    if window.measure == "count":
        return _counted(window.windows(0, len(stream.counted)), stream.counted)
    return [_between(start, end, stream.tuples) for start, end in _free_extents(window, stream)]


def _free_extents(window: ContextFree, stream: Stream) -> Iterator[tuple[Any, Any]]:
    """From edge to edge, up to the watermark or until all tuples are passed."""
    tuples = stream.tuples
    if not tuples:
        return
    after, start = tuples[0].time, -math.inf
    while start <= tuples[-1].time and (edge := window.next_edge(after)) <= stream.watermark:
        for start, end in window.windows(after, edge):
            yield start, end
        after = edge
