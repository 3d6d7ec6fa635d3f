"""The times of one query: the format of each column that orders windows, decided by the first value that arrives.

A lane whose column is not known yet adopts the codec of its first row, batch or watermark, after checking that its
windows fit it. Adopting a codec returns a new :class:`Times`, so that a failed call is undone by keeping the old one.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from sash.frames import Frame
from sash.query import Query
from sash.query.lanes import Lane
from sash.runtime.window_bounds import bound_steps, check_fit, check_zone
from sash.values import Array
from sash.values.time_codec import TimeCodec
from sash.values.timestamps import unit_of

__all__ = ["Times"]


class Times:
    """The :class:`TimeCodec` of each order column of ``query``. Immutable; converting a value is O(1), an array O(n).

    >>> import sash
    >>> from datetime import datetime
    >>> query = sash.Query(windows=sash.tumbling("1m"), aggregates={"n": sash.Count()}, time="ts")
    >>> lane, unknown = query.lanes[0], Times(query)
    >>> inside, times = unknown.of_row(lane, datetime(1970, 1, 1, 0, 0, 2), row=0)
    >>> inside, times.outside(lane, 60 * 10**9)
    (2000000000, datetime.datetime(1970, 1, 1, 0, 1))
    >>> unknown.knows(lane), times.knows(lane), times.of_row(lane, datetime(1970, 1, 1), row=1)[1] is times
    (False, True, True)
    """

    __slots__ = ("_query", "_steps", "codecs")

    def __init__(self, query: Query) -> None:
        self._query = query
        self._steps = {lane.order: [int(step) for step in bound_steps(query, lane)] for lane in query.lanes}
        self.codecs: Mapping[str, TimeCodec] = {}
        """The codecs that are known so far, by order column."""

    @classmethod
    def from_texts(cls, query: Query, texts: Mapping[str, str]) -> Times:
        """The reverse of :meth:`texts`. O(lanes)."""
        return cls(query).using({order: TimeCodec.from_text(text) for order, text in texts.items()})

    def using(self, codecs: Mapping[str, TimeCodec]) -> Times:
        """The times of the same query with these codecs. O(1)."""
        times = copy(self)
        times.codecs = codecs
        return times

    def texts(self) -> dict[str, str]:
        """The codecs as texts, for a saved state. O(lanes).

        >>> import sash
        >>> query = sash.Query(windows=sash.tumbling(5, on="km"), aggregates={"n": sash.Count()})
        >>> Times(query).of_row(query.lanes[0], 3, row=0)[1].texts()
        {'km': 'number - -'}
        """
        return {order: codec.text for order, codec in self.codecs.items()}

    def knows(self, lane: Lane) -> bool:
        """Whether the codec of a lane is known. O(1)."""
        return lane.order in self.codecs

    def of_row(self, lane: Lane, value: Any, row: int) -> tuple[Any, Times]:
        """The time of a row inside, None in the order of arrival, and the times that know its codec. O(1)."""
        order = lane.order
        if order is None:
            return None, self
        codec = self.codecs.get(order)
        if codec is not None:
            return codec.to_inside(value, row, order), self
        times = self.adopt(lane, order, TimeCodec.of(value, row, order, lane.time_unit))
        return times.codecs[order].to_inside(value, row, order), times

    def of_array(self, lane: Lane, frame: Frame, first_row: int = 0) -> tuple[Array | None, Times]:
        """The times of a batch inside, None in the order of arrival, and the times that know their codec. O(rows).

        ``first_row`` is the position of the batch's first row in the stream, which errors name.

        >>> import sash
        >>> from sash.frames import columns_of
        >>> query = sash.Query(windows=sash.tumbling(5, on="km"), aggregates={"n": sash.Count()})
        >>> Times(query).of_array(query.lanes[0], columns_of({"km": [1, 2]}, ["km"]))[0]
        array([1, 2])
        """
        order, times = lane.order, self
        if order is None:
            return None, self
        if len(frame) and order not in self.codecs:
            codec = TimeCodec.of_array(frame[order], order, frame.zone(order), first_row, lane.time_unit)
            times = self if codec is None else self.adopt(lane, order, codec)
        if not len(frame) or order not in times.codecs:
            return np.zeros(0, np.int64), times
        return times.codecs[order].to_inside_array(frame[order], order, first_row, frame.zone(order)), times

    def of_watermark(self, lane: Lane, value: Any, row: int) -> tuple[Any, Times]:
        """A watermark inside, and the times that know its codec. O(1).

        Where the query has a ``time_unit``, a watermark does not show whether rows hold whole numbers or floats: then
        the codec stays unknown.
        """
        order = lane.order
        assert order is not None, "the order of arrival has no watermark"
        if lane.time_unit is None or order in self.codecs:
            return self.of_row(lane, value, row)
        return TimeCodec("epoch", lane.time_unit).to_inside(value, row, order), self

    def outside(self, lane: Lane, time: Any) -> Any:
        """A time as users write it. The codec of the lane must be known. O(1)."""
        return time if lane.order is None else self.codecs[lane.order].from_inside(time)

    def outside_timer(self, lane: Lane, time: Any) -> Any:
        """The first time at or after ``time`` as users write it; trailing windows wait for one behind a row. O(1)."""
        if lane.order is None:
            return time
        codec = self.codecs[lane.order]
        return codec.from_inside(codec.round_up(time))

    def outside_array(self, lane: Lane, times: Array, frame: Frame) -> Array:
        """Times as users write them. Before any row, an array of the type that the columns of ``frame`` imply. O(n).

        >>> import sash
        >>> from sash.frames import columns_of
        >>> query = sash.Query(windows=sash.tumbling("5s"), aggregates={"n": sash.Count()}, time="ts")
        >>> empty = columns_of({"ts": np.zeros(0, "datetime64[ms]")}, ["ts"])
        >>> Times(query).outside_array(query.lanes[0], np.zeros(0, np.int64), empty).dtype
        dtype('<M8[ms]')
        """
        order = lane.order
        if order is None:
            return times
        codec = self.codecs.get(order) or self._implied(lane, order, frame)
        return times if codec is None else codec.from_inside_array(times)

    def _implied(self, lane: Lane, order: str, frame: Frame) -> TimeCodec | None:
        """The codec that the type of a column implies, None if it has none of its own."""
        dtype = frame[order].dtype
        if dtype.kind != "M" or lane.unit == "number" or lane.time_unit is not None:
            return None
        return TimeCodec("datetime64", unit_of(dtype, order), frame.zone(order)).for_steps(self._steps[order])

    def adopt(self, lane: Lane, order: str, codec: TimeCodec) -> Times:
        """The times with the codec of one more column; refuses windows that do not fit it. O(windows)."""
        steps = self._steps[order]
        column = f"column {order!r} holds {codec.words}"
        check_fit(lane, steps, codec.order_kind, column, ValueError)
        if codec.zone is None and not codec.is_number:
            check_zone(self._query, lane, column)
        return self.using({**self.codecs, order: codec.for_steps(steps)})
