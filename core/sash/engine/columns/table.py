"""Slices of many keys as columns, ordered by key and time, and how they are looked up and merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sash.kernels.ranges.partials import Partials, assign, take
from sash.kernels.row_passes import search

__all__ = ["Table", "View", "copies_by_key", "fold", "ones", "order_of_both"]

Array = np.ndarray[Any, Any]
PIECE = 64
"""From so many slices a key on, tables are joined by copying each key's slices as one run."""
_ONE = np.ones(1, np.int64)


def ones(size: int) -> Array:
    """The counts of ``size`` slices of one tuple each, in 8 bytes. Read-only."""
    return np.broadcast_to(_ONE, size)


@dataclass(frozen=True)
class Table:
    """The slices of all keys: a slice's key, the times of its first and last tuples, how many, and its partials.

    Slices of a key do not overlap. ``partials`` are those of each aggregate.
    """

    code: Array
    first: Array
    last: Array
    count: Array
    partials: tuple[Partials, ...]

    def __len__(self) -> int:
        return len(self.code)

    def take(self, which: Any) -> Table:
        """The slices at a slice, positions or mask."""
        partials = tuple(take(column, which) for column in self.partials)
        first = self.first[which]
        last = first if self.last is self.first else self.last[which]  # a tuple a slice
        return Table(self.code[which], first, last, self.count[which], partials)

    def append(self, other: Table) -> Table:
        """The slices of both, in this order."""
        if not len(self) or not len(other):
            return self if len(self) else other
        return Table.concatenate([self, other])

    @staticmethod
    def concatenate(tables: Sequence[Table]) -> Table:
        """The slices of some tables, at least one, in this order."""
        return Table._join(tables, np.concatenate)

    @staticmethod
    def of_pieces(tables: Sequence[Table], pieces: Sequence[tuple[int, slice]]) -> Table:
        """Slices of some tables piece by piece: of which table, and which of its slices."""
        return Table._join(tables, lambda arrays: np.concatenate([arrays[which][part] for which, part in pieces]))

    @staticmethod
    def _join(tables: Sequence[Table], join: Callable[[Sequence[Array]], Array]) -> Table:
        partials = tuple(
            tuple(join(arrays) for arrays in zip(*columns, strict=True))
            for columns in zip(*(table.partials for table in tables), strict=True)
        )
        code, first = join([table.code for table in tables]), join([table.first for table in tables])
        at_once = all(table.last is table.first for table in tables)
        last = first if at_once else join([table.last for table in tables])
        single = all(table.single for table in tables)
        count = ones(len(code)) if single else join([table.count for table in tables])
        return Table(code, first, last, count, partials)

    def begins(self, keys: int) -> Array:
        """Where the slices of each key start, and the end."""
        if keys == 1:
            return np.array([0, len(self)])
        return np.searchsorted(self.code, np.arange(keys + 1))

    def positions(self, begins: Array, settled: Array) -> Array:
        """The position of each slice's first tuple among all of its key, of which ``settled`` have been sliced."""
        if self.single:
            if len(begins) == 2:
                return np.arange(settled[0] - len(self), settled[0])
            return np.asarray(np.arange(len(self)) + np.repeat(settled - begins[1:], np.diff(begins)))
        upto = np.cumsum(self.count)
        if len(begins) == 2:
            return np.asarray(upto - self.count + (settled[0] - upto[-1]))
        ends = np.concatenate([[0], upto])[begins]
        return np.asarray(upto - self.count + (settled - ends[1:])[self.code])

    def positions_at(self, at: Array, begins: Array, settled: Array) -> Array:
        """:meth:`positions` of a few."""
        if not self.single:
            return self.positions(begins, settled)[at]
        code = self.code[at]
        return np.asarray(at + (settled - begins[1:])[code])

    @cached_property
    def single(self) -> bool:
        """Whether all slices are of one tuple. O(1) where they are :func:`ones`."""
        return self.count.strides == (0,) or int(self.count.sum()) == len(self)


@dataclass(frozen=True)
class View:
    """A table with what look-ups need."""

    table: Table
    begins: Array
    settled: Array

    @cached_property
    def positions(self) -> Array:
        """The position of each slice's first tuple."""
        return self.table.positions(self.begins, self.settled)

    def at_time(self, codes: Array, times: Array) -> Array:
        """The first slice of a key that begins at or behind a time."""
        return search(self.table.first, self.begins, codes, times)

    def at_position(self, codes: Array, positions: Array) -> Array:
        """The first slice of a key that begins at or behind a position."""
        if not self.table.single:
            return search(self.positions, self.begins, np.ascontiguousarray(codes), positions)
        shift = self.begins[1:] - self.settled  # so far apart are slices and positions
        if len(shift) == 1:
            return np.asarray(np.clip(positions + shift[0], *self.begins))
        return np.asarray(np.clip(positions + shift[codes], self.begins[codes], self.begins[codes + 1]))

    @property
    def held(self) -> Array:
        """The keys that have slices."""
        if len(self.begins) == 2:
            return np.zeros(int(self.begins[1] > 0), np.int64)
        return np.flatnonzero(self.begins[1:] > self.begins[:-1])


def fold(form: Any, partials: Partials, starts: Array, sizes: Array) -> Partials:
    """Merge each run of ``sizes[i]`` partials from ``starts[i]`` on, in order, in log₂ size rounds."""
    result = take(partials, starts)
    places = np.flatnonzero(sizes > 1)
    if not len(places):
        return result
    if len(places) == 1 and sizes[places[0]] == 2:
        at = int(starts[places[0]])
        assign(result, places, form.merge(take(partials, slice(at, at + 1)), take(partials, slice(at + 1, at + 2))))
        return result
    starts, sizes = starts[places], sizes[places]
    while True:
        which = np.repeat(np.arange(len(sizes)), sizes)
        begins = np.cumsum(sizes) - sizes
        rank = np.arange(len(which)) - begins[which]
        source = starts[which] + rank
        left = rank % 2 == 0
        paired = left & (rank + 1 < sizes[which])
        merged = form.merge(take(partials, source[paired]), take(partials, source[paired] + 1))
        partials = take(partials, source[left])
        assign(partials, paired[left], merged)
        sizes = (sizes + 1) // 2
        starts = np.cumsum(sizes) - sizes
        if (sizes == 1).all():
            break
    assign(result, places, partials)
    return result


def copies_by_key(slices: int, keys: int) -> bool:
    """Whether copying each key's slices as one run is worth it."""
    return slices >= PIECE * keys


def order_of_both(table: Table, fresh: Table, keys: int, by_time: bool) -> Array | None:
    """The order of both tables' slices by key and time; None: one table after the other is in order.

    Each table is in order, so only the places of the fresh slices among the others are looked for.
    """
    if not len(table) or not len(fresh) or table.code[-1] < fresh.code[0]:
        return None
    if table.code[-1] == fresh.code[0] and (not by_time or table.last[-1] < fresh.first[0]):
        return None
    begins = table.begins(keys)
    if by_time:
        behind = fresh.first + 1 if fresh.first.dtype.kind == "i" else np.nextafter(fresh.first, np.inf)
        places = search(table.first, begins, fresh.code, behind)
    else:
        places = begins[1:][fresh.code]
    order = np.empty(len(table) + len(fresh), np.int64)
    is_old = np.ones(len(order), np.bool_)
    places = places + np.arange(len(fresh))
    order[places], is_old[places] = np.arange(len(table), len(order)), False
    order[is_old] = np.arange(len(table))
    return order
