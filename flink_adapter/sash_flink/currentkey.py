"""The key that a record is of, as PyFlink's state sees it: set only when the state is asked for something.

PyFlink sets the key of its state with every record, in Python, which takes about as long as an operator takes for the
record. An operator that is alive needs none of it: see :mod:`sash_flink.journal`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["CurrentKey"]


class CurrentKey:
    """Stands between PyFlink and the ``backend`` of a function's keyed state.

    As soon as the function has a state besides Sash's, as one derived from it may, keys are set with every record.
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
        """Have the state be that of the key that PyFlink has told."""
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
