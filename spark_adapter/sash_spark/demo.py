"""The demo's query on an embedded Spark. Run by ``make demo``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from sash import Query
from sash_spark import aggregate
from sash_spark.local import session

__all__ = ["run"]


def run(query: Query, stream: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The results of the query over columns in the order of arrival, by a Spark in this process, in any order."""
    size = len(next(iter(stream.values())))
    table = pa.table({**stream, "arrived": np.arange(size)})
    spark = session("sash demo", 2, Path(os.devnull))
    try:
        results: dict[str, list[Any]] = aggregate(spark.createDataFrame(table), query, "arrived").toArrow().to_pydict()
    finally:
        spark.stop()
    return results
