"""Which windows are complete, read off their definitions: one function a type of window, over all tuples so far.

Each is told the lane's tuples, in order, and its watermark; nothing is remembered from one call to the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sash.windows import ContextAware, ContextFree, CountWindow, Edges, Last, Session, TimeWindow, While, Window

__all__ = ["Complete", "Tuple", "complete_windows"]


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
    counted: bool = False
    """Whether ``start`` and ``end`` are positions."""


Results = Callable[[Sequence[Tuple]], dict[str, Any]]
"""What tuples aggregate to, by the aggregate's name."""


def complete_windows(
    window: Window, tuples: Sequence[Tuple], watermark: Any, since: Any, edges: Edges, results: Results
) -> list[Complete]:
    """The complete windows of any type.

    ``since`` is the time of the newest tuple when the window was added to a running stream: its windows begin behind
    it, and it counts only tuples behind it. ``edges`` are those that tuples have brought, if it is context aware;
    ``results`` tells what tuples aggregate to.
    """
    behind = [each for each in tuples if each.time > since]
    match window:
        case TimeWindow():
            found = [_between(*extent, tuples) for extent in _time_extents(window, tuples)]
        case CountWindow():
            found = _counted(_count_extents(window, len(behind)), behind)
        case Session():
            found = list(_sessions(window, tuples))
        case Last():
            found = list(_lasts(window, behind))
        case While():
            found = list(_whiles(window, behind, results))
        case ContextFree(measure="count"):
            found = _counted(window.windows(0, len(behind)), behind)
        case ContextFree():
            found = [_between(*extent, tuples) for extent in _free_extents(window, tuples, watermark)]
        case ContextAware():
            found = [_between(*extent, tuples) for extent in window.windows(edges, -math.inf, watermark)]
    return [
        each for each in found if each.tuples and each.completion <= watermark and (each.counted or each.start > since)
    ]


def _between(start: Any, end: Any, tuples: Sequence[Tuple]) -> Complete:
    """[start, end): complete when nothing can come before its end any more."""
    return Complete(start, end, tuple(each for each in tuples if start <= each.time < end), completion=end)


def _time_extents(window: TimeWindow, tuples: Sequence[Tuple]) -> Iterator[tuple[Any, Any]]:
    """[k·s + o, k·s + o + r) for every whole k; those far from any tuple are empty and left out."""
    r, s, o = window.numbers
    near = {k for t in tuples for k in _whole((t.time - r - o) // s, (t.time - o) // s)}
    for k in near:
        yield o + k * s, o + k * s + r


def _whole(least: Any, most: Any) -> range:
    """The whole numbers from one to the other, and some more: a quotient of floats may be one off."""
    return range(int(least) - 2, int(most) + 3)


def _count_extents(window: CountWindow, count: int) -> Iterator[tuple[int, int]]:
    """Window i covers the positions i·s … i·s + r - 1; partial ones end j slides before the first full one."""
    r, s = window.range, window.slide
    if window.partial:
        yield from ((0, r - j * s) for j in range(1, r) if r - j * s > 0)
    yield from ((i * s, i * s + r) for i in range(count))


def _counted(extents: Iterator[tuple[int, int]], tuples: Sequence[Tuple]) -> list[Complete]:
    """Windows on positions: complete when their last tuple is there and nothing can come before it any more."""
    return [
        Complete(start, end, tuple(tuples[max(0, start) : end]), tuples[end - 1].time, counted=True)
        for start, end in extents
        if end <= len(tuples)
    ]


def _sessions(window: Session, tuples: Sequence[Tuple]) -> Iterator[Complete]:
    """Runs of tuples less than the gap apart: one begins where the one before is at least the gap ago."""
    gap = window.number
    begins = [i for i in range(len(tuples)) if i == 0 or tuples[i].time - tuples[i - 1].time >= gap]
    for i, j in pairwise([*begins, len(tuples)]):
        end = tuples[j - 1].time + gap
        yield Complete(tuples[i].time, end, tuple(tuples[i:j]), completion=end)


def _lasts(window: Last, tuples: Sequence[Tuple]) -> Iterator[Complete]:
    """At each edge k·T + o with a new tuple since the edge before: the last N before it."""
    _, every, o = window.ticks.numbers
    near = {k for t in tuples for k in _whole((t.time - o) // every, (t.time - o) // every + 1)}
    for k in near:
        edge, edge_before = o + k * every, o + (k - 1) * every
        before = [each for each in tuples if each.time < edge]
        is_new = any(each.time >= edge_before for each in before)
        if is_new and (len(before) >= window.count or window.partial):
            held = tuple(before[-window.count :])
            yield Complete(held[0].time, edge, held, completion=edge)


def _whiles(window: While, tuples: Sequence[Tuple], results: Results) -> Iterator[Complete]:
    """With each tuple, all that are left; the oldest leave one after the other, as long as all that left would."""
    held: list[Tuple] = []
    for end, newest in enumerate(tuples, 1):
        held.append(newest)
        total, gone = results(held), 0
        while gone < len(held) and window.policy(total, results(held[: gone + 1])):
            gone += 1
        del held[:gone]
        yield Complete(end - len(held), end, tuple(held), newest.time, counted=True)


def _free_extents(window: ContextFree, tuples: Sequence[Tuple], watermark: Any) -> Iterator[tuple[Any, Any]]:
    """What a user's window says, from edge to edge, up to the watermark or until it is behind all tuples."""
    if not tuples:
        return
    after, start = tuples[0].time, -math.inf
    while start <= tuples[-1].time and (edge := window.next_edge(after)) <= watermark:
        for start, end in window.windows(after, edge):
            yield start, end
        after = edge
