"""``plot``: the windows, slices and results of a query over data, drawn along time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from numbers import Real
from typing import Any

from sash.query import Query
from sash.runtime.plot.svg import COLOURS, Axis, Picture, box, dot, line, picture, words
from sash.runtime.plot.timelines import Bar, Timeline, timelines
from sash.values.timestamps import STEPS

__all__ = ["plot"]

_WIDTH, _LEFT, _RIGHT = 760, 110, 20
_BAR, _CURVE, _GAP = 16, 70, 14
_GREY, _PALE, _INK = "#999999", "#e8eef4", "#333333"
_NUMBERS = [digit * 10**power for power in range(18) for digit in (1, 2, 5)]
_TIMES = [
    *(step for step in _NUMBERS if step < STEPS["s"]),
    *(count * STEPS["s"] for count in (1, 2, 5, 10, 15, 30)),
    *(count * STEPS["m"] for count in (1, 2, 5, 10, 15, 30)),
    *(count * STEPS["h"] for count in (1, 2, 3, 6, 12)),
    *(count * STEPS["D"] for count in (1, 2, 7, 14, 28, 91, 182, 365)),
]


def plot(query: Query, data: Any, *, key: Any = None, most: int = 24) -> Picture:
    """A picture of ``query`` over ``data``, as SVG: notebooks show it, ``save(path)`` writes it.

    From top to bottom: the tuples, the slices that the windows' edges cut (with the number of their tuples), each
    window with its results, and the results that are numbers as curves. It is of one key: ``key``, or else the first
    row's.
    The first ``most`` windows are drawn. ``data`` is whatever :func:`sash.run` takes; all of it is run.

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding(3), aggregates={"peak": sash.Max("load")})
    >>> drawn = sash.plot(query, {"load": [2, 6, 3, 5]})
    >>> drawn.startswith("<svg"), drawn.count("peak = 6")
    (True, 6)
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ValueError(f"most must be a number of windows, 1 or more; got {most!r}")
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(query.named)}
    parts: list[str] = []
    y = 8.0
    for timeline in timelines(query, data, key, most):
        sheet = _Sheet(timeline, colours, y)
        parts += sheet.draw()
        y = sheet.y + _GAP
    return picture(_WIDTH, y, f"Windows of {', '.join(query.aggregates)} over time", parts)


class _Sheet:
    """Draws one timeline from ``y`` downwards."""

    def __init__(self, timeline: Timeline, colours: dict[str | None, str], y: float) -> None:
        self.timeline, self.colours, self.y = timeline, colours, y
        bars, tuples = timeline.bars, timeline.tuples
        last = max((bar.end for bar in bars), default=tuples[-1] if tuples else 1)
        first = min([*(bar.start for bar in bars), *tuples[:1]], default=0)
        self.last = last
        self.axis = Axis(first, last, _LEFT, _WIDTH - _RIGHT)

    def draw(self) -> Iterator[str]:
        """All parts. O(tuples + windows · results)."""
        yield from self._heading()
        yield from self._tuples()
        yield from self._slices()
        yield from self._windows()
        for name in self.timeline.bars[0].results if self.timeline.bars else ():
            yield from self._curve(name)
        yield from self._scale()

    def _down(self, height: float) -> float:
        """The middle of a strip of this height; the next one is below it."""
        self.y += height
        return self.y - height / 2

    def _heading(self) -> Iterator[str]:
        order = "in the order of arrival" if self.timeline.order is None else f"by {self.timeline.order}"
        key = f"{self.timeline.key}, " if self.timeline.key else ""
        more = f"; {self.timeline.left_out:,} more windows are not drawn" if self.timeline.left_out else ""
        yield words(8, self._down(18) + 4, f"{key}{order}{more}", fill=_INK)

    def _tuples(self) -> Iterator[str]:
        y = self._down(20)
        yield words(8, y + 4, "tuples")
        yield line([(self.axis.begin, y), (self.axis.end, y)], _PALE)
        for place in self.timeline.tuples:
            if place <= self.last:
                yield line([(self.axis(place), y - 5), (self.axis(place), y + 5)], _INK)

    def _slices(self) -> Iterator[str]:
        y = self._down(22)
        yield words(8, y + 4, "slices")
        for begin, end, tuples in self.timeline.slices():
            left, right = self.axis(begin), self.axis(end)
            yield box(left, y - 8, right - left, _BAR, _PALE, f"{tuples} tuples", "#7799bb")
            if right - left > 7 * len(str(tuples)) + 4:
                yield words((left + right) / 2, y + 4, str(tuples), "middle")

    def _windows(self) -> Iterator[str]:
        for name in self.colours:
            bars = [bar for bar in self.timeline.bars if bar.name == name]
            if not bars:
                continue
            self.y += 4
            yield words(8, self.y + 12, "windows" if name is None else name, fill=self.colours[name], room=_LEFT - 14)
            for track in _tracks(bars):
                y = self._down(_BAR + 2)
                for bar in track:
                    yield from self._bar(bar, y)

    def _bar(self, bar: Bar, y: float) -> Iterator[str]:
        left, right = self.axis(bar.start), self.axis(bar.end)
        results = ", ".join(f"{name} = {_short(value)}" for name, value in bar.results.items())
        yield box(left, y - _BAR / 2, right - left, _BAR, self.colours[bar.name], f"{bar.bounds}: {results}")
        if right - left > 40:
            yield words(left + 4, y + 4, results, fill="white", room=right - left - 8)

    def _curve(self, result: str) -> Iterator[str]:
        bars = [bar for bar in self.timeline.bars if _is_number(bar.results[result])]
        if not bars:
            return
        values = [float(bar.results[result]) for bar in bars]
        self.y += 8
        y_axis = Axis(min(values), max(values), self.y + _CURVE - 8, self.y + 8)
        yield words(8, self.y + _CURVE / 2 + 4, result, room=60)
        for value in dict.fromkeys((min(values), max(values))):
            yield words(_LEFT - 6, y_axis(value) + 4, _short(value), "end", _GREY)
            yield line([(self.axis.begin, y_axis(value)), (self.axis.end, y_axis(value))], _PALE)
        for name in dict.fromkeys(bar.name for bar in bars):
            points = [
                (self.axis(bar.end), y_axis(value), bar)
                for bar, value in zip(bars, values, strict=True)
                if bar.name == name
            ]
            yield line([(x, y) for x, y, _ in points], self.colours[name], 1.5)
            for x, y, bar in points:
                yield dot(x, y, self.colours[name], f"{bar.bounds}: {result} = {_short(bar.results[result])}")
        self.y += _CURVE

    def _scale(self) -> Iterator[str]:
        y = self._down(24)
        yield line([(self.axis.begin, y - 8), (self.axis.end, y - 8)], _GREY)
        moments = self.timeline.moments
        ticks = list(self.axis.ticks(_TIMES if moments else _NUMBERS, 8))
        format_ = _format(ticks) if moments else ""
        for place in ticks:
            yield line([(self.axis(place), y - 8), (self.axis(place), y - 4)], _GREY)
            text = _moment(self.timeline.outside(place), format_) if moments else _short(self.timeline.outside(place))
            yield words(self.axis(place), y + 7, text, "middle", _GREY)


def _tracks(bars: list[Bar]) -> list[list[Bar]]:
    """Bars that do not overlap share a track. O(bars · tracks)."""
    tracks: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda bar: bar.start):
        free = next((track for track in tracks if track[-1].end <= bar.start < bar.end), None)
        if free is None:
            tracks.append([bar])
        else:
            free.append(bar)
    return tracks


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _short(value: Any) -> str:
    """A value in a few letters.

    >>> _short(1 / 3), _short(2.0), _short("text")
    ('0.3333', '2', 'text')
    """
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _format(ticks: list[float]) -> str:
    """How ticks are written, so that they differ."""
    step = ticks[1] - ticks[0] if len(ticks) > 1 else STEPS["s"]
    if step >= STEPS["D"]:
        return "%Y-%m-%d"
    if step >= STEPS["m"]:
        return "%H:%M"
    return "%H:%M:%S" if step >= STEPS["s"] else "%S.%f"


def _moment(value: Any, format_: str) -> str:
    """A time of any library as text."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    elif hasattr(value, "astype"):
        value = value.astype("datetime64[us]").item()
    return str(value.strftime(format_))
