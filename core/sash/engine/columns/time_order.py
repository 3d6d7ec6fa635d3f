"""A whole data set whose rows come in the order of time: all keys at once, straight into their slices.

Rows are neither brought together key by key nor looked up. A block of them at a time gets its slots
(:mod:`sash.kernels.slots`), and each aggregate merges it into the slots, while the nearest caches hold it.

- Edges of windows on time are places in all rows, by binary search: a slot is a key's part of the rows between two.
- A session's slot is found by the time of its key's last row. Rows are cut into stretches; sessions that go on from one
  into the next are merged. Where the cuts are does not depend on the number of cores, so results do not either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any, NamedTuple

import numpy as np

from sash.engine.columns.aggregates import Aggregate
from sash.engine.columns.rules.session import apart
from sash.engine.columns.slicer import merge_slices
from sash.engine.columns.table import Table
from sash.frames import Renumbered
from sash.kernels.inputs import readable
from sash.kernels.partition import Partition
from sash.kernels.ranges.partials import Partials
from sash.kernels.slots import cell_slots, session_slots
from sash.values.shares import Shares, in_shares, shares_of

__all__ = ["RowsByTime", "most_edges", "scatters", "slices_between", "slices_of_sessions"]

Array = np.ndarray[Any, Any]
SlotsOf = Callable[[int, int, Array], Any]
"""Puts the slots of the rows from one place up to another into an array."""

BLOCK = 1 << 16
"""Rows whose slots a core's own cache holds until all aggregates have used them."""
STRETCH = 1 << 19
"""Rows that sessions are found in by one pass, by one thread."""
FILLING = 4.0
"""Rows that a slot between edges has at least, on average: thinner ones are found faster key by key."""
MOST_KEYS = 1 << 14
"""Keys whose latest sessions a core's own cache holds."""
TILE = 1 << 13
"""Slots of cells that are filled one after the other: a core's own cache holds the partials of some aggregates."""


class RowsByTime(NamedTuple):
    """All rows of a data set, in the order of time, of keys below ``keys``."""

    codes: Array | Renumbered
    times: Array
    columns: Mapping[str, Array]
    keys: int


def most_edges(rows: RowsByTime) -> int:
    """Between how many edges :func:`slices_between` is worth it."""
    return int(len(rows.times) / (FILLING * rows.keys))


def scatters(aggregates: Sequence[Aggregate]) -> bool:
    """Whether kernels merge rows into slots for all of these."""
    return all(aggregate.form.compiled and not aggregate.aggregation.by_ranks for aggregate in aggregates)


class _Scatter:
    """Merges blocks of rows into the slots of some aggregates."""

    def __init__(self, rows: RowsByTime, aggregates: Sequence[Aggregate]) -> None:
        self.size, self.numbered = len(rows.times), _numbered(rows.codes)
        self._forms = [aggregate.form for aggregate in aggregates]
        inputs = [aggregate.input(rows.columns) for aggregate in aggregates]
        self._inputs = [columns._replace(arrays=tuple(map(readable, columns.arrays))) for columns in inputs]

    def empty(self, size: int) -> tuple[Partials, ...]:
        return tuple(form.empty(size) for form in self._forms)

    def run(self, begin: int, end: int, slots_of: SlotsOf, partials: Sequence[Partials]) -> bool:
        """Merge the rows ``begin`` … ``end`` - 1; False if ``slots_of`` fails by a negative result."""
        slots = np.empty(min(BLOCK, end - begin), np.int64)
        for first in range(begin, end, BLOCK):
            rows = slice(first, min(first + BLOCK, end))
            part = slots[: rows.stop - first]
            if (slots_of(first, rows.stop, part) or 0) < 0:
                return False
            for form, columns, held in zip(self._forms, self._inputs, partials, strict=True):
                form.scatter_into(held, columns.part(rows), part, self.size)
        return True

    @property
    def shared(self) -> bool:
        """Whether threads can run it beside each other: what runs as Python replaces all slots at the end."""
        return all(form.scatters_compiled(columns) for form, columns in zip(self._forms, self._inputs, strict=True))


def _numbered(codes: Array | Renumbered) -> tuple[Array, Array]:
    """Codes, and the number of each; none if the codes are the numbers."""
    if isinstance(codes, Renumbered):
        return readable(codes.codes, np.int64), codes.numbers
    return readable(codes, np.int64), np.zeros(0, np.int64)


# cells between edges


def slices_between(edges: Array, rows: RowsByTime, aggregates: Sequence[Aggregate]) -> Table:
    """The slices of all keys between edges. O(rows + keys * edges).

    The times of a slice are some time between its edges.
    """
    times, keys = rows.times, rows.keys
    cells = _Cells(edges, rows, aggregates)
    scatter, size = cells.scatter, len(cells.bounds) - 1
    head = 0 if scatter.shared else 1
    cells.fill(0, head)  # which compiles, or runs as Python what is too little for that
    in_shares(cells.fill, _shares_of(cells.bounds, head) if scatter.shared else [(head, size)])
    first, counts = times[cells.bounds[:-1]], cells.counts
    held = np.flatnonzero(counts)
    if len(held) == len(counts):
        first = np.tile(first, keys)
        return Table(np.repeat(np.arange(keys), size), first, first, counts, cells.table)
    code, cell = np.divmod(held, size)
    first = first[cell]
    each = iter(in_shares(lambda array: array[held], [(array,) for column in cells.table for array in column]))
    return Table(code, first, first, counts[held], tuple(tuple(next(each) for _ in column) for column in cells.table))


class _Cells:
    """The slots of all keys between edges, key by key, which are filled tile by tile."""

    def __init__(self, edges: Array, rows: RowsByTime, aggregates: Sequence[Aggregate]) -> None:
        times, self._keys = rows.times, rows.keys
        self.scatter = _Scatter(rows, aggregates)
        self.bounds = np.unique(np.concatenate([[0], np.searchsorted(times, edges), [len(times)]]))
        """The first row of each cell that has rows, and the end."""
        size = rows.keys * (len(self.bounds) - 1)
        self.table, self.counts = self.scatter.empty(size), np.zeros(size, np.int64)

    def fill(self, first: int, last: int) -> None:
        """Fill the slots of some cells."""
        width = max(1, TILE // self._keys)
        for begin in range(first, last, width):
            self._fill_tile(slice(begin, min(begin + width, last)))

    def _fill_tile(self, tile: slice) -> None:
        keys, bounds, width = self._keys, self.bounds, tile.stop - tile.start
        partials, counts = self.scatter.empty(keys * width), np.zeros(keys * width, np.int64)

        def slots_of(begin: int, end: int, slots: Array) -> None:
            cell = int(np.searchsorted(bounds, begin, side="right")) - 1
            cell_slots(*self.scatter.numbered, bounds, begin, end, cell, tile.start, width, slots, counts)

        self.scatter.run(int(bounds[tile.start]), int(bounds[tile.stop]), slots_of, partials)
        for arrays, parts in zip((*self.table, (self.counts,)), (*partials, (counts,)), strict=True):
            for array, part in zip(arrays, parts, strict=True):
                array.reshape(keys, -1)[:, tile] = part.reshape(keys, width)


def _shares_of(bounds: Array, head: int) -> Shares:
    """The cells from ``head`` on in shares of about as many rows."""
    begin, end, cells = int(bounds[head]), int(bounds[-1]), len(bounds) - 1
    wanted = [begin + share for _, share in shares_of(end - begin)[:-1]]
    cuts = np.searchsorted(bounds, wanted).tolist()
    return list(pairwise(sorted({head, *cuts, cells}))) or [(cells, cells)]


# sessions


def slices_of_sessions(gap: Any, rows: RowsByTime, aggregates: Sequence[Aggregate]) -> tuple[Table, int] | None:
    """The slices of all keys, cut where rows are ``gap`` apart, and the number of merges of slices.

    None: there are about as many slices as rows, or too many keys. O(rows).
    """
    if rows.keys > MOST_KEYS:
        return None
    scatter, size = _Scatter(rows, aggregates), len(rows.times)
    stretches = max(1, size // STRETCH)
    cuts = list(pairwise(size * stretch // stretches for stretch in range(stretches + 1)))

    def slices(first: int, last: int) -> list[Table]:
        tables = (_slices_of_stretch(*stretch, gap, rows, scatter) for stretch in cuts[first:last])
        return [table for table in takewhile(lambda table: table is not None, tables) if table is not None]

    head = 0 if scatter.shared else 1
    tables = slices(0, head)
    if len(tables) < head:
        return None
    shares = shares_of(stretches - head, 1) if scatter.shared else [(0, stretches - head)]
    tables += [table for part in in_shares(slices, [(head + a, head + b) for a, b in shares]) for table in part]
    return _merge_stretches(tables, gap, rows.keys, aggregates) if len(tables) == stretches else None


def _slices_of_stretch(begin: int, end: int, gap: Any, rows: RowsByTime, scatter: _Scatter) -> Table | None:
    keys, times = rows.keys, rows.times
    start, floats = begin, times.dtype.kind == "f"
    most = (end - start) // 4 + keys
    partials, latest, used = scatter.empty(most), np.full(keys, -1, np.int64), 0
    code, counts = np.empty(most, np.int64), np.zeros(most, np.int64)
    first, last = np.empty(most, times.dtype), np.empty(most, times.dtype)
    sizes = times.dtype.type(gap), floats
    of_slots = latest, code, first, last, counts

    def slots_of(begin: int, end: int, slots: Array) -> int:
        nonlocal used
        used = int(session_slots(*scatter.numbered, times, begin, end, *sizes, used, *of_slots, slots))
        return used if used <= (end - start) // 4 + keys else -1

    if not scatter.run(begin, end, slots_of, partials):
        return None
    return Table(code, first, last, counts, partials).take(slice(0, used))


def _merge_stretches(
    tables: Sequence[Table], gap: Any, keys: int, aggregates: Sequence[Aggregate]
) -> tuple[Table, int]:
    """The slices of all stretches key by key, those merged that a cut has parted; and how many merges that took."""
    joint = Table.concatenate(tables)
    order = Partition(joint.code, keys)
    joint = joint if order.is_identity else joint.take(order.order())
    begins = np.ones(len(joint), np.bool_)
    begins[1:] = (joint.code[1:] != joint.code[:-1]) | apart(joint.last[:-1], joint.first[1:], gap)
    return (joint, 0) if begins.all() else merge_slices(joint, np.flatnonzero(begins), aggregates)
