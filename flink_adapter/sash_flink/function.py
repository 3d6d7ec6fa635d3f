"""A query in a keyed process function of Flink: its operators, their state and timers, whichever way records come.

Operators are kept alive as a cache of Flink's state, in which each has a snapshot and a journal.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Row
from pyflink.datastream import KeyedProcessFunction, RuntimeContext

from sash import PerformanceWarning, Query
from sash.spi import WAITING, hold_pool, release_pool
from sash_flink.clock import END, NEVER, Clock
from sash_flink.journal import Journal, Tail, Weight
from sash_flink.worker import settle

__all__ = ["Live", "Metrics", "StatefulFunction"]

COUNTS = ("rows", "results", "late", "rejected", "stateWritten")


class Live:
    """The operator of a key or of a bucket of keys while it is kept alive."""

    def __init__(self, key: Any, op: Any, weight: Weight) -> None:
        self.key, self.op, self.weight = key, op, weight
        self.watermark = NEVER
        self.written_key: list[Any] | None = None
        """The key as results have it, once it is known."""
        self.timer: int | None = None
        """The next timer that is registered with Flink."""
        self.tail: Tail | None = None
        """The end of its journal, if it may not have been written."""
        self.begun = False
        """Whether it has state in Flink."""
        self.untouched = False
        """Whether the last record was refused or late, which leaves nothing in a new operator."""
        self.forgotten = False
        """Whether its operator was replaced by a new one, because the key had been silent for too long."""


class StatefulFunction(KeyedProcessFunction):  # type: ignore[misc]  # PyFlink has no types
    """Runs a query on a keyed stream whose values begin with the watermark that preceded them.

    ``cache`` is how many operators are kept alive; the other options are those of :func:`sash_flink.aggregate`.
    """

    least = 1 << 16
    """The least number of bytes of entries before a snapshot is written."""

    def __init__(
        self,
        query: Query,
        schema: pa.Schema,
        *,
        cache: int,
        ttl: int | None = None,
        threads: int | None = None,
        bounded: bool = False,
    ) -> None:
        self.query, self.schema, self.cache, self.ttl, self.threads = query, schema, cache, ttl, threads
        self.clock = Clock.of(query, schema)
        # In a bounded job nothing is late: no tuple moves a watermark, the end of the input does.
        self.own = [] if bounded else self.clock.others(query)

    # what differs between the two ways

    @abstractmethod
    def create(self, snapshot: bytes | None) -> Any:
        """Create an operator, new or from a snapshot."""

    @abstractmethod
    def advance(self, live: Live, watermark: int) -> list[Any]:
        """Move the watermark; the output."""

    @abstractmethod
    def take(self, live: Live, records: Any) -> list[Any]:
        """Take records; the output."""

    @abstractmethod
    def size(self, records: Any) -> int:
        """The approximate number of bytes of records."""

    def due(self, live: Live) -> int | None:
        """When Flink has to call if nothing comes before; None: it need not."""
        return self.clock.timer(live.op.next_timer(), live.watermark)

    # Flink's calls

    def open(self, runtime_context: RuntimeContext) -> None:
        """Flink starts the task. What must not survive a restart is created here."""
        settle()
        hold_pool(self.threads)  # before an operator is planned
        self._timed = self.clock.column is not None
        self._journal = Journal(runtime_context)
        self._live: OrderedDict[Any, Live] = OrderedDict()
        self.metrics = Metrics(runtime_context.get_metrics_group(), self._live)
        warnings.simplefilter("ignore", PerformanceWarning)  # aggregate() has said so

    def close(self) -> None:
        """Flink ends the task. The threads of the slot end with its last function."""
        release_pool()

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> list[Any]:
        """Take what came for a key."""
        watermark, records = self.split(value, ctx)
        live = self._operator(self.key(ctx))
        if self.clock.arrival:
            watermark = max(self._arrived(ctx), live.watermark)
        new = not live.begun
        rows = self._run(live, watermark, records)
        if new and live.begun:
            ctx.timer_service().register_event_time_timer(END)  # so that the end of the input calls on_timer
        if self._timed:
            self._update_timer(live, ctx)
        return rows

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> list[Any]:
        """Time has passed for a key from which nothing may come any more."""
        live = self._operator(self.key(ctx))
        if not live.begun:  # it has been forgotten
            self._drop(live)
            return []
        if live.timer is not None and live.timer <= timestamp:
            live.timer = None
        watermark = ctx.timer_service().current_watermark()
        if self.clock.arrival and watermark != END:
            watermark = self._arrived(ctx)
        rows = self._run(live, watermark, None) if watermark > live.watermark else []
        if self._timed:
            self._update_timer(live, ctx)
        return rows

    def key(self, ctx: KeyedProcessFunction.Context) -> tuple[Any, ...]:
        """The current key."""
        key = ctx.get_current_key()
        return tuple(key._values) if type(key) is Row else key if isinstance(key, tuple) else (key,)

    @staticmethod
    def split(value: Any, ctx: KeyedProcessFunction.Context) -> tuple[int, Any]:
        """The watermark and the records."""
        return value[0], value[1]

    def _update_timer(self, live: Live, ctx: KeyedProcessFunction.Context) -> None:
        """Register the next timer, or delete that of a forgotten key."""
        if live.forgotten:
            ctx.timer_service().delete_event_time_timer(END)
            self._drop(live)
            return
        if not live.begun or live.watermark == END:
            return
        at = self.due(live)
        if at is not None and (live.timer is None or at < live.timer):
            if self.clock.arrival:
                ctx.timer_service().register_processing_time_timer(at + 1)  # when it is over
            else:
                ctx.timer_service().register_event_time_timer(at)
            live.timer = at

    @staticmethod
    def _arrived(ctx: KeyedProcessFunction.Context) -> int:
        """The last time that is over, by the clock."""
        return int(ctx.timer_service().current_processing_time()) - 1

    def arrival(self, live: Live) -> Any:
        """The time of records that arrive at the watermark of an operator."""
        return self.clock.moment(live.watermark + 1)

    # operators and their state

    def _operator(self, key: Any) -> Live:
        """The operator of the current key, read from Flink's state unless it is alive."""
        live = self._live.get(key)
        if live is None:
            live = self._live[key] = self._read(key)
            if len(self._live) > self.cache:
                self._live.popitem(last=False)
        elif len(self._live) == self.cache:
            self._live.move_to_end(key)
        return live

    def _drop(self, live: Live) -> None:
        """Stop keeping it alive."""
        self._live.pop(live.key, None)

    def _read(self, key: Any) -> Live:
        snapshot, entries = self._journal.read()
        live = Live(key, self.create(snapshot), Weight(self.least, len(snapshot or b"")))
        if self.clock.arrival and (newest := live.op.newest) is not None:
            live.watermark = self.clock.milliseconds(newest) - 1  # clocks of other machines may be behind
        if live.op.closed:  # the snapshot was written at the end of the input, of which other timers tell again
            live.watermark = END
        counted = dict(self.metrics.counts)
        for watermark, records in entries:
            self._apply(live, watermark, records)  # what came out then is out, and has been counted
            live.weight.add(self.size(records))
        self.metrics.counts.update(counted)
        live.begun = snapshot is not None or bool(entries)
        live.forgotten = False  # with a ttl that the job did not have before: the entries tell it again each time
        return live

    def _run(self, live: Live, watermark: int, records: Any) -> list[Any]:
        """Run the operator of the current key and write its input to Flink's state; the output."""
        live.untouched = False
        rows = self._apply(live, watermark, records)
        if live.untouched and not live.begun:
            self._drop(live)
            return rows
        if live.forgotten:
            self._journal.clear()
            live.weight, live.tail = Weight(self.least), None
            if records is None or live.untouched:
                return rows
            live.forgotten = False
        written = self.size(records)
        if live.weight.add(written):
            snapshot = live.op.snapshot(trusted=True)
            self._journal.replace(snapshot)
            written = len(snapshot)
            live.weight = Weight(self.least, written)
        else:
            live.tail = self._journal.append(live.tail, (watermark, records))
        live.begun = True
        self.metrics.counts["stateWritten"] += written
        return rows

    def _apply(self, live: Live, watermark: int, records: Any) -> list[Any]:
        if watermark <= live.watermark:  # as most often
            return [] if records is None else self.take(live, records)
        live.watermark = watermark
        rows = self.advance(live, watermark)
        if records is not None:
            rows += self.take(live, records)
        return rows


class Metrics:
    """What Flink shows in its UI and to its reporters: rows, results, late and rejected rows, bytes of state written.

    Of the whole slot: ``lcsTasks`` is how many chunks the pool was given, ``lcsWaits`` and ``lcsWaitMillis`` how often,
    and for how long, a window waited for ``lcs``.

    All are gauges, which Flink asks once a bundle: a counter of PyFlink's costs a microsecond a record.
    """

    def __init__(self, group: Any, live: Mapping[Any, Any]) -> None:
        self.counts = dict.fromkeys(COUNTS, 0)
        """Counters, to be incremented in place: this happens several times a record."""
        if group is None:  # python.metric.enabled is off
            return
        group = group.add_group("sash")
        for name in COUNTS:
            group.gauge(name, partial(self.counts.__getitem__, name))
        group.gauge("keysAlive", lambda: len(live))
        group.gauge("stateBytes", lambda: sum(key.weight.snapshot + key.weight.since for key in list(live.values())))
        group.gauge("merges", lambda: sum(key.op.metrics["merges"] for key in list(live.values())))
        group.gauge("lcsTasks", lambda: WAITING.tasks)
        group.gauge("lcsWaits", lambda: WAITING.times)
        group.gauge("lcsWaitMillis", lambda: int(WAITING.seconds * 1000))
