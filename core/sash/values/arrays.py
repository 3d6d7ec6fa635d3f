"""Arrays of values that may be null, and structured ones, whatever kind of data they come from or go to."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

import numpy as np

from sash.values.timestamps import STEPS, zone_of

__all__ = [
    "Coded",
    "Nan",
    "Parts",
    "array_of",
    "data_of",
    "in_micros",
    "in_unit",
    "mask_of",
    "masked",
    "narrowed",
    "null_of",
    "nullable",
    "objects",
    "plain_rows",
    "read_nullable",
    "results_of",
    "ticks_of",
    "to_list",
]

Array = np.ndarray[Any, Any]
Nan = Literal["null", "value"]
"""What NaN is in a pandas column that has no null of its own."""


class Coded(NamedTuple):
    """A column of few distinct values, such as a key's: ``values[codes]``, which each library makes in its own way."""

    values: Array
    codes: Array


class Parts(NamedTuple):
    """A column whose results have several parts: one array a part, and the named tuple that a result is in rows.

    ``fields`` is that named tuple, or the names of the parts.
    """

    arrays: tuple[Array, ...]
    fields: Any

    @property
    def names(self) -> list[str]:
        """Of the parts."""
        return list(getattr(self.fields, "_fields", self.fields))

    @property
    def type(self) -> Any:
        """The named tuple."""
        return self.fields if isinstance(self.fields, type) else namedtuple("Result", self.fields)

    @property
    def null(self) -> Array | None:
        """Where there is no result at all."""
        masks = [mask for array in self.arrays if (mask := null_of(array)) is not None]
        return np.asarray(np.logical_and.reduce(masks)) if len(masks) == len(self.arrays) else None

    def in_zone(self, zone: str | None) -> Parts:
        """With times as datetimes in a zone."""
        if zone is None:
            return self
        arrays = (objects(to_list(part, zone)) if part.dtype.kind == "M" else part for part in self.arrays)
        return Parts(tuple(arrays), self.fields)

    def rows(self) -> list[Any]:
        """The results as named tuples, None where there is none."""
        made = self.type
        whole = [made(*row) for row in zip(*map(to_list, self.arrays), strict=True)]
        return whole if self.null is None else [None if no else row for row, no in zip(whole, self.null, strict=True)]


def masked(data: Array, mask: Array | None) -> Array:
    """``data`` with nulls where ``mask`` is True; as it is, if that is nowhere."""
    if mask is None or not mask.any():
        return data
    return np.ma.MaskedArray(data, mask)  # type: ignore[no-untyped-call]


def mask_of(array: Array) -> Array | None:
    """Where a masked array has nulls; None if it has none, or is no masked array."""
    if not isinstance(array, np.ma.MaskedArray) or not np.any(array.mask):
        return None
    return np.asarray(np.broadcast_to(array.mask, array.shape))


def null_of(array: Array) -> Array | None:
    """Where an array has nulls, whether they are masked, None or NaT; None if it has none."""
    mask, data = mask_of(array), data_of(array)
    if data.dtype.kind not in "mMO":
        return mask
    own = np.isnat(data) if data.dtype.kind != "O" else np.fromiter((value is None for value in data), bool, len(data))
    own = own if mask is None else own | mask
    return own if own.any() else None


def data_of(array: Array) -> Array:
    """The values of an array, of which a masked one has some beneath its nulls too."""
    return array.data if isinstance(array, np.ma.MaskedArray) else array


def objects(values: Sequence[Any]) -> Array:
    """An array of Python objects, whatever they are."""
    array = np.empty(len(values), object)
    array[:] = values if isinstance(values, list) else list(values)
    return array


def array_of(values: Sequence[Any]) -> Array:
    """The array of a list: of numbers or booleans, with None as null, if it has nothing else; else of objects.

    Costs two or three passes in C.

    >>> array_of([1, 2, None])
    masked_array(data=[1, 2, --],
                 mask=[False, False,  True],
           fill_value=999999)
    >>> array_of(["a", None]).dtype, array_of([1, 2.5]).dtype, array_of([2**80]).dtype
    (dtype('O'), dtype('float64'), dtype('O'))
    """
    types = set(map(type, values))
    nulls = None
    if type(None) in types and len(types) > 1:
        types.discard(type(None))
        nulls = np.fromiter((value is None for value in values), bool, len(values))
        filler: Any = False if types == {bool} else 0
        filled: Sequence[Any] = [filler if value is None else value for value in values]
    else:
        filled = values
    if types not in ({bool}, {int}, {float}, {int, float}):
        return objects(values)
    if types == {int, float} and any(type(value) is int and abs(value) > 2**53 for value in filled):
        return objects(values)
    try:
        array = np.array(
            filled, {bool: np.bool_, int: np.int64}.get(next(iter(types))) if len(types) == 1 else np.float64
        )
    except OverflowError:
        return objects(values)
    return masked(array, nulls)


def results_of(results: Sequence[Any], fields: Sequence[str] = (), kind: np.dtype[Any] | None = None) -> Any:
    """Results of rows as an array, masked where they are null; of several parts, as a tuple of them.

    ``kind`` is the type of the column that results are values of, if they are; timestamps are given as integers.

    >>> results_of([True, None]).dtype, results_of([2**63, -1]).dtype, results_of([2.5], kind=np.dtype("f4")).dtype
    (dtype('bool'), dtype('O'), dtype('float32'))
    """
    if fields:
        rows = [(None,) * len(fields) if result is None else tuple(result) for result in results]
        return tuple(results_of([row[i] for row in rows], kind=kind) for i in range(len(fields)))
    if not len(results):
        return np.zeros(0, object if kind is None else kind)
    array = array_of(results)
    if kind == np.uint64 and all(result is None or (type(result) is int and 0 <= result < 2**64) for result in results):
        return masked(np.array([result or 0 for result in results], kind), null_of(array))
    if kind is None or "O" in (array.dtype.kind, kind.kind):
        return array
    if kind.kind in "mM":
        return array.view(kind) if array.dtype == np.int64 else array
    return masked(narrowed(data_of(array), kind), mask_of(array))


def narrowed(values: Array, kind: np.dtype[Any]) -> Array:
    """Values of a column in the column's own type, unless rows or batches of wider types have brought others."""
    if values.dtype == kind:
        return values
    with np.errstate(all="ignore"):
        narrow = values.astype(kind)
        back = narrow.astype(values.dtype)
    same = (back == values) & (narrow == values)  # -1 wraps around to an unsigned integer, and back
    return narrow if (same | ((narrow != narrow) & (values != values))).all() else values


def to_list(array: Array, zone: str | None = None) -> list[Any]:
    """The values of a column as Python's own, None for null; those of a ``zone`` as datetimes in it.

    Times of nanoseconds, which no Python type can tell, stay NumPy's; those of a zone are pandas', if it is installed.

    >>> to_list(np.array(["2024-03-01T12:00", "NaT"], "datetime64[s]"))
    [datetime.datetime(2024, 3, 1, 12, 0), None]
    """
    if array.dtype.kind not in "mM":
        listed: list[Any] = array.tolist()
        return listed
    nulls = np.isnat(data_of(array)) if (mask := mask_of(array)) is None else mask | np.isnat(data_of(array))
    whole = data_of(array)
    values = list(whole) if np.datetime_data(array.dtype)[0] == "ns" else whole.tolist()
    values = [None if null else value for value, null in zip(values, nulls, strict=True)]
    if zone is None:
        return values
    inside = zone_of(zone)
    if array.dtype == np.dtype("M8[ns]") and find_spec("pandas") is not None:
        from pandas import Timestamp

        return [None if value is None else Timestamp(value, tz="UTC").tz_convert(inside) for value in values]
    return [value.replace(tzinfo=UTC).astimezone(inside) if hasattr(value, "astimezone") else value for value in values]


def in_micros(array: Array) -> Array:
    """Times of nanoseconds in microseconds, which Python can tell, if nothing is lost by it; all else as it is."""
    if array.dtype.kind not in "mM" or np.datetime_data(array.dtype)[0] != "ns":
        return array
    coarse = array.astype(f"{array.dtype.kind}8[us]")
    known = ~np.isnat(data_of(array))
    return coarse if np.array_equal(data_of(coarse.astype(array.dtype))[known], data_of(array)[known]) else array


def ticks_of(value: Any, unit: str) -> Any:
    """A timestamp, in UTC, or a duration as a whole number of units, exactly; all else as it is.

    >>> ticks_of(timedelta(seconds=2), "ms"), ticks_of(np.datetime64(3, "ns"), "ns"), ticks_of(None, "ns")
    (2000, 3, None)
    """
    if hasattr(value, "asm8"):
        value = value.asm8  # pandas' times have nanoseconds
    elif isinstance(value, datetime):
        value = np.datetime64(value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None))
    elif isinstance(value, timedelta):
        value = np.timedelta64(value)
    if not isinstance(value, np.datetime64 | np.timedelta64):
        return value
    converted = value.astype(f"{value.dtype.kind}8[{unit}]")
    if converted != value:
        raise ValueError(f"{value} is no whole number of units of {unit}")
    return int(converted.astype(np.int64))


def in_unit(array: Array, units: Sequence[str]) -> Array:
    """Timestamps in the coarsest of ``units`` that is not coarser than their own: what a library can hold."""
    if array.dtype.kind not in "mM":
        return array
    unit = np.datetime_data(array.dtype)[0]
    if unit in units or unit not in STEPS:
        return array
    finer = next(other for other in units if STEPS[other] <= STEPS[unit])
    return array.astype(f"{array.dtype.kind}8[{finer}]")


def plain_rows(array: Array) -> list[Any]:
    """A list in which named tuples are dicts: how Arrow and polars take structures."""
    values: list[Any] = array.tolist()
    if hasattr(next((value for value in values if value is not None), None), "_asdict"):
        return [value._asdict() if hasattr(value, "_asdict") else value for value in values]
    return values


def nullable(array: Array) -> tuple[Array, Array | None]:
    """An array, and where it has nulls."""
    return data_of(array), mask_of(array)


def read_nullable(written: tuple[Array, Array | None]) -> Array:
    """What :func:`nullable` was given."""
    return masked(*written)
