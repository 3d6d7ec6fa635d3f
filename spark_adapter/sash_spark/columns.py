"""Results as Arrow columns of just the types that Spark was promised."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from sash import Query
from sash.runtime import arrow_output as arrowcolumns
from sash.runtime.arrow_output import array_of

__all__ = ["Columns", "array_of", "arrow_schema"]


def arrow_schema(schema: T.StructType) -> pa.Schema:
    """The same columns in Arrow, instants in UTC. From Spark 4.2 on that has to be said."""
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)


class Columns(arrowcolumns.Columns):
    """Makes record batches of a schema from the outcomes of a query, or of some of its windows."""

    def __init__(self, query: Query, schema: T.StructType) -> None:
        super().__init__(query, arrow_schema(schema))
