"""The window manager's last step: what a window adds up to, by the aggregate store."""

from __future__ import annotations

from typing import Any

from sash.engine.rows.aggregate_store import Chunks, Queues, Store
from sash.engine.rows.slices import Slices
from sash.engine.rows.watches.base import Closing

__all__ = ["Totals"]


class Totals:
    """Hands slices to a store, and asks it for windows. A store that only appends is handed a slice when it is final.

    Such a store knows slices by numbers that go on for ever; ours begin with the oldest that is held.
    """

    def __init__(self, slices: Slices, store: Store) -> None:
        self._slices = slices
        self.store = store
        self.base = 0  # the store's number of our first
        slices.sealed = 0
        slices.changed = {piece.key: piece for piece in slices.all}

    def of(self, closing: Closing) -> Any:
        """The partial of a window."""
        if closing.total is not None:
            return closing.total
        store, slices = self.store, self._slices
        if isinstance(store, Chunks | Queues):
            self.seal(closing.high)
            return store.total(closing.low + self.base, closing.high + self.base, closing.window)
        for key, piece in slices.changed.items():
            if piece is None:
                store.remove(key)
            else:
                store.put(key, piece.partial)
        slices.changed.clear()
        end = slices.all[closing.high].key if closing.high < len(slices.all) else None
        return store.total(slices.all[closing.low].key, end)

    @property
    def eager(self) -> bool:
        """Whether the store has use for slices before a window asks for them."""
        return isinstance(self.store, Chunks) and self.store.eager

    def settle(self) -> None:
        """Tuples come in order: all slices but the last are final."""
        if self.eager:
            self.seal(len(self._slices.all) - 1)

    def seal(self, high: int) -> None:
        """Hand over the slices up to number ``high``, to a store that appends: they are final."""
        slices, store = self._slices, self.store
        assert isinstance(store, Chunks | Queues)
        for number in range(slices.sealed, high):
            store.append(slices.all[number].partial)
        slices.sealed = max(slices.sealed, high)

    def evict(self, at: int) -> None:
        """Drop the slices before number ``at``, which no window needs any more."""
        store, slices = self.store, self._slices
        if isinstance(store, Chunks | Queues):
            slices.changed.clear()  # it is handed slices when they are final
            self.seal(at)
            slices.sealed -= at
            self.base += at
            store.evict(self.base)
        else:
            key = slices.all[at].key
            store.evict(key)
            slices.changed = {k: piece for k, piece in slices.changed.items() if not k < key}
        slices.drop_oldest(at)
