"""Time that passes although no tuple comes, by a clock: idle streams, and times of arrival."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sash.query import Query, arrival_time
from sash.values.timestamps import EPOCH_UTC, as_duration, nanoseconds

__all__ = ["Arrivals", "Clock", "IdleTime", "stamp", "wall_clock"]

Clock = Callable[[], datetime]
"""Returns the current time as a datetime with a time zone."""


def wall_clock() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)


def _now(clock: Clock) -> int:
    return (clock() - EPOCH_UTC) // timedelta(microseconds=1) * 1000


class IdleTime:
    """The watermark of a stream that has been idle for longer than ``after``: it passes as the clock does.

    >>> now = EPOCH_UTC
    >>> idle = IdleTime("30s", lambda: now)
    >>> idle.watermark(1, 7 * 10**9)  # a tuple has come since it was last asked
    >>> now += timedelta(seconds=40); idle.watermark(1, 7 * 10**9) / 10**9
    17.0
    """

    def __init__(self, after: str | timedelta, clock: Clock) -> None:
        self._after, self._clock = nanoseconds(as_duration(after, "idle_after")), clock
        self._seen: tuple[int, Any] | None = None
        self._since = 0
        self._base: Any = None

    @staticmethod
    def check(query: Query, own_watermark: Any) -> None:
        """Refuse a query whose time does not pass as a clock does, and operators without a watermark of the stream."""
        if own_watermark is not True:
            raise ValueError("idle_after is for the watermark of the whole stream: leave out own_watermark")
        lane = next((lane for lane in query.lanes if lane.order == query.time), None)
        if query.time is None or lane is None or lane.unit != "duration":
            raise ValueError(
                "idle_after needs times that pass as a clock does: a time= column, and windows of durations"
            )

    def watermark(self, rows: int, watermark: Any) -> Any:
        """The watermark to which the stream moves; None: it stays. ``rows`` have come so far. O(1)."""
        now = _now(self._clock)
        if (rows, watermark) != self._seen:
            self._seen, self._since, self._base = (rows, watermark), now, watermark
            return None
        passed = now - self._since - self._after
        return self._base + passed if watermark is not None and self._base + passed > watermark else None

    def note(self, rows: int, watermark: Any) -> None:
        """Note where the stream has moved."""
        self._seen = (rows, watermark)


class Arrivals:
    """The times of arrival, which never go back; ``newest`` is that of the last tuple before.

    >>> arrivals = Arrivals(lambda: EPOCH_UTC, None)
    >>> arrivals.now()
    datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """

    def __init__(self, clock: Clock, newest: datetime | None) -> None:
        self._clock, self._latest = clock, newest

    def now(self) -> datetime:
        """The time of a tuple that arrives now. O(1)."""
        now = self._clock()
        self._latest = now if self._latest is None else max(self._latest, now)
        return self._latest


def stamp(data: Any, at: datetime) -> Any:
    """Add the time of arrival of all rows to a table of any kind. O(rows)."""
    if hasattr(data, "append_column"):  # pyarrow
        import pyarrow as pa  # type: ignore[import-untyped]

        return data.append_column(arrival_time, pa.array([at] * len(data), pa.timestamp("us", "UTC")))
    if hasattr(data, "with_columns"):  # polars
        import polars as pl

        return data.with_columns(pl.lit(at).alias(arrival_time))
    if hasattr(data, "assign"):  # pandas
        return data.assign(**{arrival_time: at})
    if isinstance(data, Mapping):
        rows = len(next(iter(data.values()), ()))
        return {**data, arrival_time: [at] * rows}
    return [{**row, arrival_time: at} for row in data]
