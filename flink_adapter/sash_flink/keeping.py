"""How operators are kept: alive as a cache of Flink's state, and in that state as a snapshot and a journal."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from typing import Any

from sash_flink.clock import NEVER
from sash_flink.journal import Journal, Tail, Weight
from sash_flink.metrics import Metrics

__all__ = ["Keeping", "Live"]


class Live:
    """The operator of a key, or of a bucket of keys, as long as it is kept alive: a cache of Flink's state."""

    def __init__(self, key: Any, op: Any, weight: Weight) -> None:
        self.key, self.op, self.weight = key, op, weight
        self.watermark = NEVER
        self.told: list[Any] | None = None
        """The key as results have it, once it is known."""
        self.timer: int | None = None
        """The next one that Flink knows of."""
        self.tail: Tail | None = None
        """The end of its journal, if it may not have been written."""
        self.begun = False
        """Whether there is state of it."""
        self.untouched = False
        """Whether the last record was refused or late, which leaves nothing in a new operator."""
        self.forgotten = False
        """Whether its operator is a new one, because it had been silent for too long."""


class Keeping:
    """Keeps the operators of a function's keys. ``cache``: how many of them alive."""

    cache: int
    metrics: Metrics
    least = 1 << 16
    """So many bytes of entries are no reason for a snapshot."""

    def begin(self, journal: Journal, live: OrderedDict[Any, Live]) -> None:
        """Start, with the operators that are alive."""
        self._journal, self._live = journal, live

    # what the ways differ in

    @abstractmethod
    def made(self, snapshot: bytes | None) -> Any:
        """An operator, new or from a snapshot."""

    @abstractmethod
    def advanced(self, live: Live, watermark: int) -> list[Any]:
        """What comes out when the watermark moves."""

    @abstractmethod
    def taken(self, live: Live, records: Any) -> list[Any]:
        """What comes out when records come in."""

    @abstractmethod
    def size(self, records: Any) -> int:
        """About how many bytes they have."""

    # state

    def found(self, key: Any) -> Live:
        """The operator of the current key."""
        live = self._live.get(key)
        if live is None:
            live = self._live[key] = self._read(key)
            if len(self._live) > self.cache:
                self._live.popitem(last=False)
        elif len(self._live) == self.cache:
            self._live.move_to_end(key)
        return live

    def drop(self, live: Live) -> None:
        """Keep it alive no longer."""
        self._live.pop(live.key, None)

    def _read(self, key: Any) -> Live:
        snapshot, entries = self._journal.read()
        live = Live(key, self.made(snapshot), Weight(self.least, len(snapshot or b"")))
        with self.metrics.muted():
            for watermark, records in entries:
                self._applied(live, watermark, records)  # what came out then is out
                live.weight.add(self.size(records))
        live.begun = snapshot is not None or bool(entries)
        live.forgotten = False  # with a ttl that the job did not have before: the entries tell it again each time
        return live

    def run(self, live: Live, watermark: int, records: Any) -> list[Any]:
        """What comes out of the operator of the current key; what came in is in Flink's state then."""
        live.untouched = False
        found = self._applied(live, watermark, records)
        if live.untouched and not live.begun:
            self.drop(live)
            return found
        if live.forgotten:
            self._journal.clear()
            live.weight, live.tail = Weight(self.least), None
            if records is None or live.untouched:
                return found
            live.forgotten = False
        written = self.size(records)
        if live.weight.add(written):
            snapshot = live.op.snapshot(trusted=True)
            self._journal.replace(snapshot)
            live.weight = Weight(self.least, len(snapshot))
            written = len(snapshot)
        else:
            live.tail = self._journal.append(live.tail, (watermark, records))
        live.begun = True
        self.metrics.counts["stateWritten"] += written
        return found

    def _applied(self, live: Live, watermark: int, records: Any) -> list[Any]:
        if watermark <= live.watermark:  # as most often
            return [] if records is None else self.taken(live, records)
        live.watermark = watermark
        found = self.advanced(live, watermark)
        if records is not None:
            found += self.taken(live, records)
        return found
