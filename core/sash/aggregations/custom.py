"""A user's own aggregation: plain functions in, an :class:`Aggregation` out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sash.aggregations.base import Aggregation, Kind

__all__ = ["aggregation"]


def _same(partial: Any) -> Any:
    return partial


class _Custom(Aggregation):
    """Holds a user's functions under the names that :class:`Aggregation` looks them up by."""

    lifts_booleans = True

    def __init__(self, columns: tuple[str, ...], functions: dict[str, Any], offers: dict[str, Any]) -> None:
        self.arity = max(len(columns), 1)  # type: ignore[misc]  # a class's own in built-ins, an instance's here
        self._functions = functions
        self._offers = offers
        super().__init__(*columns)
        self._lift = functions["lift"]
        self._combine = functions["combine"]
        self._lower = functions["lower"]
        self._invert = functions["invert"]
        self.commutative = offers["commutative"]
        self.selective = offers["selective"]
        self.releases_gil = offers["releases_gil"]
        self.kind = offers["kind"]
        self.empty = offers["empty"]

    @property
    def name(self) -> str:
        return str(self._offers["name"])

    def _arguments(self) -> dict[str, Any]:
        return {**self._functions, **self._offers}

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.columns))})"


class _CustomOfSeveral(_Custom):
    """``lift`` gets one argument a column; a row in which any of them is null is skipped."""

    _lifts_rows = False

    def lift(self, value: Any) -> Any:
        values = tuple(value)
        if len(values) != self.arity:
            raise TypeError(f"{self!r} takes {self.arity} values a row; got {value!r}")
        if any(part is None for part in values):
            return None
        return self._lift(*values)


def aggregation(
    columns: str | Sequence[str] = (),
    *,
    lift: Callable[..., Any],
    combine: Callable[[Any, Any], Any],
    lower: Callable[[Any], Any] = _same,
    invert: Callable[[Any, Any], Any] | None = None,
    commutative: bool = False,
    selective: bool = False,
    releases_gil: bool = False,
    kind: Kind | str = Kind.ALGEBRAIC,
    empty: Any = None,
    name: str = "aggregation",
) -> Aggregation:
    """An aggregation of your own, from three plain functions.

    ``lift(value)`` (one argument a column) makes a partial, ``combine(a, b)`` merges two neighbouring ones, the older
    first, and ``lower(partial)`` makes the result. ``combine`` must be associative and must not change its arguments;
    nothing else is asked. It is never called with a null or an empty window: those are handled for it. A partial must
    not be ``None``, which stands for the empty window.

    ``commutative=True``, ``selective=True`` (combine returns one of its arguments) and ``invert`` (``invert(a ⊕ b, a)
    == b``) are offers that a planner may use; :func:`sash.check_laws` tells whether they hold. ``releases_gil=True``
    says that ``combine`` spends its time where other threads can run, in native code. ``empty`` is the result of a
    window without values.

    >>> import sash
    >>> spread = sash.aggregation("load", lift=lambda v: (v, v),
    ...                           combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    ...                           lower=lambda p: p[1] - p[0], commutative=True)
    >>> window = sash.aggregators.DABA(spread)
    >>> window.insert_many([4, 9, 6])
    >>> window.query()
    5
    """
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    functions = {"lift": lift, "combine": combine, "lower": lower, "invert": invert}
    for role, function in functions.items():
        if not callable(function) and not (role == "invert" and function is None):
            raise TypeError(f"{role} must be a function; got {function!r}")
    offers = {
        "commutative": bool(commutative),
        "selective": bool(selective),
        "releases_gil": bool(releases_gil),
        "kind": Kind(kind),
        "empty": empty,
        "name": name,
    }
    return (_CustomOfSeveral if len(names) > 1 else _Custom)(names, functions, offers)
