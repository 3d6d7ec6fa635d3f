"""The total of a window: hands slices to the aggregate store, and asks it."""

from __future__ import annotations

from typing import Any

from sash.engine.rows.aggregate_store import KeyedStore, NumberedStore, Store
from sash.engine.rows.slices import Slices
from sash.engine.rows.watches.base import Closing

__all__ = ["KeyedTotals", "NumberedTotals", "totals_of"]


def totals_of(slices: Slices, store: Store) -> NumberedTotals | KeyedTotals:
    """What hands slices to a store, as that store wants it."""
    slices.sealed = 0
    slices.changed = {slice_.key: slice_ for slice_ in slices.all}
    return NumberedTotals(slices, store) if store.numbered else KeyedTotals(slices, store)


class NumberedTotals:
    """For a store that numbers slices from the start of the stream; ours begin with the oldest one held.

    ``eager``: the store uses slices before a window needs them.
    """

    def __init__(self, slices: Slices, store: NumberedStore) -> None:
        self._slices, self._store, self.eager = slices, store, store.eager
        self._base = 0  # the store's number of our first slice

    def of(self, closing: Closing) -> Any:
        """The partial of a window; None: it holds nothing."""
        if closing.total is not None or closing.low == closing.high:
            return closing.total
        if not closing.whole and closing.high == len(self._slices.all):
            return self._with_newest(closing)
        self._seal(closing.high)
        return self._store.total(closing.low + self._base, closing.high + self._base, closing.window)

    def _with_newest(self, closing: Closing) -> Any:
        """With the newest slice as it is, which is not handed over: it may go on behind the window. 1 merge more."""
        low, high, newest = closing.low, closing.high - 1, self._slices.all[-1].partial
        if low == high:
            return newest
        self._seal(high)
        older = self._store.total(low + self._base, high + self._base, closing.window)
        return self._slices.bundle.combine(older, newest)

    def settle(self) -> None:
        """Hand over all slices but the last: tuples come in order, so they are final."""
        if self.eager:
            self._seal(len(self._slices.all) - 1)

    def _seal(self, high: int) -> None:
        slices, append = self._slices, self._store.append
        for number in range(slices.sealed, high):
            append(slices.all[number].partial)
        slices.sealed = max(slices.sealed, high)

    def evict(self, at: int) -> None:
        """Drop the slices before number ``at``, which no window needs any more."""
        slices = self._slices
        slices.changed.clear()  # slices are handed over when they are final
        self._seal(at)
        slices.sealed -= at
        self._base += at
        self._store.evict(self._base)
        slices.drop_oldest(at)


class KeyedTotals:
    """For a store that knows slices by their keys. It gets the changed ones when a window needs its total."""

    eager = False

    def __init__(self, slices: Slices, store: KeyedStore) -> None:
        self._slices, self._store = slices, store

    def of(self, closing: Closing) -> Any:
        """The partial of a window; None: it holds nothing."""
        if closing.total is not None or closing.low == closing.high:
            return closing.total
        store, slices = self._store, self._slices
        for key, slice_ in slices.changed.items():
            if slice_ is None:
                store.remove(key)
            else:
                store.put(key, slice_.partial)
        slices.changed.clear()
        end = slices.all[closing.high].key if closing.high < len(slices.all) else None
        return store.total(slices.all[closing.low].key, end)

    def settle(self) -> None:
        """Nothing: the store takes slices when a window needs them."""

    def evict(self, at: int) -> None:
        """Drop the slices before number ``at``, which no window needs any more."""
        slices = self._slices
        key = slices.all[at].key
        self._store.evict(key)
        slices.changed = {other: slice_ for other, slice_ in slices.changed.items() if not other < key}
        slices.drop_oldest(at)
