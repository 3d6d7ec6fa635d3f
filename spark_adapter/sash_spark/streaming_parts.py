"""A bucket's state in parts, by ``transformWithStateInPandas``: what has not changed is not written again.

A value has the header; a map has the blocks of slices, which are written once and deleted once. Needs Spark's RocksDB
state store and a newer protobuf than PyFlink allows: where that is missing, see :mod:`sash_spark.streaming_buckets`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from sash.spi import KeyedOperator
from sash_spark.streaming_buckets import OUTPUT, Bucket
from sash_spark.timers import NEVER
from sash_spark.worker import settle

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

__all__ = ["PROVIDER", "ROCKSDB", "Parts", "importable", "missing"]

TIME = "event_time"
TIMED_OUTPUT = T.StructType([*OUTPUT.fields, T.StructField(TIME, T.TimestampType())])
"""With a time for each piece of results, which Spark asks for and refuses if it is before the watermark: its rows have
their own."""
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
    """The processor that Spark calls for each bucket that has rows or whose timer is due."""

    def __init__(self, bucket: Bucket, schema: T.StructType, timed: bool = False) -> None:
        self.bucket, self.schema, self.timed = bucket, schema.add("timer", T.LongType()), timed

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called by Spark: declare the state."""
        settle()
        self._handle = handle
        self._header = handle.getValueState("header", self.schema)
        self._blocks = handle.getMapState("blocks", BLOCK_KEY, BLOCK_VALUE)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        """Called by Spark: take rows."""
        yield self._work(key[0], rows, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        """Called by Spark: the watermark has passed a timer."""
        yield self._work(key[0], (), timerValues)

    def close(self) -> None:
        """Called by Spark: a micro-batch is over."""

    def _work(self, number: int, rows: Iterable[pd.DataFrame], times: Any) -> pd.DataFrame:
        watermark = times.getCurrentWatermarkInMs() if self.bucket.clock.time is not None else 0
        there = self._header.get()

        def save(op: KeyedOperator, timer: int | None) -> int:
            self._set_timer(None if there is None else there[-1], timer, watermark)
            return self._save(number, op, timer)

        header = None if there is None else bytes(there[2])
        work = self.bucket.work(number, watermark, rows, save, header, self._stored_blocks)
        return work.assign(**{TIME: NEVER}) if self.timed else work

    def _stored_blocks(self) -> dict[Any, bytes]:
        return {tuple(name): bytes(value[0]) for name, value in self._blocks.iterator()}

    def _set_timer(self, before: int | None, timer: int | None, watermark: int) -> None:
        if timer == before:
            return
        if before is not None and before >= watermark:  # else it is due, and Spark itself deletes it
            self._handle.deleteTimer(before)
        if timer is not None:
            self._handle.registerTimer(timer)

    def _save(self, number: int, op: KeyedOperator, timer: int | None) -> int:
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
        self.bucket.remember(number, header, op)
        return len(header) + sum(map(len, written.values()))
