"""The columns ``window_start`` and ``window_end`` of a table of results.

Where all bounds are of one type, they are one column. Where windows of one query have bounds of several types, they
are one column of objects, or, in tables whose columns have a single type, a structure with a field for each type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.engine.results import Outcome
from sash.frames import Frame
from sash.query import Query
from sash.query.lanes import Lane
from sash.runtime.times import Times
from sash.runtime.window_bounds import POSITION, bound_fields, has_fractions, lane_fields

__all__ = ["BoundColumns", "join"]

Array = np.ndarray[Any, Any]


class BoundColumns:
    """Builds the columns of the bounds of a query's windows."""

    def __init__(self, query: Query) -> None:
        self._kinds = {lane.order: lane_fields(query, lane) for lane in query.lanes}
        self._columns = tuple(bound_fields(query))
        self._has_positions = any(window.bounds_are_positions for window in query.named.values())
        self._fractions = {lane.order for lane in query.lanes if has_fractions(query, lane)}

    def fields(self, frame: Frame) -> tuple[str, ...]:
        """The fields of bounds that one column of the frame cannot hold together; none: it can. O(windows)."""
        if not frame.one_type or len(self._columns) == 1:
            return ()
        types = {self._type(kind, frame) for kinds in self._kinds.values() for kind in kinds}
        return self._columns if len(types) > 1 else ()

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
            return join([self._whole(outcome, inside, times, frame) for outcome, inside in pairs])
        return tuple(join([self._field(kind, *pair, times, frame) for pair in pairs]) for kind in fields)

    def _type(self, kind: str, frame: Frame) -> tuple[str, str | None]:
        """Distinguishes bounds that one typed column cannot hold together: times of a zone, whole numbers, floats."""
        if kind == POSITION:
            return "i", None
        if frame[kind].dtype.kind == "M":
            return "M", frame.zone(kind)
        return ("f" if self._are_floats(kind, frame) else "i"), None

    def _are_numbers(self, kind: str, frame: Frame) -> bool:
        """Whether bounds are numbers of 64 bits, whatever numbers their column holds."""
        return kind == POSITION or (frame.one_type and frame[kind].dtype.kind in "iuf")

    def _are_floats(self, order: str, frame: Frame) -> bool:
        """Whether bounds on a column of plain numbers are floats."""
        return frame[order].dtype.kind == "f" or order in self._fractions

    def _field(self, kind: str, outcome: Outcome, inside: Array, times: Times, frame: Frame) -> Array:
        """The bounds of one kind, in their places; the others are null."""
        mine = np.array([other == kind for other in self._kinds[outcome.lane.order]])[outcome.window]
        part = np.zeros(0, np.int64 if kind == POSITION else frame[kind].dtype)
        if kind == POSITION:
            part = inside[mine].astype(np.int64)
        elif mine.any() or kind == outcome.lane.order:
            part = self._outside(outcome.lane, inside[mine], times, frame)
        whole = np.zeros(len(inside), part.dtype)
        whole[mine] = part
        return np.ma.MaskedArray(whole, ~mine)  # type: ignore[no-untyped-call]

    def _whole(self, outcome: Outcome, inside: Array, times: Times, frame: Frame) -> Array:
        """The bounds of a lane's windows; objects where windows have others than these times."""
        lane, order = outcome.lane, outcome.lane.order
        positions = [kind == POSITION for kind in self._kinds[order]]
        if order is None or all(positions):
            return inside
        counted = np.array(positions)[outcome.window]
        outside = self._outside(lane, inside[~counted] if any(positions) else inside, times, frame)
        if not any(positions) and (outside.dtype.kind != "M" or len(self._columns) == 1):
            return outside
        numbers = outside.dtype.kind == "i"
        whole = np.empty(len(inside), np.int64 if numbers else object)
        whole[counted] = inside[counted].astype(np.int64)
        whole[~counted] = outside if numbers else frame.objects(outside, order)
        return whole

    def _outside(self, lane: Lane, inside: Array, times: Times, frame: Frame) -> Array:
        """Times as users write them, numbers of a typed column in 64 bits."""
        outside = times.outside_array(lane, inside, frame)
        if lane.order is None or outside.dtype.kind not in "iuf" or not self._are_numbers(lane.order, frame):
            return outside
        return outside.astype(np.float64 if self._are_floats(lane.order, frame) else np.int64, copy=False)


def join(parts: Sequence[Any]) -> Any:
    """The columns of several lanes, one after the other; of objects if their types differ. O(n).

    >>> join([np.array([1]), np.array(["a"], object)])
    array([1, 'a'], dtype=object)
    """
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], tuple):
        return tuple(join(fields) for fields in zip(*parts, strict=True))
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        return np.ma.concatenate(parts)  # type: ignore[no-untyped-call]
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)
