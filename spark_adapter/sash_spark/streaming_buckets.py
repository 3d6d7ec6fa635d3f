"""What a worker does with the rows of a bucket of keys, and with its timers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any
from uuid import uuid4

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import types as T

from sash import PerformanceWarning, Query
from sash.spi import ArrowOutput, KeyedOperator
from sash_spark.packing import is_first_batch, read_rows, serialize, sort_rows
from sash_spark.schema import arrow_schema
from sash_spark.state import recall, remember, restore, warn_large
from sash_spark.timers import Clock
from sash_spark.worker import settle

__all__ = ["COUNTS", "OUTPUT", "Bucket"]

COUNTS = ("tuples_in", "results_out", "late_dropped", "late_corrected", "keys", "state_bytes")
"""The counts that each call returns, for the metrics."""
OUTPUT = T.StructType([T.StructField("rows", T.BinaryType()), *(T.StructField(name, T.LongType()) for name in COUNTS)])
"""The columns that a stateful function returns: results as bytes, and counts."""
Save = Callable[[KeyedOperator, int | None], int]


class Bucket:
    """Takes a bucket's rows. It is pickled: the query, with users' functions, travels in it.

    ``wire`` are the columns that travel: those that the query reads, then those that order rows. ``initial`` are the
    states that buckets start from. With ``updates`` open windows are returned too, each window once.
    """

    def __init__(
        self,
        query: Query,
        schema: T.StructType,
        wire: pa.Schema,
        clock: Clock,
        initial: Mapping[int, bytes] | None = None,
        updates: bool = False,
    ) -> None:
        self.query, self.wire, self.clock, self.initial, self.updates = query, wire, clock, initial or {}, updates
        self.run = uuid4().hex
        self._read = [field.name for field in wire if field.name.startswith("c")]
        self._orders = wire.names[len(self._read) :]
        if not self._orders and query.orders:
            self._orders = [f"c{query.columns.index(query.orders[0])}"]
        self._columns = ArrowOutput(query, arrow_schema(schema))

    def work(
        self, number: int, watermark: int, frames: Iterable[pd.DataFrame], save: Save, state: Any, blocks: Any = None
    ) -> pd.DataFrame:
        """The results of what is complete at Spark's watermark, in milliseconds, and of the rows that came.

        ``state`` are the bytes of the bucket's, None if there are none, and ``blocks`` reads those that belong to it.
        ``save`` writes the operator and its timer, and says how many bytes these are. A row is a piece of the results,
        the first one with the counts.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PerformanceWarning)  # aggregate() has warned
            if state is None and number in self.initial and is_first_batch():
                op = restore(self.query, self.initial[number])
            elif state is None:
                op = KeyedOperator(self.query, own_watermark="key")
            else:
                op = recall((self.run, number), state) or restore(self.query, state, blocks and blocks())
            before = op.metrics
            batches = self._process(op, watermark, frames)
        size = save(op, self.clock.timer(op, watermark))
        counts = {name: value - before[name] for name, value in op.metrics.items()}
        counts |= {"keys": op.keys, "state_bytes": size}
        rows: list[bytes | None] = [*serialize(batches)] or [None]
        more = [0] * (len(rows) - 1)
        return pd.DataFrame({"rows": rows} | {name: [counts[name], *more] for name in COUNTS})

    def _process(self, op: KeyedOperator, watermark: int, frames: Iterable[pd.DataFrame]) -> list[pa.RecordBatch]:
        now, rows = self.clock.now(watermark), read_rows(frames, self.wire)
        in_order = sort_rows(rows, self._orders).select(self._read).rename_columns(self.query.columns or [""])
        if self.updates:
            batches = self._columns.batches(op.update_outcomes(in_order, now))
        else:
            batches = [] if now is None else self._columns.batches(op.advance_outcomes(now))
            if len(rows):
                batches += self._columns.batches(op.process_outcomes(in_order))
        self.clock.forget(op, watermark)
        return batches

    def remember(self, number: int, state: bytes, op: KeyedOperator) -> None:
        """Keep the operator of a state that was written; warn if that is much for each micro-batch."""
        remember((self.run, number), state, op)
        warn_large(len(state), number, op.keys)

    def function(self) -> Callable[..., Iterator[pd.DataFrame]]:
        """What ``applyInPandasWithState`` calls for each bucket that has rows or whose timer is due."""

        def call(key: Any, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
            settle()
            watermark = self.clock.watermark(state)
            there = bytes(state.get[2]) if state.exists else None
            rows = () if state.hasTimedOut else frames
            yield self.work(key[0], watermark, rows, partial(self.save, state, key[0], watermark), there)

        return call

    def save(self, state: Any, number: int, watermark: int, op: KeyedOperator, timer: int | None) -> int:
        """Put the operator's state where Spark takes it from; its size in bytes."""
        if not op.keys:  # all were forgotten
            state.remove()
            return 0
        blob = op.snapshot(trusted=True)
        state.update((number, op.keys, blob, None, None, None, None))
        if timer is not None:
            self.clock.set(state, timer, watermark)
        self.remember(number, blob, op)
        return len(blob)
