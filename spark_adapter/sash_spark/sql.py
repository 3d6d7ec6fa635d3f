"""Queries in SQL: ``SELECT * FROM sash(TABLE(readings), 'peak.toml')``, and a view, which is faster.

The function itself tells Spark how to partition and sort its table: by buckets of the query's key, so that many small
keys do not each cost a call, and within a bucket by key and time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, OrderingColumn, PartitioningColumn, SelectedColumn

from sash import Query, load_query
from sash.spi import QueryImportError, SortedBatches, parse_query
from sash_spark.paths import find, path_of, quote
from sash_spark.schema import arrow_schema, output_schema
from sash_spark.worker import settle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["create_view", "register"]

BUCKETS = 64
ROWS = 1 << 14


def register(spark: SparkSession, queries: Mapping[str, Query] | None = None, name: str = "sash") -> None:
    """Make queries callable in SQL: ``sash(TABLE(t), query)`` or ``sash(TABLE(t), query, 'order, columns')``.

    ``query`` is one of the names in ``queries``, a file that ends in ``.toml`` (read on the driver), or a TOML text.
    Files and texts name built-in functions only, since whoever writes SQL need not be who runs it: a query with Python
    code of your own is one of ``queries``.
    """
    known = dict(queries or {})

    class Sash:
        def __init__(self, plan: _Plan | None = None) -> None:
            settle()
            self._rows = None if plan is None else _Rows(plan)

        @staticmethod
        def analyze(table: AnalyzeArgument, query: AnalyzeArgument, order: AnalyzeArgument | None = None) -> _Plan:
            return _create_plan(known, table, query, order)

        def eval(self, table: Any, *_: Any) -> Iterator[tuple[Any, ...]]:
            assert self._rows is not None
            yield from self._rows.take(table)

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            assert self._rows is not None
            yield from self._rows.end()

    spark.udtf.register(name, F.udtf(Sash, useArrow=False))  # type: ignore[arg-type]  # functions with `analyze` have no return type


@dataclass
class _Plan(AnalyzeResult):
    """What the driver has analyzed, for the workers."""

    query: bytes = b""
    input: T.StructType = field(default_factory=T.StructType)


class _Rows:
    """Collects the rows that a function of SQL gets one by one into batches for the columnar engine."""

    def __init__(self, plan: _Plan) -> None:
        self._running = SortedBatches(cloudpickle.loads(plan.query), arrow_schema(plan.schema))
        self._schema = arrow_schema(plan.input)
        self._held: list[Any] = []

    def take(self, row: Any) -> Iterator[tuple[Any, ...]]:
        self._held.append(row)
        if len(self._held) >= ROWS:
            yield from _tuples(self._flush())

    def end(self) -> Iterator[tuple[Any, ...]]:
        yield from _tuples(self._flush())
        yield from _tuples(self._running.end())

    def _flush(self) -> Iterator[pa.RecordBatch]:
        columns = list(zip(*self._held, strict=True))
        self._held = []
        if columns:
            arrays = [_column(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
            yield from self._running.take(pa.RecordBatch.from_arrays(arrays, schema=self._schema))


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind) and kind.tz is not None:  # Spark hands them over in the zone of the machine
        values = [value if value is None else value.astimezone(UTC) for value in values]
    elif pa.types.is_struct(kind):
        values = [value if value is None else value.asDict(recursive=True) for value in values]
    return pa.array(values, kind)


def _tuples(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _create_plan(
    known: Mapping[str, Query], table: AnalyzeArgument, argument: AnalyzeArgument, order: AnalyzeArgument | None
) -> _Plan:
    if not table.isTable or not isinstance(table.dataType, T.StructType):
        raise ValueError("the first argument must be a table: sash(TABLE(readings), …)")
    query, schema = _query(known, argument.value), table.dataType
    orders = [name.strip() for name in str(order.value).split(",")] if order is not None else []
    if len(query.lanes) > 1:
        raise ValueError("windows in several orders need several sorts: use sash_spark.aggregate")
    if query.lanes[0].order is None and not orders:
        raise ValueError("a table has no order of its own: name it, as in sash(TABLE(t), query, 'seq')")
    result = output_schema(query, schema)
    paths = {name: ".".join(map(quote, path_of(schema, name))) for name in (*query.columns, *orders)}
    sort, read = [*query.keys, *query.orders, *orders], query.columns or tuple(orders[:1])
    fields = [T.StructField(name, find(schema, name).dataType) for name in read]
    floats = {field.name for field in fields if isinstance(field.dataType, T.FloatType | T.DoubleType)}
    keys = ", ".join(f"{paths[key]} + 0" if key in floats else paths[key] for key in query.keys)
    return _Plan(
        schema=result,
        withSinglePartition=not query.keys,
        partitionBy=[PartitioningColumn(f"pmod(hash({keys}), {BUCKETS})")] if keys else [],
        orderBy=[OrderingColumn(paths[name]) for name in sort],
        select=[SelectedColumn(paths[name], name) for name in read],
        query=cloudpickle.dumps(query),
        input=T.StructType(fields),
    )


def _query(known: Mapping[str, Query], text: Any) -> Query:
    if not isinstance(text, str):
        raise ValueError("the query must be a constant: a name, a file that ends in .toml, or a TOML text")
    if text in known:
        return known[text]
    try:
        if text.endswith(".toml") and "\n" not in text:
            return load_query(Path(text))
        if "=" in text:
            return parse_query(text)
    except QueryImportError as error:
        raise ValueError(
            f"{error.path}, line {error.line}: {error.reason} in SQL; load such a query in the program and register it "
            "by name: sash_spark.register(spark, {'name': query})"
        ) from error
    raise ValueError(f"there is no query {text!r}; there are {', '.join(map(repr, known)) or 'none'}")


def create_view(df: DataFrame, query: Query, name: str, **options: Any) -> None:
    """Make the results of ``query`` over ``df`` a view that SQL can select from."""
    from sash_spark import aggregate

    aggregate(df, query, **options).createOrReplaceTempView(name)
