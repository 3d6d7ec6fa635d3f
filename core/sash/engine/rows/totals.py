"""The total of a window: hands slices to the aggregate store, and asks it."""

from __future__ import annotations

from typing import Any

from sash.engine.rows.aggregate_store import KeyedStore, NumberedStore, Store
from sash.engine.rows.slices import Slices
from sash.engine.rows.watches.base import Closing

__all__ = ["Totals", "totals_of"]


def totals_of(slices: Slices, store: Store) -> Totals:
    """The :class:`Totals` that fits a store."""
    slices.sealed = 0
    slices.changed = {slice_.key: slice_ for slice_ in slices.all}
    return NumberedTotals(slices, store) if store.numbered else KeyedTotals(slices, store)


class Totals:
    """Hands slices to a store, and asks it for the totals of windows."""

    store: Store
    base = 0
    """The store's number of our first slice."""
    eager = False
    """Whether the store uses slices before a window needs them."""

    def of(self, closing: Closing) -> Any:
        """The partial of a window."""
        return self._total(closing) if closing.total is None else closing.total

    def _total(self, closing: Closing) -> Any:
        raise NotImplementedError

    def evict(self, at: int) -> None:
        """Drop the slices before number ``at``, which no window needs anymore."""
        raise NotImplementedError

    def seal(self, high: int) -> None:
        """Hand over the slices before number ``high`` if the store takes final slices."""

    def settle(self) -> None:
        """Hand over all slices but the last: tuples come in order, so they are final."""


class NumberedTotals(Totals):
    """For a store that numbers slices from the start of the stream; ours begin with the oldest one held."""

    def __init__(self, slices: Slices, store: NumberedStore) -> None:
        self._slices, self.store, self._store = slices, store, store
        self.eager = store.eager

    def _total(self, closing: Closing) -> Any:
        self.seal(closing.high)
        return self._store.total(closing.low + self.base, closing.high + self.base, closing.window)

    def settle(self) -> None:
        if self.eager:
            self.seal(len(self._slices.all) - 1)

    def seal(self, high: int) -> None:
        slices, append = self._slices, self._store.append
        for number in range(slices.sealed, high):
            append(slices.all[number].partial)
        slices.sealed = max(slices.sealed, high)

    def evict(self, at: int) -> None:
        slices = self._slices
        slices.changed.clear()  # slices are handed over when they are final
        self.seal(at)
        slices.sealed -= at
        self.base += at
        self._store.evict(self.base)
        slices.drop_oldest(at)


class KeyedTotals(Totals):
    """For a store that knows slices by their keys. It gets the changed ones when a window needs its total."""

    def __init__(self, slices: Slices, store: KeyedStore) -> None:
        self._slices, self.store, self._store = slices, store, store

    def _total(self, closing: Closing) -> Any:
        store, slices = self._store, self._slices
        for key, slice_ in slices.changed.items():
            if slice_ is None:
                store.remove(key)
            else:
                store.put(key, slice_.partial)
        slices.changed.clear()
        end = slices.all[closing.high].key if closing.high < len(slices.all) else None
        return store.total(slices.all[closing.low].key, end)

    def evict(self, at: int) -> None:
        slices = self._slices
        key = slices.all[at].key
        self._store.evict(key)
        slices.changed = {other: slice_ for other, slice_ in slices.changed.items() if not other < key}
        slices.drop_oldest(at)
