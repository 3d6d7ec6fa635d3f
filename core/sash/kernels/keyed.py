"""Many groups in one call: rows put in the order of their groups, and one kernel led over them all."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from sash.kernels.columns import Array, Columns, as_result
from sash.kernels.compiled import Compiled
from sash.kernels.interpreted import Interpreted

__all__ = ["by_group", "grouped"]


@numba.njit(nogil=True, cache=True)
def _survey(codes: Array) -> tuple[int, int, bool]:
    """The smallest and the largest code, and whether they ascend."""
    low = high = before = codes[0]
    ascending = True
    for code in codes:
        low, high = min(low, code), max(high, code)
        ascending &= code >= before
        before = code
    return low, high, ascending


@numba.njit(nogil=True, cache=True)
def _starts(codes: Array, groups: int) -> Array:
    """Where each group begins, and the end."""
    starts = np.zeros(groups + 1, np.int64)
    for code in codes:
        starts[code + 1] += 1
    for group in range(groups):
        starts[group + 1] += starts[group]
    return starts


@numba.njit(nogil=True, cache=True)
def _order(codes: Array, starts: Array) -> Array:
    """The rows group by group, in their order within one: counting sort."""
    place = starts[:-1].copy()
    order = np.empty(codes.shape[0], np.int64)
    for row in range(codes.shape[0]):
        code = codes[row]
        order[place[code]] = row
        place[code] += 1
    return order


def grouped(codes: Any, size: int) -> tuple[Array | None, Array]:
    """(the order of rows that has them group by group, None if they are; where each group begins)."""
    array = np.asarray(codes)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise TypeError(f"codes must be whole numbers in one dimension; got {array.dtype} of the shape {array.shape}")
    if len(array) != size:
        raise ValueError(f"codes and values must be of one length; got {len(array)} and {size}")
    if not size:
        return None, np.zeros(1, np.int64)
    array = np.ascontiguousarray(array, np.int64)
    low, high, ascending = _survey(array)
    if low < 0:
        raise ValueError(f"codes must not be negative; row {int(array.argmin())} has {low}")
    groups = int(high) + 1
    if groups > 4 * size + 1024:
        raise ValueError(f"codes must be numbered from 0 on, most of them used; got {groups - 1} for {size} rows")
    starts = _starts(array, groups)
    return (None if ascending else _order(array, starts)), starts


def by_group(runner: Compiled | Interpreted, batch: Columns, starts: Array, windows: int) -> tuple[Array, Any]:
    """The ends and results of all groups' windows, of which there are so many."""
    if isinstance(runner, Interpreted):
        return runner.feed_groups(batch, starts.tolist())
    piece = tuple(np.array(part) if not part.flags.writeable else np.ascontiguousarray(part) for part in batch.arrays)
    if batch.nulls is not None:
        piece = (*piece, batch.nulls)
    form = runner.lane.fitting(piece[0])
    out = tuple(np.empty(windows, dtype) for dtype in form.result)
    nulls = np.zeros(windows if form.nullable else 0, np.bool_)
    ends = np.empty(windows, np.int64)
    range_ = runner.n * runner.slide + runner.m
    form.kernels.by_group(piece, starts, range_, runner.slide, runner.early, *runner.lane.buffers, out, nulls, ends)
    return ends, as_result(runner.aggregation, out, nulls, batch.result_type, form.guarded)
