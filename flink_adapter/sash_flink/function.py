"""What both ways of running a query in a keyed process function share: Flink's calls, and timers."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Row
from pyflink.datastream import KeyedProcessFunction, RuntimeContext

from sash import PerformanceWarning, Query
from sash.aggregators.thread_pool import hold_pool, release_pool
from sash_flink.clock import END, Clock
from sash_flink.journal import Journal
from sash_flink.keeping import Keeping, Live
from sash_flink.metrics import Metrics
from sash_flink.worker import settle

__all__ = ["StatefulFunction"]


class StatefulFunction(Keeping, KeyedProcessFunction):  # type: ignore[misc]  # PyFlink has no types
    """Runs a query on a keyed stream whose values begin with the watermark that they came behind."""

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

    def due(self, live: Live) -> int | None:
        """When Flink is to call, should nothing come before; None: it need not."""
        return self.clock.timer(live.op.next_timer(), live.watermark)

    def open(self, runtime_context: RuntimeContext) -> None:
        """Start: all that a restart must not see is made here."""
        settle()
        hold_pool(self.threads)  # before an operator is planned
        self._timed = self.clock.column is not None
        alive: OrderedDict[Any, Live] = OrderedDict()
        self.begin(Journal(runtime_context), alive)
        self.metrics = Metrics(runtime_context.get_metrics_group(), alive)
        warnings.simplefilter("ignore", PerformanceWarning)  # aggregate() has said so

    def close(self) -> None:
        """End: the threads of the slot do so with its last function."""
        release_pool()

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> list[Any]:
        """Take what came for a key."""
        watermark, records = self.split(value, ctx)
        live = self.found(self.key(ctx))
        new = not live.begun
        found = self.run(live, watermark, records)
        if new and live.begun:
            ctx.timer_service().register_event_time_timer(END)  # so that the end of the input is told
        if self._timed:
            self._go_on(live, ctx)
        return found

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> list[Any]:
        """Time has passed for a key from which nothing may come any more."""
        live = self.found(self.key(ctx))
        if not live.begun:  # it has been forgotten
            self.drop(live)
            return []
        if live.timer is not None and live.timer <= timestamp:
            live.timer = None
        watermark = ctx.timer_service().current_watermark()
        found = self.run(live, watermark, None) if watermark > live.watermark else []
        if self._timed:
            self._go_on(live, ctx)
        return found

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
            self.drop(live)
            return
        if not live.begun or live.watermark == END:
            return
        at = self.due(live)
        if at is not None and (live.timer is None or at < live.timer):
            ctx.timer_service().register_event_time_timer(at)
            live.timer = at
