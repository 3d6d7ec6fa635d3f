"""When the next window of many keys may become complete: what an engine sets its timers to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sash.engine.columns.keys import Array, bounds
from sash.engine.columns.rules.all import Rules
from sash.engine.columns.rules.custom import FreeRule
from sash.engine.columns.rules.last import LastRule
from sash.engine.columns.rules.session import SessionRule
from sash.engine.columns.rules.time import TimeRule
from sash.engine.columns.state import State
from sash.engine.columns.table import View

__all__ = ["next_of_columns"]


def next_of_columns(state: State) -> Any:
    """No window of any key becomes complete before this time, unless tuples come. None: none does at all."""
    view = state.rules.view(state.table, state.keys)
    watermark = state.keys.watermark
    found = [each for rule in state.rules.rules for each in _next(rule, view, watermark, state.rules)]
    waiting = state.pending
    if len(waiting):
        found.append(waiting.times.min())  # which may complete what is on counts
    high = bounds(state.dtype)[1]
    return min((each.item() for each in found if each < high), default=None)


def _next(rule: Any, view: View, watermark: Array, rules: Rules) -> Any:
    table = view.table
    if not len(table):
        return
    if isinstance(rule, TimeRule):
        yield from _next_end(rule, view, watermark)
    elif isinstance(rule, SessionRule):
        for _, window in rule.windows.values():
            lo, hi = rule._runs(window.number, view)
            end = table.last[hi - 1] + window.number
            yield from _least(end[end > watermark[table.code[lo]]])
    elif isinstance(rule, LastRule):
        edge = rule.ticks.start(rule.ticks.index(table.last) + 1)
        yield from _least(edge[edge > watermark[table.code]])
    elif isinstance(rule, FreeRule) and not rule.counts:
        low = bounds(watermark.dtype)[0]
        for key in view.held.tolist():
            oldest = table.first[view.begins[key]]
            after = oldest if watermark[key] == low else max(watermark[key], oldest)
            for _, end in rule.window.windows(after.item(), math.inf):
                yield np.asarray(end)
                break


def _least(times: Array) -> Any:
    if len(times):
        yield times.min()


def _next_end(rule: TimeRule, view: View, watermark: Array) -> Any:
    keys, table = view.held, view.table
    oldest, newest = table.first[view.begins[keys]], table.last[view.begins[keys + 1] - 1]
    after = np.maximum(rule._legal(watermark[keys]), oldest)[:, None]
    k = rule.periods.first_behind(after)
    there = rule.periods.start(k) <= newest[:, None]
    yield from _least(rule.periods.end(k)[there & (watermark[keys] != bounds(watermark.dtype)[1])[:, None]])
