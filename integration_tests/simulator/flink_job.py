"""A job of Flink: a source with watermarks, channels, tasks, aligned checkpoints, restarts and rescaling.

    source ── (packs) ── a channel for each task ── task        records, watermarks and barriers, in their order

Results are committed by the checkpoint behind them, as files and Kafka's transactions are.
"""

from __future__ import annotations

import io
import pickle
import sys
import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

import cloudpickle
import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Row
from pyflink.common.time import Instant

import sash_flink.function
import sash_flink.packed
import sash_flink.records
from integration_tests.conformance.cases import Case
from sash import Query
from sash.spi import KeyOperator, hold_pool, milliseconds, release_pool
from sash_flink.clock import Clock
from sash_flink.packed import LATE, RESULTS, PackedFunction
from sash_flink.records import WindowOperatorFunction
from sash_flink.source import result_schema
from sash_flink.types import wire_schema

from .flink_task import END, NEVER, GroupedState, Task
from .world import Crash, World

__all__ = ["FlinkJob"]

MOST = 128
"""The number of key groups."""
Savepoint = tuple[int, GroupedState, int]
"""The position of the source, the state, and the watermark that records behind it are stamped with at least."""


@contextmanager
def unprepared() -> Iterator[None]:
    """Leave this process as it is: functions that are opened prepare a worker, and compile ahead.

    What a crashed task holds of the pool of threads goes with its process, as that of a real one.
    """
    held, holds = [], 0

    def hold(threads: int | None = None) -> None:
        nonlocal holds
        hold_pool(threads)
        holds += 1

    def release() -> None:
        nonlocal holds
        release_pool()
        holds -= 1

    for module, name, instead in (
        (sash_flink.function, "settle", lambda: None),
        (sash_flink.function, "hold_pool", hold),
        (sash_flink.function, "release_pool", release),
        (sash_flink.packed, "freeze_loaded_objects", lambda: None),
        (sash_flink.records, "freeze_loaded_objects", lambda: None),
        (KeyOperator, "warm_up", lambda self: None),
    ):
        held.append((module, name, getattr(module, name)))
        setattr(module, name, instead)
    try:
        yield
    finally:
        for module, name, before in held:
            setattr(module, name, before)
        for _ in range(holds):
            release_pool()


class _Source:
    """Reads rows from a position on; gives records and watermarks as the operators before Python's do."""

    def __init__(self, case: Case, world: World, read: pa.Schema, clock: Clock, position: int, packed: bool) -> None:
        self.case, self.world, self.read, self.clock, self.position = case, world, read, clock, position
        self.packed = packed
        self.newest: int | None = None
        (self.delay,) = [
            -(-lane.delay // (1 if clock.kind == "number" and clock.unit is None else 10**6))
            for lane in case.query.lanes
            if lane.order == clock.column
        ] or [0]
        self.buckets = 1 if not case.query.keys else 5
        self.packs: dict[int, list[Any]] = {}
        self.waiting: int | None = None
        self.timed = False
        self.max_rows = world.chance.choice([1, 4, 1000])

    def next(self) -> Iterator[tuple[Any, Any]]:
        """What the next row sends: pairs of a key and a record, or of None and a watermark."""
        row = self.case.rows[self.position]
        self.position += 1
        time = None if self.clock.column is None else self._millis(row[self.clock.column])
        yield from self._pack(row, time) if self.packed else self._record(row)
        if time is not None and (self.newest is None or time > self.newest):
            self.newest = time
            yield from self.mark(int(time - self.delay - 1))

    def _millis(self, value: Any) -> int:
        if self.clock.kind != "number":
            return int(milliseconds(value))
        return int(value if self.clock.unit is None else value * self.clock.unit // 10**6)

    def _key(self, row: Mapping[str, Any]) -> Any:
        return Row(*(row[name] for name in self.case.query.keys)) if self.case.query.keys else Row(0)

    def _record(self, row: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
        key = Row(*map(_to_flink, self._key(row)))
        yield key, [_to_flink(row[name]) for name in self.read.names]

    def _pack(self, row: Mapping[str, Any], time: int | None) -> Iterator[tuple[Any, Any]]:
        if self.waiting is not None and time is not None and time <= self.waiting:
            yield from self.release()
        bucket = crc32(repr(self._key(row)).encode()) % self.buckets
        self.packs.setdefault(bucket, []).append(row)
        if len(self.packs[bucket]) >= self.max_rows:
            yield self._flush(bucket)
        else:
            self.timed = True

    def _flush(self, bucket: int) -> tuple[int, bytes]:
        rows, schema = self.packs.pop(bucket), wire_schema(self.read)
        table = pa.Table.from_pylist([{name: row[name] for name in self.read.names} for row in rows], self.read)
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, schema) as stream:
            stream.write_table(table.cast(schema))
        return bucket, sink.getvalue()

    def mark(self, watermark: int) -> Iterator[tuple[None, int]]:
        """A watermark; with packs, it waits for what came before it."""
        if not self.packed:
            yield None, watermark
            return
        self.waiting = watermark
        if not self.timed or watermark == END:
            yield from self.release()

    def release(self) -> Iterator[tuple[Any, Any]]:
        """All that waits to be packed with more, the watermark last."""
        self.timed = False
        for bucket in list(self.packs):
            yield self._flush(bucket)
        if self.waiting is not None:
            mark, self.waiting = self.waiting, None
            yield None, mark


class FlinkJob:
    """A case on simulated Flink; :meth:`run` gives the rows that were committed."""

    def __init__(self, case: Case, world: World, packed: bool) -> None:
        self.case, self.world, self.packed = case, world, packed
        query: Query = case.query
        self.read = pa.schema([(name, case.arrow.field(name).type) for name in query.columns])
        self.results = result_schema(query, case.arrow, case.options.get("types"))
        self.clock = Clock.of(query, self.read)
        options: dict[str, Any] = {"cache": world.chance.choice([1, 2, 10_000]), "threads": 0}
        function: Any = (
            PackedFunction(query, self.read, self.results, **options)
            if packed
            else WindowOperatorFunction(query, self.read, self.results, stamped=True, **options)
        )
        function.least = world.chance.choice([1, 400, 4000, type(function).least])
        cloudpickle.register_pickle_by_value(sys.modules[Case.__module__])
        self._function = cloudpickle.dumps(function)
        self.parallelism = world.chance.randrange(1, 4)
        self._saved: Savepoint = (0, {}, NEVER)
        self.committed: list[Any] = []
        self.counts = {"checkpoints": 0, "crashes": 0, "rescaled": 0}

    def run(self) -> list[dict[str, Any]]:
        """Run to the end, through all crashes."""
        with warnings.catch_warnings(), unprepared(), self.world.telling():
            warnings.simplefilter("ignore")
            while not self._attempt():
                self.counts["crashes"] += 1
        return self.rows()

    def run_to(self, rows: int) -> Savepoint:
        """Run over the first rows, and stop with a savepoint."""
        whole, self.case = self.case, type(self.case)(**(vars(self.case) | {"rows": self.case.rows[:rows]}))
        with warnings.catch_warnings(), unprepared(), self.world.telling():
            warnings.simplefilter("ignore")
            while not self._attempt(close=False):
                self.counts["crashes"] += 1
        self.case = whole
        return self._saved

    def restore(self, savepoint: Savepoint) -> None:
        """Start from a savepoint instead of from nothing."""
        self._saved = savepoint

    def _attempt(self, close: bool = True) -> bool:
        """Run from the last checkpoint on; whether the end was reached."""
        world = self.world
        try:
            self._start(*self._saved)
            while True:
                more = self.source.position < len(self.case.rows)
                busy = [index for index, channel in enumerate(self.channels) if channel]
                if not more and not busy and self._barrier is None:
                    break
                free, shaken = self._barrier is None, not world.steady
                event = world.pick({
                    "source": 4.0 * more,
                    "task": 6.0 * bool(busy),
                    "bundle": 0.5,
                    "release": 0.5,
                    "checkpoint": 0.4 * free,
                    "crash": 0.02 * (shaken and self.counts["crashes"] < 6),
                    "rescale": 0.05 * (shaken and free and self.counts["rescaled"] < 3),
                })  # fmt: skip
                self._do(event, busy)
            self._end(close)
        except Crash:
            return False
        return True

    def _start(self, position: int, state: GroupedState, stamp: int) -> None:
        self.world.note(f"start at row {position} with {len(state)} keys in {self.parallelism} tasks")
        self.source = _Source(self.case, self.world, self.read, self.clock, position, self.packed)
        self.channels: list[deque[Any]] = [deque() for _ in range(self.parallelism)]
        self.stamps = [stamp] * self.parallelism
        self._barrier: dict[str, Any] | None = None
        parts: list[GroupedState] = [{} for _ in range(self.parallelism)]
        for key, saved in state.items():
            parts[self._owner(key)][key] = saved
        self.tasks = [
            Task(self.world, pickle.loads(self._function), part, self.parallelism, index)
            for index, part in enumerate(parts)
        ]

    def _owner(self, encoded: bytes) -> int:
        return (crc32(encoded) % MOST) * self.parallelism // MOST

    def _do(self, event: str, busy: list[int]) -> None:
        world = self.world
        match event:
            case "source":
                self._send(self.source.next())
            case "release":
                self._send(self.source.release())
            case "task":
                self._work(world.chance.choice(busy))
            case "bundle":
                index = world.chance.randrange(self.parallelism)
                world.note(f"task {index}: bundle time")
                self.tasks[index].finish_bundle()
            case "checkpoint":
                self._begin_checkpoint()
            case "rescale":
                self._begin_checkpoint()
                self._finish_checkpoint()
                self.parallelism = world.chance.randrange(1, 4)
                self.counts["rescaled"] += 1
                self._start(*self._saved)
            case _:
                world.note("crash between calls")
                raise Crash

    def _send(self, sent: Iterator[tuple[Any, Any]]) -> None:
        for key, value in sent:
            if key is None:
                self.world.note(f"source: watermark {value}")
                for channel in self.channels:
                    channel.append((None, value))
            else:
                encoded = pickle.dumps((tuple(key) if isinstance(key, Row) else key,))
                self.world.note(f"source: record {self.source.position - 1} of key {key}")
                self.channels[self._owner(encoded)].append((key, value))

    def _work(self, index: int) -> None:
        """Have a task take what is next in its channel."""
        key, value = self.channels[index].popleft()
        task = self.tasks[index]
        if key is not None:
            self.world.note(f"task {index}: record of key {key}")
            stamp = self.stamps[index]
            task.take(key, Row(stamp, value) if self.packed else Row(stamp, *value))
        elif isinstance(value, str):
            self.world.note(f"task {index}: {value}")
            task.finish_bundle()
            self._pass_barrier(index)
        else:
            self.world.note(f"task {index}: watermark {value}")
            self.stamps[index] = max(self.stamps[index], value)
            task.mark(value)

    # checkpoints

    def _begin_checkpoint(self) -> None:
        self._send(self.source.release())
        self._barrier = {"position": self.source.position, "state": {}, "results": [], "stamps": []}
        self.world.note(f"source: barrier at row {self.source.position}")
        for channel in self.channels:
            channel.append((None, "barrier"))

    def _pass_barrier(self, index: int) -> None:
        barrier, task = self._barrier, self.tasks[index]
        assert barrier is not None
        barrier["state"] |= task.state()
        barrier["results"] += task.results
        task.results = []
        barrier["stamps"].append(self.stamps[index])
        if len(barrier["stamps"]) == self.parallelism:
            self._barrier = None
            if self.world.often(0.1):
                self.world.note("the checkpoint is lost")  # as if it had expired: results go with the next one
                self.tasks[0].results = barrier["results"] + self.tasks[0].results
                return
            self.world.note("the checkpoint is complete")
            self._saved = barrier["position"], barrier["state"], min(barrier["stamps"])
            self.committed += barrier["results"]
            self.counts["checkpoints"] += 1

    def _finish_checkpoint(self) -> None:
        saved = self._saved
        while self._saved is saved:
            if self._barrier is None:  # it was lost
                self._begin_checkpoint()
            self._drain()

    def _drain(self) -> None:
        while busy := [index for index, channel in enumerate(self.channels) if channel]:
            self._work(self.world.chance.choice(busy))

    def _end(self, close: bool) -> None:
        """The end of the input, or a savepoint with which the job stops."""
        if close:
            self._send(self.source.release())
            self._send(self.source.mark(END))
            self._drain()
        self._begin_checkpoint()
        self._finish_checkpoint()
        for task in self.tasks:
            task.close()

    # rows

    def rows(self) -> list[dict[str, Any]]:
        """The committed results."""
        return [row for result in self.committed for row in self._rows(result)]

    def late_rows(self) -> list[tuple[Any, ...]]:
        """The columns that the query reads of the rows that were late."""
        late: list[tuple[Any, ...]] = []
        for result in self.committed:
            if isinstance(result, bytes) and result[0] == LATE:
                table = pa.ipc.open_stream(result[1:]).read_all().cast(self.read)
                late += [tuple(row.values()) for row in table.to_pylist()]
            elif isinstance(result, tuple) and not isinstance(result, Row) and result[0].tag_id == "sash-late":
                late.append(tuple(map(_from_flink, result[1])))
        return late

    def _rows(self, result: Any) -> Iterator[dict[str, Any]]:
        if isinstance(result, tuple) and not isinstance(result, Row):
            return  # to a side output
        if isinstance(result, bytes):
            if result[0] == RESULTS:
                for row in pa.ipc.open_stream(result[1:]).read_all().cast(self.results).to_pylist():
                    yield _told(row)
            return
        yield _told(dict(zip(self.results.names, map(_from_flink, result), strict=True)))


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """With ends of windows as they are elsewhere, where they are structures because they differ in type."""
    for name in ("window_start", "window_end"):
        end = row[name]
        if isinstance(end, dict | tuple):
            values = end.values() if isinstance(end, dict) else end
            (row[name],) = [value for value in values if value is not None]
    return row


def _to_flink(value: Any) -> Any:
    """As PyFlink hands values over."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        since = value.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        return Instant(since.days * 86400 + since.seconds, since.microseconds * 1000)
    return value


def _from_flink(value: Any) -> Any:
    if isinstance(value, Instant):
        return datetime.fromtimestamp(value.seconds, UTC).replace(microsecond=value.nanos // 1000)
    if isinstance(value, Row):
        return tuple(map(_from_flink, value))
    if isinstance(value, list):
        return [_from_flink(item) for item in value]
    return value
