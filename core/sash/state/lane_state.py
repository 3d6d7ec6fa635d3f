"""The state of a lane for all of its keys, whichever engine runs it: what is saved, and what one engine takes over.

Everything is a column: arrays over the keys, over the slices of all keys, over the tuples that are kept. What can be
computed from it (``csa``, ``lcs``, trees, the next edge) is not part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from sash.state.time_columns import TIME_BOUNDS, convert_units, join_times
from sash.values.arrays import Array, concatenate, objects
from sash.values.columns import PartialColumn

__all__ = [
    "BLOCK",
    "KeyColumns",
    "LaneState",
    "SliceColumns",
    "Tuple",
    "TupleColumns",
    "WindowColumns",
    "WindowState",
    "next_block",
]

BLOCK = 512
"""The number of slices in a block."""

Tuple = tuple[Any, tuple[Any, ...]]
"""A tuple that is kept: its time, and its values in the order of ``Query.values``."""

_NONE = np.zeros(0, np.int64)
_INTEGER = np.dtype(np.int64)


def next_block(numbered: Any, held: Any) -> Any:
    """The first number of a block after all ``held`` slices, of which the first is ``numbered``.

    Slices that change after they were final take new numbers from here on: a block is never written twice.

    >>> next_block(0, 512), next_block(100, 413)
    (512, 1024)
    """
    return -(-(numbered + held) // BLOCK) * BLOCK


@dataclass
class WindowState:
    """What a window knows of one key besides the slices.

    A window that was added while the stream ran emits only what begins after the time ``since`` (None: all) and not
    before position ``since_count``. ``edges`` are those that tuples brought; ``revisions`` is how often results that
    can still be corrected were emitted again, by (start, end).
    """

    since: Any = None
    since_count: int = 0
    edges: list[Any] = field(default_factory=list)
    revisions: dict[tuple[Any, Any], int] = field(default_factory=dict)

    def copy(self) -> WindowState:
        """An equal, independent one."""
        return WindowState(self.since, self.since_count, list(self.edges), dict(self.revisions))


@dataclass
class WindowColumns:
    """The :class:`WindowState` of all keys; None where no key has any.

    ``edges`` are (how many each key has, their times), ``revisions`` (how many each has, starts, ends, revisions).
    """

    since: Array | None = None
    since_count: Array | None = None
    edges: tuple[Array, Array] | None = None
    revisions: tuple[Array, Array, Array, Array] | None = None

    @staticmethod
    def of_edge(since: Array | None, since_count: Array | None, edge: Array | None) -> WindowColumns:
        """Where each key has one edge at most, the lowest time if it has none. O(keys)."""
        if edge is None:
            return WindowColumns(since, since_count)
        there = edge != TIME_BOUNDS[edge.dtype][0]
        return WindowColumns(since, since_count, (there.astype(np.int64), edge[there]))


@dataclass
class KeyColumns:
    """What a lane knows of each key.

    - ``watermark``, if any, and ``newest``, the latest time accepted so far;
    - ``direct_until``: tuples up to this time go straight into their slice although later ones wait, because slices
      without tuples existed when tuples began to wait;
    - ``accepted``: the number of tuples accepted, those that wait included;
    - ``numbered``: the number of the first slice. Numbers only grow: slices that were merged take new ones
      (:func:`next_block`).
    """

    watermark: Array
    newest: Array
    direct_until: Array
    accepted: Array
    numbered: Array
    late_dropped: Array
    results: Array

    def __len__(self) -> int:
        return len(self.accepted)


@dataclass
class TupleColumns:
    """Tuples in order, each with the number of its key, or of the slice that keeps it."""

    codes: Array
    times: Array
    columns: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.codes)

    @staticmethod
    def none(names: Sequence[str] = ()) -> TupleColumns:
        """No tuples."""
        return TupleColumns(_NONE, _NONE, {name: objects([]) for name in names})

    def take(self, which: Any) -> TupleColumns:
        columns = {name: column[which] for name, column in self.columns.items()}
        return TupleColumns(self.codes[which], self.times[which], columns)

    def select(self, names: Sequence[str]) -> TupleColumns:
        """The tuples with these columns, of nulls where there was none."""
        nulls = objects([None] * len(self))
        return replace(self, columns={name: self.columns.get(name, nulls) for name in names})

    @staticmethod
    def concatenate(parts: Sequence[TupleColumns]) -> TupleColumns:
        parts = [part for part in parts if len(part)] or list(parts[:1])
        columns = dict(parts[0].columns)
        for part in parts[1:]:
            columns = {name: concatenate(column, part.columns[name]) for name, column in columns.items()}
        codes = np.concatenate([part.codes for part in parts])
        return TupleColumns(codes, join_times([part.times for part in parts]), columns)


@dataclass
class SliceColumns:
    """The slices of all keys, by key and time: the key's number, the times of the first and last tuples, how many.

    ``partials`` has a column for each aggregate of the query, and ``dtypes`` the types of the columns that it read:
    timestamps in partials are integers in their units. None: partials are as rows have them. ``kept`` are the tuples
    of the slices that keep theirs, numbered by place here.
    """

    codes: Array
    first: Array
    last: Array
    count: Array
    partials: tuple[PartialColumn, ...]
    dtypes: tuple[tuple[str, ...] | None, ...]
    kept: TupleColumns = field(default_factory=TupleColumns.none)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, which: Array | slice) -> SliceColumns:
        """The slices of a range, or where a mask is True."""
        codes, first, last, count = (column[which] for column in (self.codes, self.first, self.last, self.count))
        kept = self._take_kept(which) if len(self.kept) else self.kept
        partials = tuple(column[which] for column in self.partials)
        return SliceColumns(codes, first, last, count, partials, self.dtypes, kept)

    def _take_kept(self, which: Array | slice) -> TupleColumns:
        """The tuples that some of the slices keep, numbered by the places of these."""
        if isinstance(which, slice):
            begin, end, _ = which.indices(len(self))
            kept = self.kept.take(slice(*np.searchsorted(self.kept.codes, [begin, end]).tolist()))
            return replace(kept, codes=kept.codes - begin)
        kept = self.kept.take(which[self.kept.codes])
        return replace(kept, codes=(np.cumsum(which) - 1)[kept.codes])

    @staticmethod
    def concatenate(tables: Sequence[SliceColumns]) -> SliceColumns:
        """Slices of several tables, of the same aggregates and types, by key; those of a key in the tables' order."""
        codes = np.concatenate([table.codes for table in tables])
        order = np.argsort(codes, kind="stable")
        names = ("first", "last", "count")
        first, last, count = (join_times([getattr(table, name) for table in tables])[order] for name in names)
        partials = zip(*(table.partials for table in tables), strict=True)
        columns = tuple(PartialColumn.concatenate(column)[order] for column in partials)
        return SliceColumns(codes[order], first, last, count, columns, tables[-1].dtypes, _join_kept(tables, order))


def _of_equal_types(tables: Sequence[SliceColumns], aggregates: Sequence[Any]) -> list[SliceColumns]:
    """The same slices with partials as rows have them wherever tables have read columns of different types."""
    kinds = list(zip(*(table.dtypes for table in tables), strict=True))
    mixed = [len(set(of_aggregate)) > 1 for of_aggregate in kinds]
    if not any(mixed):
        return list(tables)

    def convert(table: SliceColumns) -> SliceColumns:
        partials, dtypes = list(table.partials), list(table.dtypes)
        for place in np.flatnonzero(mixed).tolist():
            types = dtypes[place]
            partials[place] = convert_units(aggregates[place], partials[place], types, types and ["O"] * len(types))
            dtypes[place] = None
        return replace(table, partials=tuple(partials), dtypes=tuple(dtypes))

    return list(map(convert, tables))


def _join_kept(tables: Sequence[SliceColumns], order: Array) -> TupleColumns:
    """The tuples that slices of several tables keep, once these are in ``order``."""
    begins = np.cumsum([0, *map(len, tables)])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    kept = TupleColumns.concatenate(
        [replace(table.kept, codes=table.kept.codes + begin) for table, begin in zip(tables, begins, strict=False)]
    )
    if not len(kept):
        return kept
    codes = place[kept.codes]
    return replace(kept, codes=codes).take(np.argsort(codes, kind="stable"))


@dataclass
class LaneState:
    """The state of one lane.

    ``pending`` are the tuples that wait for the watermark to reach their time, those of a key in the order of arrival;
    ``final`` is how many slices of each key, from its first, can change no more; ``advanced`` the watermark that all
    keys have reached, those to come included. ``buffered``: tuples have to wait.
    """

    keys: KeyColumns
    windows: dict[str | None, WindowColumns]
    slices: SliceColumns
    pending: TupleColumns
    final: Array
    advanced: Any = None
    buffered: bool = False
    merges: int = 0
    late_corrected: int = 0

    @property
    def by_columns(self) -> bool:
        """Whether the columnar engine saved it, which knows the types of the columns that it has read."""
        return any(types is not None for types in self.slices.dtypes)

    def let_wait(self, buffered: bool) -> None:
        """Have tuples wait from now on, or no longer; those up to the newest so far do not begin to. O(1)."""
        if buffered and not self.buffered:
            self.keys = replace(self.keys, direct_until=self.keys.newest)
        self.buffered = buffered

    def fit(self, windows: Sequence[str | None], values: Sequence[str]) -> None:
        """Have these windows, and these columns in tuples. A new window begins after the newest tuple. O(keys)."""
        keys = self.keys
        low, _ = TIME_BOUNDS[keys.newest.dtype]
        new = WindowColumns(keys.newest, np.where(keys.newest == low, 0, keys.accepted).astype(np.int64))
        self.windows = {name: self.windows.get(name, new) for name in windows}
        self.pending = self.pending.select(values)
        self.slices = replace(self.slices, kept=self.slices.kept.select(values))

    @staticmethod
    def unite(parts: Sequence[LaneState], codes: Sequence[Array], size: int, aggregates: Sequence[Any]) -> LaneState:
        """The state of ``size`` keys whose rows went to several lanes, none of which has got a watermark.

        Key i of part p has the number codes[p][i] here. A key's slices are in the order of the parts: they may overlap,
        and have to be merged where no edge parts them. O(slices and keys).
        """
        if any(len(part.pending) or part.advanced is not None for part in parts):
            raise ValueError("a part has received a watermark, so its slices do not cover all of its rows")
        tables = _of_equal_types([part.slices for part in parts], aggregates)
        slices = [replace(table, codes=of[table.codes]) for table, of in zip(tables, codes, strict=True)]
        none, newest = np.full(size, TIME_BOUNDS[_INTEGER][0]), join_times([part.keys.newest for part in parts])
        latest = np.full(size, TIME_BOUNDS[newest.dtype][0])
        np.maximum.at(latest, np.concatenate(codes), newest)
        accepted, zeros = np.zeros(size, np.int64), np.zeros(size, np.int64)
        np.add.at(accepted, np.concatenate(codes), np.concatenate([part.keys.accepted for part in parts]))
        keys = KeyColumns(none, latest, none, accepted, zeros, zeros, zeros)
        windows = {name: WindowColumns() for name in parts[0].windows}
        pending = parts[0].pending
        merges = sum(part.merges for part in parts)
        return LaneState(keys, windows, SliceColumns.concatenate(slices), pending, zeros, merges=merges)

    def check(self) -> None:
        """Refuse columns of different lengths, with a ValueError."""
        keys, slices = len(self.keys), self.slices
        lengths = [len(getattr(self.keys, column.name)) for column in fields(self.keys)]
        for window in self.windows.values():
            sizes = [part[0] for part in (window.edges, window.revisions) if part]
            lengths += [len(column) for column in (window.since, window.since_count, *sizes) if column is not None]
        if set(lengths) != {keys}:
            raise ValueError("columns of its keys are of different lengths")
        slice_columns: list[Any] = [slices, slices.first, slices.last, slices.count, *slices.partials]
        if len(set(map(len, slice_columns))) > 1:
            raise ValueError("columns of its slices are of different lengths")
        for tuples, size in ((self.pending, keys), (slices.kept, len(slices)), (slices, keys)):
            if len(tuples) and not 0 <= tuples.codes.min() <= tuples.codes.max() < size:
                raise ValueError("a number of a key or slice is beyond their number")
