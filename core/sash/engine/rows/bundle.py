"""A query's aggregates as one, for slices: a row's values are lifted together, and every merge is counted.

The functions that each row runs are generated, once for each shape of a query: null checks and the loop over the
aggregates are written out. Of ``{"peak": Max("load"), "mean": Mean("load")}`` comes

    def combine(a, b):
        if a is None: return b
        if b is None: return a
        count.merges += 1
        a0, a1 = a
        b0, b1 = b
        return (b0 if a0 is None else a0 if b0 is None else combine0(a0, b0),
                b1 if a1 is None else a1 if b1 is None else combine1(a1, b1))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from operator import itemgetter
from typing import Any, NamedTuple

from sash.aggregations.base import Aggregation, Flat, same
from sash.aggregations.custom import Together
from sash.query import Query

__all__ = ["Bundle", "Merging", "Values"]

Values = tuple[Any, ...]
_PLAIN = frozenset((float, int))  # of these, the lift of an aggregation is its ``_lift``


class _Count:
    """How many merges were done."""

    __slots__ = ("merges",)

    def __init__(self) -> None:
        self.merges = 0


class _Part(NamedTuple):
    """What the generated functions do for one aggregate."""

    places: tuple[int, ...]
    """Of its columns among the values of a row."""
    lift: str
    """"same": a plain value is its own partial; "plain": ``_lift`` makes it; "own": it has a ``lift`` of its own."""
    own_combine: bool
    lower: str


class Merging(Aggregation):
    """An aggregation whose values are partials of another one. Merging algorithms use it to merge slices."""

    combine: Callable[[Any, Any], Any]  # type: ignore[assignment]  # generated, so not a method

    def __init__(self, inner: Aggregation, count: _Count | None = None, combine: Any = None) -> None:
        super().__init__()
        self.inner = inner
        self.kind = inner.kind
        self.commutative = inner.commutative
        self.selective = inner.selective
        self.releases_gil = inner.releases_gil or inner.flat() is not None
        self._combine = inner._combine
        self._invert = inner._invert
        self.count = _Count() if count is None else count
        self.combine = combine or _functions([inner], [()], self.count).combine

    @property
    def merges(self) -> int:
        """How many merges were done."""
        return self.count.merges

    @property
    def name(self) -> str:
        return self.inner.name

    def __repr__(self) -> str:
        return repr(self.inner)

    def flat(self) -> Flat | None:
        return self.inner.flat()

    def lift(self, value: Any) -> Any:
        return value

    def lower(self, partial: Any) -> Any:
        return partial


class Bundle:
    """Lifts rows, merges and lowers partials of all aggregates of a query at once.

    With a single aggregate its partials are used as they are, so that it can offer all that it has; with several they
    travel side by side.
    """

    def __init__(self, query: Query) -> None:
        place = {column: i for i, column in enumerate(query.values)}
        self.parts = tuple(query.aggregates.values())
        self._names = tuple(query.aggregates)
        places = [tuple(place[column] for column in part.columns) for part in self.parts]
        self._readers = [_reader(of_part) for of_part in places]
        self._single = len(self.parts) == 1
        self.count = _Count()
        functions = _functions(self.parts, places, self.count)
        self.lift = functions.lift
        """The partial of a row."""
        self.combine = functions.combine
        self.lower = functions.lower
        """The results of all aggregates."""
        whole = self.parts[0] if self._single else Together(self.parts)
        self.merging = Merging(whole, self.count, self.combine)

    def fold(self, rows: Sequence[Values]) -> Any:
        """The partial of rows, in order."""
        return reduce(self.combine, map(self.lift, rows), None)

    def named(self, partial: Any) -> dict[str, Any]:
        """The results of all aggregates, by name."""
        return dict(zip(self._names, self.lower(partial), strict=True))

    def without_last(self, partial: Any, rows: Sequence[Values]) -> Any:
        """What is left of the partial of ``rows`` without the last of them (figure 6)."""
        if self._single:
            return self._part_without_last(0, partial, rows)
        return tuple(self._part_without_last(i, part, rows) for i, part in enumerate(partial))

    def _part_without_last(self, i: int, partial: Any, rows: Sequence[Values]) -> Any:
        part, read = self.parts[i], self._readers[i]
        last = part.lift(read(rows[-1]))
        if last is None:
            return partial
        if part.selective and part.commutative and last == last and partial != last:
            return partial  # the value that was selected is still there
        if all(part.lift(read(row)) is None for row in rows[:-1]):
            return None
        if part.commutative and part.invertible:
            self.count.merges += 1
            return part.invert(partial, last)
        self.count.merges += len(rows) - 2
        return reduce(part.combine, (part.lift(read(row)) for row in rows[:-1]), None)

    def separate(self, partial: Any) -> tuple[Any, ...]:
        """A partial of each aggregate."""
        if self._single:
            return (partial,)
        return (None,) * len(self.parts) if partial is None else partial

    def join(self, partials: tuple[Any, ...]) -> Any:
        """The partial whose parts are these."""
        return partials[0] if self._single else partials


def _reader(places: tuple[int, ...]) -> Callable[[Values], Any]:
    return itemgetter(*places) if places else lambda values: None


# the generated functions


class _Functions(NamedTuple):
    lift: Callable[[Values], Any]
    combine: Callable[[Any, Any], Any]
    lower: Callable[[Any], tuple[Any, ...]]


def _functions(parts: Sequence[Aggregation], places: Sequence[tuple[int, ...]], count: _Count) -> _Functions:
    """The functions of aggregates that read the values at these places, counting merges."""
    single = len(parts) == 1
    whole = parts[0] if single else Together(parts)
    readers = [_reader(of_part) for of_part in places]
    shapes = tuple(_shape(part, of_part) for part, of_part in zip(parts, places, strict=True))

    def lift_whole(values: Values) -> Any:
        inputs = [read(values) for read in readers]
        return whole.lift(inputs[0] if single else inputs)

    of_parts: list[Any] = []
    for part, shape in zip(parts, shapes, strict=True):
        combine = part.combine if shape.own_combine and not single else part._combine
        lower = part.lower if shape.lower == "own" else part._lower
        of_parts += [part.lift, part._lift, combine, lower, part.empty]
    return _Functions(*_compile(shapes)(count, _PLAIN, lift_whole, whole._combine, whole.empty, *of_parts))


def _shape(part: Aggregation, places: tuple[int, ...]) -> _Part:
    kind, lifts = type(part), "own"
    if kind.lift is Aggregation.lift and len(places) == 1:
        lifts = "same" if part._lift is same else "plain"
    lowers = "own" if kind.lower is not Aggregation.lower else "same" if part._lower is same else "plain"
    return _Part(places, lifts, kind.combine is not Aggregation.combine, lowers)


@lru_cache(maxsize=256)
def _compile(parts: tuple[_Part, ...]) -> Callable[..., tuple[Any, ...]]:
    """What creates the functions of aggregates of these shapes. Where one fails, the aggregates raise the error."""
    single, numbers = len(parts) == 1, range(len(parts))
    lifts = [_lift(i, part) for i, part in enumerate(parts)]
    lowers = _tuple([_lower(i, part) for i, part in enumerate(parts)])
    names = ", ".join(f"lift{i}, plain_lift{i}, combine{i}, lower{i}, empty{i}" for i in numbers)
    body = [
        "def lift(values):",
        "    try:",
        *(f"        v{i} = values[{part.places[0]}]" for i, part in enumerate(parts) if part.lift != "own"),
        f"        return {lifts[0] if single else _tuple(lifts)}",
        "    except (TypeError, ArithmeticError):",
        "        return lift_whole(values)",
        "def combine(a, b):",
        "    if a is None: return b",
        "    if b is None: return a",
        "    count.merges += 1",
    ]
    if single:
        body += ["    return combine0(a, b)", "def lower(a0):", f"    return {lowers}"]
    else:
        unpack_a, unpack_b = (f"    {_tuple([f'{name}{i}' for i in numbers])} = {name}" for name in "ab")
        merges = _tuple([_combine(i, part) for i, part in enumerate(parts)])
        body += [unpack_a, unpack_b, "    try:", f"        return {merges}"]
        body += ["    except TypeError:", "        return combine_whole(a, b)"]
        body += ["def lower(a):", "    if a is None: return empty", unpack_a, f"    return {lowers}"]
    head = f"def create(count, plain, lift_whole, combine_whole, empty, {names}):"
    created: dict[str, Any] = {}
    exec("\n    ".join([head, *body, "return lift, combine, lower"]), created)
    create: Callable[..., tuple[Any, ...]] = created["create"]
    return create


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)},)"


def _lift(i: int, part: _Part) -> str:
    if part.lift == "same":
        return f"v{i} if v{i}.__class__ in plain else lift{i}(v{i})"
    if part.lift == "plain":
        return f"plain_lift{i}(v{i}) if v{i}.__class__ in plain else lift{i}(v{i})"
    values = [f"values[{place}]" for place in part.places]
    return f"lift{i}({_tuple(values) if len(values) > 1 else (values or ['None'])[0]})"


def _combine(i: int, part: _Part) -> str:
    if part.own_combine:
        return f"combine{i}(a{i}, b{i})"
    return f"b{i} if a{i} is None else a{i} if b{i} is None else combine{i}(a{i}, b{i})"


def _lower(i: int, part: _Part) -> str:
    if part.lower == "own":
        return f"lower{i}(a{i})"
    return f"empty{i} if a{i} is None else " + (f"a{i}" if part.lower == "same" else f"lower{i}(a{i})")
