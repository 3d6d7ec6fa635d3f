"""The most common lane, apart for speed: one window on counts, over tuples in the order in which they come.

    tuples   0  1  2 │ 3  4  5 │ 6  7  8 │ 9 …         W[6, 3]
                   │  └ begins a slice └ ends one, and completes a window

What a tuple does follows from its position alone: nothing has to be looked for, nothing can be late, and at most one
window is complete. The same slices result, and the same store takes them in the same order, as by the row
engine's own way, to which it leaves whatever it does not know: either goes on where the other was.

It notes in the journal what it changes, as the row engine does: an interrupted call can be rolled back.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from sash.engine.rows.aggregate_store import NumberedStore
from sash.engine.rows.bundle import Values
from sash.engine.rows.slices import Slice, cut, put_back_end
from sash.engine.rows.totals import NumberedTotals
from sash.engine.rows.watches.base import Result
from sash.engine.rows.watches.count import CountWatch
from sash.windows import CountWindow

if TYPE_CHECKING:
    from sash.engine.rows.lane import RowLane

__all__ = ["CountFastPath"]

_new = tuple.__new__  # creates a named tuple faster than its class does


class CountFastPath:
    """Takes tuples that begin or end a slice. Created anew whenever a lane's slices changed other than by a tuple.

    It does not hold the lane, which holds it: an operator that nobody needs any more is gone at once, not when Python
    looks for cycles.
    """

    def __init__(self, lane: RowLane, watch: CountWatch, window: CountWindow) -> None:
        self._watch, self._watches, self._totals = watch, lane.watches, cast(NumberedTotals, lane.totals)
        self._store = cast(NumberedStore, self._totals.store)
        self._slicer, self._slices = lane.slicer, lane.slicer.slices
        self._slide, self._most = window.slide, window.range // window.slide
        self._lift, self._combine, self._lower = lane.bundle.lift, lane.bundle.combine, lane.bundle.lower

    @staticmethod
    def of(lane: RowLane) -> CountFastPath | None:
        """That of a lane; None: it is not so simple."""
        watches = lane.watches
        if lane.lane.order is not None or len(watches.all) > 1 or watches.added or lane.decisions.keeps:
            return None
        if not watches.counts or not lane.totals.eager:
            return None
        (watch,) = watches.counts
        window: CountWindow = watch.window
        if type(window) is not CountWindow or window.exact_slices is None:  # a subclass may have windows of its own
            return None
        return CountFastPath(lane, watch, window)

    def take(self, lane: RowLane, values: Values) -> list[Result] | None:
        """The results of a tuple; None: it is for the lane itself to take, nothing has been done."""
        slicer, slices, watch = self._slicer, self._slices, self._watch
        held = slices.all
        position: int = slicer.accepted
        begins, closes = not position % self._slide, position + 1 == watch.due
        if not (begins or closes) or not held or held[-1].end != math.inf:
            return None
        partial = self._lift(values)
        high = len(held) + begins
        if begins:
            slices.journal = (slices.journal, cut, held, high - 1)
        else:
            last = held[-1]
            slices.journal = (slices.journal, put_back_end, last, last.partial, last.count, last.last)
        if slices.sealed < high - 1:
            self._totals.seal(high - 1)  # what is before the last one is final
        if not begins:
            partial = self._combine(last.partial, partial)
        results: list[Result] = []
        if closes:
            start, store, base = watch.start, self._store, self._totals.base
            store.append(partial)
            low = high - self._most if high > self._most else 0
            if low < len(held) and held[low].position != start:  # one was cut where a snapshot was taken
                low = slices.at(start)
            total = self._lower(store.total(low + base, high + base))
            results.append(_new(Result, (0, start, watch.due, 0, total)))
        if begins:
            begun = Slice(slices.next_key(), position, position, partial, math.inf, None)
            begun.counted = True
            held.append(begun)
        else:
            last.partial, last.last = partial, position
            last.count += 1
        if closes:
            slices.sealed = high
            self._watches.step()
            lane.results += 1
        slicer.newest = position
        slicer.accepted = lane.watermark = position + 1
        if len(held) > lane._evict_at:
            lane._evict()
        lane.open_slice = None
        if begins and self._slide > 1:
            lane._arm_quiet_path()  # more come to its slice
        return results
