"""What orders the windows of a query: its time, another column that advances, or just the order of arrival.

Windows with the same order share slices, a watermark and a state: a lane. Nearly every query has a single one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from sash.values.timestamps import nanoseconds
from sash.windows import TimeWindow, Window

__all__ = ["Lane", "OwnWatermark", "TimeUnit", "WatermarkOf", "check_own_watermark", "lanes_of", "watermark_of"]

TimeUnit = Literal["s", "ms", "us", "ns"]
"""What the plain numbers of a time column count since 1970."""
OwnWatermark = bool | Literal["key"] | Collection[str]
"""Whose watermark tuples move: that of the stream (True), of their key ("key"), or none (False).

Columns: of their key, in the lanes of these columns and in that of arrival; none in the others.
"""
WatermarkOf = Literal["stream", "key"] | None
"""Whose watermark tuples move in one lane."""


@dataclass(frozen=True)
class Lane:
    """Windows that share one order.

    ``order`` is the column, None for the order of arrival, in which a tuple's time is its position. ``unit`` says what
    the column has to hold: timestamps, if it is compared with durations; plain numbers; None: either.
    """

    order: str | None
    names: tuple[str | None, ...]
    delay: Any = 0
    lateness: Any = 0
    unit: Literal["duration", "number"] | None = None
    time_unit: TimeUnit | None = None
    """Of plain numbers that are compared with durations; None: numbers are no times."""
    early: TimeWindow | None = None
    """The tumbling windows at whose ends open windows are emitted; None: they are not."""


def lanes_of(
    windows: Mapping[str | None, Window],
    time: str | None,
    delays: Any,
    latenesses: Any,
    time_unit: TimeUnit | None = None,
    early: Any = None,
) -> tuple[Lane, ...]:
    """The lanes of named windows. Refuses windows that nothing orders."""
    names: dict[str | None, list[str | None]] = {}
    for name, window in windows.items():
        if window.on is None and time is None and window.needs_time:
            raise ValueError(f"{window} is a window on event time: name its column with time=")
        names.setdefault(time if window.on is None else window.on, []).append(name)
    options = {"watermark_delay": delays, "allowed_lateness": latenesses, "early": early}
    if early and not any(window.emits_early for window in windows.values()):
        raise ValueError(f"early={early!r} is for windows on time and sessions, and the query has none")
    for option, value in options.items():
        if isinstance(value, Mapping) and (unknown := set(value) - set(names)):
            raise ValueError(f"{option} names {sorted(map(str, unknown))}, which orders no window")
        if value is not None and not isinstance(value, Mapping) and set(names) == {None}:
            raise ValueError(f"{option}={value!r}: in the order of arrival nothing is late; name a time= column")
    return tuple(_lane(order, of, windows, time, options, time_unit) for order, of in names.items())


def check_own_watermark(own: Any, orders: Collection[str]) -> None:
    """Refuse an unknown ``own_watermark``; ``orders`` are the columns that order windows.

    >>> check_own_watermark("keys", ["km"])
    Traceback (most recent call last):
    ValueError: own_watermark must be True, False, 'key' or columns that order windows (here 'km'); got 'keys'
    """
    if isinstance(own, bool) or own == "key":
        return
    if isinstance(own, str) or not isinstance(own, Collection) or not set(own) <= set(orders):
        there = ", ".join(map(repr, orders)) or "none"
        raise ValueError(
            f"own_watermark must be True, False, 'key' or columns that order windows (here {there}); got {own!r}"
        )


def watermark_of(own: OwnWatermark, lane: Lane) -> WatermarkOf:
    """Whose watermark tuples move in a lane.

    >>> [watermark_of(own, Lane("km", (None,))) for own in (True, "key", False, ["km"], ["ts"])]
    ['stream', 'key', None, 'key', None]
    """
    if own is True:
        return "stream"
    return "key" if own == "key" or (own and (lane.order is None or lane.order in own)) else None


def _lane(
    order: str | None,
    names: list[str | None],
    windows: Mapping[str | None, Window],
    time: str | None,
    options: Mapping[str, Any],
    time_unit: TimeUnit | None,
) -> Lane:
    amounts = {option: _value_for(order, time, value) for option, value in options.items()}
    units = set(_units((windows[name] for name in names), amounts.values()))
    if len(units) > 1:
        raise ValueError(
            f"column {order!r} is measured in durations and in plain numbers: give windows, watermark_delay and "
            "allowed_lateness all as durations (with time_unit= if the column has plain numbers), or all as numbers in "
            "the unit of the column"
        )
    delay, lateness, every = (_amount(option, value, order) for option, value in amounts.items())
    final = next((windows[name] for name in names if not windows[name].can_be_corrected), None)
    if lateness and final is not None:
        raise ValueError(f"{final}: its results cannot be corrected; leave out allowed_lateness")
    unit = units.pop() if units else None
    time_unit = time_unit if order == time and unit != "number" else None
    ticks = None
    if every and any(windows[name].emits_early for name in names):
        ticks = TimeWindow(every, every, on="early")  # in the unit that times have inside, whatever the column is
    return Lane(order, tuple(names), delay, lateness, unit, time_unit, ticks)


def _value_for(order: str | None, time: str | None, value: Any) -> Any:
    """The value of an option for one lane. A single value is for the time column or, without one, for any column."""
    if isinstance(value, Mapping):
        return value.get(order)
    return value if order is not None and time in (None, order) else None


def _units(windows: Iterator[Window], amounts: Any) -> Iterator[Literal["duration", "number"]]:
    for window in windows:
        if window.needs_time:
            yield "duration" if window.on is None else "number"
    for amount in amounts:
        if amount is not None and amount != 0:
            yield "duration" if isinstance(amount, str | timedelta) else "number"


def _amount(option: str, value: Any, order: str | None) -> Any:
    if value is None:
        return 0
    amount: float
    if isinstance(value, str | timedelta):
        amount = nanoseconds(value)
    elif isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(
            f"{option} must be a duration such as '2s', or a number in the unit of {order!r}; got {value!r}"
        )
    else:
        amount = value
    if amount < 0:
        raise ValueError(f"{option} must not be negative; got {value!r}")
    return amount
