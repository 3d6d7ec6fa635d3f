"""Generated rows of a query's columns, as a steady stream of many keys: what ``sash size`` measures with.

Tuples come at random times and of random keys, or, while windows fill, one for each key and slice. Values are those of
a file, taken at random, or random numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from sash.cli.engines import UsageError
from sash.cli.files import arrow
from sash.engine.sizes import slices_a_key
from sash.query import Query, arrival_time
from sash.query.lanes import Lane
from sash.values.timestamps import STEPS
from sash.windows import Window

__all__ = ["Sample", "by_column"]

_BEGIN = 1_767_225_600 * 10**9
"""The time of the first tuple: 2026-01-01."""
_ARRIVAL = "arrived"
_PIECE = 50_000
"""Rows of a batch while windows fill."""
_SPARE = 1.2
"""So much longer windows on counts are filled, since some keys have fewer tuples than others."""
_FEW = 3
"""From so many tuples of a key and slice on, nearly every slice has one."""


@dataclass(frozen=True)
class Sample:
    """A stream of ``keys`` keys, each with ``rate`` tuples a second."""

    query: Query
    keys: int
    rate: float
    like: Any = None
    """An Arrow table whose types and values the rows have; None: numbers, and keys that are texts."""
    types: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, query: Query, keys: int, rate: float, like: Any = None) -> Self:
        """The stream of a query. Tuples that get their time when they arrive have it in a column instead."""
        if query.time == arrival_time:
            query = query.using(time=_ARRIVAL)
        sample = cls(query, keys if query.keys else 1, rate if query.keys else rate * keys, like)
        return replace(sample, types={name: sample._type(name) for name in query.columns})

    def of_keys(self, keys: int) -> Self:
        """The same stream of fewer keys."""
        return replace(self, keys=keys)

    def horizon(self) -> float:
        """The seconds after which as many slices leave as come, as far as windows tell. O(windows)."""
        return max(map(self._horizon, self.query.lanes))

    def _horizon(self, lane: Lane) -> float:
        windows = [self.query.named[name] for name in lane.names]
        if lane.order is None or any(window.bounds_are_positions for window in windows):
            return _SPARE * max(map(_tuples, windows)) / self.rate
        reach = max((window.bound_steps or (0,))[0] for window in windows) + lane.delay + lane.lateness
        return float(reach) / _units_a_second(lane)

    def slices(self) -> float | None:
        """The slices of a key in the end, by the formula; None: there is none. O(windows)."""
        lanes = [slices_a_key(self.query, lane, self.rate / _units_a_second(lane)) for lane in self.query.lanes]
        return None if None in lanes else sum(filter(None, lanes))

    def filling(self) -> Iterator[Any]:
        """Batches that fill all windows, with as few tuples as do."""
        seconds, rate = self.horizon(), self.rate
        slices = None if any(lane.order is None for lane in self.query.lanes) else self.slices()
        if slices and rate * seconds > _FEW * slices:
            return self._grid(seconds, round(slices))
        pieces = max(1, round(rate * self.keys * seconds / _PIECE))
        return self.batches(-seconds, seconds / pieces, pieces)

    def rows_to_fill(self) -> float:
        """How many rows :meth:`filling` has."""
        rows = self.rate * self.horizon()
        slices = None if any(lane.order is None for lane in self.query.lanes) else self.slices()
        return self.keys * (slices if slices and rows > _FEW * slices else rows)

    def batches(self, begin: float, interval: float, number: int, seed: int = 7) -> Iterator[Any]:
        """``number`` batches of ``interval`` seconds each, from ``begin`` seconds after the first tuple on."""
        draw = np.random.default_rng(seed)
        rows = max(1, round(self.rate * self.keys * interval))
        for batch in range(number):
            seconds = begin + interval * (batch + np.sort(draw.random(rows)))
            yield self._table(draw, draw.integers(0, self.keys, rows), seconds)

    def _grid(self, seconds: float, slices: int) -> Iterator[Any]:
        draw, steps = np.random.default_rng(7), max(1, _PIECE // self.keys)
        for first in range(0, slices, steps):
            moments = np.repeat(np.arange(first, min(first + steps, slices)) + 0.5, self.keys)
            keys = np.tile(np.arange(self.keys), len(moments) // self.keys)
            yield self._table(draw, keys, (moments / slices - 1) * seconds)

    def _table(self, draw: np.random.Generator, keys: Any, seconds: Any) -> Any:
        pa = arrow()
        rows = None if self.like is None else pa.array(draw.integers(0, len(self.like), len(keys)))
        columns = {}
        for name, kind in self.types.items():
            if name in self.query.keys:
                columns[name] = _key_names(self.keys, kind).take(pa.array(keys))
            elif lane := self._lane_of(name):
                columns[name] = _times(seconds, lane, kind)
            elif rows is not None:
                columns[name] = self.like.column(name).take(rows).combine_chunks()
            elif kind == pa.bool_():
                columns[name] = pa.array(draw.random(len(keys)) < 0.5)
            else:
                columns[name] = pa.array(draw.normal(100, 20, len(keys)))
        return pa.table(columns)

    def _lane_of(self, name: str) -> Lane | None:
        return next((lane for lane in self.query.lanes if lane.order == name), None)

    def _type(self, name: str) -> Any:
        pa = arrow()
        if self.like is not None and name in self.like.schema.names:
            return self.like.schema.field(name).type
        if self.like is not None and name != _ARRIVAL:
            raise UsageError(f"--like has no column {name!r}, which the query reads")
        if name in self.query.keys:
            return pa.string()
        if lane := self._lane_of(name):
            return pa.timestamp("us") if lane.unit == "duration" and lane.time_unit is None else pa.int64()
        return pa.bool_() if name in {one.where for one in self.query.aggregates.values()} else pa.float64()


def by_column(types: dict[str, Any]) -> dict[str, Any]:
    """The NumPy types of columns of numbers, for :func:`sash.engine.sizes.slice_bytes`."""
    return {name: kind.to_pandas_dtype() for name, kind in types.items()}


def _units_a_second(lane: Lane) -> float:
    """How far a lane's column gets in a second. Plain numbers without a unit are taken to be seconds."""
    return 1e9 if lane.unit == "duration" else 1.0


def _tuples(window: Window) -> int:
    """How many tuples fill a window on counts."""
    shape = window.rolling_shape
    return (window.slices_covered or 1) if shape is None else shape.range


def _key_names(keys: int, kind: Any) -> Any:
    pa = arrow()
    numbers = pa.array(np.arange(keys))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.array([f"key {number:07}" for number in range(keys)], kind)
    try:
        return numbers.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UsageError(f"keys of type {kind} cannot be generated: {error}") from None


def _times(seconds: Any, lane: Lane, kind: Any) -> Any:
    pa = arrow()
    if lane.unit != "duration":
        return pa.array(seconds).cast(kind, safe=False)
    nanoseconds = _BEGIN + (seconds * 1e9).astype(np.int64)
    if pa.types.is_timestamp(kind):
        return pa.array(nanoseconds, pa.timestamp("ns")).cast(pa.timestamp(kind.unit), safe=False).cast(kind)
    return pa.array(nanoseconds // STEPS[lane.time_unit or "ns"]).cast(kind)
