"""What of a query a saved state depends on: whether the state of one query can go on under another.

A fingerprint is small: names, and eight bytes of hash for what each stands for. Functions count by their names only, so
that a query still fits its state after a function was fixed; whether it means the same is up to its author.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from typing import Any

from sash.aggregations.base import Aggregation
from sash.query import Query
from sash.state.values import dumps, loads

__all__ = ["Fingerprint", "compatible", "fingerprint"]


@dataclass(frozen=True)
class Fingerprint:
    """By name: hashes of the aggregates; of the windows, with what orders each; the lateness of each lane.

    ``values`` are the columns whose values a kept tuple has, in order. The lane of arrival is named "".
    """

    aggregates: dict[str, bytes]
    windows: dict[str | None, tuple[str, bytes]]
    lanes: dict[str, Any]
    values: tuple[str, ...]
    time_units: dict[str, str] = field(default_factory=dict)
    """The ``time_unit`` of lanes that have one; written only if some do, since older versions do not know it."""

    def to_bytes(self) -> bytes:
        """The bytes of the fingerprint. O(aggregates and windows)."""
        content = (self.aggregates, self.windows, self.lanes, self.values)
        return dumps((*content, self.time_units) if self.time_units else content)

    @staticmethod
    def from_bytes(data: bytes) -> Fingerprint:
        """The reverse of :meth:`to_bytes`. Raises ValueError for other bytes."""
        content = loads(data)
        kinds = (dict, dict, dict, tuple, dict)
        if not isinstance(content, tuple) or tuple(map(type, content)) not in (kinds, kinds[:4]):
            raise ValueError("these bytes are not the fingerprint of a query")
        read = Fingerprint(*content)
        read._check()
        return read

    def _check(self) -> None:
        """Refuse parts of other types, with a ValueError."""
        names = [*self.aggregates, *self.lanes, *self.values, *self.time_units, *self.time_units.values()]
        windows = self.windows.values()
        fits = (
            all(isinstance(name, str) for name in names)
            and all(isinstance(digest, bytes) for digest in self.aggregates.values())
            and all(name is None or isinstance(name, str) for name in self.windows)
            and all(isinstance(window, tuple) and tuple(map(type, window)) == (str, bytes) for window in windows)
            and all(type(lateness) in (int, float, Fraction) for lateness in self.lanes.values())
        )
        if not fits:
            raise ValueError("these bytes are not the fingerprint of a query")


def fingerprint(query: Query, fields: bool = True) -> bytes:
    """The fingerprint of a query. O(aggregates and windows).

    Without ``fields`` it is the one that workers of PyFlink wrote whose cloudpickle had lost the fields of users' own
    dataclasses.

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding("1h", "1s"), aggregates={"peak": sash.Max("load")}, time="ts")
    >>> compatible(fingerprint(query), fingerprint(query.using(aggregates={"peak": sash.Min("load")})))
    "aggregate 'peak' differs from the one in the saved state"
    """
    orders = {name: lane.order or "" for lane in query.lanes for name in lane.names}
    return Fingerprint(
        {name: _hash(aggregation, fields) for name, aggregation in query.computed.items()},
        {name: (orders[name], _hash(_with_early(window, query), fields)) for name, window in query.named.items()},
        {lane.order or "": lane.lateness for lane in query.lanes},
        query.values,
        {lane.order or "": lane.time_unit for lane in query.lanes if lane.time_unit is not None},
    ).to_bytes()


def _with_early(window: Any, query: Query) -> Any:
    """A window and its early results, for which slices are cut too."""
    return window if not query.early or not window.emits_early else (window, query.early)


def compatible(old: bytes, new: bytes) -> str | None:
    """Why a state saved under the fingerprint ``old`` cannot go on under ``new``; None if it can.

    Windows may have been removed, or added, which then start from nothing; those that are in both must be the same, and
    so must all aggregates. ``allowed_lateness`` may be less than it was, not more: dropped tuples cannot be corrected.
    """
    if old == new:
        return None
    was, now = Fingerprint.from_bytes(old), Fingerprint.from_bytes(new)
    for name in [*was.aggregates, *now.aggregates]:
        if name not in was.aggregates:
            return f"aggregate {name!r} is not in the saved state"
        if name not in now.aggregates:
            return f"aggregate {name!r} of the saved state is not in the query"
        if was.aggregates[name] != now.aggregates[name]:
            return f"aggregate {name!r} differs from the one in the saved state"
    if list(was.aggregates) != list(now.aggregates):
        return f"the aggregates are in another order; in the saved state it is {', '.join(was.aggregates)}"
    for window in was.windows.keys() & now.windows.keys():
        if was.windows[window] != now.windows[window]:
            name = "the window" if window is None else f"window {window!r}"
            same_order = was.windows[window][0] == now.windows[window][0]
            change = "differs from the one" if same_order else "is ordered by another column than"
            return f"{name} {change} in the saved state: under another name it would start from nothing"
    for lane in was.lanes.keys() & now.lanes.keys():
        units = [query.time_units.get(lane) for query in (was, now)]
        if units[0] != units[1]:
            return f"time_unit is {units[1]!r}, in the saved state it is {units[0]!r}"
        if now.lanes[lane] > was.lanes[lane]:
            return (
                f"allowed_lateness for column {lane!r} is more than in the saved state, where it is {was.lanes[lane]}"
            )
    return None


def _hash(value: Any, fields: bool) -> bytes:
    description = repr(_describe(value, fields))
    return blake2b(description.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _describe(value: Any, fields: bool = True) -> Any:
    """A description that is the same in every process: types and functions by name, all else by its parts."""
    if isinstance(value, Aggregation):
        return (_name(type(value)), value.columns, _describe(value._arguments(), fields))
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, partial):
        return ("partial", *(_describe(part, fields) for part in (value.func, value.args, value.keywords)))
    if callable(value) and hasattr(value, "__qualname__"):
        return _name(value)
    if isinstance(value, Mapping):
        return tuple((str(name), _describe(part, fields)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return tuple(_describe(part, fields) for part in value)
    if is_dataclass(value):
        names = _compared(value) if fields or _is_ours(type(value)) else []
        return (_name(type(value)), _describe({name: getattr(value, name) for name in names}, fields))
    if type(value).__repr__ is object.__repr__:  # type: ignore[comparison-overlap]
        return (_name(type(value)), _describe(dict(sorted(getattr(value, "__dict__", {}).items())), fields))
    return repr(value)


def _compared(value: Any) -> list[str]:
    """The names of a dataclass's fields that count when it is compared.

    ``dataclasses.fields`` knows fields by a mark that must be one object. Classes that cloudpickle 2 brings along by
    value have a copy of it, and no fields; its name is still the same.
    """
    found = value.__dataclass_fields__.values()
    return [part.name for part in found if part.compare and part._field_type.name == "_FIELD"]


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("sash.")


def _name(thing: Any) -> str:
    """The name of a type or function, without the module if it is Sash's own, which may change."""
    module = str(thing.__module__)
    return str(thing.__qualname__) if module.startswith("sash.") else f"{module}.{thing.__qualname__}"
