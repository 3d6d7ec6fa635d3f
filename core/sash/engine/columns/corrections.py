"""Corrections by columns: rows that come when windows around them have been emitted, and what these add up to then.

    rows of a window, by arrival   base │ r1  r2 │ r3   r4        base: its slices, without the late rows
                                              end               the watermark passes the end of the window
    results                             ·   ·  rev 0 rev 1 rev 2

The late rows of a window in order of arrival, behind its base, are a *run*, and each result is what a run adds up to
so far. Of a window that nothing fell into before, the first late row emits revision 0. One pass over all runs merges
each row once; the base costs what a window costs that completes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sash.engine.columns.aggregates import Aggregate
from sash.engine.columns.moment import Array, CompleteWindows, Moment, Pending
from sash.engine.columns.rules.all import Rules
from sash.engine.columns.table import Table
from sash.kernels.ranges.partials import Partials, concatenate, take
from sash.kernels.row_passes import search
from sash.state.time_columns import cast_times

__all__ = ["Corrected", "LateRows", "Revisions", "correct", "correcting_rows"]

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Revisions:
    """The last revision, more than 0, of windows that can still be corrected: key, place, start, end and number."""

    code: Array
    place: Array
    start: Array
    end: Array
    number: Array

    @staticmethod
    def none() -> Revisions:
        """No window has been corrected."""
        return Revisions(_NONE, _NONE, _NONE, _NONE, _NONE)

    @staticmethod
    def of_windows(columns: Sequence[tuple[Array, ...] | None], dtype: np.dtype[Any]) -> Revisions:
        """From what is saved of each window: (how many each key has, starts, ends, revisions). O(revisions)."""
        parts = [
            (np.repeat(np.arange(len(sizes)), sizes), np.full(len(number), place), start, end, number)
            for place, (sizes, start, end, number) in ((place, part) for place, part in enumerate(columns) if part)
        ]
        if not parts:
            return Revisions.none()
        code, place, start, end, number = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return Revisions(code, place, cast_times(start, dtype), cast_times(end, dtype), number)

    def by_window(self, windows: int, keys: int) -> Iterator[tuple[Array, Array, Array, Array] | None]:
        """The reverse of :meth:`of_windows`; None where there is none. O(windows + revisions)."""
        for place in range(windows):
            which = np.flatnonzero(self.place == place) if len(self.place) else _NONE
            which = which[np.argsort(self.code[which], kind="stable")]
            sizes = np.bincount(self.code[which], minlength=keys)
            yield (sizes, self.start[which], self.end[which], self.number[which]) if len(which) else None

    def __len__(self) -> int:
        return len(self.code)

    def take(self, which: Array) -> Revisions:
        """Those at positions, or where a mask is True."""
        return Revisions(*(getattr(self, column.name)[which] for column in fields(Revisions)))

    def keep(self, which: Array, number: Array) -> Revisions:
        """Of the keys where ``which`` is True, which get new numbers."""
        kept = self.take(which[self.code])
        return Revisions(number[kept.code], kept.place, kept.start, kept.end, kept.number)

    def cast(self, dtype: np.dtype[Any]) -> Revisions:
        """With times of another type."""
        return Revisions(self.code, self.place, self.start.astype(dtype), self.end.astype(dtype), self.number)

    def replace(self, runs: Runs, number: Array, known: Array, closed: Array) -> Revisions:
        """With the windows of runs, which ``known`` locates here; without those that end by ``closed``, by key."""
        old = np.ones(len(self), np.bool_)
        old[known[known >= 0]] = False
        new = Revisions(runs.code, runs.place, runs.start, runs.end, number).take(number > 0)
        parts = (self.take(old), new)
        joint = Revisions(*(np.concatenate([getattr(part, c.name) for part in parts]) for c in fields(Revisions)))
        return joint.take(joint.end > closed[joint.code])


@dataclass(frozen=True)
class LateRows:
    """Rows that correct results, by key, those of a key by arrival; ``table``: the slices without them."""

    rows: Pending
    table: Table

    @staticmethod
    def of(rows: Pending, table: Table) -> LateRows:
        """Of rows by arrival."""
        return LateRows(rows.take(np.argsort(rows.codes, kind="stable")), table)


def correcting_rows(batch: Pending, rules: Rules, moment: Moment) -> Array | None:
    """Which rows fall into windows that the watermark had passed when they came; None: none does."""
    if batch.before is None:
        return None
    late = np.flatnonzero(batch.times < batch.before)
    corrects = np.zeros(len(batch), np.bool_)
    for row, *_ in rules.covering(batch.codes[late], batch.times[late], batch.before[late], moment):
        corrects[late[row]] = True
    return corrects if corrects.any() else None


@dataclass(frozen=True)
class Runs:
    """The late rows of windows, each window's a run. ``row`` and ``early`` are over the rows of runs, others over runs.

    ``early`` rows came before the watermark had passed the window's end.
    """

    row: Array
    early: Array
    begins: Array
    """Where runs begin among their rows."""
    code: Array
    place: Array
    start: Array
    end: Array
    lo: Array
    hi: Array
    """The slices of the base, none if ``hi`` is ``lo``."""

    @staticmethod
    def of(late: LateRows, rules: Rules, moment: Moment) -> Runs:
        """Of the windows around late rows that are complete by now. O(rows of runs · log)."""
        rows = late.rows
        parts = list(rules.covering(rows.codes, rows.times, moment.after.watermark[rows.codes], moment))
        row, place, start, end = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.lexsort((row, end, place, rows.codes[row]))
        row, place, end = row[order], place[order], end[order]
        code, first = rows.codes[row], np.ones(len(row), np.bool_)
        first[1:] = (code[1:] != code[:-1]) | (place[1:] != place[:-1]) | (end[1:] != end[:-1])
        begins = np.flatnonzero(first)
        code, place, start, end = code[begins], place[begins], start[order[begins]], end[begins]
        assert rows.before is not None
        early = rows.before[row] < np.repeat(end, np.diff(begins, append=len(row)))
        view = rules.view(late.table, moment.after)
        return Runs(row, early, begins, code, place, start, end, view.at_time(code, start), view.at_time(code, end))

    @cached_property
    def sizes(self) -> Array:
        """How many rows each run has."""
        return np.diff(self.begins, append=len(self.row))

    @cached_property
    def based(self) -> Array:
        """Whether a run has a base."""
        return np.asarray(self.hi > self.lo)

    @cached_property
    def early_sizes(self) -> Array:
        """How many early rows each run has."""
        return np.asarray(np.add.reduceat(self.early, self.begins, dtype=np.int64))

    @cached_property
    def places(self) -> Array:
        """Where the totals of rows are, among those of all runs with their bases."""
        return np.asarray(np.arange(len(self.row)) + np.repeat(np.cumsum(self.based), self.sizes))

    @property
    def emitted(self) -> Array:
        """Whether a window had a result when its first correction came."""
        return np.asarray(self.based | (self.early_sizes > 0))

    def totals(self, late: LateRows, aggregates: Sequence[Aggregate]) -> tuple[Partials, ...]:
        """What each run adds up to: its base, if it has one, and then at each of its rows."""
        bases = np.flatnonzero(self.based)
        base_places = self.begins[bases] + np.arange(len(bases))
        source = np.empty(len(self.row) + len(bases), np.int64)
        source[base_places], source[self.places] = np.arange(len(bases)), len(bases) + self.row
        begins = np.zeros(len(source), np.bool_)
        begins[base_places] = begins[self.places[self.begins[~self.based]]] = True
        each = np.arange(len(late.rows) + 1)
        columns = []
        for aggregate, partials in zip(aggregates, late.table.partials, strict=True):
            form = aggregate.form
            rows = form.reduce(aggregate.input(late.rows.columns), each)
            base = form.partials(partials, self.lo[bases], self.hi[bases])
            columns.append(form.accumulate(take(concatenate([base, rows]), source), begins))
        return tuple(columns)


class Corrected(NamedTuple):
    """What late rows make of the windows that a batch completes.

    ``windows`` and ``revision`` are all results in order, ranges of ``partials`` behind those of the slices included.
    """

    windows: CompleteWindows
    revision: Array
    partials: tuple[Partials, ...]
    revisions: Revisions
    merges: int


def correct(
    late: LateRows,
    windows: CompleteWindows,
    revisions: Revisions,
    rules: Rules,
    aggregates: Sequence[Aggregate],
    moment: Moment,
    slices: int,
) -> Corrected:
    """The results of a batch with late rows; ``windows`` are those that it completes, over ``slices`` slices."""
    runs = Runs.of(late, rules, moment)
    totals = runs.totals(late, aggregates)
    known = _locate((revisions.code, revisions.place, revisions.end), (runs.code, runs.place, runs.end))
    before = np.where(known >= 0, revisions.number[known] if len(revisions) else 0, 0)
    first = before + runs.emitted  # the revision of the first correction
    last = first + runs.sizes - runs.early_sizes - 1
    kept = revisions.replace(runs, last, known, rules.settle(moment.after).watermark)

    # What completes without late rows in it, what completes with them, and what is corrected
    alone = _locate((runs.code, runs.place, runs.end), (windows.code, windows.place, windows.end)) < 0
    completes = np.flatnonzero(runs.emitted & (moment.before.watermark[runs.code] < runs.end))
    corrects = np.flatnonzero(~runs.early)
    run = np.repeat(np.arange(len(runs.begins)), runs.sizes)[corrects]
    at = runs.places[runs.begins[completes]] + runs.early_sizes[completes] - 1
    lo = slices + np.concatenate([at, runs.places[corrects]])
    which = np.concatenate([completes, run])
    plain = windows.take(alone)
    joint = CompleteWindows(*(
        np.concatenate([old, new])
        for old, new in (
            (plain.code, runs.code[which]),
            (plain.place, runs.place[which]),
            (plain.start, runs.start[which]),
            (plain.end, runs.end[which]),
            (plain.completion, runs.end[which]),
            (plain.lo, lo),
            (plain.hi, lo + 1),
        )
    ))  # fmt: skip
    completed = len(plain) + len(completes)
    revision = np.zeros(len(joint), np.int64)
    revision[completed:] = first[run] + corrects - runs.begins[run] - runs.early_sizes[run]
    cause = np.concatenate([_next_row(late.rows, joint.take(slice(0, completed)), moment), runs.row[corrects]])
    order = np.lexsort((joint.place, joint.end, np.arange(len(joint)) >= completed, cause, joint.code))
    merges = len(runs.row) * len(aggregates)
    return Corrected(joint.take(order), revision[order], totals, kept, merges)


def _next_row(rows: Pending, windows: CompleteWindows, moment: Moment) -> Array:
    """The first late row that came when the watermark had passed the end of a window: results are in that order."""
    assert rows.before is not None
    begins = np.searchsorted(rows.codes, np.arange(len(moment.after) + 1))
    return search(rows.before, begins, windows.code, windows.end)


def _locate(known: tuple[Array, ...], wanted: tuple[Array, ...]) -> Array:
    """The place of each wanted row among the known ones, -1 if it is not there. No row is there twice.

    >>> _locate((np.array([1, 1, 2]), np.array([5, 6, 5])), (np.array([2, 2, 1]), np.array([6, 5, 5]))).tolist()
    [-1, 2, 0]
    """
    columns = [np.concatenate(pair) for pair in zip(known, wanted, strict=True)]
    order = np.lexsort(columns[::-1])  # stable: a known row comes before the wanted one
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    for column in columns:
        same &= column[order[1:]] == column[order[:-1]]
    places, size = np.full(len(wanted[0]), -1), len(known[0])
    twins = np.flatnonzero(same)
    places[order[twins + 1] - size] = order[twins]
    return places
