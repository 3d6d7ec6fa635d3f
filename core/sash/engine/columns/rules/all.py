"""The windows of a lane together: where all of them cut, what is complete of any, what none needs any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from sash.engine.columns.keys import Array, Keys, Marks, altered
from sash.engine.columns.moment import Found, Moment, Rows, Rule
from sash.engine.columns.rules.count import CountRule
from sash.engine.columns.rules.custom import FreeRule
from sash.engine.columns.rules.last import LastRule
from sash.engine.columns.rules.periodic import Grid, edges_of
from sash.engine.columns.rules.punctuated import PunctuatedRule
from sash.engine.columns.rules.session import SessionRule
from sash.engine.columns.rules.time import TimeRule
from sash.engine.columns.slicer import Slicer
from sash.engine.columns.table import Table, View, in_pieces
from sash.engine.decisions import on_counts
from sash.query import Query
from sash.query.lanes import Lane
from sash.windows import ContextFree, CountWindow, Last, Punctuated, Session, TimeWindow, Window

__all__ = ["Rules"]

NONE = np.zeros(0, np.int64)


class Rules:
    """The rules of a lane's windows for times of one type."""

    def __init__(self, query: Query, lane: Lane, dtype: np.dtype[Any]) -> None:
        windows = [query.named[name] for name in lane.names]
        numbers = [number for window in windows for number in _numbers(window)] + [lane.delay]
        self.dtype = np.dtype(np.float64) if any(isinstance(each, float) for each in numbers) else dtype
        self.limit = (
            None if self.dtype.kind == "f" else 2**63 - 1 - 4 * sum(map(abs, numbers[-1:])) - 4 * _most(windows)
        )
        self.column = lane.order
        self.names = lane.names
        self.counting = any(map(on_counts, windows))
        self.rules = _rules(dict(enumerate(zip(lane.names, windows, strict=True))), self.limit, self.dtype)
        grid = edges_of(windows, self.dtype)
        self.slicer = Slicer(grid, self.rules, self.counting)
        timely = [
            rule for rule in self.rules if isinstance(rule, TimeRule | SessionRule | FreeRule) and not rule.counts
        ]
        self.direct = Slicer(grid, timely, False, self._buckets(timely))
        self.scatters = not any(isinstance(rule, FreeRule) for rule in timely)

    def _buckets(self, rules: Sequence[Rule]) -> Grid | None:
        """Edges between which no two tuples can be a session's smallest gap apart."""
        for rule in rules:
            if isinstance(rule, SessionRule):
                return Grid([(0, rule.least if self.dtype.kind == "i" else rule.least / 2, 0)], self.dtype)
        return None

    def check(self, times: Array) -> None:
        """Refuse times so far out that the ends of windows could not be told."""
        if self.limit is None:
            return
        low, high = int(times.min()), int(times.max())
        if max(-low, high) >= self.limit:
            far = low if -low >= self.limit else high
            raise OverflowError(
                f"column {self.column!r}: {far} is too near the end of what 64 bits hold for windows as long as these"
            )

    def view(self, table: Table, keys: Keys) -> View:
        """The table to look things up in."""
        return View(table, table.begins(len(keys)), keys.settled)

    def edges(self, rows: Rows, moment: Moment) -> dict[int, tuple[Array, ...]]:
        """What rows bring as edges, by the window's place."""
        bringing = [rule for rule in self.rules if isinstance(rule, PunctuatedRule | LastRule)]
        return {rule.place: rule.edges(rows, moment) for rule in bringing}

    def complete(self, view: View, moment: Moment) -> Found:
        """The windows that are complete now, in the order in which results come."""
        given = [(rule.counts, found) for rule in self.rules if (found := rule.complete(view, moment)) is not None]
        groups = [_one([found for counts, found in given if counts is on]) for on in (False, True)]
        if not self._several or not (len(groups[0]) or len(groups[1])):
            return groups[1] if len(groups[1]) else groups[0]
        if self.ties(moment.marks):
            return _by_turns(groups, moment)
        timely, counted = map(_in_places, groups)
        if len(counted):  # their ends are positions
            counted = counted.take(np.lexsort((counted.end, counted.code)))
        found = _one([timely, counted] if len(timely) and len(counted) else [timely if len(timely) else counted])
        order = np.argsort(found.completion, kind="stable")
        if len(moment.after) > 1:
            order = order[np.argsort(found.code[order], kind="stable")]
        return found.take(order)

    @property
    def _several(self) -> bool:
        """Whether results of several windows must be put in order."""
        return len(self.rules) > 1 or any(getattr(rule, "several", False) for rule in self.rules)

    def ties(self, marks: Mapping[str | None, Marks]) -> bool:
        """Whether it matters which row of several at one time brought what: else ends tell it."""
        if len(self.rules) == 1:
            return False
        late = any(rule.counts for rule in self.rules) and any(each.since is not None for each in marks.values())
        return late or any(isinstance(rule, PunctuatedRule) for rule in self.rules)

    def marks(self, moment: Moment) -> Mapping[str | None, Marks]:
        """What windows know of each key, with the edges that rows have brought."""
        changed = {
            rule.name: altered(moment.marks[rule.name], edge=rule.last_edges(moment))
            for rule in self.rules
            if isinstance(rule, PunctuatedRule) and rule.place in moment.edges
        }
        return {**moment.marks, **changed} if changed else moment.marks

    def evicted(self, view: View, moment: Moment) -> tuple[Table, Array]:
        """The table without the slices that no window needs any more; how many each key has lost."""
        if not len(view.table):
            return view.table, np.zeros(1, np.int64)
        first = view.begins[1:]
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
        if in_pieces(len(view.table), len(first)):
            if lost.sum() < len(view.table) // 4:  # a batch of few rows is not to copy all that is held
                return view.table, np.zeros_like(lost)
            runs = zip(first, view.begins[1:], strict=True)
            left = [view.table.take(slice(low, high)) for low, high in runs if low < high]
            return Table.of_keys(left) if left else view.table.take(slice(0, 0)), lost
        return view.table.take(np.arange(len(view.table)) >= first[view.table.code]), lost

    def mergeable(self, view: View, moment: Moment) -> Array:
        """Whether a slice can be merged with the one before it: both are closed, and no window to come begins there."""
        table, keys = view.table, moment.after
        watermark = keys.watermark[table.code]
        mergeable: Array = (table.last < watermark) & (watermark != moment.high)
        mergeable[view.begins[1:][view.held] - 1] = False  # tuples are still added to the newest
        mergeable[view.begins[:-1][view.held]] = False
        for rule in self.rules:
            if not mergeable.any():
                break
            mergeable &= ~rule.begins(view, moment)
        return mergeable

    def final(self, table: Table, keys: Keys, in_order: bool) -> Array:
        """How many of the oldest slices of each key can change no more."""
        view = self.view(table, keys)
        begins = view.begins[:-1]
        if in_order:
            tail = 1 + any(isinstance(rule, PunctuatedRule) for rule in self.rules)
            final = np.maximum(view.begins[1:] - tail - begins, 0)
        else:  # tuples come at the watermark or behind it, so the slice before one that begins there is final
            final = np.maximum(view.at_time(np.arange(len(keys)), keys.watermark) - 1 - begins, 0)
        for rule in self.rules:
            if isinstance(rule, LastRule):
                start = keys.settled - rule.window.count
                final = np.minimum(final, np.maximum(view.at_position(np.arange(len(keys)), start) - 1 - begins, 0))
        return np.asarray(final)


def _numbers(window: Window) -> tuple[Any, ...]:
    if isinstance(window, Last):
        window = window.ticks
    if isinstance(window, TimeWindow):
        return window.numbers
    return (window.number,) if isinstance(window, Session) else ()


def _most(windows: Sequence[Window]) -> int:
    return max((sum(abs(int(number)) for number in _numbers(window)) for window in windows), default=0)


def _rules(windows: dict[int, tuple[str | None, Window]], limit: Any, dtype: Any) -> list[Rule]:
    times = {place: (name, window) for place, (name, window) in windows.items() if isinstance(window, TimeWindow)}
    sessions = {place: (name, window) for place, (name, window) in windows.items() if isinstance(window, Session)}
    rules: list[Rule] = [TimeRule(times, limit, dtype)] if times else []
    if sessions:
        rules.append(SessionRule(sessions))
    for place, (name, window) in windows.items():
        if isinstance(window, CountWindow):
            rules.append(CountRule(place, name, window))
        elif isinstance(window, Punctuated):
            rules.append(PunctuatedRule(place, name, window))
        elif isinstance(window, Last):
            rules.append(LastRule(place, name, window, dtype))
        elif isinstance(window, ContextFree) and not isinstance(window, TimeWindow):
            rules.append(FreeRule(place, name, window))
    return rules


def _in_places(found: Found) -> Found:
    """In the order of the windows' places in the query."""
    if len(found) and (found.place[1:] < found.place[:-1]).any():
        return found.take(np.argsort(found.place.astype(np.uint16), kind="stable"))
    return found


def _by_turns(groups: Sequence[Found], moment: Moment) -> Found:
    """In order, where what tuples bring at the very time of the watermark comes when they do."""
    counts = np.repeat([0, 1], [len(group) for group in groups])
    found = _one([group for group in groups if len(group)])
    turn = np.full(len(found), -1)
    if found.position is not None:
        by_tuple = found.position >= 0
        turn[by_tuple] = moment.turns(found.code[by_tuple], found.position[by_tuple])
    order = np.lexsort((found.start, found.place, found.end, counts, turn, found.completion, found.code))
    return found.take(order)


def _one(parts: Sequence[Found]) -> Found:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Found(NONE, NONE, NONE, NONE, NONE, NONE, NONE)
    positions = [np.full(len(part), -1) if part.position is None else part.position for part in parts]
    names = [each.name for each in fields(Found)][:-1]
    joint = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Found(**joint, position=np.concatenate(positions))
