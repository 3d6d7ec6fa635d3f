"""Arrow tables of every type: results, the same in one batch and in several, or an error that names the column."""

from __future__ import annotations

import contextlib
import warnings
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

import sash
from integration_tests.conformance.rows import sorted_rows
from sash.runtime.operator import KeyedOperator

__all__ = ["check", "mutated"]

TYPES: list[Any] = [
    *(getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)), pa.float16(), pa.float32(),
    pa.float64(), pa.bool_(), pa.null(), pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(3),
    pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us"), pa.decimal128(10, 2), pa.decimal128(38, 0),
    pa.decimal256(50, 3), *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")), pa.timestamp("us", "UTC"),
    pa.timestamp("s", "Europe/Berlin"), *(pa.duration(unit) for unit in ("s", "ns")), pa.list_(pa.int64()),
    pa.large_list(pa.string()), pa.list_(pa.float32(), 2), pa.struct([("a", pa.int64()), ("b", pa.string())]),
    pa.map_(pa.string(), pa.int64()), pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.int64()),
    pa.month_day_nano_interval(), pa.string_view(), pa.binary_view(),
]  # fmt: skip
AGGREGATES: list[Any] = [
    sash.Sum("x"), sash.Min("x"), sash.Max("x"), sash.Mean("x"), sash.Count("x"), sash.First("x"), sash.Last("x"),
    sash.Collect("x"), sash.CollectDistinct("x"), sash.ArgMax("x", "x"), sash.Median("x"), sash.Quantile("x", q=0.9),
    sash.SampleStdDev("x"), sash.M4("x"), sash.Concat("x"), sash.MinCount("x"), sash.Product("x"), sash.Mode("x"),
    sash.Count(where="x"), sash.Any("x"), sash.ExactDistinctCount("x"), sash.Bloom("x"),
]  # fmt: skip
WINDOWS: list[Any] = [sash.sliding(4, 2), sash.tumbling(3), sash.tumbling(4, on="t"), sash.session(3, on="t")]
_DAY = datetime(2024, 3, 31, tzinfo=UTC)


@cache
def _pool(kind: Any) -> list[Any]:
    """Values of a type, extreme ones among them."""
    of = pa.types

    if of.is_dictionary(kind):
        return _pool(kind.value_type)
    if of.is_boolean(kind):
        return [True, False]
    if of.is_null(kind):
        return [None]
    if of.is_integer(kind):
        top = 2 ** (kind.bit_width - (not str(kind).startswith("u"))) - 1
        return [0, 1, 2, 3, 100, top, top - 1, 0 if str(kind).startswith("u") else -top - 1]
    if of.is_float16(kind):
        import numpy as np

        return [np.float16(number) for number in (0.0, -1.5, 2.25, float("nan"), float("inf"))]
    if of.is_floating(kind):
        return [0.0, -0.0, 1.5, -2.25, 1e30, float("nan"), float("inf"), float("-inf")]
    if of.is_decimal(kind):
        return [Decimal(0), Decimal(5).scaleb(-kind.scale), Decimal(-(10 ** (kind.precision - kind.scale)) + 1)]
    if of.is_timestamp(kind):
        moments = [_DAY + timedelta(seconds=number) for number in (0, 1, 2, -(10**9))]
        return moments if kind.tz else [moment.replace(tzinfo=None) for moment in moments]
    if of.is_date(kind):
        return [_DAY.date(), _DAY.date() - timedelta(20_000)]
    if of.is_time(kind):
        return [_DAY.time(), (_DAY + timedelta(hours=5)).time()]
    if of.is_duration(kind):
        return [timedelta(0), timedelta(seconds=5), timedelta(-1)]
    if of.is_struct(kind):
        return [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]
    if of.is_map(kind):
        return [[("a", 1)], []]
    if of.is_fixed_size_list(kind):
        return [[1.0, 2.0], [0.0, None]]
    if of.is_list(kind) or of.is_large_list(kind):
        return [_pool(kind.value_type)[:2], []]
    if str(kind) == "fixed_size_binary[3]":
        return [b"abc", b"\x00\xff\x00"]
    if "binary" in str(kind):
        return [b"", b"a", b"\x00\xff", b"abc" * 9]
    if "interval" in str(kind):
        return [pa.MonthDayNano([1, 2, 3])]
    return ["", "a", "é", "日本", "a" * 30]


def _column(kind: Any, size: int, chance: Random) -> Any:
    """A column of a type, with nulls, in chunks, perhaps a part of a longer one."""
    pool = [*_pool(kind), *([None] if chance.random() < 0.6 else [])]
    values = [chance.choice(pool) for _ in range(size + 3)]
    cut, skip = chance.randrange(size + 1), chance.randrange(3)
    try:
        whole = pa.array(values, kind)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):  # pyarrow itself makes none of it
        whole = pa.array([str(value) for value in values]).cast(kind, safe=False)
    part = whole.slice(skip, size)
    return pa.chunked_array([part.slice(0, cut), part.slice(cut)], kind)


def mutated(chance: Random) -> tuple[str, tuple[sash.Query, Any]]:
    """A query, and a table of a key, a column to aggregate, and numbers in order; any type in any place."""
    size, kind = chance.randrange(24), chance.choice(TYPES)
    key = chance.choice(TYPES) if chance.random() < 0.3 else pa.string()
    order = chance.choice(TYPES) if chance.random() < 0.1 else pa.int64()
    times = pa.chunked_array([pa.array(sorted(chance.randrange(30) for _ in range(size)), pa.int64())])
    columns = {"k": _column(key, size, chance), "x": _column(kind, size, chance), "t": times}
    if order != pa.int64():
        with contextlib.suppress(pa.ArrowException):  # Arrow sorts the others: in another order rows are late
            column = _column(order, size, chance)
            columns["t"] = column.take(pc.sort_indices(column))
    aggregate, window = chance.choice(AGGREGATES), chance.choice(WINDOWS)
    query = sash.Query(key=chance.choice(["k", None]), windows=window, aggregates={"r": aggregate})
    name = f"{aggregate} of {kind}, key {key}, order {order}, {window}, {size} rows"
    return name, (query, pa.table(columns))


def check(name: str, data: tuple[sash.Query, Any]) -> None:
    """Compare a whole table with batches of it, whether they fail or not."""
    query, table = data
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in (_whole, _batches):
            try:
                results.append(sorted_rows(query, run(query, table)))
            except (TypeError, ValueError, OverflowError, ArithmeticError) as error:
                named = any(word in str(error) for word in ("column", "aggregate", "'x'", "'k'", "'t'", "row "))
                if not named:
                    raise AssertionError(f"{type(error).__name__} names nothing: {error}") from error
                results.append(["an error"])
    if ["an error"] in results and [] in results:
        return  # there was no window in which it would have shown
    assert results[0] == results[1], f"{results[0]}\n{results[1]}"


def _whole(query: sash.Query, table: Any) -> list[Any]:
    rows: list[Any] = sash.run(query, table).to_pylist()
    return rows


def _batches(query: sash.Query, table: Any) -> list[Any]:
    op, half = KeyedOperator(query, own_watermark="key"), len(table) // 2
    rows = [row for part in (table[:half], table[half:]) for row in op.process_batch(part).to_pylist()]
    rows += op.close(like=table[:0]).to_pylist()
    return rows
