"""Python objects by their path in a file, "package.module:object"."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from sash.aggregations import Aggregation
from sash.windows import Window

__all__ = ["ImportRefused", "Imports", "global_path", "import_path", "near", "path_of"]

_OF_TYPES = (MethodDescriptorType, ClassMethodDescriptorType, WrapperDescriptorType, GetSetDescriptorType)


class ImportRefused(ValueError):
    """A path names code that is not allowed. Allowing ``module`` would help; if it is None, nothing would."""

    def __init__(self, sentence: str, module: str | None) -> None:
        self.module = module
        super().__init__(sentence)


class Imports:
    """What a file may import: modules by their prefixes, so that "house" allows house and house.plugs, not houses.

    Importing a module runs its code, so names are checked first. No path leads from an allowed module to another one:
    not through a module that it imports, nor by a function or class from elsewhere, nor by a name such as
    ``__globals__``.

    >>> Imports(["operator"]).load("operator:add")(1, 2)
    3
    >>> Imports().load("os:system")
    Traceback (most recent call last):
    ...
    sash.query.import_paths.ImportRefused: 'os:system' names code of module 'os', which is not allowed
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        if isinstance(allowed, str):
            raise TypeError(f"allow_imports must be a list of module names, as in [{allowed!r}]; got {allowed!r}")
        self.allowed = tuple(allowed)
        for prefix in self.allowed:
            if not isinstance(prefix, str) or not all(part.isidentifier() for part in prefix.split(".")):
                raise ValueError(f"allow_imports must be module names, such as 'package.module'; got {prefix!r}")

    def load(self, path: str) -> Any:
        """The object of a path. Raises ValueError if it is not there, ImportRefused if it is not allowed."""
        module, names = _split(path)
        self._check_module(path, module)
        hidden = next((name for name in names if name.startswith("__")), None)
        if hidden is not None:
            raise ImportRefused(f"{path!r} names {hidden!r}, which is an inner part of Python", None)
        for thing in _objects(module, names):
            self._check_owner(path, thing)
        return thing

    def _check_module(self, path: str, module: str) -> None:
        prefix = next((prefix for prefix in self.allowed if _is_within(module, prefix)), None)
        if prefix is None:
            raise ImportRefused(f"{path!r} names code of module {module!r}, which is not allowed", module)
        if "__" in module.removeprefix(prefix):  # package.__main__ would run a program
            raise ImportRefused(f"{path!r} names an inner part of package {prefix!r}", None)

    def _check_owner(self, path: str, thing: Any) -> None:
        """Refuse what an allowed module imports from another one. Objects that it creates are its own."""
        owner = _owner(thing)
        if owner is None or (owner.startswith("sash.") and _is_part_of_query(thing)):
            return
        # C parts of the standard library are in modules of their own: operator.add is of _operator.
        if not any(_is_within(owner, prefix) or owner == f"_{prefix}" for prefix in self.allowed):
            raise ImportRefused(f"{path!r} leads to code of module {owner!r}, which is not allowed", owner)


def _owner(thing: Any) -> str | None:
    """The module whose code a module, class, function or method is; None for other objects."""
    if isinstance(thing, ModuleType):
        return thing.__name__
    if isinstance(thing, _OF_TYPES):
        return str(thing.__objclass__.__module__)
    if isinstance(thing, type | FunctionType | BuiltinFunctionType | MethodType):
        return str(thing.__module__ or type(getattr(thing, "__self__", None)).__module__)
    return None


def _is_part_of_query(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, Aggregation | Window)


def _is_within(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(f"{prefix}.")


def _split(path: str) -> tuple[str, list[str]]:
    module, _, names = path.partition(":")
    parts = [*module.split("."), *names.split(".")]
    if not all(part.isidentifier() for part in parts):
        raise ValueError(f"{path!r} is not the path of an object: write 'package.module:object'")
    return module, names.split(".")


def _objects(module: str, names: list[str]) -> Iterator[Any]:
    """The objects that a path leads to, each an attribute of the one before, the first of the module."""
    try:
        thing: Any = importlib.import_module(module)
    except Exception as error:  # whatever the module's own code raises
        raise ValueError(f"cannot import {module!r}: {error}") from error
    for name in names:
        if not hasattr(thing, name):
            raise ValueError(f"there is no {name!r} in {module!r}{near(name, dir(thing))}")
        thing = getattr(thing, name)
        yield thing


def import_path(path: str) -> Any:
    """The object of a trusted path; :class:`Imports` loads those of files. Raises ValueError if it is not there.

    >>> import_path("operator:add")(1, 2)
    3
    """
    *_, thing = _objects(*_split(path))
    return thing


def near(name: str, known: Any) -> str:
    """Suggest the closest of the known names, as the end of a sentence; empty if none is close."""
    close = get_close_matches(str(name), [str(other) for other in known], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def path_of(thing: Any, what: str) -> str:
    """The path by which another process finds an object. Raises ValueError, which calls it ``what``, if it has none.

    >>> path_of(max, "combine")
    'builtins:max'
    """
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if module == "__main__":
        raise ValueError(f"{what} is defined in the program itself: put {name} into a module that a file can name")
    if module is not None and name is not None and "<" not in name:
        with suppress(ValueError):
            if import_path(f"{module}:{name}") is thing:
                return f"{module}:{name}"
    odd = "a lambda" if (name or "").endswith("<lambda>") else "a local function or an object without a name"
    raise ValueError(f"{what} is {odd}, which a file cannot name: put it into a module, at its top level, with a name")


def global_path(thing: Any, module: str) -> str | None:
    """The path of an object that is a global of this module, such as a user's aggregation; None if it is not."""
    if module == "__main__" or module not in sys.modules:
        return None
    names = (name for name, value in vars(sys.modules[module]).items() if value is thing)
    return next((f"{module}:{name}" for name in names), None)
