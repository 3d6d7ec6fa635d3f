"""A bucket's state in parts, by ``transformWithStateInPandas``: what has not changed is not written again.

A value has the header; a map has the blocks of slices, which are written once and deleted once. Needs Spark's RocksDB
state store and a newer protobuf than PyFlink allows: where that is missing, see :mod:`sash_spark.streaming_buckets`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from sash import PerformanceWarning
from sash.runtime.keyed import KeyedOperator
from sash_spark.sizes import warn_large
from sash_spark.state import kept, remember
from sash_spark.streaming_buckets import Bucket
from sash_spark.worker import settle

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

__all__ = ["PROVIDER", "ROCKSDB", "Parts", "importable", "missing"]

BLOCK_KEY, BLOCK_VALUE = "lane string, key bigint, block bigint", "slices binary"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def missing(spark: SparkSession) -> str | None:
    """Why state cannot be kept in parts; None: it can."""
    provider = str(spark.conf.get(PROVIDER))
    if "RocksDB" not in provider:
        return f"it needs Spark's RocksDB state store, and {PROVIDER} is {provider}"
    return importable()


def importable() -> str | None:
    """Why PySpark's ``transformWithStateInPandas`` cannot be imported; None: it can."""
    try:
        from google.protobuf.runtime_version import VersionError  # type: ignore[import-untyped]
    except ImportError as error:
        return f"it needs protobuf: {error}"
    try:
        import pyspark.sql.streaming.proto.StateMessage_pb2  # noqa: F401
    except (ImportError, VersionError) as error:
        return f"PySpark's messages cannot be imported: {error}"
    return None


class Parts(StatefulProcessor):
    """What Spark calls for each bucket that has rows or whose timer is due."""

    def __init__(self, bucket: Bucket, schema: T.StructType) -> None:
        self.bucket, self.schema = bucket, schema.add("timer", T.LongType())

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark's: what the state is."""
        settle()
        self._handle = handle
        self._header = handle.getValueState("header", self.schema)
        self._blocks = handle.getMapState("blocks", BLOCK_KEY, BLOCK_VALUE)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        """Spark's: rows came."""
        yield self._work(key[0], rows, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        """Spark's: the watermark has passed a timer."""
        yield self._work(key[0], (), timerValues)

    def close(self) -> None:
        """Spark's: a micro-batch is over."""

    def _work(self, number: int, rows: Iterable[pd.DataFrame], times: Any) -> Any:
        bucket, clock = self.bucket, self.bucket.clock
        watermark = times.getCurrentWatermarkInMs() if clock.time is not None else 0
        there = self._header.get()
        op = self._loaded(number, there)
        before = op.metrics
        batches = bucket.process(op, watermark, rows)
        timer = clock.timer(op, watermark)
        size = self._saved(number, op, timer)
        was = None if there is None else there[-1]
        if timer != was:
            if was is not None and was >= watermark:  # else it is due, and Spark itself deletes it
                self._handle.deleteTimer(was)
            if timer is not None:
                self._handle.registerTimer(timer)
        return bucket.given(batches, op, before, size)

    def _loaded(self, number: int, there: Any) -> KeyedOperator:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PerformanceWarning)  # aggregate() has said so
            if there is None:
                return KeyedOperator(self.bucket.query, own_watermark="key")
            header = bytes(there[2])
            if (op := kept((self.bucket.run, number), header)) is not None:
                return op
            blocks: Any = {tuple(name): bytes(value[0]) for name, value in self._blocks.iterator()}
            return KeyedOperator.restore_parts(self.bucket.query, header, blocks, own_watermark="key", trusted=True)

    def _saved(self, number: int, op: KeyedOperator, timer: int | None) -> int:
        """Write what is new; how many bytes that is."""
        header, written, deleted = op.snapshot_parts(trusted=True)
        for name in deleted:
            self._blocks.removeKey(name)
        if not op.keys:  # all were forgotten
            self._header.clear()
            return 0
        for name, block in written.items():
            self._blocks.updateValue(name, (block,))
        self._header.update((number, op.keys, header, None, None, None, None, timer))
        remember((self.bucket.run, number), header, op)
        warn_large(len(header), number, op.keys)
        return len(header) + sum(map(len, written.values()))
