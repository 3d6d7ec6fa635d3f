"""Record batches of rows that an engine has sorted by key in, record batches of results out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from sash.engine.results import Outcome
from sash.frames import columns_of
from sash.query import Query
from sash.runtime.arrow_output import ArrowOutput
from sash.runtime.sorted_keys import Numbering, SortedKeys

__all__ = ["SortedBatches", "gathered"]


class SortedBatches:
    """Runs a query over rows that come key after key, each in order; results are of ``schema``."""

    def __init__(self, query: Query, schema: pa.Schema) -> None:
        self._query, self._keys = query, list(query.keys)
        self._columns, self._engine = ArrowOutput(query, schema), SortedKeys(query)
        self._numbering = Numbering(self._keys)
        self._open: pa.RecordBatch | None = None

    def take(self, batch: pa.RecordBatch, groups: Any = None) -> Iterator[pa.RecordBatch]:
        """The results that more rows bring; they are sorted by key, or by ``groups`` of keys. O(rows)."""
        keys = batch.select(self._keys)
        frame = columns_of(batch, self._query.columns)
        codes, new, starts, left = self._numbering.of(frame, groups)
        begun = keys.take(pa.array(new, pa.int64()))
        known = begun if self._open is None else _joined([self._open, begun])
        yield from self._batches(self._engine.process(frame, codes, starts), known)
        self._open = known.slice(left)

    def end(self) -> Iterator[pa.RecordBatch]:
        """The results that are left when no row comes any more."""
        if self._open is not None:
            yield from self._batches(self._engine.close(), self._open)

    def _batches(self, outcomes: Iterator[Outcome], keys: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        return (self._columns.batch(outcome, keys) for outcome in outcomes if len(outcome))


def gathered(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of at least ``rows``, but for the last: never more than that and one batch are held.

    >>> batch = pa.record_batch({"x": [1, 2]})
    >>> [len(batch) for batch in gathered([batch] * 3, 3)]
    [4, 2]
    """
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= rows:
            yield _joined(held)
            held = []
    if any(map(len, held)):
        yield _joined(held)


def _joined(held: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(held) == 1 or not held[0].num_columns:
        return held[0]
    (whole,) = pa.Table.from_batches(held).combine_chunks().to_batches()
    return whole
