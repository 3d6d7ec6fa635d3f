"""What is wrong with a cell of the matrix, in words; nothing, if it is right: the values and their types."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

import sash
from matrix import RUNS, ColumnType, Entry, Row, arrow_schema, expected, query, refused, stream, supported
from matrix_ways import Way
from sash.aggregations import BloomFilter

Wrong = dict[str, str]
"""What is wrong, by the name of the aggregation."""


# values


def plain(value: Any) -> Any:
    """A value with its type, in a form that is equal for all that stands for the same: see the cases."""
    if type(value).__name__ == "NaTType" or (isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value)):
        return ("NaT", None)  # where a library has another null, a null it is not
    match value:
        case datetime() | np.datetime64():
            return _moment(value)
        case timedelta() | np.timedelta64():  # which NumPy counts among the integers
            return ("duration", _nanoseconds(value))
        case np.bool_() | np.integer() | np.floating() | np.str_() | np.bytes_():
            return plain(value.item())
        case None | bool() | int() | str() | date() | time() | Decimal():
            return (type(value).__name__, value)
        case float():
            return ("float", "NaN" if math.isnan(value) else value)
        case bytes() | bytearray() | memoryview():
            return ("bytes", bytes(value))
        case BloomFilter():
            return ("bytes", value.to_bytes())
        case Mapping():
            return ("struct", [plain(part) for part in value.values()])
        case tuple():
            return ("struct", [plain(part) for part in value])
        case list() | np.ndarray():
            return ("list", [plain(item) for item in value])
        case _ if hasattr(value, "asDict"):  # Spark's Row
            return plain(value.asDict())
    raise TypeError(f"no type that a result may have: {value!r} of {type(value)}")


def _moment(value: Any) -> Any:
    """The instant, and the zone by its offset there."""
    if isinstance(value, np.datetime64):
        if np.datetime_data(value.dtype)[0] == "D":
            return ("date", value.astype("datetime64[D]").item())
        return ("timestamp", int(value.astype("datetime64[ns]").astype(np.int64)), None)
    offset = value.utcoffset()
    since = (value if offset is None else value.astimezone(UTC)).replace(tzinfo=None) - datetime(1970, 1, 1)
    return ("timestamp", _nanoseconds(since), offset)


def _nanoseconds(value: Any) -> int:
    if isinstance(value, np.timedelta64):
        return int(value.astype("timedelta64[ns]").astype(np.int64))
    nanoseconds = int(getattr(value, "nanoseconds", 0))  # of pandas
    return (int(value.days) * 86400 + int(value.seconds)) * 10**9 + int(value.microseconds) * 1000 + nanoseconds


def alike(found: Any, wanted: Any, close: float = 0.0) -> bool:
    """Whether two plain values are the same; floats within ``close``."""
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(alike(a, b, close) for a, b in zip(found, wanted, strict=True))
    if found[0] != wanted[0]:
        return False
    if found[0] in ("list", "struct"):
        return alike(found[1], wanted[1], close)
    if found[0] == "float" and "NaN" not in (found[1], wanted[1]):
        return math.isclose(found[1], wanted[1], rel_tol=close, abs_tol=close)
    return bool(found[1:] == wanted[1:])


def as_typed(value: Any, kind: Any) -> Any:
    """A value of the definition as a column of an Arrow type holds it: decimals have its places."""
    if isinstance(value, Decimal) and pa.types.is_decimal(kind):
        return value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)
    if isinstance(value, list) and pa.types.is_list(kind):
        return [as_typed(item, kind.value_type) for item in value]
    if isinstance(value, tuple) and pa.types.is_struct(kind):
        return tuple(as_typed(part, field.type) for part, field in zip(value, kind, strict=True))
    return float(value) if isinstance(value, int) and pa.types.is_floating(kind) else value


# cells


def wrong_cells(way: Way, column: ColumnType, late: bool, known: Collection[str] = (), brief: bool = False) -> Wrong:
    """What is wrong with the supported cells of one way, over all windows and streams; the first thing of each.

    ``brief``: over all windows at once and one stream only.

    Those that are ``known`` to be wrong are run apart, so that they do not fail others, and only until they do.
    """
    entries = supported(column)
    groups = [{name: entry for name, entry in entries.items() if name not in known}]
    groups += [{name: entries[name]} for name in known if name in entries]
    wrong: Wrong = {}
    for group in groups:
        for shape, kind in RUNS["brief" if brief else _runs(way, late)]:
            if group and not group.keys() <= wrong.keys():
                for name, problem in _wrong_in_run(way, column, group, shape, kind, late).items():
                    wrong.setdefault(name, f"[{shape} windows, {kind} stream] {problem}")
    return wrong


def _wrong_in_run(way: Way, column: ColumnType, entries: dict[str, Entry], shape: str, kind: str, late: bool) -> Wrong:
    rows, wanted = stream(column, kind), expected(column, shape, kind, late, way.mode, way.nan_is_null)
    wrong: Wrong = {}
    for group, outcome in _run_apart(way, column, entries, shape, rows, late):
        if isinstance(outcome, Exception):
            wrong |= {name: f"raises {type(outcome).__name__}: {outcome}" for name in group}
        else:
            wrong |= compare(column, group, wanted, outcome, way.typed, way.nan_is_null)
    return wrong


def _runs(way: Way, late: bool) -> str:
    if way.mode != "settled":
        return "stream"
    return "table, late" if late else "table"


def _run_apart(
    way: Way, column: ColumnType, entries: dict[str, Entry], shape: str, rows: list[Row], late: bool
) -> list[tuple[dict[str, Entry], Any]]:
    """The results of all aggregates in one query, or, if that fails, of halves of them."""
    try:
        return [(entries, way.run(query(entries, shape, late), arrow_schema(column), rows))]
    except Exception as error:
        if len(entries) == 1:
            return [(entries, error)]
        items = list(entries.items())
        halves = dict(items[: len(items) // 2]), dict(items[len(items) // 2 :])
        return [each for half in halves for each in _run_apart(way, column, half, shape, rows, late)]


def compare(
    column: ColumnType,
    entries: Mapping[str, Entry],
    wanted: list[Row],
    outcome: tuple[list[Row], dict[str, Any]],
    typed: Callable[[Any], Any] | None,
    nan_is_null: bool = False,
) -> Wrong:
    """What is wrong with results: which rows there are, the types of columns, the values."""
    found, types = outcome
    if problem := _wrong_rows(wanted, found):
        return dict.fromkeys(entries, problem)
    wrong: Wrong = {}
    for name, entry in entries.items():
        kind = entry.result(column)
        if typed is not None and types[name] != typed(kind):
            wrong[name] = f"is of type {types[name]}, not {typed(kind)}"
            continue
        for row, right in zip(sorted(found, key=_place), sorted(wanted, key=_place), strict=True):
            value, definition = row[name], right[name]
            if nan_is_null:
                value, definition = (None if each != each else each for each in (value, definition))
            # rows that close a stream of tables have no types, and tables of pandas have some
            if not any(_same(value, each, entry.close) for each in (definition, as_typed(definition, kind))):
                wrong[name] = f"is {value!r} at {_place(row)}, not {definition!r}"
                break
    return wrong


def _same(value: Any, definition: Any, close: float) -> bool:
    try:
        return alike(plain(value), plain(definition), close)
    except TypeError:
        return False


def _wrong_rows(wanted: list[Row], found: list[Row]) -> str:
    a, b = sorted(map(_place, wanted)), sorted(map(_place, found))
    if a == b:
        return ""
    missing, extra = [place for place in a if place not in b], [place for place in b if place not in a]
    return f"rows differ: {len(a)} expected, {len(b)} found; missing {missing[:3]}, not expected {extra[:3]}"


def _place(row: Row) -> Any:
    return (row["k"], row.get("window", ""), row["window_end"], row["window_start"], row.get("revision", 0))


# refusals


def wrong_refusals(way: Way, column: ColumnType, late: bool) -> Wrong:
    """What is wrong with the cells that must be refused: that they are not, or how."""
    wrong: Wrong = {}
    for name, entry in refused(column).items():
        problem = _wrong_refusal(way, column, entry.aggregation, query({name: entry}, "count", late))
        if problem:
            wrong[name] = problem
    return wrong


def _wrong_refusal(way: Way, column: ColumnType, aggregation: sash.Aggregation, asked: sash.Query) -> str:
    try:
        way.run(asked, arrow_schema(column), stream(column, "whole"))
    except TypeError as error:
        return "" if sentence(aggregation, column) in str(error) else f"is refused by: {error}"
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"
    return "is not refused"


def sentence(aggregation: sash.Aggregation, column: ColumnType) -> str:
    """What every refusal says, besides where the value or the column is."""
    return f"{aggregation!r} cannot aggregate"
