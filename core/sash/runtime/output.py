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
from sash.values.time_codec import TimeCodec
from sash.values.timestamps import unit_of

__all__ = ["POSITION", "Output", "has_fractions"]

Array = np.ndarray[Any, Any]
Codecs = Mapping[str, TimeCodec]
POSITION = "position"
"""What the ends of count windows are called beside ends in columns."""


class Output:
    """Makes a query's results."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._named = None not in query.named
        self._revises = query.revises
        self._plain = not (self._named or self._revises)
        self._columns = query.results[len(query.keys) :]
        self._on_counts = {name: window.bounds_are_positions for name, window in query.named.items()}
        read = (name for aggregation in query.aggregates.values() for name in aggregation.columns)
        self._read = tuple(dict.fromkeys(read))
        self._declared: dict[Any, dict[str, Any]] = {}
        self._ends_of = tuple(dict.fromkeys(self._kind(lane, name) for lane in query.lanes for name in lane.names))

    def steps(self, lane: Lane) -> list[int]:
        """What times of results can differ by: decides on the unit in which they are told."""
        return [int(step) for name in lane.names for step in self._query.named[name].bound_steps]

    def codec(self, lane: Lane, codec: TimeCodec) -> TimeCodec:
        """The codec of a lane whose column holds times of ``codec``; refuses windows that do not fit them."""
        assert lane.order is not None
        codec.check_unit(lane.unit, lane.order)
        codec.check_steps(self.steps(lane), lane.order)
        return codec.for_steps(self.steps(lane))

    def row(self, lane: Lane, result: Result, codecs: Codecs) -> dict[str, Any]:
        """A result as a row."""
        return dict(zip(self._columns, self.values(lane, result, codecs), strict=True))

    def values(self, lane: Lane, result: Result, codecs: Codecs) -> tuple[Any, ...]:
        """A result as the values of a row."""
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
        """The results of all lanes as a table; ``keys`` are the distinct keys, by column."""
        columns: dict[str, Any] = {}
        codes = _joined([outcome.codes for outcome in outcomes])
        order = None if len(outcomes) == 1 or keys is None else np.argsort(codes, kind="stable")
        if order is not None:
            codes = codes[order]
        for column, distinct in (keys or {}).items():
            columns[column] = Coded(distinct, codes)
        if self._named:
            names = [np.array(outcome.lane.names, object)[outcome.window] for outcome in outcomes]
            columns["window"] = _joined(names)
        kinds = self._kinds(frame)
        for name in ("window_start", "window_end"):
            ends = [getattr(outcome, name.removeprefix("window_")) for outcome in outcomes]
            if kinds:
                columns[name] = tuple(self._parts(kind, outcomes, ends, codecs, frame) for kind in kinds)
            else:
                columns[name] = _joined(
                    [self._times(outcome, of, codecs, frame) for outcome, of in zip(outcomes, ends, strict=True)]
                )
        if self._revises:
            columns["revision"] = _joined([outcome.revision for outcome in outcomes])
        for name in self._query.aggregates:
            columns[name] = _joined([outcome.aggregates[name] for outcome in outcomes])
        if order is not None:  # key by key
            columns = {name: each if isinstance(each, Coded) else _taken(each, order) for name, each in columns.items()}
        like: dict[str, Any] = self._like(outcomes, keys or {}, frame)
        if kinds:
            numbers = {kind for kind in kinds if kind == POSITION or frame[kind].dtype.kind in "iuf"}
            likes = tuple(None if kind in numbers else kind for kind in kinds)
            like |= {"window_start": likes, "window_end": likes}
        fields = self._fields() | {"window_start": kinds, "window_end": kinds}
        return frame.make(columns, like, fields, self._types(frame))

    def _kinds(self, frame: Frame) -> tuple[str, ...]:
        """What windows end at, columns and positions, if a column of the frame cannot hold all of it."""
        kinds = self._ends_of
        if not frame.one_type or len(kinds) == 1:
            return ()
        types = {self._end_type(lane, name, frame) for lane in self._query.lanes for name in lane.names}
        return kinds if len(types) > 1 else ()

    def _end_type(self, lane: Lane, name: str | None, frame: Frame) -> tuple[str, str | None]:
        """Distinguishes bounds that one typed column cannot hold together: times of a zone, whole numbers, floats."""
        if lane.order is None or self._on_counts[name]:
            return "i", None
        if frame[lane.order].dtype.kind == "M":
            return "M", frame.zone(lane.order)
        return ("f" if _has_floats(self._query, lane, frame) else "i"), None

    def _kind(self, lane: Lane, name: str | None) -> str:
        return POSITION if lane.order is None or self._on_counts[name] else lane.order

    def _parts(
        self, kind: str, outcomes: Sequence[Outcome], ends: Sequence[Array], codecs: Codecs, frame: Frame
    ) -> Array:
        """The ends that are of one kind, in their places; where others are, nulls."""
        parts: list[Array] = []
        for outcome, of in zip(outcomes, ends, strict=True):
            mine = np.array([self._kind(outcome.lane, name) == kind for name in outcome.lane.names])[outcome.window]
            told = np.zeros(0, np.int64 if kind == POSITION else frame[kind].dtype)
            if kind == POSITION:
                told = of[mine].astype(np.int64)
            elif mine.any() or kind == outcome.lane.order:
                told = self._ends(outcome.lane, of[mine], codecs, frame)
            whole = np.zeros(len(of), told.dtype)
            whole[mine] = told
            parts.append(np.ma.MaskedArray(whole, ~mine))  # type: ignore[no-untyped-call]
        return np.ma.concatenate(parts)  # type: ignore[no-untyped-call,no-any-return]

    def _times(self, outcome: Outcome, times: Array, codecs: Codecs, frame: Frame) -> Array:
        """The ends of a lane's windows; as objects where other windows end at something else."""
        lane = outcome.lane
        positions = [self._on_counts[name] for name in lane.names]
        if lane.order is None or all(positions):
            return times
        counted = np.array(positions)[outcome.window] if any(positions) else np.zeros(len(times), np.bool_)
        told = self._ends(lane, times[~counted] if any(positions) else times, codecs, frame)
        if not any(positions) and (told.dtype.kind != "M" or len(self._ends_of) == 1):
            return told
        if told.dtype.kind == "i":
            whole = times.astype(np.int64)
            whole[~counted] = told
            return whole
        mixed = np.empty(len(times), object)
        mixed[counted] = times[counted].astype(np.int64)
        mixed[~counted] = frame.objects(told, lane.order)
        return mixed

    def _ends(self, lane: Lane, times: Array, codecs: Codecs, frame: Frame) -> Array:
        """The ends of windows on time as users have them; before any row, of the type that they will have."""
        assert lane.order is not None
        codec = codecs.get(lane.order)
        array = frame[lane.order]
        if codec is None and array.dtype.kind == "M" and lane.unit != "number" and lane.time_unit is None:
            unit = unit_of(array.dtype, lane.order)
            codec = TimeCodec("datetime64", unit, frame.zone(lane.order)).for_steps(self.steps(lane))
        told = times if codec is None else codec.from_inside_array(times)
        if not frame.one_type or array.dtype.kind not in "iuf" or told.dtype.kind not in "iuf":
            return told
        return told.astype(np.float64 if _has_floats(self._query, lane, frame) else np.int64, copy=False)

    def _like(self, outcomes: Sequence[Outcome], keys: Mapping[str, Array], frame: Frame) -> dict[str, str]:
        like = {key: key for key in keys}
        timed = [outcome.lane.order for outcome in outcomes]
        order = timed[0] if len(set(timed)) == 1 and not any(self._on_counts.values()) else None
        if order is not None and not (frame.one_type and frame[order].dtype.kind in "iuf"):  # those are of 64 bits
            like |= {"window_start": order, "window_end": order}
        for name, aggregation in self._query.aggregates.items():
            if aggregation.result_column is not None and aggregation.columns:
                like[name] = aggregation.columns[aggregation.result_column]
        return like

    def _types(self, frame: Frame) -> dict[str, Any]:
        """The types of results that are not values of a column, as far as the types of the columns tell them.

        Inferring them costs more than a small batch, so they are cached.
        """
        given = frame.types(self._read)
        if given not in self._declared:
            self._declared = {given: dict(self._declare(frame))}
        return self._declared[given]

    def _declare(self, frame: Frame) -> Iterator[tuple[str, Any]]:
        found = {
            name: frame.declared(aggregation, _is_ours(aggregation))
            for name, aggregation in self._query.aggregates.items()
            if aggregation.result_column is None
        }
        return ((name, declared) for name, declared in found.items() if declared is not None)

    def _fields(self) -> dict[str, Any]:
        return {name: each.result_tuple or each.fields for name, each in self._query.aggregates.items() if each.fields}


def _has_floats(query: Query, lane: Lane, frame: Frame) -> bool:
    """Whether the ends of a lane's windows, which are on plain numbers, are floats."""
    assert lane.order is not None
    return bool(frame[lane.order].dtype.kind == "f") or has_fractions(query, lane)


def has_fractions(query: Query, lane: Lane) -> bool:
    """Whether the ends of a lane's windows may be no whole numbers although times are. O(windows).

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding(2.5, 0.5, on="ts"), aggregates={"n": sash.Count()})
    >>> has_fractions(query, query.lanes[0])
    True
    """
    steps = [step for name in lane.names for step in query.named[name].bound_steps]
    return any(isinstance(step, float) and not step.is_integer() for step in steps)


def _is_ours(aggregation: Aggregation) -> bool:
    module = type(aggregation).__module__
    return module.startswith("sash.aggregations.") and module != "sash.aggregations.custom"


def _taken(column: Any, order: Array) -> Any:
    return tuple(part[order] for part in column) if isinstance(column, tuple) else column[order]


def _joined(parts: Sequence[Any]) -> Any:
    """Columns of several lanes one after the other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], tuple):
        return tuple(_joined(each) for each in zip(*parts, strict=True))
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        return np.ma.concatenate(parts)  # type: ignore[no-untyped-call]
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)
