"""The bounds of windows, ``window_start`` and ``window_end``, before any row: their columns, kinds and steps.

The bounds of a window are values of the column that orders it, or positions. Engines have types of their own; here a
column is of a :data:`~sash.values.time_codec.OrderKind`, whatever its type is called.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sash.query import Query
from sash.query.lanes import Lane
from sash.values.time_codec import OrderKind
from sash.values.timestamps import STEPS, UNIT_NAMES, check_step

__all__ = [
    "POSITION",
    "bound_column",
    "bound_fields",
    "bound_kind",
    "bound_steps",
    "check_fit",
    "check_order",
    "check_zone",
    "has_fractions",
    "lane_fields",
]

POSITION = "position"
"""The field of bounds that are positions, beside bounds that are values of columns."""


def bound_steps(query: Query, lane: Lane) -> list[Any]:
    """The amounts by which the bounds of a lane's windows differ: they decide the unit of bounds. O(windows).

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding("10s", "1s"), aggregates={"n": sash.Count()}, time="ts")
    >>> bound_steps(query, query.lanes[0])
    [10000000000, 1000000000, 0]
    """
    return [step for name in lane.names for step in query.named[name].bound_steps]


def has_fractions(query: Query, lane: Lane) -> bool:
    """Whether the bounds of a lane's windows may be fractions although times are whole numbers. O(windows).

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding(2.5, 0.5, on="ts"), aggregates={"n": sash.Count()})
    >>> has_fractions(query, query.lanes[0])
    True
    """
    return any(isinstance(step, float) and not step.is_integer() for step in bound_steps(query, lane))


def check_order(query: Query, lane: Lane, kind: OrderKind | None, typed: str, tick: int, zoned: bool = False) -> None:
    """Refuse a column that cannot order a lane's windows, or that their durations do not fit. O(windows).

    ``kind`` is the column's, None if it orders nothing, ``typed`` the name of its type, ``tick`` the distance of the
    times that it can hold, in nanoseconds, and ``zoned`` whether they have a time zone.

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding("10s", "1s"), aggregates={"n": sash.Count()}, time="ts")
    >>> check_order(query, query.lanes[0], "timestamp", "timestamp[us]", 1000)
    """
    column, steps = f"column {lane.order!r} is {typed}", bound_steps(query, lane)
    if kind is None:
        raise TypeError(f"{column}, which orders nothing: cast it to a timestamp, a date or a number")
    times = kind in ("timestamp", "date")
    if times and lane.time_unit is not None:
        raise TypeError(
            f"{column}, which has a unit of its own: leave out time_unit={lane.time_unit!r}, which is for plain numbers"
        )
    check_fit(lane, steps, kind, column)
    if times and not zoned:
        check_zone(query, lane, column)
    for step in steps if times else ():
        if step % tick:
            unit = next(name for unit, name in UNIT_NAMES.items() if STEPS[unit] == tick)
            raise ValueError(
                f"{column}: a window of {step} ns has ends that it cannot represent; make it one of whole {unit}"
            )


def check_zone(query: Query, lane: Lane, column: str) -> None:
    """Refuse windows of a time zone's days over times without a zone; ``column`` begins the message. O(windows).

    >>> import sash
    >>> windows = sash.tumbling("1d", zone="Europe/Berlin")
    >>> query = sash.Query(windows=windows, aggregates={"n": sash.Count()}, time="ts")
    >>> check_zone(query, query.lanes[0], "column 'ts' holds dates")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: column 'ts' holds dates with no time zone, so it has no days of zone='Europe/Berlin': give its times ...
    """
    zones = (getattr(query.named[name], "zone", None) for name in lane.names)
    if (zone := next(filter(None, zones), None)) is not None:
        raise ValueError(
            f"{column} with no time zone, so it has no days of zone={zone!r}: give its times a zone (that of UTC, if "
            "they are in UTC), or leave out zone= for days of their own clock"
        )


def check_fit(
    lane: Lane, steps: Iterable[Any], kind: OrderKind, column: str, error: type[Exception] = TypeError
) -> None:
    """Refuse durations over plain numbers, numbers over times, and steps that whole numbers cannot hold. O(steps).

    ``column`` says what the lane's column is, and begins the message.

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding("10s", "1s"), aggregates={"n": sash.Count()}, time="ts")
    >>> check_fit(query.lanes[0], [], "whole", "column 'ts' is int64")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: column 'ts' is int64, but windows, watermark_delay or allowed_lateness are durations: say what its ...
    """
    order, times = lane.order, kind in ("timestamp", "date")
    if lane.unit == "duration" and not times and lane.time_unit is None:
        raise error(
            f"{column}, but windows, watermark_delay or allowed_lateness are durations: say what its numbers are, as "
            f"in sash.Query(…, time={order!r}, time_unit='ms'), cast it to a timestamp, or give durations as numbers "
            f"in its unit, windows with on={order!r}, as in sash.sliding(range=3600, slide=60, on={order!r})"
        )
    if lane.unit == "number" and times:
        raise error(
            f"{column}, but windows with on={order!r}, watermark_delay or allowed_lateness are plain numbers: give "
            f"them as durations such as '10s', with time={order!r} and without on="
        )
    if kind == "whole" and lane.time_unit is not None:
        for step in steps:
            check_step(step, lane.time_unit, column)


def bound_fields(query: Query) -> dict[str, Lane | None]:
    """The columns whose values the bounds of a query's windows are, each with its lane, and positions. O(windows).

    >>> import sash
    >>> both = {"counts": sash.sliding(3), "times": sash.sliding("10s", "1s")}
    >>> list(bound_fields(sash.Query(windows=both, aggregates={"n": sash.Count()}, time="ts")))
    ['position', 'ts']
    """
    fields = ((field, lane) for lane in query.lanes for field in lane_fields(query, lane))
    return {field: None if field == POSITION else lane for field, lane in fields}


def lane_fields(query: Query, lane: Lane) -> list[str]:
    """For each window of a lane the column whose values its bounds are, or :data:`POSITION`. O(windows)."""
    return [bound_column(query, lane, name) or POSITION for name in lane.names]


def bound_kind(query: Query, lane: Lane, kind: OrderKind) -> OrderKind:
    """The kind of the bounds of a lane's windows, given its column's: dates may become timestamps. O(windows).

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding("36h", "12h"), aggregates={"n": sash.Count()}, time="day")
    >>> bound_kind(query, query.lanes[0], "date")
    'timestamp'
    """
    if kind == "date" and any(step % STEPS["D"] for step in bound_steps(query, lane)):
        return "timestamp"
    return "number" if kind == "whole" and has_fractions(query, lane) else kind


def bound_column(query: Query, lane: Lane, name: str | None) -> str | None:
    """The column whose values the bounds of a window are; None: they are positions. O(1).

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding(3), aggregates={"n": sash.Count()}, time="ts")
    >>> bound_column(query, query.lanes[0], None)
    """
    return None if query.named[name].bounds_are_positions else lane.order
