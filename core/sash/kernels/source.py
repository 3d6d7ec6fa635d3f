"""The generator of kernels: it fills in their text for one shape of partials and results.

A partial is a number or a tuple of numbers, nested perhaps, and held in one array a number. Numba wants each array
named where it is used, so the texts say what they mean, and :meth:`Shape.fill` writes it out. Of two numbers:

    {load A[k]}            (A[0][k], A[1][k])              the partial at k of the arrays A
    {store B[k] = g}       B[0][k] = g[0]; B[1][k] = g[1]
    {put V[t] = y}         V[0][t] = y                     the same for a result
    {lift X[k]}            lift(X[0][k])                   the partial of the row at k
    {lift X[k] from o}     lift(X[0][k], o)                the same with the functions for full windows
    {spoils X[k]}          X[0][k] != X[0][k]              whether the row is NaN, if that needs other functions
    {inputs X[a:b]}        (X[0][a:b], )                   views of input columns; likewise of partials and results
    {copy_inputs R[k] = X[k]}   R[0][k] = X[0][k]          likewise of results
    {empty B[n]}           (np.empty(n, B[0].dtype), … )   arrays for n partials

A name in braces, ``{emit}``, is a part that the caller passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sash.kernels.kinds import Kind, leaves

__all__ = ["COMBINE_FLAGGED", "Shape", "cast", "with_flag"]

# A flag before a partial is False for the identity, the partial of nothing but nulls.
COMBINE_FLAGGED = """
@part
def {flagged}(a, b):
    if not a[0]:
        return b
    if not b[0]:
        return a
    return (True, {bare}(a[1], b[1]))

"""

_PART = re.compile(r"\{(\w+)\}")
_EXPRESSION = re.compile(r"\{(\w+) (\w+)\[([^\]]*)\](?: (?:=|from) (\w+)(?:\[\w+\])?)?\}")


def with_flag(partial: Kind) -> Kind:
    """The kind of a partial with its flag."""
    return ("bool", partial)


def cast(kind: Kind, value: str) -> str:
    """An expression for ``value`` with numbers of just the types in ``kind``."""
    if isinstance(kind, tuple):
        return "(" + "".join(f"{cast(part, f'{value}[{i}]')}, " for i, part in enumerate(kind)) + ")"
    return f"bool({value})" if kind == "bool" else f"np.{kind}({value})"


@dataclass(frozen=True)
class Shape:
    """What the text of kernels depends on."""

    columns: int
    """Input columns, that of nulls included."""
    partial: Kind
    """A partial as kernels load it, with its flag if it is ``flagged``."""
    result: Kind
    flagged: bool
    nullable: bool = False
    """Whether a result may be None."""
    first: int = 0
    """Which of the arrays of partials is the first that kernels load."""
    full: bool = False
    """Whether the functions are those of :class:`sash.aggregations.base.Full`."""
    watched: bool = False
    """Whether NaN spoils them."""

    def fill(self, text: str, **parts: str) -> str:
        """The text with its parts, and then its expressions, filled in."""
        complete = _PART.sub(lambda match: parts[match[1]], text)
        return _EXPRESSION.sub(lambda match: getattr(self, f"_{match[1]}")(*match.groups()[1:]), complete)

    def emit(self) -> str:
        """Statements that put the result of the partial r in its arrays; the identity, or a result None, is a null."""
        lines = ["if not r[0]:", "    null[o] = True", "    return"] if self.flagged else []
        lines += [f"y = lower({'r[1]' if self.flagged else 'r'}{', n' if self.full else ''})"]
        if self.nullable:
            lines += ["if y is None:", "    null[o] = True", "    return"]
        return "\n    ".join([*lines, self._put("out", "o", "y")])

    def _load(self, arrays: str, position: str, _: str | None) -> str:
        numbers = iter(range(self.first, self.first + _count(self.partial)))

        def expression(part: Kind) -> str:
            if isinstance(part, tuple):
                return "(" + "".join(f"{expression(inner)}, " for inner in part) + ")"
            return f"{arrays}[{next(numbers)}][{position}]"

        return expression(self.partial)

    def _store(self, arrays: str, position: str, name: str) -> str:
        return _assignments(arrays, position, name, self.partial, self.first)

    def _put(self, arrays: str, position: str, name: str) -> str:
        return _assignments(arrays, position, name, self.result)

    def _lift(self, arrays: str, position: str, origin: str | None) -> str:
        values = [f"{arrays}[{i}][{position}]" for i in range(self.columns)]
        return f"lift({', '.join([*values, origin] if self.full and origin else values)})"

    def _spoils(self, arrays: str, position: str, _: str | None) -> str:
        value = f"{arrays}[0][{position}]"
        return f"{value} != {value}" if self.watched else "False"

    def _inputs(self, arrays: str, part: str, _: str | None) -> str:
        return _tuple(f"{arrays}[{i}][{part}]" for i in range(self.columns))

    def _partials(self, arrays: str, part: str, _: str | None) -> str:
        return _tuple(f"{arrays}[{i}][{part}]" for i in range(_count(self.partial)))

    def _results(self, arrays: str, part: str, _: str | None) -> str:
        return _tuple(f"{arrays}[{i}][{part}]" for i in range(_count(self.result)))

    def _copy_inputs(self, arrays: str, position: str, others: str) -> str:
        return "; ".join(f"{arrays}[{i}][{position}] = {others}[{i}][{position}]" for i in range(self.columns))

    def _copy_results(self, arrays: str, position: str, others: str) -> str:
        results = range(_count(self.result))
        return "; ".join(f"{arrays}[{i}][{position}] = {others}[{i}][{position}]" for i in results)

    def _empty(self, arrays: str, size: str, _: str | None) -> str:
        return _tuple(f"np.empty({size}, {arrays}[{i}].dtype)" for i in range(_count(self.partial)))


def _count(kind: Kind) -> int:
    return len(list(leaves(kind)))


def _tuple(expressions: Iterator[str]) -> str:
    return "(" + "".join(f"{expression}, " for expression in expressions) + ")"


def _assignments(arrays: str, position: str, name: str, kind: Kind, first: int = 0) -> str:
    return "; ".join(f"{arrays}[{i}][{position}] = {name}{path}" for i, (path, _) in enumerate(leaves(kind), first))
