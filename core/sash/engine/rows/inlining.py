"""Writes small functions out as statements, so that generated code need not call them.

    def _combine_deviation(a, b):
        count = a[0] + b[0]                     count__2 = a2_0 + b2_0
        delta = b[1] - a[1]               ──>   delta__2 = b2_1 - a2_1
        …                                       …
        return (count, a[1] + …, …)             r2_0, r2_1, r2_2 = (count__2, a2_1 + …, …)

An argument that is known item by item needs no tuple: ``a[0]`` becomes the variable of its first item. Only functions
of Sash's own aggregations are written out, since they never change. One that is more than assignments, ``if`` and
``return`` has to be called.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from types import FunctionType
from typing import Any

__all__ = ["Variables", "can_write_out", "width_of", "write_out"]

Variables = str | tuple[str, ...]
"""A variable, or those of the items of a tuple."""

_ALLOWED = (
    *(ast.arguments, ast.arg, ast.Assign, ast.If, ast.Return, ast.Raise, ast.Module),
    *(ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.Call, ast.IfExp),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
    ast.expr_context,
)


def write_out(
    function: Any,
    arguments: Sequence[Variables],
    targets: Variables,
    suffix: str,
    scope: dict[str, Any],
    numbers: Collection[str] = (),
) -> list[str] | None:
    """Statements that assign the result of ``function`` to ``targets``; None: it has to be called.

    Its own variables get a suffix. ``scope`` receives the globals that it uses. The arguments ``numbers`` are floats
    and ints, which are their own first power and need no type test.

    >>> from sash.aggregations.means import _mean
    >>> write_out(_mean, [("count", "total")], "mean", "__0", {})
    ['mean = total / count']
    >>> from sash.aggregations.means import _lift_deviation
    >>> write_out(_lift_deviation, ["load"], "partial", "__0", {}, numbers=["load"])
    ['partial = (1, float(load), 0.0)']
    """
    definition = _definition(function)
    if definition is None or len(definition.args.args) != len(arguments):
        return None
    names = {parameter.arg: value for parameter, value in zip(definition.args.args, arguments, strict=True)}
    writer = _Writer(names, _assigned(definition), function.__globals__, suffix, scope, numbers)
    statements = writer.write(deepcopy(definition.body), targets)
    return None if statements is None else [line for part in statements for line in ast.unparse(part).splitlines()]


def can_write_out(function: Any) -> bool:
    """Whether :func:`write_out` may know the function. It still has to fit the place."""
    return _definition(function) is not None


@lru_cache(maxsize=256)
def width_of(function: Any) -> int | None:
    """How many items all tuples have that a function returns, if it can be written out; None: that is not known.

    >>> from sash.aggregations.means import _combine_deviation
    >>> width_of(_combine_deviation)
    3
    """
    definition = _definition(function)
    if definition is None:
        return None
    returned = [node.value for node in ast.walk(definition) if isinstance(node, ast.Return)]
    widths = {len(value.elts) if isinstance(value, ast.Tuple) else None for value in returned}
    return widths.pop() if len(widths) == 1 else None


@lru_cache(maxsize=256)
def _definition(function: Any) -> ast.FunctionDef | None:
    """The syntax of a function that can be written out, without its docstring."""
    ours = type(function) is FunctionType and (function.__module__ or "").startswith("sash.aggregations.")
    if not ours or function.__closure__ or function.__defaults__:
        return None
    try:
        definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError):  # there is no source, or it is a part of a line
        return None
    if not isinstance(definition, ast.FunctionDef) or definition.decorator_list:
        return None
    if ast.get_docstring(definition) is not None:
        del definition.body[0]
    plain = all(isinstance(node, _ALLOWED) for part in definition.body for node in ast.walk(part))
    return definition if plain and _assigned(definition).isdisjoint(_parameters(definition)) else None


def _parameters(definition: ast.FunctionDef) -> list[str]:
    return [parameter.arg for parameter in definition.args.args]


def _assigned(definition: ast.FunctionDef) -> set[str]:
    names = (node for node in ast.walk(definition) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _names(expression: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


class _Writer(ast.NodeTransformer):
    """Writes the body of a function whose parameters are the variables ``names``, and ``local`` its own.

    ``numbers`` are variables that hold floats and ints. So are those that are computed of them.
    """

    def __init__(
        self,
        names: Mapping[str, Variables],
        local: set[str],
        module: Mapping[str, Any],
        suffix: str,
        scope: dict[str, Any],
        numbers: Collection[str],
    ) -> None:
        self._names, self._local, self._module = names, local, module
        self._suffix, self._scope = suffix, scope
        self._numbers = set(numbers)

    def write(self, body: Sequence[ast.stmt], targets: Variables) -> list[ast.stmt] | None:
        """The statements, each ``return`` as an assignment; None: one may come to no end."""
        written: list[ast.stmt] = []
        for number, statement in enumerate(body):
            if isinstance(statement, ast.Return) and statement.value is not None:
                return [*written, *self._assign(targets, statement.value)]
            if isinstance(statement, ast.Raise):
                return [*written, self.visit(statement)]
            if isinstance(statement, ast.If):
                test, numbers = self.visit(statement.test), set(self._numbers)
                is_false = self._is_false(test)
                ends = self.write(statement.body, targets)
                self._numbers = numbers  # what one branch assigns, the other does not
                rest = self.write([*statement.orelse, *body[number + 1 :]], targets)
                if ends is None or rest is None:
                    return None
                return [*written, *(rest if is_false else [ast.If(test, ends, rest)])]
            if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
                return None
            target = _variables(self.visit(statement.targets[0]))
            if target is None:
                return None
            written += self._assign(target, statement.value)
        return None

    def _assign(self, targets: Variables, value: ast.expr) -> list[ast.stmt]:
        """An assignment, or what a function that is called in it comes to."""
        value = self.visit(value)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and not value.keywords:
            called = value.func.id
            arguments = [variables for argument in value.args if (variables := _variables(argument)) is not None]
            if len(arguments) == len(value.args):
                function, suffix = self._scope.get(called), f"__{called}"
                lines = write_out(function, arguments, targets, suffix, self._scope, self._numbers)
                if lines is not None:
                    return ast.parse("\n".join(lines)).body
        if isinstance(targets, tuple) and isinstance(value, ast.Tuple) and _names(value).isdisjoint(targets):
            pairs = zip(targets, value.elts, strict=True)  # one by one, which builds no tuple
            return [ast.Assign([ast.Name(name, ast.Store())], item, lineno=0) for name, item in pairs]
        self._numbers.difference_update([targets] if isinstance(targets, str) else targets)
        if isinstance(value, ast.BinOp) and isinstance(targets, str) and _names(value) <= self._numbers:
            self._numbers.add(targets)
        return [ast.Assign([_expression(targets, ast.Store())], value, lineno=0)]

    def _is_false(self, test: ast.expr) -> bool:
        """Whether a test asks if a plain number is of a type that numbers are not of."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            return any(map(self._is_false, test.values))
        if not isinstance(test, ast.Call) or ast.unparse(test.func) != "isinstance":
            return False
        value, types = map(ast.unparse, test.args)
        asked = self._scope.get(types)
        return value in self._numbers and asked is not None and not any(issubclass(n, asked) for n in (float, int))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        written = self.generic_visit(node)
        assert isinstance(written, ast.BinOp)
        first_power = isinstance(node.op, ast.Pow) and ast.unparse(node.right) == "1"
        return written.left if first_power and _names(written.left) <= self._numbers else written

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._names:
            return _expression(self._names[node.id], node.ctx)
        if node.id in self._local:
            return ast.Name(node.id + self._suffix, node.ctx)
        if node.id not in self._module:  # it is built in
            return node
        name = f"{node.id}_of{self._suffix}"
        self._scope[name] = self._module[node.id]
        return ast.Name(name, node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        items = self._names.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if not isinstance(items, tuple):
            return self.generic_visit(node)  # type: ignore[return-value]
        if isinstance(node.slice, ast.Slice):
            bounds = [
                None if bound is None else ast.literal_eval(bound) for bound in (node.slice.lower, node.slice.upper)
            ]
            return _expression(items[slice(*bounds)], node.ctx)
        return _expression(items[ast.literal_eval(node.slice)], node.ctx)


def _expression(variables: Variables, context: ast.expr_context) -> ast.expr:
    if isinstance(variables, str):
        return ast.Name(variables, context)
    return ast.Tuple([ast.Name(name, context) for name in variables], context)


def _variables(expression: ast.expr) -> Variables | None:
    """The reverse of :func:`_expression`; None: there is more in it than variables."""
    if isinstance(expression, ast.Name):
        return expression.id
    if not isinstance(expression, ast.Tuple):
        return None
    names = tuple([item.id for item in expression.elts if isinstance(item, ast.Name)])
    return names if len(names) == len(expression.elts) else None
