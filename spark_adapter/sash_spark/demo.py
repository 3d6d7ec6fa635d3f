"""The demo's query on an embedded Spark. Run by ``make demo``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from sash import Query
from sash_spark import aggregate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["run"]


def run(query: Query, stream: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The results of the query over columns in the order of arrival, by a Spark in this process, in any order."""
    size = len(next(iter(stream.values())))
    table = pa.table({**stream, "arrived": np.arange(size)})
    with _session() as spark:
        results: dict[str, list[Any]] = aggregate(spark.createDataFrame(table), query, "arrived").toArrow().to_pydict()
    return results


@contextmanager
def _session() -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": 2,
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
    }
    builder: Any = SparkSession.builder.master("local[2]").appName("sash-demo")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _quiet():
        spark = builder.getOrCreate()
    try:
        spark.sparkContext.setLogLevel("ERROR")
        yield spark
    finally:
        spark.stop()


@contextmanager
def _quiet() -> Iterator[None]:
    """The JVM that is started meanwhile writes nothing to the terminal: it has its streams from this process."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
