"""The ways into Sash in this process: rows, batches, keyed, and tables of every library."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

import sash
from matrix import KEYS, ZONE, Row
from sash.runtime.operator import KeyedOperator

Found = tuple[list[Row], dict[str, Any]]
"""Result rows, and the types of their columns where a library has such."""


@dataclass(frozen=True)
class Way:
    """How a query is run over a stream. ``mode``: what :func:`matrix.expected` is to be compared with."""

    run: Callable[[sash.Query, Any, list[Row]], Found]
    """Of a query, the types of a stream's columns, and its tuples."""
    mode: str = "settled"
    typed: Callable[[Any], Any] | None = None
    """The type of a result's column of an Arrow type; None: columns have no types, or hold values as they can."""
    nan_is_null: bool = False
    """The library has no null but NaN."""


# streams


def by_rows(query: sash.Query, schema: Any, rows: list[Row]) -> Found:
    found: list[Row] = []
    for key in KEYS:
        op = sash.Operator(query)
        results = [result for row in rows if row["k"] == key for result in op.process(row)]
        found += [{"k": key} | result for result in [*results, *op.close()]]
    return found, {}


def by_batches(table: _Table) -> Callable[[sash.Query, Any, list[Row]], Found]:
    """In three batches, the state saved and restored between them."""

    def run(query: sash.Query, schema: Any, rows: list[Row]) -> Found:
        found: list[Row] = []
        types: dict[str, Any] = {}
        for key in KEYS:
            op = sash.Operator(query)
            for part in _thirds([row for row in rows if row["k"] == key]):
                results, types = table.read(op.process_batch(table.make(part, schema)))
                found += [{"k": key} | result for result in results]
                op = sash.Operator.restore(query, op.snapshot(trusted=True), trusted=True)
            found += [{"k": key} | result for result in op.close()]
        return found, types

    return run


def keyed(table: _Table) -> Callable[[sash.Query, Any, list[Row]], Found]:
    """All keys at once, likewise."""

    def run(query: sash.Query, schema: Any, rows: list[Row]) -> Found:
        op = KeyedOperator(query, own_watermark="key")
        found: list[Row] = []
        for part in _thirds(rows):
            found += table.read(op.process_batch(table.make(part, schema)))[0]
            op = KeyedOperator.restore(query, op.snapshot(trusted=True), own_watermark="key", trusted=True)
        results, types = table.read(op.close(like=table.make([], schema)))
        return found + results, types

    return run


def _thirds(rows: list[Row]) -> Iterable[list[Row]]:
    step = max(1, -(-len(rows) // 3))
    return [rows[start : start + step] for start in range(0, len(rows), step)] or [[]]


def whole(table: _Table) -> Callable[[sash.Query, Any, list[Row]], Found]:
    return lambda query, schema, rows: table.read(sash.run(query, table.make(rows, schema)))


# tables


@dataclass(frozen=True)
class _Table:
    make: Callable[[list[Row], Any], Any]
    read: Callable[[Any], Found]


def _columns(rows: list[Row], schema: Any) -> dict[str, tuple[Any, list[Any]]]:
    """The Arrow type and the values of each column."""
    return {field.name: (field.type, [row[field.name] for row in rows]) for field in schema}


def _of_columns(columns: dict[str, list[Any]], types: dict[str, Any]) -> Found:
    names = list(columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)], types


def _arrow(rows: list[Row], schema: Any) -> Any:
    return pa.Table.from_pylist(rows, schema)


def _read_arrow(table: Any) -> Found:
    return table.to_pylist(), {field.name: field.type for field in table.schema}


def _polars(rows: list[Row], schema: Any) -> Any:
    return pl.from_arrow(_arrow(rows, schema))


def _read_polars(frame: Any) -> Found:
    return frame.to_arrow().to_pylist(), dict(frame.schema)


def polars_type(kind: Any) -> Any:
    """What polars has for an Arrow type."""
    series: Any = pl.from_arrow(pa.array([], kind))
    return series.dtype


def _lists(rows: list[Row], schema: Any) -> Any:
    return {name: values for name, (_, values) in _columns(rows, schema).items()}


def _read_lists(columns: dict[str, list[Any]]) -> Found:
    return _of_columns(columns, {})


def _read_rows(rows: list[Row]) -> Found:
    return rows, {}


def _arrays(rows: list[Row], schema: Any) -> Any:
    return {name: _array(kind, values) for name, (kind, values) in _columns(rows, schema).items()}


def _array(kind: Any, values: list[Any]) -> Any:
    """One of NumPy's own types, masked where it has no null; else of objects."""
    if kind.id in _NUMBER_IDS:
        dtype = kind.to_pandas_dtype()
        nulls = [value is None for value in values]
        array = np.array([0 if value is None else value for value in values], dtype)
        return np.ma.MaskedArray(array, nulls) if any(nulls) else array  # type: ignore[no-untyped-call]
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None) or pa.types.is_duration(kind):
        unit = "D" if pa.types.is_date(kind) else kind.unit
        return np.array(
            [_number_of(value) for value in values], f"{'m' if pa.types.is_duration(kind) else 'M'}8[{unit}]"
        )
    array = np.empty(len(values), object)
    array[:] = values
    return array


_NUMBER_IDS = {kind.id for kind in (pa.bool_(), pa.float32(), pa.float64())} | {
    getattr(pa, f"{sign}int{bits}")().id for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def _number_of(value: Any) -> Any:
    return value.to_numpy() if hasattr(value, "to_numpy") else value


def _read_arrays(columns: dict[str, Any]) -> Found:
    return _of_columns({name: _values(array) for name, array in columns.items()}, {})


def _values(array: Any) -> list[Any]:
    """The elements of an array, NumPy's scalars where Python has none; None where it is masked."""
    if array.dtype.names is not None:
        parts = [_values(array[name]) for name in array.dtype.names]
        rows = [None if all(part is None for part in row) else row for row in zip(*parts, strict=True)]
        return list(rows)
    mask = np.ma.getmaskarray(array)  # type: ignore[no-untyped-call]
    data = np.ma.getdata(array)  # type: ignore[no-untyped-call]
    if data.dtype.kind in "mM":
        mask = mask | np.isnat(data)  # the null of such arrays
    return [None if null else data[place] for place, null in enumerate(mask)]


def _pandas(series: Callable[[Any, list[Any]], Any]) -> Callable[[list[Row], Any], Any]:
    return lambda rows, schema: pd.DataFrame(
        {name: series(kind, values) for name, (kind, values) in _columns(rows, schema).items()}
    )


def _of_numpy(kind: Any, values: list[Any]) -> Any:
    """One of NumPy's types if it can hold the nulls: as NaN, as NaT, or else among objects."""
    if pa.types.is_floating(kind):
        return pd.Series([np.nan if value is None else value for value in values], dtype=kind.to_pandas_dtype())
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pd.Series(_moments(kind, values))
    if kind.id in _NUMBER_IDS and None not in values:
        return pd.Series(values, dtype=kind.to_pandas_dtype())
    return pd.Series(values, dtype=object)


def _moments(kind: Any, values: list[Any]) -> Any:
    if pa.types.is_duration(kind):
        return pd.Series(_array(kind, values))
    zone = getattr(kind, "tz", None)
    if zone is None:
        return pd.Series(_array(kind, values))
    return pd.Series(pd.array(values, dtype=pd.DatetimeTZDtype(kind.unit, ZONE)))


def _of_nullable(kind: Any, values: list[Any]) -> Any:
    """One of pandas' own types with a null, which is not NaN."""
    if pa.types.is_floating(kind):
        nulls = np.array([value is None for value in values], bool)
        data = np.array([0 if value is None else value for value in values], kind.to_pandas_dtype())
        return pd.Series(pd.arrays.FloatingArray(data, nulls))  # type: ignore[attr-defined]
    if kind.id in _NUMBER_IDS:
        name = "boolean" if pa.types.is_boolean(kind) else str(kind).replace("uint", "UInt").replace("int", "Int")
        return pd.Series(values, dtype=name)
    if pa.types.is_string(kind):
        return pd.Series(values, dtype="string")
    return _of_numpy(kind, values)


def _of_arrow(kind: Any, values: list[Any]) -> Any:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values, kind)))  # type: ignore[attr-defined]


def _read_pandas(frame: Any) -> Found:
    return _of_columns({name: _without_na(frame[name]) for name in frame.columns}, {})


def _without_na(column: Any) -> list[Any]:
    """The values, None for the nulls of pandas: NaN is one in NumPy's floats, which have no other."""
    nan_is_null = isinstance(column.dtype, np.dtype) and column.dtype.kind == "f"
    nulls = [value is pd.NA or value is pd.NaT or (nan_is_null and value != value) for value in column.tolist()]
    return [None if null else value for value, null in zip(column.tolist(), nulls, strict=True)]


ARROW = _Table(_arrow, _read_arrow)
ROWS = _Table(lambda rows, schema: [dict(row) for row in rows], _read_rows)
LOCAL = {
    "process": Way(by_rows, "closed"),
    "process_batch of rows": Way(by_batches(ROWS), "closed"),
    "process_batch of Arrow": Way(by_batches(ARROW), "closed", typed=lambda kind: kind),
    "keyed of rows": Way(keyed(ROWS), "closed"),
    "keyed of Arrow": Way(keyed(ARROW), "closed", typed=lambda kind: kind),
    "run of rows": Way(whole(ROWS)),
    "run of lists": Way(whole(_Table(_lists, _read_lists))),
    "run of arrays": Way(whole(_Table(_arrays, _read_arrays))),
    "run of pandas, NumPy": Way(whole(_Table(_pandas(_of_numpy), _read_pandas)), nan_is_null=True),
    "run of pandas, nullable": Way(whole(_Table(_pandas(_of_nullable), _read_pandas))),
    "run of pandas, Arrow": Way(whole(_Table(_pandas(_of_arrow), _read_pandas))),
    "run of polars": Way(whole(_Table(_polars, _read_polars)), typed=polars_type),
    "run of Arrow": Way(whole(ARROW), typed=lambda kind: kind),
}
