"""What Sash does to PyFlink's own objects, and why: each of these saves about as much time as an operator takes.

The others are in test_flink_environment.py: Beam's sampler of bundles, and the servers that Python workers talk to.
"""

from __future__ import annotations

from typing import Any

from pyflink.common import Row

from sash_flink.journal import CurrentKey
from sash_flink.values import create_row


def test_a_row_made_at_once_is_as_one_that_pyflink_makes() -> None:
    """``Row`` takes its time for names. One that has other attributes in a new PyFlink would fail here first."""
    row = Row(1, "a")
    row.set_field_names(["n", "s"])
    assert vars(create_row([1, "a"], ["n", "s"])) == vars(row)
    assert create_row([1, "a"], ["n", "s"]).as_dict() == {"n": 1, "s": "a"}


class Backend:
    """PyFlink's: to set its key means to write the key as bytes and to put away the state of the other one."""

    def __init__(self) -> None:
        self._all_states: dict[str, Any] = {"sash": "list"}
        self.keys: list[Any] = []

    def set_current_key(self, key: Any) -> None:
        self.keys.append(key)

    def get_current_key(self) -> Any:
        return self.keys[-1] if self.keys else None


def test_the_key_of_the_state_is_set_only_when_the_state_is_asked_for() -> None:
    backend = Backend()
    keys = backend.keys
    current = CurrentKey(backend)
    for key in "abc":
        backend.set_current_key(key)
        assert backend.get_current_key() == key
    assert keys == []
    current.set()
    assert keys == ["c"]


def test_the_key_is_set_with_every_record_once_a_function_has_a_state_of_its_own() -> None:
    backend = Backend()
    keys = backend.keys
    CurrentKey(backend)
    backend.set_current_key("a")
    backend._all_states["another"] = "value"
    assert keys == ["a"], "the state that is new is of the key that came last"
    backend.set_current_key("b")
    assert keys == ["a", "b"]
