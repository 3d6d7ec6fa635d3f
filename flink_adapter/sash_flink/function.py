"""A query in a keyed process function of Flink: its operators, their state and timers, whichever way records come.

Operators are kept alive as a cache of Flink's state, in which each has a snapshot and a journal.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections import OrderedDict
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Row
from pyflink.datastream import KeyedProcessFunction, RuntimeContext

from sash import PerformanceWarning, Query
from sash.spi import hold_pool, release_pool
from sash_flink.clock import END, NEVER, Clock
from sash_flink.journal import Journal, Tail, Weight
from sash_flink.metrics import Metrics
from sash_flink.worker import settle

__all__ = ["Live", "StatefulFunction"]


class Live:
    """The operator of a key, or of a bucket of keys, as long as it is kept alive."""

    def __init__(self, key: Any, op: Any, weight: Weight) -> None:
        self.key, self.op, self.weight = key, op, weight
        self.watermark = NEVER
        self.written_key: list[Any] | None = None
        """The key as results have it, once it is known."""
        self.timer: int | None = None
        """The next one that Flink knows of."""
        self.tail: Tail | None = None
        """The end of its journal, if it may not have been written."""
        self.begun = False
        """Whether there is state of it."""
        self.untouched = False
        """Whether the last record was refused or late, which leaves nothing in a new operator."""
        self.forgotten = False
        """Whether its operator is a new one, because it had been silent for too long."""


class StatefulFunction(KeyedProcessFunction):  # type: ignore[misc]  # PyFlink has no types
    """Runs a query on a keyed stream whose values begin with the watermark that they came behind.

    ``cache`` is how many operators are kept alive; the other options are those of :func:`sash_flink.aggregate`.
    """

    least = 1 << 16
    """So many bytes of entries are no reason for a snapshot."""

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

    # what the ways differ in

    @abstractmethod
    def create(self, snapshot: bytes | None) -> Any:
        """Create an operator, new or from a snapshot."""

    @abstractmethod
    def advance(self, live: Live, watermark: int) -> list[Any]:
        """Move the watermark; what comes out."""

    @abstractmethod
    def take(self, live: Live, records: Any) -> list[Any]:
        """Take records; what comes out."""

    @abstractmethod
    def size(self, records: Any) -> int:
        """About how many bytes they have."""

    def due(self, live: Live) -> int | None:
        """When Flink is to call, should nothing come before; None: it need not."""
        return self.clock.timer(live.op.next_timer(), live.watermark)

    # Flink's calls

    def open(self, runtime_context: RuntimeContext) -> None:
        """Start: all that a restart must not see is created here."""
        settle()
        hold_pool(self.threads)  # before an operator is planned
        self._timed = self.clock.column is not None
        self._journal = Journal(runtime_context)
        self._live: OrderedDict[Any, Live] = OrderedDict()
        self.metrics = Metrics(runtime_context.get_metrics_group(), self._live)
        warnings.simplefilter("ignore", PerformanceWarning)  # aggregate() has said so

    def close(self) -> None:
        """End: the threads of the slot do so with its last function."""
        release_pool()

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> list[Any]:
        """Take what came for a key."""
        watermark, records = self.split(value, ctx)
        live = self._alive(self.key(ctx))
        new = not live.begun
        rows = self._run(live, watermark, records)
        if new and live.begun:
            ctx.timer_service().register_event_time_timer(END)  # so that the end of the input is told
        if self._timed:
            self._go_on(live, ctx)
        return rows

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> list[Any]:
        """Time has passed for a key from which nothing may come any more."""
        live = self._alive(self.key(ctx))
        if not live.begun:  # it has been forgotten
            self._drop(live)
            return []
        if live.timer is not None and live.timer <= timestamp:
            live.timer = None
        watermark = ctx.timer_service().current_watermark()
        rows = self._run(live, watermark, None) if watermark > live.watermark else []
        if self._timed:
            self._go_on(live, ctx)
        return rows

    def key(self, ctx: KeyedProcessFunction.Context) -> tuple[Any, ...]:
        """The current key."""
        key = ctx.get_current_key()
        return tuple(key._values) if type(key) is Row else key if isinstance(key, tuple) else (key,)

    @staticmethod
    def split(value: Any, ctx: KeyedProcessFunction.Context) -> tuple[int, Any]:
        """The watermark and the records."""
        return value[0], value[1]

    def _go_on(self, live: Live, ctx: KeyedProcessFunction.Context) -> None:
        """Have Flink call in time, or not at all."""
        if live.forgotten:
            ctx.timer_service().delete_event_time_timer(END)
            self._drop(live)
            return
        if not live.begun or live.watermark == END:
            return
        at = self.due(live)
        if at is not None and (live.timer is None or at < live.timer):
            ctx.timer_service().register_event_time_timer(at)
            live.timer = at

    # operators and their state

    def _alive(self, key: Any) -> Live:
        """The operator of the current key."""
        live = self._live.get(key)
        if live is None:
            live = self._live[key] = self._read(key)
            if len(self._live) > self.cache:
                self._live.popitem(last=False)
        elif len(self._live) == self.cache:
            self._live.move_to_end(key)
        return live

    def _drop(self, live: Live) -> None:
        """Keep it alive no longer."""
        self._live.pop(live.key, None)

    def _read(self, key: Any) -> Live:
        snapshot, entries = self._journal.read()
        live = Live(key, self.create(snapshot), Weight(self.least, len(snapshot or b"")))
        counted = dict(self.metrics.counts)
        for watermark, records in entries:
            self._apply(live, watermark, records)  # what came out then is out, and has been counted
            live.weight.add(self.size(records))
        self.metrics.counts.update(counted)
        live.begun = snapshot is not None or bool(entries)
        live.forgotten = False  # with a ttl that the job did not have before: the entries tell it again each time
        return live

    def _run(self, live: Live, watermark: int, records: Any) -> list[Any]:
        """What comes out of the operator of the current key; what came in is in Flink's state then."""
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
