"""What both ways of running a query in a keyed process function share: state, timers and what is kept alive."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections import OrderedDict
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Row
from pyflink.datastream import KeyedProcessFunction, RuntimeContext

from sash import PerformanceWarning, Query
from sash.aggregators.pool import hold_pool, release_pool
from sash_flink.clock import END, NEVER, Clock
from sash_flink.journal import Element, Journal, Weight
from sash_flink.metrics import Metrics

__all__ = ["Live", "StatefulFunction"]


class Live:
    """The operator of a key, or of a bucket of keys, as long as it is kept alive: a cache of Flink's state."""

    def __init__(self, key: Any, op: Any, weight: Weight) -> None:
        self.key, self.op, self.weight = key, op, weight
        self.watermark = NEVER
        self.told: list[Any] | None = None
        """The key as results have it, once it is known."""
        self.timer: int | None = None
        """The next one that Flink knows of."""
        self.element: Element | None = None
        """The one of the journal that was added last."""
        self.begun = False
        """Whether there is state of it."""
        self.forgotten = False
        """Whether its operator is a new one, because it had been silent for too long."""


class StatefulFunction(KeyedProcessFunction):  # type: ignore[misc]  # PyFlink has no types
    """Runs a query on a keyed stream whose values begin with the watermark that they came behind."""

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
    def made(self, snapshot: bytes | None) -> Any:
        """An operator, new or from a snapshot."""

    @abstractmethod
    def advanced(self, live: Live, watermark: int) -> list[Any]:
        """What comes out when the watermark moves."""

    @abstractmethod
    def taken(self, live: Live, records: Any) -> list[Any]:
        """What comes out when records come in."""

    @abstractmethod
    def size(self, records: Any) -> int:
        """About how many bytes they have."""

    def due(self, live: Live) -> int | None:
        """When Flink is to call, should nothing come before; None: it need not."""
        return self.clock.timer(live.op.next_timer(), live.watermark)

    # Flink's calls

    def open(self, runtime_context: RuntimeContext) -> None:
        """Start: all that a restart must not see is made here."""
        hold_pool(self.threads)  # before an operator is planned
        self._journal = Journal(runtime_context)
        self._timed = self.clock.column is not None
        self._live: OrderedDict[Any, Live] = OrderedDict()
        self.metrics = Metrics(runtime_context.get_metrics_group(), self._live)
        warnings.simplefilter("ignore", PerformanceWarning)  # aggregate() has said so

    def close(self) -> None:
        """End: the threads of the slot do so with its last function."""
        release_pool()

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> list[Any]:
        """Take what came for a key."""
        watermark, records = self.split(value, ctx)
        live = self._found(ctx)
        if not live.begun:
            live.begun = True
            ctx.timer_service().register_event_time_timer(END)  # so that the end of the input is told
        found = self._run(live, watermark, records)
        if self._timed:
            self._set_timer(live, ctx)
        return found

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> list[Any]:
        """Time has passed for a key from which nothing may come any more."""
        live = self._found(ctx)
        if not live.begun:  # it has been forgotten
            self._live.pop(live.key, None)
            return []
        if live.timer is not None and live.timer <= timestamp:
            live.timer = None
        watermark = ctx.timer_service().current_watermark()
        found = self._run(live, watermark, None) if watermark > live.watermark else []
        if live.forgotten:
            ctx.timer_service().delete_event_time_timer(END)
            self._live.pop(live.key, None)
        elif self._timed:
            self._set_timer(live, ctx)
        return found

    @staticmethod
    def split(value: Any, ctx: KeyedProcessFunction.Context) -> tuple[int, Any]:
        """The watermark and the records."""
        return value[0], value[1]

    # state

    def _found(self, ctx: KeyedProcessFunction.Context) -> Live:
        key = ctx.get_current_key()
        key = tuple(key._values) if type(key) is Row else key if isinstance(key, tuple) else (key,)
        live = self._live.get(key)
        if live is None:
            live = self._live[key] = self._read(key)
            if len(self._live) > self.cache:
                self._live.popitem(last=False)
        elif len(self._live) == self.cache:
            self._live.move_to_end(key)
        return live

    def _read(self, key: Any) -> Live:
        snapshot, entries = self._journal.read()
        live = Live(key, self.made(snapshot), Weight(self.least, len(snapshot or b"")))
        with self.metrics.muted():
            for watermark, records in entries:
                self._applied(live, watermark, records)  # what came out then is out
                live.weight.add(self.size(records))
        live.begun = snapshot is not None or bool(entries)
        live.forgotten = False  # with a ttl that the job did not have before: the entries tell it again each time
        return live

    def _run(self, live: Live, watermark: int, records: Any) -> list[Any]:
        found = self._applied(live, watermark, records)
        if live.forgotten:
            self._journal.clear()
            live.weight, live.element = Weight(self.least), None
            if records is None:
                return found
            live.forgotten = False
        written = self.size(records)
        if live.weight.add(written):
            snapshot = live.op.snapshot(trusted=True)
            self._journal.replace(snapshot)
            live.weight = Weight(self.least, len(snapshot))
            written = len(snapshot)
        else:
            live.element = self._journal.append(live.element, (watermark, records))
        self.metrics.counts["stateWritten"] += written
        return found

    def _applied(self, live: Live, watermark: int, records: Any) -> list[Any]:
        found: list[Any] = []
        if watermark > live.watermark:
            live.watermark = watermark
            found = self.advanced(live, watermark)
        if records is not None:
            found += self.taken(live, records)
        return found

    def _set_timer(self, live: Live, ctx: KeyedProcessFunction.Context) -> None:
        if live.watermark == END:
            return
        at = self.due(live)
        if at is not None and (live.timer is None or at < live.timer):
            ctx.timer_service().register_event_time_timer(at)
            live.timer = at
