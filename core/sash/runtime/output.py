"""Results as users see them: rows, or tables of the kind that came in.

Where all bounds of windows are of one type, ``window_start`` and ``window_end`` are one column each. Where the windows
of one query have bounds of several types, each is a column of objects, or, in tables whose columns have a single type,
a structure with a field for each type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.engine.results import EARLY, Emitted, Outcome
from sash.frames import Coded, Frame
from sash.query import Query
from sash.query.lanes import Lane
from sash.runtime.times import Times
from sash.runtime.window_bounds import POSITION, bound_fields, has_fractions, lane_fields
from sash.values.time_codec import TimeCodec

__all__ = ["Output"]

Array = np.ndarray[Any, Any]


class Output:
    """Builds the results of ``query`` as rows and tables."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._named = None not in query.named
        self._revises = query.revises
        self._early = query.early is not None
        self._plain = not (self._named or self._revises or self._early)
        self._on_counts = {name: window.bounds_are_positions for name, window in query.named.items()}
        self._bounds = _BoundColumns(query)
        columns = (name for aggregation in query.aggregates.values() for name in aggregation.columns)
        self._aggregated = tuple(dict.fromkeys(columns))
        self._result_types: dict[Any, dict[str, Any]] = {}

    def values(
        self, key: tuple[Any, ...], lane: Lane, emitted: Emitted, codecs: Mapping[str, TimeCodec]
    ) -> tuple[Any, ...]:
        """A result of ``key`` as the values of a row. O(1)."""
        _, number, start, end, revision, aggregates = emitted[:6]
        order = lane.order
        if order is not None and not self._on_counts[lane.names[number]]:
            codec = codecs[order]
            start, end = codec.from_inside(start), codec.from_inside(end)
        if self._plain:
            return (*key, start, end, *aggregates)
        name = (lane.names[number],) * self._named
        marks = (max(revision, 0),) * self._revises + (revision != EARLY,) * self._early
        return (*key, *name, start, end, *marks, *aggregates)

    def table(
        self, frame: Frame, outcomes: Sequence[Outcome], times: Times, keys: Mapping[str, Array] | None = None
    ) -> Any:
        """The results of all lanes as a table; ``keys`` are the distinct keys, by column. O(results)."""
        codes = _join([outcome.codes for outcome in outcomes])
        columns = self._columns(outcomes, times, frame)
        if len(outcomes) > 1 and keys is not None:
            by_key = np.argsort(codes, kind="stable")
            codes, columns = codes[by_key], {name: _take(column, by_key) for name, column in columns.items()}
        columns = {name: Coded(distinct, codes) for name, distinct in (keys or {}).items()} | columns
        like = self._like(outcomes, keys or {}, frame)
        return frame.make(columns, like, self._fields(frame), self._types(frame))

    def _columns(self, outcomes: Sequence[Outcome], times: Times, frame: Frame) -> dict[str, Any]:
        """All columns but the keys', one lane after the other."""
        columns: dict[str, Any] = {}
        if self._named:
            columns["window"] = _join([np.array(outcome.lane.names, object)[outcome.window] for outcome in outcomes])
        starts, ends = [outcome.start for outcome in outcomes], [outcome.end for outcome in outcomes]
        columns["window_start"] = self._bounds.column(outcomes, starts, times, frame)
        columns["window_end"] = self._bounds.column(outcomes, ends, times, frame)
        if self._revises:
            columns["revision"] = _join([np.maximum(outcome.revision, 0) for outcome in outcomes])
        if self._early:
            columns["final"] = _join([outcome.revision != EARLY for outcome in outcomes])
        for name in self._query.aggregates:
            columns[name] = _join([outcome.aggregates[name] for outcome in outcomes])
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
        fields: dict[str, Any] = dict.fromkeys(("window_start", "window_end"), self._bounds.fields(frame))
        for name, aggregation in self._query.aggregates.items():
            if aggregation.fields:
                fields[name] = aggregation.result_tuple or aggregation.fields
        return fields

    def _types(self, frame: Frame) -> dict[str, Any]:
        """The types of results that are not values of a column, as far as the types of the columns imply them.

        Inferring them costs more than a small batch, so they are cached.
        """
        key = frame.types(self._aggregated)
        if key not in self._result_types:
            self._result_types = {key: dict(self._infer_types(frame))}
        return self._result_types[key]

    def _infer_types(self, frame: Frame) -> Iterator[tuple[str, Any]]:
        for name, aggregation in self._query.aggregates.items():
            if aggregation.result_column is None:
                declared = frame.result_type(aggregation, _is_built_in(aggregation))
                if declared is not None:
                    yield name, declared


class _BoundColumns:
    """Builds the columns ``window_start`` and ``window_end``.

    A bound is of a *kind*: the column whose values it has, or :data:`POSITION`.
    """

    def __init__(self, query: Query) -> None:
        self._kinds = {lane.order: lane_fields(query, lane) for lane in query.lanes}
        self._all_kinds = tuple(bound_fields(query))
        self._has_positions = any(window.bounds_are_positions for window in query.named.values())
        self._fractions = {lane.order for lane in query.lanes if has_fractions(query, lane)}

    def fields(self, frame: Frame) -> tuple[str, ...]:
        """The kinds of bounds, where one column of the frame cannot hold them together; else none. O(windows)."""
        if not frame.one_type or len(self._all_kinds) == 1:
            return ()
        return self._all_kinds if len({self._type(kind, frame) for kind in self._all_kinds}) > 1 else ()

    def like(self, outcomes: Sequence[Outcome], frame: Frame) -> Any:
        """The column whose type bounds have, one for each of :meth:`fields`; None: they have a type of their own."""
        if fields := self.fields(frame):
            return tuple(None if self._are_numbers(kind, frame) else kind for kind in fields)
        orders = {outcome.lane.order for outcome in outcomes}
        order = orders.pop() if len(orders) == 1 and not self._has_positions else None
        return None if order is None or self._are_numbers(order, frame) else order

    def column(self, outcomes: Sequence[Outcome], bounds: Sequence[Array], times: Times, frame: Frame) -> Any:
        """The start or the end of each result; a tuple of arrays where they are :meth:`fields`. O(results)."""
        pairs = list(zip(outcomes, bounds, strict=True))
        fields = self.fields(frame)
        if not fields:
            return _join([self._convert(outcome, inside, times, frame) for outcome, inside in pairs])
        return tuple(_join([self._field(kind, *pair, times, frame) for pair in pairs]) for kind in fields)

    def _type(self, kind: str, frame: Frame) -> tuple[str, str | None]:
        """Distinguishes bounds that one typed column cannot hold together: times of a zone, whole numbers, floats."""
        if kind == POSITION:
            return "i", None
        if frame[kind].dtype.kind == "M":
            return "M", frame.zone(kind)
        if frame[kind].dtype.kind == "O":  # texts in ISO 8601
            return "O", None
        return ("f" if self._are_floats(kind, frame) else "i"), None

    def _are_numbers(self, kind: str, frame: Frame) -> bool:
        """Whether bounds are numbers of 64 bits, whatever numbers their column holds."""
        return kind == POSITION or (frame.one_type and frame[kind].dtype.kind in "iuf")

    def _are_floats(self, order: str, frame: Frame) -> bool:
        """Whether bounds on a column of plain numbers are floats."""
        return frame[order].dtype.kind == "f" or order in self._fractions

    def _field(self, kind: str, outcome: Outcome, inside: Array, times: Times, frame: Frame) -> Array:
        """The bounds of one kind, in their places; the others are null."""
        mask = np.array([other == kind for other in self._kinds[outcome.lane.order]])[outcome.window]
        part = np.zeros(0, np.int64 if kind == POSITION else frame[kind].dtype)
        if kind == POSITION:
            part = inside[mask].astype(np.int64)
        elif mask.any() or kind == outcome.lane.order:
            part = self._outside(outcome.lane, inside[mask], times, frame)
        column = np.zeros(len(inside), part.dtype)
        column[mask] = part
        return np.ma.MaskedArray(column, ~mask)  # type: ignore[no-untyped-call]

    def _convert(self, outcome: Outcome, inside: Array, times: Times, frame: Frame) -> Array:
        """The bounds of a lane's windows in one array, of objects where kinds differ."""
        lane, order = outcome.lane, outcome.lane.order
        positions = [kind == POSITION for kind in self._kinds[order]]
        if order is None or all(positions):
            return inside
        counted = np.array(positions)[outcome.window]
        outside = self._outside(lane, inside[~counted] if any(positions) else inside, times, frame)
        if not any(positions) and (outside.dtype.kind != "M" or len(self._all_kinds) == 1):
            return outside
        are_whole = outside.dtype.kind == "i"
        column = np.empty(len(inside), np.int64 if are_whole else object)
        column[counted] = inside[counted].astype(np.int64)
        column[~counted] = outside if are_whole else frame.objects(outside, order)
        return column

    def _outside(self, lane: Lane, inside: Array, times: Times, frame: Frame) -> Array:
        """Times as users write them, numbers of a typed column in 64 bits."""
        outside = times.outside_array(lane, inside, frame)
        if lane.order is None or outside.dtype.kind not in "iuf" or not self._are_numbers(lane.order, frame):
            return outside
        return outside.astype(np.float64 if self._are_floats(lane.order, frame) else np.int64, copy=False)


def _join(parts: Sequence[Any]) -> Any:
    """The columns of several lanes, one after the other; of objects if their types differ. O(n).

    >>> _join([np.array([1]), np.array(["a"], object)])
    array([1, 'a'], dtype=object)
    """
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], tuple):
        return tuple(_join(fields) for fields in zip(*parts, strict=True))
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        return np.ma.concatenate(parts)  # type: ignore[no-untyped-call]
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def _take(column: Any, rows: Array) -> Any:
    return tuple(part[rows] for part in column) if isinstance(column, tuple) else column[rows]


def _is_built_in(aggregation: Aggregation) -> bool:
    module = type(aggregation).__module__
    return module.startswith("sash.aggregations.") and module != "sash.aggregations.custom"
