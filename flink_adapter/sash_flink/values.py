"""Values as PyFlink hands them over one by one, and as it takes them.

Times are its own affair: worker processes get some of them as PyFlink's objects, threads of the JVM get all of them as
Java's, and have to give them back as such.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Row, RowKind
from pyflink.common.time import Instant

__all__ = ["IN_PROCESSES", "Converter", "Times", "create_row", "in_threads", "reader", "unchanged_type", "writer"]

_EPOCH, _FIRST_DAY = datetime(1970, 1, 1, tzinfo=UTC), date(1970, 1, 1)
_WIDE = Context(prec=77)
_INSERT = RowKind.INSERT
Converter = Callable[[Any], Any]


class Times(NamedTuple):
    """Converters by the kind of time: ``instant``, ``local``, ``date`` or ``time``; other kinds need none."""

    readers: Mapping[str, Converter]
    """Convert PyFlink's value into the one that operators take, which they leave as it is."""
    writers: Mapping[str, Converter]
    """Convert a result, which is not null, into PyFlink's value."""


def _kind_of_time(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return "instant" if kind.tz else "local"
    return "date" if pa.types.is_date(kind) else "time" if pa.types.is_time(kind) else ""


def reader(kind: pa.DataType, times: Times) -> Converter | None:
    """The converter of PyFlink's values of a column into those that operators take; None: none is needed."""
    read = times.readers.get(_kind_of_time(kind))
    if read is not None:
        return read
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        parts = [reader(field.type, times) or (lambda value: value) for field in kind]
        return lambda row: (
            None if row is None else {name: part(value) for name, part, value in zip(names, parts, row, strict=True)}
        )
    item = reader(kind.value_type, times) if pa.types.is_list(kind) else None
    return None if item is None else lambda values: None if values is None else [item(value) for value in values]


def writer(kind: pa.DataType, times: Times) -> Converter:
    """The converter of results into the values that PyFlink takes for a column of this type."""
    write = times.writers.get(_kind_of_time(kind)) or _writer(kind, times)
    return lambda value: None if value is None else write(value)


def unchanged_type(kind: pa.DataType) -> type | None:
    """The type of the values that :func:`writer` leaves as they are, if there is one: to be checked first."""
    return next((same for is_it, same in _SAME if is_it(kind)), None)


def create_row(values: list[Any], names: list[str]) -> Row:
    """A row of named values. Calling ``Row`` and ``set_field_names`` takes several times as long."""
    row = object.__new__(Row)
    of = row.__dict__
    of["_values"], of["_fields"], of["_from_dict"], of["_row_kind"] = values, names, False, _INSERT
    return row


def _writer(kind: pa.DataType, times: Times) -> Converter:
    if (write := unchanged_type(kind)) not in (None, str):
        return write
    if pa.types.is_binary(kind):
        return lambda value: value.to_bytes() if hasattr(value, "estimated_count") else bytes(value)
    if pa.types.is_decimal(kind):
        digits = Decimal(1).scaleb(-kind.scale)
        return lambda value: Decimal(value).quantize(digits, ROUND_HALF_UP, _WIDE)
    if pa.types.is_list(kind):
        item = writer(kind.value_type, times)
        return lambda values: [item(value) for value in values]
    if pa.types.is_struct(kind):
        parts = [writer(field.type, times) for field in kind]

        def row(value: Any) -> Row:
            of = value.values() if isinstance(value, dict) else value
            return Row(*(write(part) for write, part in zip(parts, of, strict=True)))

        return row
    return lambda value: value


_SAME: list[tuple[Callable[[pa.DataType], bool], type]] = [
    (pa.types.is_boolean, bool),
    (pa.types.is_integer, int),
    (pa.types.is_floating, float),
    (pa.types.is_string, str),
]


def _seconds_of(value: Any) -> tuple[int, int]:
    """The seconds of a time with a zone since 1970, and the nanoseconds."""
    if isinstance(value, np.datetime64):
        return divmod(int(value.astype("datetime64[ns]").astype(np.int64)), 10**9)
    since = value - _EPOCH
    return since.days * 86400 + since.seconds, since.microseconds * 1000


def _local_of(value: Any) -> datetime:
    """A time without a zone, or a date, as a datetime."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def _moment(value: Any) -> Any:
    if isinstance(value, Instant):
        return _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    return value


IN_PROCESSES = Times({"instant": _moment}, {"instant": lambda value: Instant(*_seconds_of(value)), "local": _local_of})


def in_threads() -> Times:
    """The converters in a thread of the JVM; can be called only there."""
    # It works in an interpreter inside a JVM only, so that this module must do without it elsewhere. It has no types.
    from pemja import findClass  # type: ignore[import-untyped]

    instant, local, day, clock = (
        findClass(f"java.time.{name}") for name in ("Instant", "LocalDateTime", "LocalDate", "LocalTime")
    )

    def of_day(value: datetime | time) -> tuple[int, int, int, int]:
        return value.hour, value.minute, value.second, value.microsecond * 1000

    def java_local(value: Any) -> Any:
        moment = _local_of(value)
        return local.of(moment.year, moment.month, moment.day, *of_day(moment))

    writers: dict[str, Converter] = {
        "instant": lambda value: instant.ofEpochSecond(*_seconds_of(value)),
        "local": java_local,
        "date": lambda value: day.ofEpochDay((value - _FIRST_DAY).days),
        "time": lambda value: clock.of(*of_day(value)),
    }
    return Times(_FROM_JAVA, writers)


def _unless(kind: type, convert: Converter) -> Converter:
    """Convert Java's objects, but neither nulls nor values of Python's type."""
    return lambda value: value if value is None or isinstance(value, kind) else convert(value)


def _java_clock(value: Any) -> tuple[int, int, int, int]:
    return value.getHour(), value.getMinute(), value.getSecond(), value.getNano() // 1000


_FROM_JAVA = {
    "instant": _unless(datetime, lambda value: _EPOCH + timedelta(0, value.getEpochSecond(), value.getNano() // 1000)),
    "local": _unless(
        datetime,
        lambda value: datetime(value.getYear(), value.getMonthValue(), value.getDayOfMonth(), *_java_clock(value)),
    ),
    "date": _unless(date, lambda value: _FIRST_DAY + timedelta(value.toEpochDay())),
    "time": _unless(time, lambda value: time(*_java_clock(value))),
}
