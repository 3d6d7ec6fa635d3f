"""Aggregations made of plain functions (:func:`aggregation`) and of other aggregations (:class:`Together`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sash.aggregations.base import Aggregation, Kind, renamed

__all__ = ["Together", "aggregation"]

_SIZES = [Kind.DISTRIBUTIVE, Kind.ALGEBRAIC, Kind.HOLISTIC]


def _same(partial: Any) -> Any:  # its name is part of the fingerprint of saved states
    return partial


class _Custom(Aggregation):
    """A user's functions under the names of :class:`Aggregation`."""

    lifts_booleans = True

    def __init__(
        self, columns: tuple[str, ...], functions: dict[str, Any], offers: dict[str, Any], where: str | None
    ) -> None:
        self.arity = max(len(columns), 1)  # type: ignore[misc]  # a class's own in built-ins, an instance's here
        self._functions = functions
        self._offers = offers
        super().__init__(*columns, where=where)
        for role, function in functions.items():
            setattr(self, f"_{role}", function)
        for trait in ("commutative", "selective", "releases_gil", "kind", "empty"):
            setattr(self, trait, offers[trait])

    @property
    def name(self) -> str:
        return str(self._offers["name"])

    def _arguments(self) -> dict[str, Any]:
        return {**self._functions, **self._offers, **self._filter()}

    def __repr__(self) -> str:
        arguments = [*map(repr, self.inputs), *(f"where={name!r}" for name in self._filter().values())]
        return f"{self.name}({', '.join(arguments)})"


class _CustomOfSeveral(_Custom):
    """``lift`` gets one argument a column. A row with a null in any of them is skipped."""

    _lifts_rows = False

    def lift(self, value: Any) -> Any:
        values = tuple(value)
        if len(values) != self.arity:
            raise TypeError(f"{self!r} takes {self.arity} values a row; got {value!r}")
        if any(part is None for part in values):
            return None
        try:
            return self._lift(*values)
        except Exception as error:  # a user's function may raise anything
            raise renamed(error, f"{self!r} cannot aggregate {values!r}: {type(error).__name__}: {error}") from error


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
    where: str | None = None,
) -> Aggregation:
    """An aggregation of your own, from three plain functions.

    ``lift(value)`` (one argument a column) makes a partial, ``combine(a, b)`` merges two neighbouring ones, the older
    first, and ``lower(partial)`` makes the result. ``combine`` must be associative and must not change its arguments.
    It never gets a null or an empty window. A partial must not be ``None``, which stands for the empty window.

    ``commutative=True``, ``selective=True`` (combine returns one of its arguments) and ``invert`` (``invert(a ⊕ b, a)
    == b``) are offers that the planner may use; :func:`sash.check_laws` checks them. ``releases_gil=True`` says that
    ``combine`` runs in native code that lets other threads run. ``empty`` is the result of a window without values.
    ``where`` names a boolean column: only rows for which it is true are aggregated.

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
    return (_CustomOfSeveral if len(names) > 1 else _Custom)(names, functions, offers, where)


class Together(Aggregation):
    """Several aggregations over one window: values, partials and results are tuples with an item for each part.

    A combine costs one of each part. Commutative if all parts are. Never invertible: a part whose values are all null
    would result in a zero instead of None.

    >>> import sash
    >>> both = Together([sash.Min(), sash.Max()])
    >>> window = sash.aggregators.DABA(both)
    >>> window.insert_many([(3, 3), (1, 1), (2, None)]); window.query()
    (1, 3)
    """

    def __init__(self, parts: Sequence[Aggregation]) -> None:
        self.parts = tuple(parts)
        super().__init__()
        self.kind = max((part.kind for part in self.parts), key=_SIZES.index)
        self.commutative = all(part.commutative for part in self.parts)
        self.releases_gil = all(part.releases_gil for part in self.parts)
        self.empty = tuple(part.empty for part in self.parts)

    @property
    def name(self) -> str:
        return " and ".join(map(repr, self.parts))

    def __repr__(self) -> str:
        return self.name

    def _key(self) -> tuple[Any, ...]:
        return (Together, self.parts)

    def lift(self, value: Any) -> tuple[Any, ...]:
        return tuple([part.lift(x) for part, x in zip(self.parts, value, strict=True)])

    def _combine(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        try:
            return tuple([part.combine(x, y) for part, x, y in zip(self.parts, a, b, strict=True)])
        except Exception as error:  # a user's function may raise anything
            self.complain_of_combine(a, b, error)
            raise

    def complain_of_combine(self, a: tuple[Any, ...], b: tuple[Any, ...], error: Exception) -> None:
        for part, x, y in zip(self.parts, a, b, strict=True):
            part.complain_of_combine(x, y, error)

    def complain_of_lower(self, partial: tuple[Any, ...], error: Exception) -> None:
        for part, x in zip(self.parts, partial, strict=True):
            part.complain_of_lower(x, error)

    def _lower(self, partial: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([part.lower(x) for part, x in zip(self.parts, partial, strict=True)])
