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

__all__ = ["VERSION", "CurrentKey", "Entry", "Journal", "Tail", "Weight", "read_elements"]

VERSION = 2

Entry = tuple[int, Any]
"""Flink's watermark, and the records that came behind it: None if nothing came, time just passed."""
Element = tuple[int, list[Entry]]
"""The version, and entries."""


class Tail(NamedTuple):
    """The element of a key that was added last, and PyFlink's state of the key, which holds it until it is written."""

    element: Element
    kept: Any

    def append(self, entry: Entry) -> bool:
        """Append an entry, unless the element has been written; whether it was appended."""
        unwritten = self.kept._added_elements
        if not unwritten or unwritten[-1] is not self.element:
            return False
        self.element[1].append(entry)
        return True


class Weight:
    """The size of a journal, which decides when to write a snapshot."""

    def __init__(self, least: int, snapshot: int = 0) -> None:
        self.snapshot, self.since, self.entries = snapshot, 0, 0
        self._most = max(snapshot, least)
        self._most_entries = self._most // 16

    def add(self, size: int) -> bool:
        """Count an entry; whether the entries now are larger than the snapshot."""
        self.since += size
        self.entries += 1
        return self.since > self._most or self.entries > self._most_entries


class Journal:
    """The state of the current key. It is a single state: each costs PyFlink time when the key changes."""

    def __init__(self, context: RuntimeContext) -> None:
        self._list = context.get_list_state(ListStateDescriptor("sash", Types.PICKLED_BYTE_ARRAY()))
        cached = isinstance(self._list, SynchronousListRuntimeState)
        self._current = CurrentKey(self._list._remote_state_backend) if cached else None

    @property
    def _current_list(self) -> Any:
        """PyFlink's list state, of the current key."""
        if self._current is not None:
            self._current.set()
        return self._list

    def read(self) -> tuple[bytes | None, list[Entry]]:
        """The snapshot, if there is one, and the entries since."""
        return read_elements(self._current_list.get() or ())

    def append(self, tail: Tail | None, entry: Entry) -> Tail | None:
        """Add an entry; the key's new tail, if PyFlink keeps one. ``tail`` is the one before."""
        if tail is not None and tail.append(entry):
            return tail
        element, elements = (VERSION, [entry]), self._current_list
        elements.add(element)
        return None if self._current is None else Tail(element, elements.get_internal_state())

    def clear(self) -> None:
        """Delete everything."""
        self._current_list.clear()

    def replace(self, snapshot: bytes) -> None:
        """Replace all entries by a snapshot."""
        self._current_list.update([(VERSION, snapshot)])


def read_elements(elements: Iterable[tuple[Any, ...]]) -> tuple[bytes | None, list[Entry]]:
    """The snapshot and the entries in a list of elements.

    >>> read_elements([(1, b"snapshot"), (1, 5, "record"), (2, [(6, "another"), (7, None)])])
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


class CurrentKey:
    """The key of a record as PyFlink's state sees it, set only when the ``backend`` of the state needs it.

    PyFlink sets the key of its state with every record, in Python, which takes about as long as an operator takes for
    the record. An operator that is alive needs none of it. As soon as the function has a state besides Sash's, as one
    derived from it may, keys are set with every record.
    """

    def __init__(self, backend: Any) -> None:
        self._set, self._key = backend.set_current_key, backend.get_current_key()
        self._states = backend._all_states = _States(backend._all_states, self)
        backend.set_current_key, backend.get_current_key = self._note, lambda: self._key

    def _note(self, key: Any) -> None:
        self._key = key
        if self._states.others:
            self._set(key)

    def set(self) -> None:
        """Select the state of the key that PyFlink has set."""
        self._set(self._key)


class _States(dict[str, Any]):
    """PyFlink's states by name, Sash's among them; ``others``: whether there are more."""

    def __init__(self, states: dict[str, Any], current: CurrentKey) -> None:
        super().__init__(states)
        self.others, self._current = len(states) > 1, current

    def __setitem__(self, name: str, state: Any) -> None:
        super().__setitem__(name, state)
        if not self.others:
            self.others = True
            self._current.set()
