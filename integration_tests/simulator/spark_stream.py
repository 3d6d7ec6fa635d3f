"""A streaming query of Spark: micro-batches, buckets of keys in workers that live on, timers, retries and restarts.

A batch is planned (its rows and its watermark are logged), each bucket that has rows or a timer that is due is worked
on by some worker, and the batch is committed: state, results and the next watermark at once. A task that fails is tried
again by the same or another worker; a driver that fails plans nothing, but repeats the batch that was planned.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import cloudpickle
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import types as T
from pyspark.sql.streaming.state import GroupState

import sash_spark.state
import sash_spark.streaming_buckets
from integration_tests.conformance.cases import ORDER, Case
from sash.spi import milliseconds
from sash_spark.packing import Pack
from sash_spark.schema import arrow_schema, output_schema
from sash_spark.state import state_schema
from sash_spark.streaming_buckets import Bucket
from sash_spark.streaming_parts import Parts
from sash_spark.timers import Clock

from .world import Crash, World

__all__ = ["SparkStream"]

_TYPES: dict[str, T.DataType] = {
    "string": T.StringType(),
    "long": T.LongType(),
    "int": T.IntegerType(),
    "double": T.DoubleType(),
    "float": T.FloatType(),
    "boolean": T.BooleanType(),
    "binary": T.BinaryType(),
    "date": T.DateType(),
    "timestamp": T.TimestampType(),
    "timestamp_ntz": T.TimestampNTZType(),
    "decimal(10,2)": T.DecimalType(10, 2),
}
Stored = dict[int, Any]
"""The state of buckets."""


@contextmanager
def unprepared() -> Iterator[None]:
    """Leave this process as it is: workers prepare themselves."""
    places = [(module, module.settle) for module in map(sys.modules.get, _SETTLE) if module is not None]
    for module, _ in places:
        module.settle = lambda: None  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module, before in places:
            module.settle = before  # type: ignore[attr-defined]


_SETTLE = ("sash_spark.packing", "sash_spark.streaming_buckets", "sash_spark.streaming_parts")


class _Group(GroupState):
    """PySpark's, whose calls may be where the worker ends."""

    world: World

    @property
    def get(self) -> Any:
        self.world.call("get")
        return super().get

    def update(self, newValue: Any) -> None:
        self.world.call("update")
        super().update(newValue)

    def remove(self) -> None:
        self.world.call("remove")
        super().remove()

    def setTimeoutTimestamp(self, timestampMs: int) -> None:
        self.world.call("timeout")
        super().setTimeoutTimestamp(timestampMs)


class _Handle:
    """The state of a bucket in parts, and its timers."""

    def __init__(self, world: World, stored: Any) -> None:
        self.world = world
        header, blocks, timers = stored or (None, {}, frozenset())
        self.header: Any = header
        self.blocks: dict[Any, Any] = dict(blocks)
        self.timers: set[int] = set(timers)

    def getValueState(self, *_: Any) -> Any:
        return SimpleNamespace(get=self._get, update=self._update, clear=self._clear)

    def getMapState(self, *_: Any) -> Any:
        return SimpleNamespace(iterator=self._iterator, removeKey=self._remove, updateValue=self._put)

    def _get(self) -> Any:
        self.world.call("get")
        return self.header

    def _update(self, value: Any) -> None:
        self.world.call("update")
        self.header = value

    def _clear(self) -> None:
        self.world.call("clear")
        self.header = None

    def _iterator(self) -> Iterator[Any]:
        self.world.call("iterate")
        return iter(self.blocks.items())

    def _remove(self, key: Any) -> None:
        self.world.call("remove block")
        self.blocks.pop(key, None)

    def _put(self, key: Any, value: Any) -> None:
        self.world.call("put block")
        self.blocks[key] = value

    def registerTimer(self, at: int) -> None:
        self.world.call("register timer")
        self.timers.add(at)

    def deleteTimer(self, at: int) -> None:
        self.world.call("delete timer")
        assert at in self.timers, f"there is no timer at {at}"
        self.timers.discard(at)

    def stored(self) -> Any:
        return None if self.header is None and not self.timers else (self.header, self.blocks, frozenset(self.timers))


class SparkStream:
    """A case on simulated Spark; :meth:`run` gives the rows that were committed."""

    def __init__(self, case: Case, world: World, parts: bool, buckets: int | None = None) -> None:
        self.case, self.world, self.parts = case, world, parts
        schema = T.StructType([T.StructField(name, _TYPES[kind]) for name, kind in case.schema.items()])
        self.query, self.clock = Clock.of(SimpleNamespace(schema=schema), case.query, None)  # type: ignore[arg-type]
        self.buckets = buckets or (1 if not case.query.keys else world.chance.choice([1, 2, 7]))
        columns = [*self.query.columns, ORDER]
        names = [f"c{number}" for number in range(len(columns) - 1)] + ["o0"]
        self.columns = columns
        kinds = [schema[name].dataType for name in columns]
        self.wire = arrow_schema(T.StructType(list(map(T.StructField, names, kinds))))
        self.output = output_schema(self.query, schema, case.options.get("types"))
        cloudpickle.register_pickle_by_value(sys.modules[Case.__module__])
        self.workers: list[OrderedDict[Any, Any]] = [OrderedDict() for _ in range(world.chance.randrange(1, 3))]
        self.stored: Stored = {}
        self.watermark, self.position = 0, 0
        self.newest: int | None = None
        self.committed: list[dict[str, Any]] = []
        self.counts = {"batches": 0, "crashes": 0, "retries": 0}

    def run(self, upto: int | None = None) -> list[dict[str, Any]]:
        """Run to the end of the input, or of its first rows, through all crashes."""
        end = len(self.case.rows) if upto is None else upto
        with warnings.catch_warnings(), unprepared(), self.world.telling():
            warnings.simplefilter("ignore")
            self._restart()
            planned = None
            while planned is not None or self.position < end or self._has_moved():
                planned = planned or self._plan(end)
                try:
                    self._batch(*planned)
                except Crash:
                    self.counts["crashes"] += 1
                    self._restart()
                    continue
                planned = None
        return self.committed

    def start_workers(self, count: int) -> None:
        """Have so many workers, all of them new."""
        self.workers = [OrderedDict() for _ in range(count)]

    def go_on_from(self, other: SparkStream) -> None:
        """Start from the checkpoint of another run."""
        self.stored, self.position = other.stored, other.position
        self.watermark, self.newest = other.watermark, other.newest

    def take_over(self, snapshot: bytes | None, position: int, rows: list[Any]) -> None:
        """Start from a snapshot of all keys, which has taken these rows."""
        self.position = position
        if snapshot is not None:
            self.stored = {0: ((0, len(rows), snapshot, None, None, None, None), GroupState.NO_TIMESTAMP)}

    def snapshot_of(self, number: int) -> bytes | None:
        """The snapshot of a bucket."""
        return bytes(self.stored[number][0][2]) if number in self.stored else None

    def _restart(self) -> None:
        """A new driver. Workers may be new, too."""
        bucket = Bucket(self.query, self.output, self.wire, self.clock)
        self._bucket = cloudpickle.dumps(bucket)
        for worker in self.workers:
            if self.world.often(0.5):
                worker.clear()
        self.world.note(f"driver: starts at row {self.position}, watermark {self.watermark}")

    def _has_moved(self) -> bool:
        """Whether a batch without rows is due, because the watermark has moved."""
        return self.clock.time is not None and self._next_watermark() > self.watermark

    def _next_watermark(self) -> int:
        return self.watermark if self.newest is None else max(self.watermark, self.newest - self.clock.delay)

    def _plan(self, end: int) -> tuple[int, int]:
        """Where the next batch ends, and its watermark; both are in Spark's logs from now on."""
        left = end - self.position
        size = min(left, self.world.chance.choice([0, 1, 2, 5, 20, left]))
        if left and not size and not self._has_moved():
            size = 1
        self.world.note(f"driver: plans {size} rows at watermark {self._next_watermark()}")
        return self.position + size, self._next_watermark()

    def _batch(self, end: int, watermark: int) -> None:
        rows = self.case.rows[self.position : end]
        frames = self._pack(rows)
        stored, results = dict(self.stored), []
        due = {number for number, state in stored.items() if self._due(state, watermark)}
        for number in sorted(frames.keys() | due):
            state, output = self._task(number, watermark, frames.get(number, []), stored.get(number))
            stored.pop(number, None)
            if state is not None:
                stored[number] = state
            results += output
        self.world.call("commit")
        self.stored, self.position, self.watermark = stored, end, watermark
        if self.clock.time is not None:
            times = [int(milliseconds(row[self.clock.time])) for row in rows]
            self.newest = max([*times, *([] if self.newest is None else [self.newest])], default=None)
        self.committed += results
        self.counts["batches"] += 1
        self.world.note(f"driver: commits up to row {end}")

    def _due(self, state: Any, watermark: int) -> bool:
        if self.parts:
            return any(at < watermark for at in state[2])
        return bool(state[1] != GroupState.NO_TIMESTAMP and state[1] < watermark)

    def _pack(self, rows: list[Any]) -> dict[int, list[pd.DataFrame]]:
        """Rows as Spark's tasks pack them, by bucket."""
        chance, frames = self.world.chance, {}  # type: ignore[var-annotated]
        tasks: list[list[Any]] = [[] for _ in range(chance.randrange(1, 4))]
        for row in rows:
            chance.choice(tasks).append(row)
        for number, of_task in enumerate(tasks):
            if not of_task:
                continue
            values = [[row[name] for row in of_task] for name in self.columns]
            keys = ([row[key] for key in self.query.keys] for row in of_task)
            numbers = pa.array([crc32(repr(key).encode()) % self.buckets for key in keys], pa.int32())
            arrays = [pa.array(column, field.type) for column, field in zip(values, self.wire, strict=True)]
            batch = pa.RecordBatch.from_arrays([numbers, *arrays], ["bucket", *self.wire.names])
            for packed in Pack(self.wire, chance.choice([1, 3, 1000]))([batch]):
                table = pa.Table.from_batches([packed])
                table = table.set_column(1, "task", pa.array([number] * len(table), pa.int32()))
                for bucket, frame in table.to_pandas(use_threads=False).groupby("bucket"):
                    frames.setdefault(bucket, []).append(frame)
        for of_bucket in frames.values():
            chance.shuffle(of_bucket)
        return frames

    def _task(self, number: int, watermark: int, frames: list[Any], state: Any) -> tuple[Any, list[Any]]:
        """Work on a bucket, again if the worker fails: that is Spark's part, the state is that of the last batch."""
        while True:
            worker = self.world.chance.choice(self.workers)
            before, sash_spark.state._KEPT = sash_spark.state._KEPT, worker
            self.world.note(f"worker {self.workers.index(worker)}: bucket {number} of {len(frames)} pieces")
            try:
                work: Any = self._in_parts if self.parts else self._whole
                stored, results = work(pickle.loads(self._bucket), number, watermark, frames, state)
                return stored, results
            except Crash:
                if self.world.often(0.5):
                    raise
                self.counts["retries"] += 1
                if self.world.often(0.5):
                    worker.clear()  # another process
            finally:
                sash_spark.state._KEPT = before

    def _whole(self, bucket: Bucket, number: int, watermark: int, frames: list[Any], state: Any) -> Any:
        value, _ = state or (None, None)
        flags = (self.clock.timeout, not frames, self.clock.time is not None, value is not None, False, False)
        schema = state_schema(self.query, self.buckets)
        row: Any = None if value is None else T.Row(*value)
        group = _Group(row, 0, watermark, *flags, GroupState.NO_TIMESTAMP, b"", schema)
        group.world = self.world
        results = self._read(bucket.function()((number,), iter(frames), group))
        self.world.call("results")
        if group._removed or not group._defined:
            return None, results
        return (tuple(group._value), group._timeout_timestamp), results

    def _in_parts(self, bucket: Bucket, number: int, watermark: int, frames: list[Any], state: Any) -> Any:
        handle = _Handle(self.world, state)
        processor = Parts(bucket, state_schema(self.query, self.buckets))
        processor.init(handle)  # type: ignore[arg-type]
        times, results = SimpleNamespace(getCurrentWatermarkInMs=lambda: watermark), []
        if frames:
            results += self._read(processor.handleInputRows((number,), iter(frames), times))
        for at in sorted(at for at in handle.timers if at < watermark):
            results += self._read(processor.handleExpiredTimer((number,), times, None))
            handle.timers.discard(at)
        self.world.call("results")
        return handle.stored(), results

    def _read(self, frames: Iterator[pd.DataFrame]) -> list[dict[str, Any]]:
        schema, rows = arrow_schema(self.output), []
        for frame in frames:
            for blob in frame["rows"]:
                if blob is not None:
                    rows += pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(blob), schema)]).to_pylist()
        for row in rows:
            for name in ("window_start", "window_end"):
                if isinstance(row[name], dict):
                    (row[name],) = [value for value in row[name].values() if value is not None]
        return rows
