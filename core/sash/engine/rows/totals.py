"""The window manager's last step: what a window adds up to, by the aggregate store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from sash.engine.rows.aggregate_store import Chunks, Eager, Lazy, Queues, Store
from sash.engine.rows.slices import Slices
from sash.engine.rows.watches.base import Closing

__all__ = ["Totals", "totals_of"]


class Totals(ABC):
    """Hands slices to a store, and asks it for windows."""

    eager = False
    """Whether the store has use for slices before a window asks for them."""

    def __init__(self, slices: Slices, store: Any) -> None:
        self._slices = slices
        self.store = store
        slices.sealed = 0
        slices.changed = {slice_.key: slice_ for slice_ in slices.all}

    def of(self, closing: Closing) -> Any:
        """The partial of a window."""
        return self._total(closing) if closing.total is None else closing.total

    @abstractmethod
    def _total(self, closing: Closing) -> Any: ...

    @abstractmethod
    def settle(self) -> None:
        """Tuples come in order: all slices but the last are final."""

    @abstractmethod
    def evict(self, at: int) -> None:
        """Drop the slices before number ``at``, which no window needs any more."""


class AppendedTotals(Totals):
    """For a store that only appends: it takes a slice when that is final.

    Such a store knows slices by numbers that go on for ever; ours begin with the oldest that is held.
    """

    store: Chunks | Queues

    def __init__(self, slices: Slices, store: Chunks | Queues) -> None:
        super().__init__(slices, store)
        self.eager = store.eager
        self.base = 0  # the store's number of our first

    def _total(self, closing: Closing) -> Any:
        self.seal(closing.high)
        return self.store.total(closing.low + self.base, closing.high + self.base, closing.window)

    def settle(self) -> None:
        if self.eager:
            self.seal(len(self._slices.all) - 1)

    def seal(self, high: int) -> None:
        """Hand over the slices up to number ``high``: they are final."""
        slices, store = self._slices, self.store
        for number in range(slices.sealed, high):
            store.append(slices.all[number].partial)
        slices.sealed = max(slices.sealed, high)

    def evict(self, at: int) -> None:
        slices = self._slices
        slices.changed.clear()
        self.seal(at)
        slices.sealed -= at
        self.base += at
        self.store.evict(self.base)
        slices.drop_oldest(at)


class KeyedTotals(Totals):
    """For a store whose slices can change: it is told which have changed before a window is asked for."""

    store: Lazy | Eager

    def _total(self, closing: Closing) -> Any:
        store, slices = self.store, self._slices
        for key, slice_ in slices.changed.items():
            if slice_ is None:
                store.remove(key)
            else:
                store.put(key, slice_.partial)
        slices.changed.clear()
        end = slices.all[closing.high].key if closing.high < len(slices.all) else None
        return store.total(slices.all[closing.low].key, end)

    def settle(self) -> None:
        pass  # a slice is handed over when a window asks for it

    def evict(self, at: int) -> None:
        slices = self._slices
        key = slices.all[at].key
        self.store.evict(key)
        slices.changed = {changed: slice_ for changed, slice_ in slices.changed.items() if not changed < key}
        slices.drop_oldest(at)


def totals_of(slices: Slices, store: Store) -> Totals:
    """What asks ``store`` for windows over ``slices``."""
    return AppendedTotals(slices, store) if store.appends else KeyedTotals(slices, store)
