"""The columns that aggregates read, in the form that the columnar engine takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.frames import Frame
from sash.query import Query
from sash.values.arrays import objects

__all__ = ["as_in_rows", "value_columns"]

Array = np.ndarray[Any, Any]


def value_columns(query: Query, frame: Frame) -> dict[str, Array]:
    """The columns of a batch: arrays of numbers, of timestamps, or of objects. O(rows).

    Kernels know no zones. So timestamps with a zone become objects if an aggregate computes with them or puts them in
    its results, as Collect does. Those that are only compared, chosen or counted stay numbers.
    """
    return {name: as_in_rows(frame, name) if _needs_zone(query, frame, name) else frame[name] for name in query.values}


def as_in_rows(frame: Frame, name: str) -> Array:
    """A column with timestamps and durations as the objects that rows hold. O(rows)."""
    return objects(frame.listed(name)) if frame[name].dtype.kind in "mM" else frame[name]


def _needs_zone(query: Query, frame: Frame, name: str) -> bool:
    if frame.zone(name) is None:
        return False
    return not all(aggregate.takes_ticks for aggregate in query.aggregates.values() if name in aggregate.columns)
