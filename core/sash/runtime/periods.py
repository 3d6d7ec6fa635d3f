"""Rolling windows beside their rows, as pandas has them: ``center`` and ``min_periods``.

range 4, center     a  b  c  d  e  f        the row, one of the two in the middle, and what lies around it
                   [---a----]
                   [------b----]
                   [---------c---]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation
from sash.kernels.inputs import as_columns
from sash.values.arrays import Array, without

__all__ = ["centered"]


def centered(
    push: Callable[..., Any],
    aggregation: Aggregation,
    columns: Sequence[Any],
    mask: Any,
    range_: int,
    least: int,
    center: bool,
) -> Any:
    """A result for each row, null where its window has fewer than ``least`` values; ``push`` runs partial windows.

    Windows reach beyond the last rows into nulls, which aggregates skip. O(rows) besides what ``push`` costs.
    """
    batch = as_columns(aggregation, columns, mask)
    rows, ahead = len(batch.arrays[0]), (range_ - 1) // 2 if center else 0
    if aggregation.arity == 1 and aggregation.lift(None) is not None:
        raise TypeError(f"{aggregation!r} counts rows, null or not: center and min_periods are for values")
    if ahead:
        columns = [_pad(column, ahead) for column in columns]
        behind = np.zeros(rows, np.bool_) if mask is None else np.asarray(mask, np.bool_)
        mask = np.concatenate([behind, np.ones(ahead, np.bool_)])
    results = push(*columns, mask=mask)
    valid = np.ones(rows, np.int64) if batch.nulls is None else (~batch.nulls).astype(np.int64)
    upto = np.concatenate([[0], np.cumsum(valid)])
    ends = np.minimum(np.arange(1 + ahead, rows + 1 + ahead), rows)
    begins = np.maximum(np.arange(1 + ahead - range_, rows + 1 + ahead - range_), 0)
    few = upto[ends] - upto[np.minimum(begins, rows)] < least
    if isinstance(results, tuple):
        return without(tuple(part[ahead:] for part in results), few)
    return without(results[ahead:], few)


def _pad(column: Any, size: int) -> Array:
    array = np.asanyarray(column)
    pad = np.full(size, None, object) if array.dtype == object else np.zeros(size, array.dtype)
    masked: Any = np.ma
    whole: Array = (masked if isinstance(array, masked.MaskedArray) else np).concatenate([array, pad])
    return whole
