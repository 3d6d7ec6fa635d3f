"""Event time: Flink's watermarks and timers, in milliseconds, and a query's times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import pyarrow as pa  # type: ignore[import-untyped]

from sash import Query, arrival_time
from sash.spi import FARTHEST, STEPS, milliseconds, moment
from sash_flink.source import column_type

__all__ = ["END", "NEVER", "Clock"]

NEVER = -(2**63)
"""The watermark before the first one."""
END = 2**63 - 1
"""The watermark at the end of the input."""


@dataclass(frozen=True)
class Clock:
    """The column to which Flink's watermarks apply, if there is one: the query's time."""

    column: str | None
    kind: Literal["instant", "local", "date", "number"] = "number"
    unit: int | None = None
    """How many nanoseconds a number in it counts, if the query says so; None: milliseconds, as Flink's own times."""
    arrival: bool = False
    """Whether time is that of arrival, by Flink's processing time. Then operators stamp records, in no column."""

    @staticmethod
    def of(query: Query, schema: pa.Schema) -> Clock:
        """The clock of a query on a stream."""
        if query.time is None or query.time not in query.orders:
            return Clock(None)
        if query.time == arrival_time:
            return Clock(query.time, "instant", arrival=True)
        kind = column_type(schema, query.time)
        if pa.types.is_timestamp(kind):
            return Clock(query.time, "instant" if kind.tz else "local")
        if pa.types.is_date(kind):
            return Clock(query.time, "date")
        (lane,) = [lane for lane in query.lanes if lane.order == query.time]
        return Clock(query.time, "number", None if lane.time_unit is None else STEPS[lane.time_unit])

    @property
    def tick(self) -> int:
        """How many nanoseconds a number in it counts."""
        return 10**6 if self.unit is None else self.unit

    def others(self, query: Query) -> list[str]:
        """The columns whose watermarks only their own tuples can move."""
        return [order for order in query.orders if order != self.column]

    def mark(self, watermark: int) -> Mapping[str, Any] | None:
        """Flink's watermark, which is the last time that is over, as operators take it; None: it does not apply."""
        return _mark(self, watermark)

    def moment(self, milliseconds: int) -> Any:
        """A time as the values of the column have it."""
        if self.kind == "number":
            return self._number(milliseconds)
        at = moment(milliseconds, zoned=self.kind == "instant")
        return at.date() if self.kind == "date" else at

    def _number(self, milliseconds: int) -> int | Fraction:
        if self.unit is None:
            return milliseconds
        number = Fraction(max(min(milliseconds, FARTHEST), -FARTHEST) * 10**6, self.unit)
        return int(number) if number.denominator == 1 else number

    def milliseconds(self, at: Any) -> int:
        """A time of the column in milliseconds since 1970, rounded up; a number of another unit never too late."""
        if self.unit is None:
            return milliseconds(at)
        exact = Fraction(at) * self.unit / 10**6
        return math.floor(exact) if isinstance(at, float) else math.ceil(exact)  # floats may lie behind the true end

    def timer(self, at: Any, watermark: int) -> int | None:
        """When Flink has to call if a window may become complete at this time; None: it need not."""
        if self.column is None or at is None or at == math.inf:
            return None
        if isinstance(at, float) and math.isinf(at):
            return max(watermark + 1, -FARTHEST)
        return max(self.milliseconds(at) - 1, watermark + 1)


@lru_cache(maxsize=1)  # many keys get the same watermark, one after the other
def _mark(clock: Clock, watermark: int) -> Mapping[str, Any] | None:
    if clock.column is None or watermark == NEVER:
        return None
    return {clock.column: clock.moment(watermark + 1)}
