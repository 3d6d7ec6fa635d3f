"""Arrays of values that may be null: from Python's values and back, concatenated, and in narrower types.

Numbers and booleans are arrays of their type, masked where they are null; timestamps are ``datetime64``, null as NaT;
all else are objects, null as None.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from sash.values import Array
from sash.values.timestamps import STEPS, zone_of

__all__ = [
    "OBJECT",
    "Array",
    "Nan",
    "array_of",
    "as_objects",
    "common_type",
    "concatenate",
    "data_of",
    "datetimes",
    "in_micros",
    "in_unit",
    "mask_of",
    "narrow",
    "null_of",
    "number_array",
    "objects",
    "results_of",
    "ticks_of",
    "to_list",
    "with_nulls",
    "without",
]

Nan = Literal["null", "value"]
"""The meaning of NaN in a pandas column that has no null of its own."""
OBJECT = np.dtype(object)
_NUMBERS: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64}


def with_nulls(data: Array, mask: Array | None) -> Array:
    """``data`` as a masked array with nulls where ``mask`` is True; ``data`` itself if that is nowhere. O(n)."""
    if mask is None or not mask.any():
        return data
    return np.ma.MaskedArray(data, mask)  # type: ignore[no-untyped-call]


def without(results: Any, which: Array) -> Any:
    """An array, or a tuple of them, with nulls where ``which`` is True besides those that it has. O(n)."""
    if not which.any():
        return results
    if isinstance(results, tuple):
        return tuple(without(part, which) for part in results)
    if results.dtype == object:
        results = results.copy()
        results[which] = None
        return results
    mask = mask_of(results)
    return with_nulls(data_of(results), which if mask is None else mask | which)


def mask_of(array: Array) -> Array | None:
    """Where a masked array has nulls; None if it has none, or is no masked array. O(n)."""
    if not isinstance(array, np.ma.MaskedArray) or not np.any(array.mask):
        return None
    return np.asarray(np.broadcast_to(array.mask, array.shape))


def null_of(array: Array) -> Array | None:
    """Where an array has nulls, whether they are masked, None or NaT; None if it has none. O(n)."""
    mask, data = mask_of(array), data_of(array)
    if data.dtype.kind not in "mMO":
        return mask
    nulls = np.isnat(data) if data.dtype.kind != "O" else _is_none(data)
    nulls = nulls if mask is None else nulls | mask
    return nulls if nulls.any() else None


def _is_none(values: Sequence[Any] | Array) -> Array:
    return np.fromiter((value is None for value in values), np.bool_, len(values))


def data_of(array: Array) -> Array:
    """The values of an array; a masked one has some beneath its nulls, too. O(1)."""
    return array.data if isinstance(array, np.ma.MaskedArray) else array


def objects(values: Sequence[Any]) -> Array:
    """An array of Python objects, whatever they are. O(n): assigned to an array, each would be asked for its shape."""
    return np.fromiter(values, object, len(values))


def number_array(values: Sequence[Any], types: set[type] | None = None) -> Array | None:
    """Numbers or booleans, all of one type of Python, as an array; None if they are not, or exceed 64 bits. O(n).

    ``types`` are those of the values, if they are known.

    >>> number_array([1, 2]), number_array([1, 2.5]), number_array([2**80])
    (array([1, 2]), None, None)
    """
    types = set(map(type, values)) if types is None else types
    if len(types) != 1 or not types <= _NUMBERS.keys():
        return None
    try:
        return np.array(values, _NUMBERS[next(iter(types))])
    except OverflowError:
        return None


def array_of(values: Sequence[Any]) -> Array:
    """A list as an array: of numbers or booleans, with None as null, if it holds nothing else; otherwise of objects.

    Costs two or three passes in C.

    >>> array_of([1, 2, None])
    masked_array(data=[1, 2, --],
                 mask=[False, False,  True],
           fill_value=999999)
    >>> array_of(["a", None]).dtype, array_of([1, 2.5]).dtype, array_of([2**80]).dtype
    (dtype('O'), dtype('float64'), dtype('O'))
    """
    types, filled, nulls = set(map(type, values)), values, None
    if type(None) in types and len(types) > 1:
        types.discard(type(None))
        nulls = _is_none(values)
        zero: Any = next(iter(types))() if types <= _NUMBERS.keys() else None
        filled = [zero if value is None else value for value in values]
    if types == {int, float} and not any(type(value) is int and abs(value) > 2**53 for value in filled):
        return with_nulls(np.array(filled, np.float64), nulls)
    array = number_array(filled, types)
    return objects(values) if array is None else with_nulls(array, nulls)


def results_of(results: Sequence[Any], fields: Sequence[str] = (), kind: np.dtype[Any] | None = None) -> Any:
    """Results of rows as an array, masked where they are null; with ``fields``, a tuple of one array a field. O(n).

    ``kind`` is the type of the column whose values the results are, if they are; timestamps are passed as integers.

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
        return with_nulls(np.array([result or 0 for result in results], kind), null_of(array))
    if kind is not None and kind.kind in "mM" and array.dtype == object:
        return array if any(getattr(value, "tzinfo", None) for value in array) else array.astype(kind)
    if kind is None or "O" in (array.dtype.kind, kind.kind):
        return array
    if kind.kind in "mM":
        return array.view(kind) if array.dtype == np.int64 else array
    return with_nulls(narrow(data_of(array), kind), mask_of(array))


def datetimes(array: Array, zone: str | None = None) -> list[Any]:
    """Times as Python's datetimes and timedeltas, None for NaT; those of a ``zone`` as datetimes in it. O(n).

    Nanoseconds, which no Python type can hold, stay NumPy's; with a zone they are pandas' Timestamps, if it is
    installed.

    >>> datetimes(np.array(["2024-03-01T12:00", "NaT"], "datetime64[s]"))
    [datetime.datetime(2024, 3, 1, 12, 0), None]
    """
    fine = np.datetime_data(array.dtype)[0] == "ns"
    values: list[Any] = list(array) if fine else array.tolist()
    if fine and (nulls := np.isnat(array)).any():
        values = [None if null else value for value, null in zip(values, nulls, strict=True)]
    if zone is None:
        return values
    inside = zone_of(zone)
    if fine and array.dtype.kind == "M" and find_spec("pandas") is not None:
        from pandas import Timestamp

        return [None if value is None else Timestamp(value, tz="UTC").tz_convert(inside) for value in values]
    return [value.replace(tzinfo=UTC).astimezone(inside) if hasattr(value, "astimezone") else value for value in values]


def to_list(array: Array, zone: str | None = None) -> list[Any]:
    """The values of a column as Python's own, None for null; times as :func:`datetimes`. O(n).

    >>> to_list(np.ma.MaskedArray([1, 2], [False, True])), to_list(np.array(["2024-03-01", "NaT"], "datetime64[D]"))
    ([1, None], [datetime.date(2024, 3, 1), None])
    """
    if array.dtype.kind in "mM":
        nulls, times = mask_of(array), data_of(array)
        return datetimes(times if nulls is None else np.where(nulls, np.array("NaT", times.dtype), times), zone)
    values: list[Any] = array.tolist()
    return values


def ticks_of(value: Any, unit: str) -> Any:
    """A timestamp, in UTC, or a duration as a whole number of units, exactly; any other value unchanged. O(1).

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
        raise ValueError(f"{value} is not a whole number of {unit}")
    return int(converted.astype(np.int64))


def in_unit(array: Array, units: Sequence[str]) -> Array:
    """Times in the coarsest of ``units`` that is not coarser than their own: what a library can hold. O(n).

    >>> in_unit(np.array([2], "datetime64[h]"), ("s", "ms", "us", "ns")).dtype
    dtype('<M8[s]')
    """
    if array.dtype.kind not in "mM":
        return array
    unit = np.datetime_data(array.dtype)[0]
    if unit in units or unit not in STEPS:
        return array
    finer = next(other for other in units if STEPS[other] <= STEPS[unit])
    return array.astype(f"{array.dtype.kind}8[{finer}]")


def in_micros(array: Array) -> Array:
    """Times of nanoseconds in microseconds, the finest unit of Python's types, if no value changes. O(n).

    >>> in_micros(np.array([2000], "datetime64[ns]")), in_micros(np.array([2001], "timedelta64[ns]")).dtype
    (array(['1970-01-01T00:00:00.000002'], dtype='datetime64[us]'), dtype('<m8[ns]'))
    """
    if array.dtype.kind not in "mM" or np.datetime_data(array.dtype)[0] != "ns":
        return array
    coarse = array.astype(f"{array.dtype.kind}8[us]")
    fine, back = np.asarray(array), np.asarray(coarse.astype(array.dtype))
    return coarse if ((fine == back) | np.isnat(fine)).all() else array


def as_objects(column: Array) -> Array:
    """A column's values as the Python objects that rows hold. O(n)."""
    return objects(to_list(in_micros(column)))


def narrow(values: Array, kind: np.dtype[Any]) -> Array:
    """Values in a column's own type, unless one of them would change. O(n).

    >>> narrow(np.array([1, 2]), np.dtype(np.int8)).dtype, narrow(np.array([-1]), np.dtype(np.uint8)).dtype
    (dtype('int8'), dtype('int64'))
    """
    if values.dtype == kind:
        return values
    with np.errstate(all="ignore"):
        cast = values.astype(kind)
        back = cast.astype(values.dtype)
    same = (back == values) & (cast == values)  # -1 wraps around to an unsigned integer, and back
    return cast if (same | ((cast != cast) & (values != values))).all() else values


def common_type(dtype: np.dtype[Any], column: Array) -> np.dtype[Any]:
    """The type that holds values of a type and of a further column unchanged; else that of objects. O(n).

    >>> common_type(np.dtype(np.int64), np.array([2.5])), common_type(np.dtype(np.bool_), np.array([2]))
    (dtype('float64'), dtype('O'))
    """
    if dtype == column.dtype:
        return dtype
    kinds = {dtype.kind, column.dtype.kind}
    if len(kinds) > 1 and kinds & set("bmM"):  # NumPy would take True for 1, and 1 for a duration
        return OBJECT
    try:
        joint = np.promote_types(dtype, column.dtype)
    except TypeError:
        return OBJECT
    if joint.kind == "f" and "f" not in kinds:
        return OBJECT
    return OBJECT if joint.kind == "f" and not _exact(column, joint) else joint


def _exact(column: Array, dtype: np.dtype[Any]) -> bool:
    """Whether floats hold all values of a column."""
    data = data_of(column)
    if data.dtype.kind == "f" or not len(data):
        return True
    most = 2 ** (np.finfo(dtype).nmant + 1)
    return bool(-most <= int(data.min()) and int(data.max()) <= most)


def concatenate(a: Array, b: Array) -> Array:
    """Two columns, one after the other; no value changes. O(n).

    >>> concatenate(np.array([1]), np.array([True]))
    array([1, True], dtype=object)
    """
    if OBJECT in (common_type(a.dtype, b), common_type(b.dtype, a)):
        return np.concatenate([as_objects(a), as_objects(b)])
    ma: Any = np.ma
    whole: Array = ma.concatenate([a, b])
    return whole if isinstance(a, ma.MaskedArray) or isinstance(b, ma.MaskedArray) else np.asarray(whole)
