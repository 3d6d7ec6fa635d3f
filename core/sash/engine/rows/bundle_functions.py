"""The functions that each row runs, generated once for each shape of a query.

Null checks and the loop over the aggregates are written out, and so are the functions of Sash's own aggregations: no
partial is a tuple of tuples, and a merge is one call. Of ``{"peak": Max("load"), "dev": SampleStdDev("load")}`` comes

    def combine(a, b):
        if a is None: return b
        if b is None: return a
        count.merges += 1
        (a0, a1_0, a1_1, a1_2) = a
        (b0, b1_0, b1_1, b1_2) = b
        try:
            if a0 is None: r0 = b0
            elif b0 is None: r0 = a0
            else:
                r0 = a0 if a0 >= b0 or a0 != a0 else b0
            …
        except Exception as error:
            complain_of_combine(a, b, error)
            raise
        return (r0, r1_0, r1_1, r1_2)

A partial with several numbers is null if the first of them is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sash.aggregations.base import Aggregation, same
from sash.aggregations.custom import Together
from sash.engine.rows.inlining import Variables, can_write_out, width_of, write_out

__all__ = ["Functions", "functions_of"]

Values = tuple[Any, ...]
_PLAIN = frozenset((float, int))  # of these, the lift of an aggregation is its ``_lift``


class Functions(NamedTuple):
    """The generated functions, each for all aggregates of a query at once."""

    lift: Callable[[Values], Any]
    """The partial of a row."""
    combine: Callable[[Any, Any], Any]
    lower: Callable[[Any], tuple[Any, ...]]
    """The results of all aggregates."""
    conclude: Callable[[Any, Any], tuple[Any, ...]]
    """``lower`` of ``combine``, which needs no partial in between."""
    separate: Callable[[Any], tuple[Any, ...]]
    """The partial of each aggregate."""
    join: Callable[[Sequence[Any]], Any]
    """The inverse."""


class _Part(NamedTuple):
    """What the text of the functions depends on, for one aggregate."""

    places: tuple[int, ...]
    """Of its columns among the values of a row."""
    lift: str
    """"same": a plain value is its own partial; "plain": ``_lift`` makes it; "own": it has a ``lift`` of its own."""
    own_combine: bool
    lower: str
    functions: tuple[Any, Any, Any]
    """Its ``_lift``, ``_combine`` and ``_lower``, where they can be written out."""
    width: int | None
    """How many variables its partial is; None: one, as it is."""


def functions_of(parts: Sequence[Aggregation], places: Sequence[tuple[int, ...]], count: Any) -> Functions:
    """The functions of aggregates that read the values at these places. They count in ``count.merges``."""
    single = len(parts) == 1
    whole = parts[0] if single else Together(parts)
    shapes = tuple(_shape(part, of_part) for part, of_part in zip(parts, places, strict=True))
    separate, join = _separator(shapes), _joiner(shapes)

    def lift_whole(values: Values) -> Any:
        inputs = [_input(values, of_part) for of_part in places]
        return whole.lift(inputs[0]) if single else join(whole.lift(inputs))

    def complain_of_combine(a: Any, b: Any, error: Exception) -> None:
        for part, x, y in zip(parts, separate(a), separate(b), strict=True):
            part.complain_of_combine(x, y, error)

    def complain_of_lower(partial: Any, error: Exception) -> None:
        for part, x in zip(parts, separate(partial), strict=True):
            part.complain_of_lower(x, error)

    of_parts: list[Any] = []
    for part, shape in zip(parts, shapes, strict=True):
        combine = part.combine if shape.own_combine else part._combine
        lower = part.lower if shape.lower == "own" else part._lower
        of_parts += [part.lift, part._lift, combine, lower, part.empty]
    complaints = complain_of_combine, complain_of_lower
    empty = (whole.empty,) if single else whole.empty
    generated = _compile(shapes)(count, _PLAIN, lift_whole, *complaints, empty, *of_parts)
    lift, combine, lower, conclude = generated
    return Functions(lift, combine, lower, conclude, separate, join)


def _input(values: Values, places: tuple[int, ...]) -> Any:
    inputs = tuple([values[place] for place in places])
    return inputs if len(inputs) > 1 else inputs[0] if inputs else None


def _shape(part: Aggregation, places: tuple[int, ...]) -> _Part:
    kind, lifts = type(part), "own"
    if kind.lift is Aggregation.lift and len(places) == 1 and part.where is None:
        lifts = "same" if part._lift is same else "plain"
    lowers = "own" if kind.lower is not Aggregation.lower else "same" if part._lower is same else "plain"
    own_combine = kind.combine is not Aggregation.combine
    lift, combine, lower = [f if can_write_out(f) else None for f in (part._lift, part._combine, part._lower)]
    width = None if own_combine or lowers == "own" else width_of(combine)
    return _Part(places, lifts, own_combine, lowers, (lift, combine, lower), width)


def _separator(parts: Sequence[_Part]) -> Callable[[Any], tuple[Any, ...]]:
    """Splits the partial of all aggregates into one of each."""
    if len(parts) == 1:
        return lambda partial: (partial,)
    spans, at = [], 0
    for part in parts:
        spans.append((at, None if part.width is None else at + part.width))
        at += part.width or 1

    def separate(partial: Any) -> tuple[Any, ...]:
        if partial is None:
            return (None,) * len(parts)
        return tuple([partial[at] if end is None or partial[at] is None else partial[at:end] for at, end in spans])

    return separate


def _joiner(parts: Sequence[_Part]) -> Callable[[Sequence[Any]], Any]:
    if len(parts) == 1:
        return lambda partials: partials[0]

    def join(partials: Sequence[Any]) -> tuple[Any, ...]:
        joined: list[Any] = []
        for part, partial in zip(parts, partials, strict=True):
            joined += [partial] if part.width is None else [None] * part.width if partial is None else partial
        return tuple(joined)

    return join


# their text


@lru_cache(maxsize=256)
def _compile(parts: tuple[_Part, ...]) -> Callable[..., tuple[Any, ...]]:
    """Compile a function that creates ``lift``, ``combine``, ``lower`` and ``conclude`` of aggregates of these shapes.

    Where one fails, the aggregate raises the error, as one that names it.
    """
    scope: dict[str, Any] = {}
    a, b, r = ([_variables(name, i, part) for i, part in enumerate(parts)] for name in "abr")
    merge = _merge_lines(parts, a, b, r, scope)
    body = [
        *_lift_lines(parts, r, scope),
        "def combine(a, b):",
        "    if a is None: return b",
        "    if b is None: return a",
        *merge,
        f"    return {_whole(r)}",
        "def lower(a):",
        *([] if [part.lower for part in parts] == ["own"] else ["    if a is None: return empty"]),
        f"    {_whole(a)} = a",
        *_lower_lines(parts, a, "a", scope),
        "def conclude(a, b):",
        "    if a is None: return lower(b)",
        "    if b is None: return lower(a)",
        *merge,
        *_lower_lines(parts, r, _whole(r), scope),
        "return lift, combine, lower, conclude",
    ]
    own = ", ".join(f"lift{i}, plain_lift{i}, combine{i}, lower{i}, empty{i}" for i in range(len(parts)))
    head = f"def create(count, plain, lift_whole, complain_of_combine, complain_of_lower, empty, {own}):"
    exec("\n".join([head, *_indent(body)]), scope)  # nosec  # our own text, whose names are numbers
    create: Callable[..., tuple[Any, ...]] = scope["create"]
    return create


def _lift_lines(parts: Sequence[_Part], r: Sequence[Variables], scope: dict[str, Any]) -> list[str]:
    """``lift``: aggregates of one column ask once whether its value is a plain number."""
    columns = dict.fromkeys(part.places[0] for part in parts if part.lift != "own")
    lines = [f"v{place} = values[{place}]" for place in columns]
    for place in columns:
        numbers = [i for i, part in enumerate(parts) if part.lift != "own" and part.places[0] == place]
        plain = [line for i in numbers for line in _lift_number(i, parts[i], r[i], scope)]
        general = [_lift_any(i, parts[i], r[i], f"v{place}", len(parts) == 1) for i in numbers]
        lines += [f"if v{place}.__class__ in plain:", *_indent(plain), "else:", *_indent(general)]
    for i, part in enumerate(parts):
        if part.lift == "own":
            values = [f"values[{place}]" for place in part.places]
            value = _tuple(values) if len(values) > 1 else values[0] if values else "None"
            lines.append(_lift_any(i, part, r[i], value, len(parts) == 1))
    return [
        "def lift(values):",
        "    try:",
        *_indent([*lines, f"return {_whole(r)}"], 8),
        "    except Exception:",
        "        return lift_whole(values)",
    ]


def _lift_number(i: int, part: _Part, target: Variables, scope: dict[str, Any]) -> list[str]:
    """Statements that lift a plain number."""
    value = f"v{part.places[0]}"
    lines = write_out(part.functions[0], [value], target, f"__{i}", scope, numbers=(value,))
    return lines or [_assign(target, f"plain_lift{i}({value})")]


def _lift_any(i: int, part: _Part, target: Variables, value: str, single: bool) -> str:
    """A statement that lifts any value, which may be null."""
    if single:
        return f"return lift{i}({value})"
    partial = f"lift{i}({value})"
    return _assign(target, partial if part.width is None else f"{partial} or {_tuple(['None'] * part.width)}")


def _merge_lines(
    parts: Sequence[_Part], a: Sequence[Variables], b: Sequence[Variables], r: Sequence[Variables], scope: Any
) -> list[str]:
    """Statements that merge ``a`` and ``b``, of which none is None."""
    merges: list[str] = []
    for i, part in enumerate(parts):
        merge = _combine(i, part, a[i], b[i], r[i], scope)
        null = [
            f"if {_first(a[i])} is None: {_assign(r[i], b[i])}",
            f"elif {_first(b[i])} is None: {_assign(r[i], a[i])}",
        ]
        merges += merge if len(parts) == 1 or part.own_combine else [*null, "else:", *_indent(merge)]
    return [
        "    count.merges += 1",
        f"    {_whole(a)} = a",
        f"    {_whole(b)} = b",
        "    try:",
        *_indent(merges, 8),
        "    except Exception as error:",
        "        complain_of_combine(a, b, error)",
        "        raise",
    ]


def _lower_lines(parts: Sequence[_Part], a: Sequence[Variables], whole: str, scope: dict[str, Any]) -> list[str]:
    """Statements that return the results of a partial, which is ``whole``, whose numbers are in variables."""
    lowers = [line for i, part in enumerate(parts) for line in _lower(i, part, a[i], scope)]
    return [
        "    try:",
        *_indent([*lowers, f"return {_tuple([f'x{i}' for i in range(len(parts))])}"], 8),
        "    except Exception as error:",
        f"        complain_of_lower({whole}, error)",
        "        raise",
    ]


def _combine(i: int, part: _Part, a: Variables, b: Variables, target: Variables, scope: dict[str, Any]) -> list[str]:
    """Statements that merge two partials, of which none is null unless the aggregate has a ``combine`` of its own."""
    call = _assign(target, f"combine{i}({_text(a)}, {_text(b)})")
    return [call] if part.own_combine else write_out(part.functions[1], [a, b], target, f"__{i}", scope) or [call]


def _lower(i: int, part: _Part, a: Variables, scope: dict[str, Any]) -> list[str]:
    """Statements that lower a partial."""
    call = f"x{i} = lower{i}({_text(a)})"
    if part.lower == "own":
        return [call]
    lines = write_out(part.functions[2], [a], f"x{i}", f"__{i}", scope) or [call]
    return [f"if {_first(a)} is None: x{i} = empty{i}", "else:", *_indent(lines)]


def _variables(name: str, i: int, part: _Part) -> Variables:
    return f"{name}{i}" if part.width is None else tuple([f"{name}{i}_{number}" for number in range(part.width)])


def _whole(variables: Sequence[Variables]) -> str:
    """The partial of all aggregates, which that of a single one is as it is."""
    return _text(variables[0]) if len(variables) == 1 else _tuple(variables)


def _first(variables: Variables) -> str:
    return variables if isinstance(variables, str) else variables[0]


def _assign(target: Variables, value: Variables) -> str:
    return f"{_text(target)} = {_text(value)}"


def _text(variables: Variables) -> str:
    return variables if isinstance(variables, str) else _tuple(variables)


def _tuple(items: Sequence[Variables]) -> str:
    """A tuple of all variables, side by side."""
    names = [name for item in items for name in ([item] if isinstance(item, str) else item)]
    return f"({', '.join(names)},)"


def _indent(lines: Sequence[str], columns: int = 4) -> list[str]:
    return [" " * columns + line for line in lines]
