"""The state of a key in Flink: a snapshot of its operator, and what has come since, in one list.

    state      snapshot │ entry │ entry │ entry      an entry is a watermark and what came behind it
    a call                              └─ appended
    now and then   snapshot │                        when the entries have grown as large as the snapshot

Taking a record appends it, which is all that is written: not the window, however large it is. A snapshot is written as
many bytes apart as it has itself, so what is written is twice what comes, and reading a state is at most taking as much
again as is in its windows. Operators do the same with the same input, so that they are afterwards what they were.

Each element of the list begins with the version of this form; a snapshot has one of its own besides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from pyflink.common import Types
from pyflink.datastream import RuntimeContext
from pyflink.datastream.state import ListStateDescriptor

from sash.slicing.codec import StateError

__all__ = ["VERSION", "Entry", "Journal", "Weight", "restored"]

VERSION = 1


class Entry(NamedTuple):
    """Flink's watermark, and the records that came behind it: None if nothing came, time just passed."""

    watermark: int
    records: Any = None


class Weight:
    """How much is in a journal: decides when it is time for a snapshot."""

    def __init__(self, least: int, snapshot: int = 0) -> None:
        self._least, self.snapshot, self.since, self.entries = least, snapshot, 0, 0

    def add(self, size: int) -> bool:
        """Count an entry; whether the entries now weigh more than the snapshot."""
        self.since += size
        self.entries += 1
        most = max(self.snapshot, self._least)
        return self.since > most or self.entries > most // 16

    @property
    def total(self) -> int:
        """All bytes, about."""
        return self.snapshot + self.since


class Journal:
    """The state of whichever key is the current one. A single one: each costs PyFlink time when the key changes."""

    def __init__(self, context: RuntimeContext) -> None:
        self._list = context.get_list_state(ListStateDescriptor("sash", Types.PICKLED_BYTE_ARRAY()))

    def read(self) -> tuple[bytes | None, list[Entry]]:
        """The snapshot, if there is one, and the entries since."""
        return restored(self._list.get() or ())

    def append(self, entry: Entry) -> None:
        """Add an entry."""
        self._list.add((VERSION, entry.watermark, entry.records))

    def replace(self, snapshot: bytes) -> None:
        """Have a snapshot instead of all entries."""
        self._list.update([(VERSION, snapshot)])


def restored(elements: Iterable[tuple[Any, ...]]) -> tuple[bytes | None, list[Entry]]:
    """The snapshot and the entries that a list has.

    >>> restored([(1, b"snapshot"), (1, 5, "record")])
    (b'snapshot', [Entry(watermark=5, records='record')])
    """
    snapshot, entries = None, []
    for version, *rest in elements:
        if version > VERSION:
            raise StateError(
                f"the state in Flink is of version {version}, but this version of Sash reads up to {VERSION}: use a "
                "newer one"
            )
        if len(rest) == 1:
            (snapshot,) = rest
        else:
            entries.append(Entry(*rest))
    return snapshot, entries
