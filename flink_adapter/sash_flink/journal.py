"""The state of a key in Flink: a snapshot of its operator, and what has come since, in one list.

    state      snapshot │ entry entry entry │ entry entry      an entry is a watermark and what came behind it
    a call                                  │            └─ added: those that PyFlink writes at once are one element
    now and then   snapshot │                                  when the entries have grown as large as the snapshot

Taking a record appends it, not the window, however large it is. A snapshot is written as many bytes apart as it has
itself, so what is written is twice what comes, and reading a state is at most taking again what is in its windows.

PyFlink keeps the elements that were added in a list until the bundle ends or its cache has no room for the key, and
writing costs a few microseconds for each. So the last element takes more entries as long as it is in that list, and is
never changed after. Where there is no such list (in thread mode, which has no cache) each entry is an element.

An element begins with the version of this form, besides that of the snapshot. Those of version 1 had one entry each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from pyflink.common import Types
from pyflink.datastream import RuntimeContext
from pyflink.datastream.state import ListStateDescriptor
from pyflink.fn_execution.state_impl import SynchronousListRuntimeState

from sash import StateError
from sash_flink.currentkey import CurrentKey

__all__ = ["VERSION", "Entry", "Journal", "Tail", "Weight", "restored"]

VERSION = 2

Entry = tuple[int, Any]
"""Flink's watermark, and the records that came behind it: None if nothing came, time just passed."""
Element = tuple[int, list[Entry]]
"""The version, and entries."""


class Tail(NamedTuple):
    """The element of a key that was added last, and what PyFlink keeps of the key until it is written."""

    element: Element
    kept: Any

    def takes(self, entry: Entry) -> bool:
        """Whether it has not been written: then it has the entry now."""
        unwritten = self.kept._added_elements
        if not unwritten or unwritten[-1] is not self.element:
            return False
        self.element[1].append(entry)
        return True


class Weight:
    """How much is in a journal: decides when it is time for a snapshot."""

    def __init__(self, least: int, snapshot: int = 0) -> None:
        self.snapshot, self.since, self.entries = snapshot, 0, 0
        self._most = max(snapshot, least)
        self._most_entries = self._most // 16

    def add(self, size: int) -> bool:
        """Count an entry; whether the entries now weigh more than the snapshot."""
        self.since += size
        self.entries += 1
        return self.since > self._most or self.entries > self._most_entries


class Journal:
    """The state of whichever key is the current one. A single one: each costs PyFlink time when the key changes."""

    def __init__(self, context: RuntimeContext) -> None:
        self._list = context.get_list_state(ListStateDescriptor("sash", Types.PICKLED_BYTE_ARRAY()))
        cached = isinstance(self._list, SynchronousListRuntimeState)
        self._current = CurrentKey(self._list._remote_state_backend) if cached else None

    @property
    def _own(self) -> Any:
        """The list of the current key."""
        if self._current is not None:
            self._current.set()
        return self._list

    def read(self) -> tuple[bytes | None, list[Entry]]:
        """The snapshot, if there is one, and the entries since."""
        return restored(self._own.get() or ())

    def append(self, tail: Tail | None, entry: Entry) -> Tail | None:
        """Add an entry; the key's tail then, if PyFlink keeps one. ``tail`` is the one before."""
        if tail is not None and tail.takes(entry):
            return tail
        element, own = (VERSION, [entry]), self._own
        own.add(element)
        return None if self._current is None else Tail(element, own.get_internal_state())

    def clear(self) -> None:
        """Have nothing any more."""
        self._own.clear()

    def replace(self, snapshot: bytes) -> None:
        """Have a snapshot instead of all entries."""
        self._own.update([(VERSION, snapshot)])


def restored(elements: Iterable[tuple[Any, ...]]) -> tuple[bytes | None, list[Entry]]:
    """The snapshot and the entries that a list has.

    >>> restored([(1, b"snapshot"), (1, 5, "record"), (2, [(6, "another"), (7, None)])])
    (b'snapshot', [(5, 'record'), (6, 'another'), (7, None)])
    """
    snapshot: bytes | None = None
    entries: list[Entry] = []
    for version, *rest in elements:
        if version > VERSION:
            raise StateError(
                f"the state in Flink is of version {version}, but this version of Sash reads up to {VERSION}: use a "
                "newer one"
            )
        if len(rest) == 2:
            entries.append((rest[0], rest[1]))
        elif isinstance(rest[0], list):
            entries += rest[0]
        else:
            snapshot = rest[0]
    return snapshot, entries
