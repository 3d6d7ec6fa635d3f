"""The windows of a lane together: where they cut, which are complete, which slices none needs any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sash.engine.columns.aggregates import Aggregate
from sash.engine.columns.moment import Array, CompleteWindows, Keys, Marks, Moment, Rows, bounds, evolve
from sash.engine.columns.rules import (  # noqa: F401  # which register themselves
    count,
    custom,
    session,
    time,
    trailing,
)
from sash.engine.columns.rules.base import Covering, Rule, least, rule_of
from sash.engine.columns.rules.periods import Grid, Periods
from sash.engine.columns.slicer import ColumnSlicer
from sash.engine.columns.table import Table, View, copies_by_key
from sash.engine.columns.time_order import RowsByTime, most_edges, scatters, slices_between, slices_of_sessions
from sash.kernels.tiers import worth_compiling
from sash.query import Query
from sash.query.lanes import Lane
from sash.values.shares import Span
from sash.windows import Window

__all__ = ["Rules"]


class Rules:
    """The rules of a lane's windows for times of one type."""

    def __init__(self, query: Query, lane: Lane, dtype: np.dtype[Any]) -> None:
        windows = [query.named[name] for name in lane.names]
        steps = [step for window in windows for step in window.bound_steps]
        floats = any(isinstance(number, float) for number in (*steps, lane.delay))
        self.dtype = np.dtype(np.float64) if floats else dtype
        lateness = min(lane.lateness, 2**62)
        self.lateness = self.dtype.type(lateness)  # where times are whole, its fraction makes no difference
        longest = 4 * (abs(lane.delay) + _longest(windows)) + int(lateness)
        self.limit = None if self.dtype.kind == "f" else 2**63 - 1 - longest
        self.column = lane.order
        self.names = lane.names
        self.rules = _rules(lane.names, windows, self.dtype, self.limit)
        self._ranks = np.array([window.rank for window in windows], np.int8)
        edges = [ticks for rule in self.rules for ticks in rule.ticks]
        self._early = None if lane.early is None else Periods([lane.early.numbers], self.dtype)
        grid = Grid.of(edges if lane.early is None else [*edges, lane.early], self.dtype)
        self.slicer = ColumnSlicer(grid, self.rules, any(window.edges_are_positions for window in windows))
        timely = [rule for rule in self.rules if rule.timely]
        buckets = (buckets for rule in timely if (buckets := rule.buckets(self.dtype)) is not None)
        self.direct = ColumnSlicer(grid, timely, False, next(buckets, None))
        self.scatters = all(rule.scatters for rule in timely)
        """Whether rows in any order can be put straight into slices."""
        self.scatters_well = self.scatters and self.direct.buckets is None and len(timely) == len(self.rules)
        """Whether that is faster than ordering them first."""

    def check(self, span: Span) -> None:
        """Refuse times so large that the ends of windows would overflow."""
        if self.limit is None:
            return
        low, high = int(span.low), int(span.high)
        if max(-low, high) >= self.limit:
            far = low if -low >= self.limit else high
            raise OverflowError(
                f"column {self.column!r}: {far} is too near the end of what 64 bits hold for windows as long as these"
            )

    @property
    def has_runs(self) -> bool:
        """Whether a key's rows, in the order of time, are one window after the other."""
        return len(self.rules) == 1 and self.rules[0].has_runs

    def are_dense(self, span: Span, rows: int, keys: int) -> bool:
        """Whether so many keys have several of the rows between two edges, on average."""
        return self.slicer.grid.between(int(span.low), int(span.high), rows // (4 * keys)) is not None

    def slices_in_order(
        self, rows: RowsByTime, aggregates: Sequence[Aggregate], span: Span
    ) -> tuple[Table, int] | None:
        """The slices of all rows of a data set, which come in the order of time, and how many merges made some one.

        None: rows have to be ordered by key first, or that is faster.
        """
        if not scatters(aggregates):
            return None
        if self.scatters_well:
            edges = self.slicer.grid.between(span.low, span.high, most_edges(rows))
            return None if edges is None else (slices_between(edges, rows, aggregates), 0)
        gap = self.rules[0].least_gap if len(self.rules) == 1 and worth_compiling(len(rows.times)) else None
        return None if gap is None else slices_of_sessions(gap, rows, aggregates)

    def view(self, table: Table, keys: Keys) -> View:
        """The table, ready for look-ups."""
        return View(table, table.begins(len(keys)), keys.settled)

    def _settled(self, moment: Moment) -> Moment:
        return evolve(moment, after=self.settle(moment.after)) if self.lateness else moment

    def settle(self, keys: Keys) -> Keys:
        """The keys, with the time before which nothing comes any more, not even late, in place of the watermark."""
        if not self.lateness:
            return keys
        low, high = bounds(self.dtype)
        watermark = keys.watermark
        known = (watermark != low) & (watermark != high)
        return evolve(keys, watermark=np.where(known, watermark - self.lateness, watermark))

    def covering(self, codes: Array, times: Array, upto: Array, moment: Moment) -> Iterator[Covering]:
        """The windows around rows, given by their keys and times, that end at or before ``upto``, in some parts."""
        for rule in self.rules:
            yield from rule.covering(codes, times, upto, moment)

    def edges(self, rows: Rows, moment: Moment) -> dict[int, tuple[Array, ...]]:
        """The edges that rows set, by the window's place."""
        return {place: edges for rule in self.rules for place, edges in rule.edges(rows, moment).items()}

    def complete(self, view: View, moment: Moment) -> CompleteWindows:
        """The windows that this batch completes, by key, in the order of results (:mod:`sash.engine.results`)."""
        parts = [complete for rule in self.rules if (complete := rule.complete(view, moment)) is not None]
        early = self._open(view, moment)
        complete = CompleteWindows.concatenate(parts + early)
        if (len(self.names) == 1 and not early) or len(complete) < 2:
            return complete
        rank = self._ranks[complete.place]
        turn = moment.turns(complete) if self.ties(moment.marks) else None
        if turn is not None:
            turn = np.where(rank == 2, np.iinfo(np.int64).max, turn)  # behind what rows of their end complete
        # Completion is the end, unless that is a position or still to come. A rule has a place's windows in order.
        end = complete.end if early or rank.any() else None
        # NumPy sorts narrow numbers much faster.
        place = complete.place.astype(np.min_scalar_type(len(self.names)))
        code = complete.code.astype(np.min_scalar_type(len(view.begins)))
        keys = (place, end, rank, turn, complete.completion, code)
        order = _order([key for key in keys if key is not None])
        return complete if order is None else complete.take(order)

    def _open(self, view: View, moment: Moment) -> list[CompleteWindows]:
        """The windows that are open at each tick of early results that the watermark passes, if a tuple is new."""
        if self._early is None or not len(view.table):
            return []
        at, ticks = self._ticks(view)
        before, after = (keys.watermark[view.table.code[at]] for keys in (moment.before, moment.after))
        passed = (before < ticks) & (ticks <= after)
        if not passed.any():
            return []
        at, ticks = at[passed], ticks[passed]
        parts = (rule.open_at(at, ticks, view, moment) for rule in self.rules)
        return [evolve(part, early=np.ones(len(part), np.bool_)) for part in parts if part is not None and len(part)]

    def _ticks(self, view: View) -> tuple[Array, Array]:
        """The last slice before each tick that follows tuples, and the tick."""
        assert self._early is not None
        table = view.table
        ticks = self._early.end(self._early.index(table.last))
        last = np.ones(len(table), np.bool_)
        last[:-1] = (table.code[1:] != table.code[:-1]) | (ticks[1:] != ticks[:-1])
        return np.flatnonzero(last), ticks[last]

    def ties(self, marks: Mapping[str | None, Marks]) -> bool:
        """Whether ties need row order to break."""
        if len(self.rules) == 1:
            return False
        counts_late = any(rule.counts for rule in self.rules) and any(mark.since is not None for mark in marks.values())
        return counts_late or any(rule.completes_at_tuples for rule in self.rules)

    def marks(self, moment: Moment) -> Mapping[str | None, Marks]:
        """The windows' state by key, with the edges that rows have set."""
        changed = {name: marks for rule in self.rules for name, marks in rule.marks(moment).items()}
        return {**moment.marks, **changed} if changed else moment.marks

    def next_end(self, table: Table, keys: Keys, waiting: Array) -> Any:
        """No window of any key is complete before this time, unless tuples come; None: none ever is.

        ``waiting`` are the times of rows that wait: when they are settled, they may complete what is on counts.
        """
        view, high = self.view(table, keys), bounds(self.dtype)[1]
        rules = self.rules if len(table) else ()
        ends = [end for rule in rules for end in rule.next_ends(view, keys.watermark)]
        if self._early is not None and len(table):
            at, ticks = self._ticks(view)
            ends += list(least(ticks[ticks > keys.watermark[table.code[at]]]))
        ends += [waiting.min()] if len(waiting) else []
        return min((end.item() for end in ends if end < high), default=None)

    def evict(self, view: View, moment: Moment) -> tuple[Table, Array]:
        """Drop the slices that no window needs any more; the table and how many each key lost."""
        if not len(view.table):
            return view.table, np.zeros(1, np.int64)
        first, moment = view.begins[1:], self._settled(moment)
        for rule in self.rules:
            first = np.minimum(first, rule.needed(view, moment))
        lost = first - view.begins[:-1]
        if not lost.any():
            return view.table, lost
        if len(first) == 1:
            kept = len(view.table) - int(first[0])
            # a few slices are not to hold the memory of all that have left
            few = kept < len(view.table) // 2
            which = np.arange(int(first[0]), len(view.table)) if few else slice(int(first[0]), None)
            return view.table.take(which), lost
        if copies_by_key(len(view.table), len(first)):
            if lost.sum() < len(view.table) // 4:  # a batch of few rows is not to copy all that is held
                return view.table, np.zeros_like(lost)
            runs = zip(first.tolist(), view.begins[1:].tolist(), strict=True)
            return Table.of_pieces([view.table], [(0, slice(*run)) for run in runs]), lost
        return view.table.take(np.arange(len(view.table)) >= first[view.table.code]), lost

    def mergeable(self, view: View, moment: Moment) -> Array:
        """Whether a slice can be merged with the one before it: both are closed, and no window to come begins there."""
        moment = self._settled(moment)
        table = view.table
        watermark = moment.after.watermark[table.code]
        mergeable: Array = (table.last < watermark) & (watermark != moment.high)
        mergeable[view.begins[1:][view.held] - 1] = False  # tuples are still added to the newest
        mergeable[view.begins[:-1][view.held]] = False
        for rule in self.rules:
            if not mergeable.any():
                break
            mergeable &= ~rule.begins(view, moment)
        return mergeable

    def final(self, table: Table, keys: Keys, in_order: bool) -> Array:
        """How many of the oldest slices of each key are final: no row comes to lie among them."""
        keys = self.settle(keys)
        view = self.view(table, keys)
        begins = view.begins[:-1]
        if in_order:
            tail = max(rule.open_slices for rule in self.rules)
            final = np.maximum(view.begins[1:] - tail - begins, 0)
        else:  # tuples come at the watermark or behind it, so the slice before one that begins there is final
            final = np.maximum(view.at_time(np.arange(len(keys)), keys.watermark) - 1 - begins, 0)
        for rule in self.rules:
            upto = rule.final(view, keys)
            if upto is not None:
                final = np.minimum(final, np.maximum(upto - begins, 0))
        return np.asarray(final)


def _order(keys: Sequence[Array]) -> Array | None:
    """``np.lexsort``, but a key that is in order already costs one pass. None: everything is in order."""
    order: Array | None = None
    for key in keys:
        values = key if order is None else key[order]
        if (values[1:] < values[:-1]).any():
            by_key = np.argsort(values, kind="stable")
            order = by_key if order is None else order[by_key]
    return order


def _longest(windows: Sequence[Window]) -> int:
    """The largest distance between a tuple and the bounds of its windows."""
    return max((sum(abs(int(step)) for step in window.bound_steps) for window in windows), default=0)


def _rules(names: Sequence[str | None], windows: Sequence[Window], dtype: Any, limit: Any) -> list[Rule]:
    groups: dict[tuple[type[Rule], int | None], dict[int, tuple[str | None, Window]]] = {}
    for place, (name, window) in enumerate(zip(names, windows, strict=True)):
        kind = rule_of(window)
        groups.setdefault((kind, None if kind.joint else place), {})[place] = (name, window)
    return [kind(members, dtype, limit) for (kind, _), members in groups.items()]
