"""What a worker does with the rows of a bucket of keys, and with its timers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import uuid4

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import types as T

from sash import PerformanceWarning, Query
from sash.runtime.keyed import KeyedOperator, Outcomes
from sash_spark.columns import Columns, array_of, arrow_schema
from sash_spark.packing import in_order, pieces, rows_of
from sash_spark.state import loaded, saved
from sash_spark.timers import Clock
from sash_spark.worker import settle

__all__ = ["COUNTS", "GIVEN", "Bucket"]

COUNTS = ("tuples_in", "results_out", "late_dropped", "late_corrected", "keys", "state_bytes")
"""What is told of each call, for the metrics."""
GIVEN = T.StructType([T.StructField("rows", T.BinaryType()), *(T.StructField(name, T.LongType()) for name in COUNTS)])
"""What a stateful function gives: results as bytes, and counts."""


class Bucket:
    """Takes a bucket's rows. It is pickled: the query, with users' functions, travels in it.

    ``wire`` are the columns that travel: those that the query reads, then those that order rows.
    """

    def __init__(self, query: Query, schema: T.StructType, wire: pa.Schema, clock: Clock) -> None:
        self.query, self.wire, self.clock = query, wire, clock
        self.run = uuid4().hex
        self._read = [field.name for field in wire if field.name.startswith("c")]
        self._orders = wire.names[len(self._read) :]
        if not self._orders and query.orders:
            self._orders = [f"c{query.columns.index(query.orders[0])}"]
        self._columns = Columns(query, schema)
        self._keys = pa.schema([arrow_schema(schema).field(key) for key in query.keys])

    def process(self, op: KeyedOperator, watermark: int, frames: Iterable[pd.DataFrame]) -> list[pa.RecordBatch]:
        """The results of what is complete at Spark's watermark, in milliseconds, and of the rows that came."""
        batches = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PerformanceWarning)  # aggregate() has said so
            if (now := self.clock.now(watermark)) is not None:
                batches += self._batches(op.advance_outcomes(now))
            rows = rows_of(frames, self.wire)
            if len(rows):
                taken = in_order(rows, self._orders).select(self._read)
                batches += self._batches(op.process_outcomes(taken.rename_columns(self.query.columns or [""])))
            self.clock.forget(op, watermark)
        return batches

    def _batches(self, outcomes: Outcomes) -> list[pa.RecordBatch]:
        if not any(map(len, outcomes.lanes)):
            return []
        arrays = [array_of(outcomes.keys[field.name], field.type) for field in self._keys]
        keys = pa.RecordBatch.from_arrays(arrays, schema=self._keys)
        return [self._columns.batch(each, keys) for each in outcomes.lanes if len(each)]

    def given(self, batches: list[pa.RecordBatch], op: KeyedOperator, before: dict[str, int], size: int) -> Any:
        """What Spark is given: a row a piece of the results, the first one with the counts."""
        counts = {name: value - before[name] for name, value in op.metrics.items()}
        counts |= {"keys": op.keys, "state_bytes": size}
        rows: list[bytes | None] = [*pieces(batches)] or [None]
        more = [0] * (len(rows) - 1)
        return pd.DataFrame({"rows": rows} | {name: [counts[name], *more] for name in COUNTS})

    def function(self) -> Callable[..., Iterator[pd.DataFrame]]:
        """What ``applyInPandasWithState`` calls for each bucket that has rows or whose timer is due."""

        def work(key: Any, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
            settle()
            (number,), watermark = key, state.getCurrentWatermarkMs() if self.clock.time is not None else 0
            op = loaded(state, self.query, self.run, number)
            before = op.metrics
            batches = self.process(op, watermark, () if state.hasTimedOut else frames)
            size = saved(state, op, self.run, number)
            if (timer := self.clock.timer(op, watermark)) is not None:
                state.setTimeoutTimestamp(timer)
            yield self.given(batches, op, before, size)

        return work
