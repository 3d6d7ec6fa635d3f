"""From rows to slices: where rows are cut, and which slices are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sash.engine.columns.aggregates import Aggregate
from sash.engine.columns.moment import Moment, Pairs, Rows
from sash.engine.columns.rules.base import Rule
from sash.engine.columns.rules.periods import Grid
from sash.engine.columns.table import Table, View, copies_by_key, fold, ones, order_of_both
from sash.kernels.inputs import readable
from sash.kernels.partition import locate_slots
from sash.kernels.ranges.partials import take
from sash.kernels.row_passes import locate, overlaps, search
from sash.values.shares import Shares, Span, shares_of

__all__ = ["ColumnSlicer", "merge_slices"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ColumnSlicer:
    """Cuts at the edges of all windows: ``grid`` holds the periodic ones, ``rules`` know the others.

    ``buckets``, if given, are edges that no two tuples between them are a session's gap apart.
    """

    grid: Grid
    rules: Sequence[Rule]
    counting: bool
    buckets: Grid | None = None

    def slice_rows(self, rows: Rows, aggregates: Sequence[Aggregate], moment: Moment) -> Table:
        """Cut ordered rows at every edge and reduce each part to a slice."""
        if any(rule.cuts_all for rule in self.rules):
            bounds = np.arange(len(rows) + 1)
            partials = tuple(aggregate.form.reduce(aggregate.input(rows.columns), bounds) for aggregate in aggregates)
            times = rows.times.copy()  # it is kept, and the user's may change
            return Table(rows.each_code, times, times, ones(len(rows)), partials)
        cut = np.zeros(len(rows), np.bool_)
        cut[rows.begins[:-1]] = True
        self._cut_by_grid(rows, cut)
        for rule in self.rules:
            rule.cut(rows, moment, cut)
        starts = np.flatnonzero(cut)
        bounds = np.concatenate([starts, [len(rows)]])
        partials = tuple(aggregate.form.reduce(aggregate.input(rows.columns), bounds) for aggregate in aggregates)
        code = np.zeros(len(starts), np.int64) if rows.codes is None else rows.codes[starts]
        return Table(code, rows.times[starts], rows.times[bounds[1:] - 1], np.diff(bounds), partials)

    def _cut_by_grid(self, rows: Rows, cut: Array) -> None:
        if not len(self.grid):
            return
        times, sets = rows.times, len(self.grid)
        if rows.codes is None:
            edges = self.grid.between(times[0], times[-1], len(times) + 1024)
            if edges is not None:
                cut[search(times, rows.begins, np.zeros(len(edges), np.int64), edges)] = True
                return
        elif sets > 2:
            edges = self.grid.between(times.min(), times.max(), len(times))
            if edges is not None:
                cell = locate(edges, times)
                cut[1:] |= cell[1:] != cell[:-1]
                return
        self.grid.cut(times, cut)

    def scatter_rows(
        self,
        codes: Array | None,
        times: Array,
        columns: Mapping[str, Array],
        aggregates: Sequence[Aggregate],
        keys: int,
        span: Span,
    ) -> Table | None:
        """Reduce rows in any order to slices; None if there were far more cells between edges than rows."""
        low, high, in_order = span
        most = 2 * len(times) // keys + 1024 // keys
        edges = self.grid.between(low, high, most)
        if edges is not None and self.buckets is not None:
            more = self.buckets.between(low, high, most)
            edges = None if more is None else np.unique(np.concatenate([edges, more]))
        if edges is None:
            return None
        codes = np.zeros(len(times), np.int64) if codes is None else codes
        times, codes, edges = readable(times), readable(codes), readable(edges, times.dtype)
        shares = _shares_between(edges, times) if in_order else None
        slots, first, last, count = locate_slots(times, codes, edges, keys, shares)
        size = len(count)
        scattered = (aggregate.form.scatter(aggregate.input(columns), slots, size, shares) for aggregate in aggregates)
        held = np.arange(size).reshape(-1, keys).T.ravel() if keys > 1 else np.arange(size)
        held = held[count[held] > 0]
        partials = tuple(take(column, held) for column in scattered)
        return Table(held % keys, first[held], last[held], count[held], partials)

    def absorb(
        self, table: Table, fresh: Table, aggregates: Sequence[Aggregate], moment: Moment, direct: bool
    ) -> tuple[Table, int]:
        """Add slices to a table, merging those that no edge separates; the table and the number of merges.

        Without ``direct`` they all lie behind those of the table, and are parted from one another already.
        """
        behind = len(moment.after) == 1 and len(table) and table.last[-1] < fresh.first[0]
        if (behind and direct and self.buckets is None) or (not direct and self._appends(table, moment)):
            return self._append(table, fresh, aggregates, moment)
        unsure = self._unsure(table, moment, len(table) + len(fresh))
        if not direct and unsure is None and copies_by_key(len(table), len(moment.after)):
            return self._absorb_key_by_key(table, fresh, aggregates, moment)
        order = order_of_both(table, fresh, len(moment.after), direct)
        joint = table.append(fresh)
        kind = np.zeros(len(joint), np.int8)  # 0 old, 1 of this batch
        kind[len(table) :] = 1
        if order is not None:
            joint, kind = joint.take(order), kind[order]
            unsure = None if unsure is None else unsure[order]
        doubtful = kind[1:] != kind[:-1]
        if direct and self.buckets is not None:
            doubtful |= kind[1:] == 1
        if unsure is not None:
            doubtful |= unsure[1:]
        doubtful &= joint.code[1:] == joint.code[:-1]
        joined = np.zeros(len(joint), np.bool_)
        before = np.zeros(0)
        if direct:
            joined, before = overlaps(joint.code, joint.first, joint.last)
        at = np.flatnonzero(doubtful) + 1
        if len(at):
            pairs = self._pairs(joint, at, before[at] if direct else joint.last[at - 1], moment)
            joined[at] |= ~self._has_edge(pairs, moment)
        if not joined.any():
            return joint, 0
        return merge_slices(joint, np.flatnonzero(~joined), aggregates, direct)

    def unite(self, table: Table, aggregates: Sequence[Aggregate], moment: Moment) -> tuple[Table, int]:
        """Merge the slices of parts of the rows, in any order, that no edge separates; and the number of merges."""
        joint = table.take(np.lexsort((table.first, table.code)))
        if not len(joint):
            return joint, 0
        joined, before = overlaps(joint.code, joint.first, joint.last)
        at = np.flatnonzero(joint.code[1:] == joint.code[:-1]) + 1
        joined[at] |= ~self._has_edge(self._pairs(joint, at, before[at], moment), moment)
        return merge_slices(joint, np.flatnonzero(~joined), aggregates, True)

    def _absorb_key_by_key(
        self, table: Table, fresh: Table, aggregates: Sequence[Aggregate], moment: Moment
    ) -> tuple[Table, int]:
        """The same where only the last slice of a key and its first new one can merge: one copy, and O(keys)."""
        joint, at = _interleave(table, fresh, len(moment.after))
        if len(at):
            at = at[~self._has_edge(self._pairs(joint, at, joint.last[at - 1], moment), moment)]
        if not len(at):
            return joint, 0
        return merge_slices(joint, np.delete(np.arange(len(joint)), at), aggregates, False)

    def _appends(self, table: Table, moment: Moment) -> bool:
        """Whether only the last slice of the table and the first new one can merge."""
        return len(moment.after) == 1 and len(table) > 0 and not self.reconsiders

    def _append(self, table: Table, fresh: Table, aggregates: Sequence[Aggregate], moment: Moment) -> tuple[Table, int]:
        position = moment.after.settled - fresh.count.sum()
        pairs = Pairs(fresh.code[:1], table.last[-1:], fresh.first[:1], position)
        if self._has_edge(pairs, moment)[0]:
            return table.append(fresh), 0
        last, first = table.take(slice(-1, None)), fresh.take(slice(0, 1))
        partials = tuple(
            aggregate.form.merge(a, b)
            for aggregate, a, b in zip(aggregates, last.partials, first.partials, strict=True)
        )
        joint = Table(last.code, last.first, first.last, last.count + first.count, partials)
        return table.take(slice(0, -1)).append(joint).append(fresh.take(slice(1, None))), len(aggregates)

    @property
    def reconsiders(self) -> bool:
        """Whether some cuts are provisional."""
        return any(rule.reconsiders for rule in self.rules)

    def _unsure(self, table: Table, moment: Moment, size: int) -> Array | None:
        if not len(table) or not self.reconsiders:
            return None
        keys = len(moment.after)
        begins = table.begins(keys)
        view = View(table, begins, moment.before.settled)
        unsure = np.zeros(size, np.bool_)
        for rule in self.rules:
            if rule.reconsiders:
                unsure[rule.unsure(view, moment)] = True
        touched = np.zeros(keys, np.bool_)
        if moment.rows is not None:
            touched[moment.rows.keys] = True
        unsure[: len(table)] &= touched[table.code]
        return unsure

    def _pairs(self, joint: Table, at: Array, before: Array, moment: Moment) -> Pairs:
        position = np.zeros(0, np.int64)
        if self.counting:
            position = joint.positions_at(at, joint.begins(len(moment.after)), moment.after.settled)
        return Pairs(joint.code[at], before, joint.first[at], position)

    def _has_edge(self, pairs: Pairs, moment: Moment) -> Array:
        parted = self.grid.crossed(pairs.before, pairs.after)
        for rule in self.rules:
            parted |= rule.has_edge(pairs, moment)
        return parted


def _shares_between(edges: Array, times: Array) -> Shares:
    """Shares of rows in the order of time that begin with an edge each: no slice has rows in two."""
    cuts = {0, len(times)}
    for begin, _ in shares_of(len(times))[1:]:
        edge = edges[np.searchsorted(edges, times[begin], side="right") :][:1]
        cuts.update(np.searchsorted(times, edge).tolist())
    return list(pairwise(sorted(cuts)))


def _interleave(table: Table, fresh: Table, keys: int) -> tuple[Table, Array]:
    """The slices of both tables key by key, the first table's before the other's; and where the latter start.

    That is told of the keys that have slices in both.
    """
    old, new = table.begins(keys), fresh.begins(keys)
    bounds = list(enumerate((old.tolist(), new.tolist())))
    pieces = [(which, slice(begins[key], begins[key + 1])) for key in range(keys) for which, begins in bounds]
    both = (np.diff(old) > 0) & (np.diff(new) > 0)
    return Table.of_pieces((table, fresh), pieces), (old[1:] + new[:-1])[both]


def merge_slices(
    joint: Table, starts: Array, aggregates: Sequence[Aggregate], direct: bool = False
) -> tuple[Table, int]:
    """Merge the slices from each start up to the next; the table and the number of merges."""
    bounds = np.concatenate([starts, [len(joint)]])
    sizes = np.diff(bounds)
    partials = tuple(
        fold(aggregate.form, column, starts, sizes)
        for aggregate, column in zip(aggregates, joint.partials, strict=True)
    )
    last = np.maximum.reduceat(joint.last, starts) if direct else joint.last[bounds[1:] - 1]
    table = Table(joint.code[starts], joint.first[starts], last, np.add.reduceat(joint.count, starts), partials)
    return table, (len(joint) - len(table)) * len(aggregates)
