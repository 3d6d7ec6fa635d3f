"""Python objects by name, "package.module:object", as a file can tell them."""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from difflib import get_close_matches
from typing import Any

__all__ = ["global_path", "imported", "near", "path_of"]


def imported(path: str) -> Any:
    """The object of this path. Imports its module, which runs the module's code; a ValueError says what is not there.

    >>> imported("operator:add")(1, 2)
    3
    """
    module_name, _, names = path.partition(":")
    if not module_name or not names:
        raise ValueError(f"{path!r} is not the path of an object: write 'package.module:object'")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # whatever the module's own code raises
        raise ValueError(f"cannot import {module_name!r}: {error}") from error
    for name in names.split("."):
        if not hasattr(found, name):
            raise ValueError(f"there is no {name!r} in {module_name!r}{near(name, dir(found))}")
        found = getattr(found, name)
    return found


def near(name: str, known: Any) -> str:
    """A question that suggests the nearest of the known names, as the end of a sentence; nothing if none is near."""
    close = get_close_matches(str(name), [str(other) for other in known], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def path_of(thing: Any, what: str) -> str:
    """The path under which another process finds the object; a ValueError if it has none. ``what`` it is for errors.

    >>> path_of(max, "combine")
    'builtins:max'
    """
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if module == "__main__":
        raise ValueError(f"{what} is defined in the program itself: put {name} into a module that a file can name")
    if module is not None and name is not None and "<" not in name:
        with suppress(ValueError):
            if imported(f"{module}:{name}") is thing:
                return f"{module}:{name}"
    odd = "a lambda" if (name or "").endswith("<lambda>") else "a local function or an object without a name"
    raise ValueError(f"{what} is {odd}, which a file cannot name: put it into a module, at its top level, with a name")


def global_path(thing: Any, module: str) -> str | None:
    """The path of an object that is a global of this module, as users' ready aggregations are; None if it is none."""
    if module == "__main__" or module not in sys.modules:
        return None
    names = (name for name, value in vars(sys.modules[module]).items() if value is thing)
    return next((f"{module}:{name}" for name in names), None)
