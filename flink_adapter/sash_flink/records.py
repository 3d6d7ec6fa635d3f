"""The way record by record: one operator for each key."""

from __future__ import annotations

from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.common import Row
from pyflink.datastream import KeyedProcessFunction, OutputTag, RuntimeContext

from sash import Query, arrival_time
from sash.spi import POSITION, KeyOperator, bound_column
from sash_flink.clock import END
from sash_flink.function import Live, StatefulFunction
from sash_flink.packed import ROW_ERRORS
from sash_flink.values import IN_PROCESSES, create_row, in_threads, reader, unchanged_type, writer
from sash_flink.worker import freeze_loaded_objects, is_process

__all__ = ["WindowOperatorFunction"]


class WindowOperatorFunction(StatefulFunction):
    """Runs a query on a stream that is keyed by the query's key, record by record: a part for jobs of your own.

    ``read`` are the columns that the query reads, with their Arrow types, in the order of ``query.columns``: what
    records must have, as rows or tuples. ``results`` are the columns of its results. ``stamped`` records begin with the
    watermark that preceded them; others are taken to follow the one that PyFlink knows of, which is an older one until
    a bundle is done.
    """

    def __init__(self, query: Query, read: pa.Schema, results: pa.Schema, *, stamped: bool = False, **options: Any):
        columns = [column for column in query.columns if column != arrival_time]
        if read.names != columns or results.names != list(query.results):
            raise ValueError(
                f"read= must have the columns {columns} and results= {list(query.results)}, in this order; "
                f"got {read.names} and {results.names}"
            )
        super().__init__(query, read, **({"cache": 10_000} | options))
        self.results, self.stamped = results, stamped
        self._place = query.columns.index(arrival_time) if self.clock.arrival else 0

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self._names = self.results.names
        self._times = IN_PROCESSES if is_process() else in_threads()
        readers = [(i, reader(field.type, self._times)) for i, field in enumerate(self.schema)]
        self._readers = [(i, read) for i, read in readers if read is not None]
        keys = len(self.query.keys)
        self._key_readers = [(i, read) for i, read in self._readers if i < keys]  # its columns are the first
        writers = [writer(field.type, self._times) for field in self.results]
        self._key_writers, self._writers = writers[:keys], writers[keys:]
        self._same = [unchanged_type(field.type) for field in list(self.results)[keys:]]
        self._size = 10 * (2 + len(self.schema))  # as pickled among others: at most 9 a number, and a byte or two
        self._ends = self.results.field("window_end").type
        self._mixed = pa.types.is_struct(self._ends)
        self._late, self._rejected = OutputTag("sash-late"), OutputTag("sash-rejected")
        self.create(None).warm_up()  # compiles before the first record comes
        freeze_loaded_objects()

    def split(self, value: Any, ctx: KeyedProcessFunction.Context) -> tuple[int, Any]:  # type: ignore[override]
        values = value._values if type(value) is Row else list(value)
        watermark = values.pop(0) if self.stamped else ctx.timer_service().current_watermark()
        for i, read in self._readers:
            values[i] = read(values[i])
        return watermark, tuple(values)

    def key(self, ctx: KeyedProcessFunction.Context) -> tuple[Any, ...]:
        """The current key, as operators would have it: PyFlink's own objects cannot all be looked up."""
        key = super().key(ctx)
        if not self._key_readers:
            return key
        values = list(key)
        for i, read in self._key_readers:
            values[i] = read(values[i])
        return tuple(values)

    def create(self, snapshot: bytes | None) -> KeyOperator:
        if snapshot is None:
            return KeyOperator(self.query, own_watermark=self.own)
        return KeyOperator.restore(self.query, snapshot, own_watermark=self.own, trusted=True)

    def size(self, records: Any) -> int:
        return self._size

    def advance(self, live: Live, watermark: int) -> list[Any]:
        if watermark == END:
            return self._rows(live, live.op.close_values())
        mark = self.clock.mark(watermark)
        if mark is None:
            return []
        ended = live.op.advance_values(mark)
        rows = self._rows(live, ended) if ended else []
        if self.ttl is None:
            return rows
        silent = self._silent(live)
        if silent is not None and silent <= watermark:
            live.op, live.forgotten = self.create(None), True
            live.op.advance(mark)
        return rows

    def due(self, live: Live) -> int | None:
        """When a window may be complete, or the key has been silent for too long."""
        return min((at for at in (super().due(live), self._silent(live)) if at is not None), default=None)

    def _silent(self, live: Live) -> int | None:
        """The watermark at which the key is to be forgotten; None: it is not."""
        newest = None if self.ttl is None else live.op.newest
        return None if newest is None or self.ttl is None else self.clock.milliseconds(newest) + self.ttl + 1

    def take(self, live: Live, records: Any) -> list[Any]:
        self.metrics.counts["rows"] += 1
        try:
            if self.clock.arrival:
                results = live.op.take((*records[: self._place], self.arrival(live), *records[self._place :]))
            else:
                results = live.op.take(records)
        except ROW_ERRORS as error:
            self.metrics.counts["rejected"] += 1
            live.untouched = True
            return [(self._rejected, Row(*self._write_values(records), str(error)))]
        rows = self._rows(live, results) if results else []
        if live.op.dropped:
            self.metrics.counts["late"] += 1
            live.untouched = len(self.query.lanes) == 1  # in another order it may not have been late
            rows.append((self._late, Row(*self._write_values(records))))
        return rows

    def _write_values(self, records: Any) -> list[Any]:
        return [writer(field.type, self._times)(value) for field, value in zip(self.schema, records, strict=True)]

    def _rows(self, live: Live, results: list[tuple[Any, ...]]) -> list[Any]:
        self.metrics.counts["results"] += len(results)
        if live.written_key is None:
            live.written_key = [write(value) for write, value in zip(self._key_writers, live.key, strict=False)]
        if len(results) == 1:  # as most often, and faster
            return [self._row(live.written_key, results[0])]
        return [self._row(live.written_key, result) for result in results]

    def _row(self, key: list[Any], result: tuple[Any, ...]) -> Row:
        if list(map(type, result)) == self._same:
            return create_row([*key, *result], self._names)
        if self._mixed:  # ends are positions, or times of one of several columns
            name, *ends = result[:3]
            (lane,) = [lane for lane in self.query.lanes if name in lane.names]
            kind = bound_column(self.query, lane, name) or POSITION
            structures = ([end if field.name == kind else None for field in self._ends] for end in ends)
            result = (name, *structures, *result[3:])
        values = [write(value) for write, value in zip(self._writers, result, strict=True)]
        return create_row([*key, *values], self._names)
