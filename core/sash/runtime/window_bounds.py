"""What a column must hold to order a lane, and what the ends of windows are told in: before any row is there.

Engines name their types each in their own way; here a column is of a kind, whatever its type is called.
"""

from __future__ import annotations

from typing import Literal

from sash.query import Query
from sash.query.lanes import Lane
from sash.runtime.output import POSITION, Output, has_fractions
from sash.values.epochs import check_step

__all__ = ["POSITION", "Kind", "check_order", "end_columns", "end_kind", "ends_in", "has_fractions"]

Kind = Literal["timestamp", "date", "whole", "number"]
"""Of a column that orders: times, dates, whole numbers, or any numbers."""
_DAY = 86_400 * 10**9
_UNITS = {10**9: "seconds", 10**6: "milliseconds", 10**3: "microseconds", 1: "nanoseconds"}


def check_order(query: Query, lane: Lane, kind: Kind | None, typed: str, tick: int) -> None:
    """Whether a lane's windows and delays can be compared with the column that orders it: else an error. O(windows).

    ``kind`` is the column's, None if it orders nothing, ``typed`` what its type is called, and ``tick`` how many
    nanoseconds apart the times are that it can tell.

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding("10s", "1s"), aggregates={"n": sash.Count()}, time="ts")
    >>> check_order(query, query.lanes[0], "timestamp", "timestamp[us]", 1000)
    >>> check_order(query, query.lanes[0], "whole", "int64", 1)
    Traceback (most recent call last):
    TypeError: column 'ts' is int64, but windows, watermark_delay or allowed_lateness are durations: say what its \
numbers are with time_unit=, such as 'ms', cast it to a timestamp, or give them as numbers, windows with on='ts'
    """
    says = f"column {lane.order!r} is {typed}"
    if kind is None:
        raise TypeError(f"{says}, which orders nothing: cast it to a timestamp, a date or a number")
    times = kind in ("timestamp", "date")
    if lane.unit == "duration" and not times and lane.time_unit is None:
        raise TypeError(
            f"{says}, but windows, watermark_delay or allowed_lateness are durations: say what its numbers are with "
            f"time_unit=, such as 'ms', cast it to a timestamp, or give them as numbers, windows with on={lane.order!r}"
        )
    if times and lane.time_unit is not None:
        raise TypeError(
            f"{says}, which has a unit of its own: leave out time_unit={lane.time_unit!r}, which is for plain numbers"
        )
    if lane.unit == "number" and times:
        raise TypeError(
            f"{says}, but windows on={lane.order!r} or their delays are plain numbers: give them as durations such as "
            f"'10s', with time={lane.order!r} and without on="
        )
    for step in Output(query).steps(lane) if kind == "whole" and lane.time_unit is not None else ():
        check_step(step, lane.time_unit or "ns", f"{says}, whole numbers")
    for step in Output(query).steps(lane) if times else ():
        if step % tick:
            raise ValueError(
                f"{says}: a window of {step} ns has ends that it cannot tell; make it one of whole {_UNITS[tick]}"
            )


def end_columns(query: Query) -> dict[str, Lane | None]:
    """What the ends of a query's windows are told in, by name: columns, each with its lane, and positions. O(windows).

    >>> import sash
    >>> both = {"counts": sash.sliding(3), "times": sash.sliding("10s", "1s")}
    >>> list(end_columns(sash.Query(windows=both, aggregates={"n": sash.Count()}, time="ts")))
    ['position', 'ts']
    """
    found: dict[str, Lane | None] = {}
    for lane in query.lanes:
        for name in lane.names:
            column = ends_in(query, lane, name)
            found[column or POSITION] = lane if column else None
    return found


def end_kind(query: Query, lane: Lane, kind: Kind) -> Kind:
    """Of the ends of a lane's windows, where its column is of a kind: dates may become times, O(windows).

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding("36h", "12h"), aggregates={"n": sash.Count()}, time="day")
    >>> end_kind(query, query.lanes[0], "date")
    'timestamp'
    """
    if kind == "date" and any(step % _DAY for step in Output(query).steps(lane)):
        return "timestamp"
    return "number" if kind == "whole" and has_fractions(query, lane) else kind


def ends_in(query: Query, lane: Lane, name: str | None) -> str | None:
    """The column in whose values the ends of a window are told; None: they are positions. O(1).

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding(3), aggregates={"n": sash.Count()}, time="ts")
    >>> ends_in(query, query.lanes[0], None)
    """
    return None if query.named[name].bounds_are_positions else lane.order
