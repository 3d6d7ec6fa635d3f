"""Sash in PySpark: the same query over a DataFrame, batch or streaming."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Any

from sash_spark.schema import checked, output_schema
from sash_spark.sql import create_view, register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sash import Aggregation, Query

__all__ = ["aggregate", "checked", "create_view", "explain", "output_schema", "register", "rolling"]

_logger = logging.getLogger("sash_spark")


def aggregate(df: DataFrame, query: Query, order: Any = None, **options: Any) -> DataFrame:
    """The results of ``query`` over ``df``: a batch DataFrame gives a batch one, a streaming one a stream.

    A batch DataFrame has no order of its own: rows are taken by the query's ``time``, and among equal times by
    ``order``, a column or several. Without a ``time`` an ``order`` must be given.

    The columns of the result are known before anything runs (:func:`output_schema`); a column that is missing or of a
    type that does not fit is an error here, not in a worker. Further options are those of
    :func:`sash_spark.batch.aggregate_batch` and :func:`sash_spark.streaming.aggregate_stream`.
    """
    _logger.debug("windows over a %s: %s", "stream" if df.isStreaming else "batch", query.windows)
    if df.isStreaming:
        from sash_spark.streaming import aggregate_stream

        if order is not None:
            options["order"] = order
        return aggregate_stream(df, query, **options)
    from sash_spark.batch import aggregate_batch

    return aggregate_batch(df, query, order, **options)


def explain(df: DataFrame, query: Query, order: Any = None, **options: Any) -> str:
    """The plan in words: what :func:`sash.explain` says, how Spark runs it, and warnings of what is slow.

    The arguments are those of :func:`aggregate`, which refuses here what it would refuse there. Nothing runs.
    """
    import sash

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        aggregate(df, query, order, **{name: value for name, value in options.items() if name != "initial"})
    if df.isStreaming:
        from sash_spark import streaming

        how = streaming.plan(df, query, **options)
    else:
        from sash_spark import batch

        how = batch.plan(query, **options)
    ours = [warning for warning in caught if issubclass(warning.category, UserWarning)]  # PySpark warns of versions
    return "\n".join([sash.explain(query), *how, *(f"warning    {warning.message}" for warning in ours)])


def rolling(
    df: DataFrame,
    range: Any,
    slide: Any = 1,
    key: Any = None,
    time: str | None = None,
    order: Any = None,
    partial: bool = False,
    **aggregates: Aggregation,
) -> DataFrame:
    """Sliding windows in one line: ``rolling(df, 1024, key="plug", order="ts", peak=sash.Max("load"))``."""
    import sash

    window = sash.sliding(range, slide, partial=True) if partial else sash.sliding(range, slide)
    return aggregate(df, sash.Query(windows=window, aggregates=aggregates, key=key, time=time), order)
