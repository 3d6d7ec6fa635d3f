"""Event time: Spark's watermark, and the timers that fire the windows of keys from which nothing comes any more.

Spark's watermark is a fixed delay behind the newest row of all keys, as of the micro-batch before. A key's own is its
delay behind its own newest row. The later one counts. Spark would drop every row before its watermark, although
windows may still take it, or correct: so the column that it looks at for that is of the far future; Sash decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from sash import Query, arrival_time
from sash.spi import KeyedOperator, milliseconds, moment, nanoseconds
from sash_spark.paths import column, find, quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["NEVER", "Clock"]

_DELAY = "spark.watermarkDelayMs"
_EVENT, _LATE = "sash_event_time", "sash_late"
NEVER = datetime(2262, 4, 1, tzinfo=UTC)  # as late as pandas can represent


@dataclass(frozen=True)
class Clock:
    """The event time of a stream: the column, None if Spark has no watermark for it; its delay in milliseconds."""

    time: str | None
    delay: int = 0
    given: bool = False
    """Whether the DataFrame has the watermark already."""
    zoned: bool = True
    ttl: int | None = None
    """In milliseconds."""
    arrival: bool = False
    """Whether time is that of arrival: that of the micro-batch, in which its rows have come."""

    @staticmethod
    def of(df: DataFrame, query: Query, ttl: Any) -> tuple[Query, Clock]:
        """The query, with the delay that the DataFrame's watermark has if it has none of its own; and its clock."""
        forget = None if ttl is None else -(-nanoseconds(ttl) // 10**6)
        if query.time == arrival_time:
            return query, Clock(query.time, ttl=forget, arrival=True)
        kind = None if query.time is None else find(df.schema, query.time).dataType
        if not isinstance(kind, T.TimestampType | T.TimestampNTZType | T.DateType):
            if ttl is not None:
                raise ValueError("ttl is a time: the query must have a time= column of timestamps")
            return query, Clock(None)
        marked = {field.name: int(field.metadata[_DELAY]) for field in df.schema if _DELAY in field.metadata}
        if marked and query.time not in marked:
            raise ValueError(
                f"the DataFrame has a watermark on {', '.join(map(repr, marked))}, the query's time is {query.time!r}"
            )
        zoned = isinstance(kind, T.TimestampType)
        own = next((lane.delay for lane in query.lanes if lane.order == query.time), 0)
        if not marked:
            return query, Clock(query.time, -(-own // 10**6), False, zoned, forget)
        delay = marked[query.time]  # type: ignore[index]  # it is there
        if query.watermark_delay is None:
            query = query.using(watermark_delay=timedelta(milliseconds=delay))
        elif delay * 10**6 < own:
            raise ValueError(
                f"the DataFrame's watermark is {delay} ms behind, less than the query's watermark_delay of "
                f"{query.watermark_delay!r}: it would close windows that the query keeps open"
            )
        return query, Clock(query.time, delay, True, zoned, forget)

    @property
    def timeout(self) -> str:
        """Spark's name for the kind of timers."""
        if self.arrival:
            return "ProcessingTimeTimeout"
        return "NoTimeout" if self.time is None else "EventTimeTimeout"

    def watermark(self, state: Any) -> int:
        """Up to when nothing comes any more, as Spark has it for a micro-batch, in milliseconds."""
        if self.arrival:
            return int(state.getCurrentProcessingTimeMs())
        return 0 if self.time is None else int(state.getCurrentWatermarkMs())

    def set(self, state: Any, timer: int, watermark: int) -> None:
        """Set the timer of a bucket."""
        if self.arrival:
            state.setTimeoutDuration(max(timer - watermark, 1))
        else:
            state.setTimeoutTimestamp(timer)

    def with_watermark(self, df: DataFrame) -> DataFrame:
        """The DataFrame with a watermark."""
        if self.time is None or self.given or self.arrival:
            return df
        event = column(df, self.time)
        if not self.zoned:  # Spark's watermarks have a zone: be it UTC, whatever the session's is
            event = F.concat(event.cast("timestamp_ntz").cast("string"), F.lit("Z")).cast("timestamp")
        name, taken = _EVENT, {name.lower() for name in df.columns}
        while name in taken:
            name += "_"
        return df.withColumn(name, event).withWatermark(name, f"{self.delay} milliseconds")

    def select(self) -> list[Column]:
        """The column by which Spark finds rows late: none of them is."""
        return [] if self.time is None or self.arrival else [F.lit(NEVER).alias(_LATE, metadata={_DELAY: self.delay})]

    def mark_ends(self, results: DataFrame) -> DataFrame:
        """The results with the ends of windows as event time for what follows."""
        ends = F.col("window_end").alias("window_end", metadata={_DELAY: self.delay})
        return results.select(*(ends if name == "window_end" else F.col(quote(name)) for name in results.columns))

    def now(self, watermark: int) -> Any:
        """Spark's watermark as the operator takes it; None: there is none yet."""
        return None if self.time is None or watermark <= 0 else {self.time: moment(watermark, self.zoned)}

    def forget(self, op: KeyedOperator, watermark: int) -> None:
        """Forget keys that have been silent for too long at this watermark."""
        if self.ttl is not None and self.now(watermark) is not None:
            op.forget_silent(moment(watermark - self.ttl, self.zoned))

    def timer(self, op: KeyedOperator, watermark: int) -> int | None:
        """When Spark is to call: when the next window may be complete, or a key may have been silent for too long."""
        if self.time is None or not op.keys:
            return None
        at = op.next_timer()
        # Spark calls when its watermark is beyond the timer, windows are complete when it is at their end.
        timers = [] if at is None else [0 if isinstance(at, float) else milliseconds(at) - 1]
        timers += [] if self.ttl is None else [watermark + self.ttl]
        return max(min(timers), watermark, 1) if timers else None
