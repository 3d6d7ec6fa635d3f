"""The times of one column: outside as users write them, inside as the engines compare them.

Inside, a timestamp is a whole number of nanoseconds since 1970, in UTC or without a zone. A plain number stays itself,
unless the query states its unit (``time_unit``): then it becomes nanoseconds, too. Outside, a time is a number, a
``datetime`` with or without a zone, a ``date``, a text in ISO 8601, a pandas ``Timestamp``, or NumPy's ``datetime64``
of any unit, which is also how columns of Arrow, pandas and polars get here. Results look like the input: datetimes of
the same zone for datetimes, an array in seconds for an array in seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from math import isfinite
from typing import Any, Literal, NoReturn

import numpy as np

from sash.values.arrays import Array, data_of, mask_of, objects
from sash.values.shares import in_shares, shares_of
from sash.values.timestamps import (
    A_TIME,
    EPOCH,
    EPOCH_UTC,
    FIRST_DAY,
    LEAST,
    MOST,
    STEPS,
    check_number,
    check_numbers,
    check_range,
    nanoseconds_of,
    nanoseconds_since,
    numbers_of,
    plain,
    refuse_null,
    ticks,
    unit_of,
    zone_name,
    zone_of,
)

__all__ = ["OrderKind", "TimeCodec"]

Kind = Literal["number", "epoch", "float-epoch", "datetime", "date", "timestamp", "datetime64", "text"]
"""Plain numbers; whole numbers and floats of a unit since 1970; timestamps of several kinds."""

OrderKind = Literal["timestamp", "date", "whole", "number"]
"""What a column that orders windows holds, by its type: times, dates, whole numbers, or any numbers."""

_WORDS = {
    "number": "plain numbers",
    "epoch": "whole numbers",
    "float-epoch": "plain numbers",
    "datetime": "datetimes",
    "date": "dates",
    "timestamp": "pandas Timestamps",
    "datetime64": "timestamps",
    "text": "texts in ISO 8601",
}


_FINER = re.compile(r"[.,]\d{6}\d*[1-9]")
"""Digits after those of microseconds, which ``datetime`` drops."""


@dataclass(frozen=True)
class TimeCodec:
    """How one column writes its times. Immutable, comparable; :attr:`text` is its short written form.

    ``zone`` is the name or the offset of the time zone, None for times without one; ``unit`` the finest unit that the
    times of an array need. Converting a value is O(1), converting an array one or two passes over it.

    >>> codec = TimeCodec.of(datetime(1970, 1, 1, 0, 0, 2), row=0, column="ts")
    >>> codec.to_inside(datetime(1970, 1, 1, 0, 1), row=1, column="ts")
    60000000000
    >>> codec.from_inside(90 * 10**9)
    datetime.datetime(1970, 1, 1, 0, 1, 30)
    >>> codec = TimeCodec.of_array(np.array(["2024-03-01T12:00:00"], "datetime64[s]"), column="ts")
    >>> codec.from_inside_array(np.array([1_709_294_400_500_000_000]))
    array(['2024-03-01T12:00:00.500'], dtype='datetime64[ms]')
    """

    kind: Kind
    unit: str | None = None
    zone: str | None = None

    @staticmethod
    def of(value: Any, row: int, column: str, time_unit: str | None = None) -> TimeCodec:
        """The codec of a column whose first value this is; ``time_unit`` is the unit of plain numbers in the query."""
        if time_unit is not None and not isinstance(value, date | np.datetime64 | str):
            number = check_number(value, row, column, f"a plain number, as time_unit={time_unit!r} says")
            return TimeCodec("float-epoch" if isinstance(number, float) else "epoch", time_unit)
        if time_unit is not None:
            _refuse_unit(f"column {column!r}, row {row}: {value!r} has", time_unit)
        if isinstance(value, np.datetime64):
            return TimeCodec("datetime64", unit_of(value.dtype, column))
        if type(value).__name__ == "NaTType":
            refuse_null(value, row, column)
        if isinstance(value, str):
            return TimeCodec("text", "us", zone_name(_parse(value, row, column)))
        if isinstance(value, datetime):
            kind: Kind = "timestamp" if hasattr(value, "nanosecond") else "datetime"
            return TimeCodec(kind, "ns" if kind == "timestamp" else "us", zone_name(value))
        if isinstance(value, date):
            return TimeCodec("date", "D")
        check_number(value, row, column, A_TIME)
        return TimeCodec("number")

    @staticmethod
    def of_array(
        array: Array, column: str, zone: str | None = None, row: int = 0, time_unit: str | None = None
    ) -> TimeCodec | None:
        """The codec of a column whose first batch this is; None if it is empty and of no particular type.

        ``zone`` is that of the library's column; the array itself is in UTC then.
        """
        if array.dtype.kind == "M":
            if time_unit is not None:
                _refuse_unit(f"column {column!r} is of type {array.dtype}, which has", time_unit)
            return TimeCodec("datetime64", unit_of(array.dtype, column), zone)
        if array.dtype.kind in "OU":
            return TimeCodec.of(array[:1].tolist()[0], row, column, time_unit) if len(array) else None
        check_numbers(array, column)
        if time_unit is not None:
            return TimeCodec("float-epoch" if array.dtype.kind == "f" else "epoch", time_unit)
        return TimeCodec("number")

    @property
    def is_number(self) -> bool:
        """Whether times are plain numbers, not timestamps."""
        return self.kind in ("number", "epoch", "float-epoch")

    @property
    def order_kind(self) -> OrderKind:
        """What the column is to windows."""
        if self.kind == "epoch":
            return "whole"
        return "number" if self.is_number else "date" if self.kind == "date" else "timestamp"

    @property
    def words(self) -> str:
        """What the column holds, for messages."""
        return _WORDS[self.kind]

    @property
    def text(self) -> str:
        """Its written form, for the header of a saved state.

        >>> TimeCodec("datetime", "us", "Europe/Berlin").text
        'datetime us Europe/Berlin'
        """
        return f"{self.kind} {self.unit or '-'} {self.zone or '-'}"

    @staticmethod
    def from_text(text: str) -> TimeCodec:
        """The codec that :attr:`text` was written by."""
        kind, unit, zone = [None if word == "-" else word for word in text.split(" ")]
        if kind not in _WORDS or (unit is not None and unit not in STEPS):
            raise ValueError(f"{text!r} does not describe a column of times")
        return TimeCodec(kind, unit, zone)  # type: ignore[arg-type]  # it is one of the kinds

    def for_steps(self, steps: Iterable[int]) -> TimeCodec:
        """The codec whose unit is fine enough for times that are these steps (slides, gaps) of nanoseconds apart."""
        if self.unit is None or self.is_number or self.kind == "text":
            return self
        return replace(self, unit=_counts_in(np.array([*steps, 0], dtype=np.int64), self.unit)[1])

    def to_inside(self, value: Any, row: int, column: str) -> Any:
        """The time of a row inside."""
        if self.kind == "number":
            if (type(value) is int and LEAST <= value <= MOST) or (type(value) is float and isfinite(value)):
                return value
            return check_number(value, row, column, "a plain number, as before")
        if self.is_number:
            return nanoseconds_since(value, self.unit or "ns", row, column)
        if isinstance(value, np.datetime64):
            return int(self.to_inside_array(np.array([value]), column, row)[0])
        if type(value).__name__ == "NaTType" or value is None:
            refuse_null(value, row, column)
        if self.kind == "text" and isinstance(value, str):
            value = _parse(value, row, column)
        elif self.kind == "text" or not isinstance(value, date):
            self._refuse(value, row, column)
        if not isinstance(value, datetime):
            if self.kind == "datetime" or self.kind == "timestamp" or self.zone is not None:
                self._refuse(value, row, column)
            return check_range((value - FIRST_DAY).days * STEPS["D"], value, row, column)
        if self.kind == "date" or (value.tzinfo is None) != (self.zone is None):
            self._refuse(value, row, column)
        since = value - (EPOCH if value.tzinfo is None else EPOCH_UTC)
        inside = (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000
        inside += getattr(since, "nanoseconds", 0)
        return inside if LEAST <= inside <= MOST else check_range(inside, value, row, column)

    def to_inside_array(self, array: Array, column: str, row: int = 0, zone: str | None = None) -> Array:
        """A column's times inside: int64 or float64. ``row`` is the position of the first one.

        ``zone`` is that of the library's column; an array without a zone goes with times of one as UTC.
        """
        if (nulls := mask_of(array)) is not None:
            refuse_null(None, row + int(nulls.argmax()), column)
        array = data_of(array)
        if array.dtype.kind in "OU":
            inside = [self.to_inside(value, row + i, column) for i, value in enumerate(array)]
            return np.array(inside, dtype=None if inside and self.kind == "number" else np.int64)
        if (array.dtype.kind == "M") == self.is_number or (zone is not None and self.zone is None):
            self._refuse(array[0] if len(array) else array.dtype, row, column)
        if array.dtype.kind == "M":
            return ticks(array, column, row)
        return nanoseconds_of(array, self.unit, column, row)

    def from_inside(self, value: Any) -> Any:
        """A time of a result row outside; dates become datetimes if windows are of parts of days."""
        if self.kind == "number":
            return value
        value = int(value)
        if self.is_number:
            whole, rest = divmod(value, STEPS[self.unit or "ns"])
            return whole if self.kind == "epoch" and not rest else whole + rest / STEPS[self.unit or "ns"]
        if self.kind == "datetime":
            return _moment(value, self.zone)
        if self.kind == "datetime64" and self.zone is None:
            return self.from_inside_array(np.array([value]))[0]
        if self.kind == "timestamp":
            from pandas import Timestamp

            return Timestamp(value) if self.zone is None else Timestamp(value, tz="UTC").tz_convert(zone_of(self.zone))
        moment = _moment(value, self.zone)
        if self.kind == "text":
            text = moment.isoformat()
            return text.removesuffix("+00:00") + "Z" if self.zone == "UTC" else text
        whole = self.kind == "date" and self.unit == "D" and value % STEPS["D"] == 0
        return moment.date() if whole else moment

    def round_up(self, value: Any) -> Any:
        """The first time at or after one inside that :meth:`from_inside` can write. O(1).

        >>> TimeCodec("datetime", "us").round_up(1001), TimeCodec("epoch", "s").round_up(1)
        (2000, 1000000000)
        """
        if self.kind in ("number", "float-epoch", "timestamp") or (self.kind == "datetime64" and self.zone is None):
            return value
        step = STEPS[self.unit or "ns"] if self.kind == "epoch" else STEPS["us"]
        return -(-int(value) // step) * step

    def from_inside_array(self, array: Array) -> Array:
        """Times of results as an array: ``datetime64`` of the unit, or of the next finer one that holds them all.

        Datetimes with a zone and Timestamps become objects; an array whose zone its :class:`~sash.frames.Frame` knows
        stays in UTC.
        """
        if self.kind == "number":
            return array
        if self.is_number:
            return numbers_of(array, self.unit or "ns", whole=self.kind == "epoch")
        if (self.zone is not None and self.kind != "datetime64") or self.kind in ("timestamp", "text"):
            return objects([self.from_inside(value) for value in array.tolist()])
        counts, unit = _counts_in(array, self.unit or "ns")
        return counts.view(f"datetime64[{unit}]")

    def _refuse(self, value: Any, row: int, column: str) -> NoReturn:
        value = plain(value)
        zone = "" if self.is_number else " without a time zone" if self.zone is None else " with a time zone"
        raise TypeError(
            f"column {column!r}, row {row}: expected {self.words}{zone}, as before; "
            f"got {value!r} of type {type(value).__name__}"
        )


def _refuse_unit(subject: str, time_unit: str) -> NoReturn:
    raise TypeError(f"{subject} a unit of its own: leave out time_unit={time_unit!r}, which is for plain numbers")


def _parse(text: str, row: int, column: str) -> datetime:
    """A time in ISO 8601, such as 2024-03-01T12:00:00Z."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise TypeError(f"column {column!r}, row {row}: {text!r} is not a time in ISO 8601: {error}") from None
    if _FINER.search(text):
        raise TypeError(f"column {column!r}, row {row}: {text!r} is finer than microseconds: use datetime64[ns]")
    return moment


@lru_cache(maxsize=4096)  # windows end at the same times for all keys, and begin where others ended
def _moment(value: int, zone: str | None) -> datetime:
    micros, rest = divmod(value, 1000)
    if rest:
        raise ValueError(
            f"{value} ns since 1970 is not a whole number of microseconds, which a datetime is limited to: use "
            "windows of whole microseconds, or times of datetime64[ns]"
        )
    if zone is not None:
        return (EPOCH_UTC + timedelta(microseconds=micros)).astimezone(zone_of(zone))
    return EPOCH + timedelta(microseconds=micros)


def _counts_in(times: Array, unit: str) -> tuple[Array, str]:
    """Times in nanoseconds as whole numbers of ``unit``, or of the first finer one that loses nothing. O(n).

    >>> _counts_in(np.array([1_500_000_000]), "s")
    (array([1500]), 'ms')
    """
    counts, units = np.empty(len(times), np.int64), list(STEPS)

    def divide(begin: int, end: int) -> bool:
        part, quotients = times[begin:end], counts[begin:end]
        np.floor_divide(part, STEPS[unit], out=quotients, casting="unsafe")
        return bool((quotients * STEPS[unit] == part).all())

    while not all(in_shares(divide, shares_of(len(times)))):
        unit = units[units.index(unit) + 1]
    return counts, unit
