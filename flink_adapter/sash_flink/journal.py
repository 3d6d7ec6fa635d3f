"""The state of a key in Flink: a snapshot of its operator, and what has come since.

    state      snapshot │ entry │ entry │ entry      an entry is a watermark and what came behind it
    a call                              └─ appended
    now and then   snapshot │                        when the entries have grown as large as the snapshot

Taking a record appends it, which is all that is written: not the window, however large it is. A snapshot is written as
many bytes apart as it has itself, so what is written is twice what comes, and reading a state is at most taking as much
again as is in its windows. Operators do the same with the same input, so that they are afterwards what they were.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pyflink.common import Types
from pyflink.datastream import RuntimeContext
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor

__all__ = ["Entry", "Journal", "Weight"]


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
        return self.since > max(self.snapshot, self._least) or self.entries > self._least // 16

    @property
    def total(self) -> int:
        """All bytes, about."""
        return self.snapshot + self.since


class Journal:
    """The state of whichever key is the current one."""

    def __init__(self, context: RuntimeContext) -> None:
        pickled = Types.PICKLED_BYTE_ARRAY()
        self._snapshot = context.get_state(ValueStateDescriptor("sash-snapshot", pickled))
        self._entries = context.get_list_state(ListStateDescriptor("sash-journal", pickled))

    def read(self) -> tuple[bytes | None, list[Entry]]:
        """The snapshot, if there is one, and the entries since."""
        return self._snapshot.value(), [Entry(*entry) for entry in self._entries.get() or ()]

    def append(self, entry: Entry) -> None:
        """Add an entry."""
        self._entries.add(tuple(entry))

    def replace(self, snapshot: bytes) -> None:
        """Have a snapshot instead of all entries."""
        self._snapshot.update(snapshot)
        self._entries.clear()

    def clear(self) -> None:
        """Forget all."""
        self._snapshot.clear()
        self._entries.clear()
