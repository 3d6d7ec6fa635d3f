"""The slot of each row that comes in the order of time, whatever its key: rows need not be brought together key by key.

    rows, in the order of time    b a a c b │ a c c b a │ …      │ edges: a cell between two is a range of rows
    slots of cells                key · stride + cell            so slots are in the order of keys and time
    slots of sessions             as sessions open, of all keys

A pass goes over a block of rows that the nearest caches hold, and aggregates merge the block's rows into their slots.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernels.tiers import one_pass, one_pass_after

__all__ = ["cell_slots", "session_slots"]

Array = np.ndarray[Any, Any]


def _cell_slots_vectorised(
    codes: Array,
    numbers: Array,
    bounds: Array,
    begin: int,
    end: int,
    cell: int,
    base: int,
    stride: int,
    slots: Array,
    counts: Array,
) -> None:
    part = codes[begin:end]
    cells = np.searchsorted(bounds, np.arange(begin, end), side="right") - 1 - base
    slots[: end - begin] = (numbers[part] if len(numbers) else part) * stride + cells
    counts += np.bincount(slots[: end - begin], minlength=len(counts))


@one_pass_after(_cell_slots_vectorised)
def cell_slots(
    codes: Array,
    numbers: Array,
    bounds: Array,
    begin: int,
    end: int,
    cell: int,
    base: int,
    stride: int,
    slots: Array,
    counts: Array,
) -> None:
    """The slots of the rows ``begin`` … ``end`` - 1, of which the first lies in ``cell``; and how many rows each has.

    Cell i has the rows bounds[i] … bounds[i + 1] - 1, and place i - ``base`` among the ``stride`` slots of a key.
    ``numbers`` has the key of each code; without any, codes are keys. O(rows).
    """
    plain = numbers.shape[0] == 0
    row = begin
    while row < end:
        stop = min(end, bounds[cell + 1])
        for i in range(np.uint64(row), np.uint64(stop)):
            code = codes[i] if plain else numbers[np.uint64(codes[i])]
            slot = code * stride + cell - base
            slots[i - np.uint64(begin)] = slot
            counts[np.uint64(slot)] += 1
        row = stop
        cell += 1


@one_pass
def session_slots(
    codes: Array,
    numbers: Array,
    times: Array,
    begin: int,
    end: int,
    gap: Any,
    floats: bool,
    size: int,
    latest: Array,
    keys: Array,
    first: Array,
    last: Array,
    counts: Array,
    slots: Array,
) -> int:
    """The slots of the rows ``begin`` … ``end`` - 1, of which ``size`` are in use before; how many are after them.

    ``latest`` has the slot of each key's latest session, -1 if there is none; the slots have its key, the times of its
    first and last row, and how many there are. If slots do not suffice, the result is -1. Codes and numbers are those
    of :func:`cell_slots`; differences of ``floats`` are rounded as they are elsewhere. O(rows).
    """
    plain = numbers.shape[0] == 0
    for i in range(begin, end):
        time = times[i]
        key = codes[i] if plain else numbers[np.uint64(codes[i])]
        slot = latest[np.uint64(key)]
        if slot < 0 or (time - last[slot] >= gap if floats else time >= last[slot] + gap):
            if size == keys.shape[0]:
                return -1
            slot = size
            size += 1
            latest[np.uint64(key)] = slot
            keys[slot], first[slot] = key, time
        place = np.uint64(slot)
        last[place] = time
        counts[place] += 1
        slots[i - begin] = slot
    return size
