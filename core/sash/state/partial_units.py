"""Timestamps in partials: integers in the unit of the column that they were read from, or objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.values.arrays import in_micros, to_list
from sash.values.columns import PartialColumn

__all__ = ["in_units"]


def in_units(
    aggregation: Aggregation, column: PartialColumn, old: Sequence[Any] | None, new: Sequence[Any] | None
) -> PartialColumn:
    """Partials of columns of the types ``old`` as those of the types ``new`` are. O(1) if no timestamp changes.

    Where the new type is no timestamp, they become the objects that rows hold.
    """
    pairs = [(np.dtype(before), np.dtype(after)) for before, after in zip(old or (), new or (), strict=False)]
    changed = any(before.kind in "mM" and before != after for before, after in pairs)
    if not changed or aggregation.result_column is None:  # then partials hold no values of columns
        return column

    def convert(value: Any, place: int) -> Any:
        before, after = pairs[place]
        if before.kind not in "mM" or before == after:
            return value
        moment = np.array([value], np.int64).view(before)
        return to_list(in_micros(moment))[0] if after.kind not in "mM" else int(moment.astype(after).view(np.int64)[0])

    def convert_partial(partial: Any) -> Any:
        if not isinstance(partial, tuple):
            return None if partial is None else convert(partial, 0)
        return tuple([convert(value, place if len(pairs) > 1 else 0) for place, value in enumerate(partial)])

    return PartialColumn.of([convert_partial(partial) for partial in column.to_list()])
