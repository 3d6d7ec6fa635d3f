"""Values as PyFlink hands them over one by one, and as it takes them.

Times are its own affair: worker processes get some of them as PyFlink's objects, threads of the JVM get all of them as
Java's (:mod:`sash_flink.javatimes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Row, RowKind
from pyflink.common.time import Instant

__all__ = [
    "IN_PROCESSES", "Converter", "Times", "local_of", "reader", "row_of", "seconds_of", "unchanged", "writer",
]  # fmt: skip

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WIDE = Context(prec=77)
_INSERT = RowKind.INSERT
Converter = Callable[[Any], Any]


class Times(NamedTuple):
    """How times cross, by their kind: ``instant``, ``local``, ``date`` or ``time``; others are as they are."""

    read: Mapping[str, Converter]
    """What makes of PyFlink's value the one that operators take; of the latter, itself."""
    written: Mapping[str, Converter]
    """The other way round, of values that are not null."""


def _kind_of_time(kind: pa.DataType) -> str | None:
    if pa.types.is_timestamp(kind):
        return "instant" if kind.tz else "local"
    return "date" if pa.types.is_date(kind) else "time" if pa.types.is_time(kind) else None


def reader(kind: pa.DataType, times: Times) -> Converter | None:
    """What makes of PyFlink's value of a column the one that operators take; None: nothing has to be done."""
    made = times.read.get(_kind_of_time(kind) or "")
    if made is not None:
        return made
    if pa.types.is_struct(kind):
        names, parts = [field.name for field in kind], [reader(field.type, times) or _same for field in kind]
        return lambda row: (
            None if row is None else {name: part(value) for name, part, value in zip(names, parts, row, strict=True)}
        )
    item = reader(kind.value_type, times) if pa.types.is_list(kind) else None
    return None if item is None else lambda values: None if values is None else [item(each) for each in values]


def _same(value: Any) -> Any:
    return value


def _moment(value: Any) -> Any:
    if isinstance(value, Instant):
        return _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    return value


def writer(kind: pa.DataType, times: Times) -> Converter:
    """What makes of a result the value that PyFlink takes for a column of this type."""
    made = times.written.get(_kind_of_time(kind) or "") or _writer(kind, times)
    return lambda value: None if value is None else made(value)


def unchanged(kind: pa.DataType) -> type | None:
    """The type of those values that :func:`writer` leaves as they are, if there is one: to be asked first."""
    known = [same for is_it, same in _SAME if is_it(kind)]
    return known[0] if known else None


def row_of(values: list[Any], names: list[str]) -> Row:
    """A row of named values. Its own way to be made, and to be given names, takes several times as long."""
    row = object.__new__(Row)
    of = row.__dict__
    of["_values"], of["_fields"], of["_from_dict"], of["_row_kind"] = values, names, False, _INSERT
    return row


def _writer(kind: pa.DataType, times: Times) -> Converter:
    for known, made in _PLAIN:
        if known(kind):
            return made
    if pa.types.is_decimal(kind):
        digits = Decimal(1).scaleb(-kind.scale)
        return lambda value: Decimal(value).quantize(digits, ROUND_HALF_UP, _WIDE)
    if pa.types.is_list(kind):
        item = writer(kind.value_type, times)
        return lambda value: [item(each) for each in value]
    if pa.types.is_struct(kind):
        parts = [writer(field.type, times) for field in kind]

        def row(value: Any) -> Row:
            of = value.values() if isinstance(value, dict) else value
            return Row(*(part(each) for part, each in zip(parts, of, strict=True)))

        return row
    return lambda value: value


def seconds_of(value: Any) -> tuple[int, int]:
    """Those of a time with a zone since 1970, and nanoseconds."""
    if isinstance(value, np.datetime64):
        return divmod(int(value.astype("datetime64[ns]").astype(np.int64)), 10**9)
    since = value - _EPOCH
    return since.days * 86400 + since.seconds, since.microseconds * 1000


def local_of(value: Any) -> datetime:
    """A time without a zone, or a date, as a datetime."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


IN_PROCESSES = Times({"instant": _moment}, {"instant": lambda value: Instant(*seconds_of(value)), "local": local_of})
_PLAIN: list[tuple[Callable[[pa.DataType], bool], Converter]] = [
    (pa.types.is_boolean, bool),
    (pa.types.is_integer, int),
    (pa.types.is_floating, float),
    (pa.types.is_binary, lambda value: value.to_bytes() if hasattr(value, "estimated_count") else bytes(value)),
]
_SAME: list[tuple[Callable[[pa.DataType], bool], type]] = [
    (pa.types.is_boolean, bool),
    (pa.types.is_integer, int),
    (pa.types.is_floating, float),
    (pa.types.is_string, str),
]
