"""The plan in words: what the core decides, and what Spark does with it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import sash
import sash_spark
from sash_spark.streaming import BUCKETS, why_whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sash import Query

__all__ = ["explained"]


def explained(df: DataFrame, query: Query, order: Any = None, **options: Any) -> str:
    """See :func:`sash_spark.explain`."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        sash_spark.aggregate(df, query, order, **options)
    how = _stream(df, query, options) if df.isStreaming else _batch(query)
    ours = [each for each in said if issubclass(each.category, UserWarning)]  # PySpark's are of versions
    return "\n".join([sash.explain(query), *how, *(f"warning    {each.message}" for each in ours)])


def _batch(query: Query) -> Iterator[str]:
    by = f"by {', '.join(query.keys)}" if query.keys else "into one task, because the query has no key"
    often = f", {len(query.lanes)} times" if len(query.lanes) > 1 else ""
    yield f"spark      a batch: shuffled {by} and sorted{often}; Arrow batches to Python workers"


def _stream(df: DataFrame, query: Query, options: dict[str, Any]) -> Iterator[str]:
    keys = f"keys in {options.get('buckets', BUCKETS)} buckets" if query.keys else "one bucket, because there is no key"
    yield f"spark      a stream: {keys}"
    reason = why_whole(df.sparkSession, options.get("state", "auto"))
    if reason is None:
        yield "store      in parts: what has changed is written in each micro-batch"
    else:
        yield f"store      whole: a bucket's state is written in each micro-batch; {reason}"
