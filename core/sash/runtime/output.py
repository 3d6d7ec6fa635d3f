"""Results as users see them: rows, or tables of the kind that came in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.engine.results import Outcome
from sash.engine.rows.watches.base import Result
from sash.frames import Coded, Frame
from sash.query import Query
from sash.query.lanes import Lane
from sash.runtime.bound_columns import BoundColumns, join
from sash.runtime.times import Times
from sash.values.time_codec import TimeCodec

__all__ = ["Output"]

Array = np.ndarray[Any, Any]
Codecs = Mapping[str, TimeCodec]


class Output:
    """Builds the results of ``query`` as rows and tables."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._named = None not in query.named
        self._revises = query.revises
        self._plain = not (self._named or self._revises)
        self._on_counts = {name: window.bounds_are_positions for name, window in query.named.items()}
        self._bounds = BoundColumns(query)
        self._times = Times(query)
        read = (name for aggregation in query.aggregates.values() for name in aggregation.columns)
        self._read = tuple(dict.fromkeys(read))
        self._result_types: dict[Any, dict[str, Any]] = {}

    def values(self, lane: Lane, result: Result, codecs: Codecs) -> tuple[Any, ...]:
        """A result as the values of a row. O(1)."""
        number, start, end, revision, aggregates = result
        name = lane.names[number]
        if lane.order is not None and not self._on_counts[name]:
            codec = codecs[lane.order]
            start, end = codec.from_inside(start), codec.from_inside(end)
        if self._plain:
            return (start, end, *aggregates)
        return (*((name,) * self._named), start, end, *((revision,) * self._revises), *aggregates)

    def table(
        self, frame: Frame, outcomes: Sequence[Outcome], codecs: Codecs, keys: Mapping[str, Array] | None = None
    ) -> Any:
        """The results of all lanes as a table; ``keys`` are the distinct keys, by column. O(results)."""
        codes = join([outcome.codes for outcome in outcomes])
        columns = self._join(outcomes, self._times.using(codecs), frame)
        if len(outcomes) > 1 and keys is not None:
            by_key = np.argsort(codes, kind="stable")
            codes, columns = codes[by_key], {name: _take(column, by_key) for name, column in columns.items()}
        columns = {name: Coded(distinct, codes) for name, distinct in (keys or {}).items()} | columns
        like = self._like(outcomes, keys or {}, frame)
        return frame.make(columns, like, self._fields(frame), self._types(frame))

    def _join(self, outcomes: Sequence[Outcome], times: Times, frame: Frame) -> dict[str, Any]:
        """All columns but the keys', one lane after the other."""
        columns: dict[str, Any] = {}
        if self._named:
            columns["window"] = join([np.array(outcome.lane.names, object)[outcome.window] for outcome in outcomes])
        starts, ends = [outcome.start for outcome in outcomes], [outcome.end for outcome in outcomes]
        columns["window_start"] = self._bounds.column(outcomes, starts, times, frame)
        columns["window_end"] = self._bounds.column(outcomes, ends, times, frame)
        if self._revises:
            columns["revision"] = join([outcome.revision for outcome in outcomes])
        for name in self._query.aggregates:
            columns[name] = join([outcome.aggregates[name] for outcome in outcomes])
        return columns

    def _like(self, outcomes: Sequence[Outcome], keys: Mapping[str, Array], frame: Frame) -> dict[str, Any]:
        """The input columns whose types results have."""
        like: dict[str, Any] = {key: key for key in keys}
        like |= dict.fromkeys(("window_start", "window_end"), self._bounds.like(outcomes, frame))
        for name, aggregation in self._query.aggregates.items():
            if aggregation.result_column is not None and aggregation.columns:
                like[name] = aggregation.columns[aggregation.result_column]
        return like

    def _fields(self, frame: Frame) -> dict[str, Any]:
        """The fields of results that have several."""
        aggregates = self._query.aggregates.items()
        fields = {name: each.result_tuple or each.fields for name, each in aggregates if each.fields}
        return fields | dict.fromkeys(("window_start", "window_end"), self._bounds.fields(frame))

    def _types(self, frame: Frame) -> dict[str, Any]:
        """The types of results that are not values of a column, as far as the types of the columns imply them.

        Inferring them costs more than a small batch, so they are cached.
        """
        key = frame.types(self._read)
        if key not in self._result_types:
            self._result_types = {key: dict(self._infer_types(frame))}
        return self._result_types[key]

    def _infer_types(self, frame: Frame) -> Iterator[tuple[str, Any]]:
        for name, aggregation in self._query.aggregates.items():
            if aggregation.result_column is None:
                declared = frame.result_type(aggregation, _is_ours(aggregation))
                if declared is not None:
                    yield name, declared


def _is_ours(aggregation: Aggregation) -> bool:
    module = type(aggregation).__module__
    return module.startswith("sash.aggregations.") and module != "sash.aggregations.custom"


def _take(column: Any, rows: Array) -> Any:
    return tuple(part[rows] for part in column) if isinstance(column, tuple) else column[rows]
