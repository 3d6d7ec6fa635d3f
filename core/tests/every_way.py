"""One query over the same rows in every way that this process has, compared with the definition: values and types."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

import sash
from sash.runtime.operator import KeyedOperator
from sash.testing import evaluate

Row = dict[str, Any]
Way = Callable[[sash.Query, list[Row], pa.Schema], list[Row]]
KEY = "k"


def expected(query: sash.Query, rows: Sequence[Row]) -> list[Row]:
    """What the definition gives."""
    return evaluate(query, [*(("row", row) for row in rows), ("close",)])


# tables of every kind, and what they hold as Python's own values


def arrow(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema)


def lists(rows: Sequence[Row], schema: pa.Schema) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in schema.names}


def arrays(rows: Sequence[Row], schema: pa.Schema) -> dict[str, Any]:
    frame = sash.frames.columns_of(arrow(rows, schema), schema.names)
    return {name: frame[name] for name in schema.names}


def pandas_arrow(rows: Sequence[Row], schema: pa.Schema) -> Any:
    return arrow(rows, schema).to_pandas(types_mapper=pd.ArrowDtype)


_NULLABLE = {
    pa.int64(): pd.Int64Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.float64(): pd.Float64Dtype(),
    pa.float32(): pd.Float32Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}


def pandas_nullable(rows: Sequence[Row], schema: pa.Schema) -> Any:
    return arrow(rows, schema).to_pandas(types_mapper=_NULLABLE.get)


def polars(rows: Sequence[Row], schema: pa.Schema) -> pl.DataFrame:
    found = pl.from_arrow(arrow(rows, schema))
    assert isinstance(found, pl.DataFrame)
    return found


TABLES: dict[str, Callable[[Sequence[Row], pa.Schema], Any]] = {
    "rows": lambda rows, schema: list(rows),
    "lists": lists,
    "arrays": arrays,
    "arrow": arrow,
    "pandas_nullable": pandas_nullable,
    "pandas_arrow": pandas_arrow,
    "polars": polars,
}


def plain(value: Any) -> Any:
    """A value as Python has it: those of NumPy, pandas and Arrow are only other clothes."""
    if value is None or value is pd.NA or value is pd.NaT or value is np.ma.masked:
        return None
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: plain(part) for name, part in zip(value._fields, value, strict=True)}
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, np.void | np.ma.core.mvoid):
        parts = {name: plain(value[name]) for name in value.dtype.names or ()}
        return None if all(part is None for part in parts.values()) else parts
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(part) for part in value]
    if isinstance(value, pd.Timestamp):
        return value.to_pydatetime()
    if isinstance(value, pd.Timedelta):
        return value.to_pytimedelta()
    if isinstance(value, np.datetime64 | np.timedelta64):
        coarse = np.datetime_data(value.dtype)[0] == "D"
        return None if np.isnat(value) else (value if coarse else value.astype(f"{value.dtype.kind}8[us]")).item()
    return value.item() if isinstance(value, np.generic) else value


def rows_of(table: Any) -> list[Row]:
    """The rows of a table of any kind."""
    if isinstance(table, list):
        return [{name: plain(value) for name, value in row.items()} for row in table]
    if isinstance(table, pa.Table):
        found: list[Row] = table.to_pylist()
    elif isinstance(table, pl.DataFrame):
        found = table.to_dicts()
    elif isinstance(table, pd.DataFrame):
        found = [dict(zip(table.columns, row, strict=True)) for row in zip(*map(_items, table.items()), strict=True)]
    else:
        columns = {
            name: sash.frames.to_list(values)
            if isinstance(values, np.ndarray) and not values.dtype.names
            else list(values)
            for name, values in table.items()
        }
        found = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [{name: plain(value) for name, value in row.items()} for row in found]


def _items(column: tuple[Any, pd.Series[Any]]) -> list[Any]:
    return list(column[1])


def without_key(rows: Sequence[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name != KEY} for row in rows]


# the ways


def cut(rows: list[Row], size: int) -> Iterator[list[Row]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def by_process(query: sash.Query, rows: list[Row], schema: pa.Schema) -> list[Row]:
    op = sash.Operator(query)
    return rows_of([result for row in rows for result in op.process(row)] + op.close())


def by_process_restored(query: sash.Query, rows: list[Row], schema: pa.Schema) -> list[Row]:
    op, results = sash.Operator(query), []
    for row in rows:
        results += op.process(row)
        op = sash.Operator.restore(query, op.snapshot())
    return rows_of(results + op.close())


def batches(kind: str, size: int, restored: bool = False) -> Way:
    def by_batches(query: sash.Query, rows: list[Row], schema: pa.Schema) -> list[Row]:
        op, results = sash.Operator(query), []
        for part in cut(rows, size):
            results += rows_of(op.process_batch(TABLES[kind](part, schema)))
            if restored:
                op = sash.Operator.restore(query, op.snapshot())
        return results + rows_of(op.close())

    return by_batches


def alternating(query: sash.Query, rows: list[Row], schema: pa.Schema) -> list[Row]:
    """A row, then a batch, in turns."""
    op, results = sash.Operator(query), []
    for part in cut(rows, 3):
        results += rows_of(op.process(part[0]))
        results += rows_of(op.process_batch(arrow(part[1:], schema))) if part[1:] else []
    return results + rows_of(op.close())


def keyed(kind: str, size: int, restored: bool = False) -> Way:
    def by_key(query: sash.Query, rows: list[Row], schema: pa.Schema) -> list[Row]:
        op, results = KeyedOperator(query, own_watermark="key"), []
        for part in cut(rows, size):
            results += rows_of(op.process_batch(TABLES[kind](part, schema)))
            if restored:
                op = KeyedOperator.restore(query, op.snapshot(), own_watermark="key")
        return without_key(results + rows_of(op.close(TABLES[kind](rows[:0], schema))))

    return by_key


def run(kind: str) -> Way:
    def by_run(query: sash.Query, rows: list[Row], schema: pa.Schema) -> list[Row]:
        return without_key(rows_of(sash.run(query, TABLES[kind](rows, schema))))

    return by_run


WAYS: dict[str, Way] = {
    "process": by_process,
    "process_restored": by_process_restored,
    **{f"process_batch_{kind}_{size}": batches(kind, size) for kind in TABLES for size in (2, 100)},
    "process_batch_arrow_restored": batches("arrow", 2, restored=True),
    "alternating": alternating,
    **{f"keyed_{kind}_{size}": keyed(kind, size) for kind in TABLES for size in (2, 100)},
    "keyed_arrow_restored": keyed("arrow", 2, restored=True),
    **{f"run_{kind}": run(kind) for kind in TABLES},
}


# comparing


def alike(a: Any, b: Any, nan_is_null: bool = False) -> bool:
    """Equal, and of one type; NaN is like NaN, and floats may differ by what the order of additions does."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(alike(a[name], b[name], nan_is_null) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(alike(x, y, nan_is_null) for x, y in zip(a, b, strict=True))
    if nan_is_null and (a is None or a != a) and (b is None or b != b):
        return True
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12) or (a != a and b != b)
    if isinstance(a, date | datetime | timedelta | Decimal) and isinstance(b, type(a)):
        return bool(a == b) and _offset(a) == _offset(b)
    return type(a) is type(b) and bool(a == b)


def differences(query: sash.Query, rows: list[Row], schema: pa.Schema, ways: Sequence[str] = ()) -> list[str]:
    """What each way gives other than the definition, in words; nothing if all is well."""
    right = [{name: plain(value) for name, value in row.items()} for row in expected(query, rows)]
    assert right, "the query has no result over these rows"
    found = []
    for name in ways or WAYS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sash.PerformanceWarning)
            try:
                given = WAYS[name](query, rows, schema)
            except Exception as error:
                found.append(f"{name}: {type(error).__name__}: {error}")
                continue
        if len(given) != len(right):
            found.append(f"{name}: {len(given)} results instead of {len(right)}")
            continue
        for column in query.results[len(query.keys) :]:
            pairs = [(a[column], b[column]) for a, b in zip(given, right, strict=True)]
            wrong = [pair for pair in pairs if not alike(*pair, nan_is_null="pandas" in name)]
            if wrong:
                found.append(f"{name}: {column} is {wrong[0][0]!r} instead of {wrong[0][1]!r}")
    return found


def refusals(query: sash.Query, rows: list[Row], schema: pa.Schema, ways: Sequence[str] = ()) -> dict[str, str]:
    """What each way says to rows that it is to refuse; "" if it does not."""
    said = {}
    for name in ways or WAYS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sash.PerformanceWarning)
            try:
                WAYS[name](query, rows, schema)
                said[name] = ""
            except TypeError as error:
                said[name] = str(error)
    return said


def _offset(value: Any) -> Any:
    return value.utcoffset() if isinstance(value, datetime) else None
