"""A query as TOML text, such as :mod:`sash.query.file` reads."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from sash import aggregations
from sash.aggregations import Aggregation
from sash.query import Query
from sash.query.import_paths import global_path, path_of
from sash.values.timestamps import as_duration
from sash.windows import Window

__all__ = ["dump_query"]

Table = dict[str, Any]
_ROLES = ("lift", "combine", "lower", "invert")


def dump_query(query: Query) -> str:
    """The query as TOML text, from which :func:`sash.load_query` makes an equal one.

    Users' functions are written as paths whose modules ``allow_imports`` of ``load_query`` must name. Raises ValueError
    for a function without one: a lambda, a local function or one of the program itself. Durations are written as texts.

    >>> import sash
    >>> print(dump_query(sash.Query(windows=sash.tumbling("1m"), aggregates={"peak": sash.Max("load")}, time="ts")))
    time = "ts"
    <BLANKLINE>
    [window]
    type = "tumbling"
    range = "1m"
    <BLANKLINE>
    [aggregates.peak]
    function = "Max"
    columns = "load"
    <BLANKLINE>
    """
    options: Table = {"key": query.key, "time": query.time, "time_unit": query.time_unit}
    for name in ("watermark_delay", "allowed_lateness"):
        amount = getattr(query, name)
        options[name] = {k: _amount(v) for k, v in amount.items()} if isinstance(amount, Mapping) else _amount(amount)
    options["algorithm"] = None if query.algorithm == "auto" else query.algorithm
    tables = [("", options)]
    for title, window in query.named.items():
        tables.append(("window" if title is None else f"windows.{_key(title)}", _window(window)))
    for name, aggregation in query.aggregates.items():
        tables.append((f"aggregates.{_key(name)}", _aggregate(name, aggregation)))
    return "\n".join(text for name, table in tables if (text := _text(name, table)))


def _text(title: str, table: Table) -> str:
    lines = [f"{_key(name)} = {_toml(value)}" for name, value in table.items() if value is not None]
    return "".join(f"{line}\n" for line in ([f"[{title}]"] if title else []) + lines)


def _amount(value: Any) -> Any:
    return as_duration(value, "a duration") if isinstance(value, timedelta) else value


def _window(window: Window) -> Table:
    """A window's table."""
    table = window.file_table()
    if table is None:
        return _own_window(window)
    return {name: path_of(value, name) if callable(value) else value for name, value in table.items()}


def _own_window(window: Any) -> Table:
    """A window of a user's type: by the path of a ready one, or of its class, with the arguments that it has."""
    kind = type(window)
    ready = global_path(window, kind.__module__)
    if ready is not None:
        return {"type": ready}
    if is_dataclass(window):
        arguments = {field.name: getattr(window, field.name) for field in fields(window) if field.init}
    elif vars(window):
        raise ValueError(f"{window!r} holds values that a file cannot tell: make {kind.__name__} a dataclass")
    else:
        arguments = {}
    return {"type": path_of(kind, f"the type of {window!r}")} | arguments


def _aggregate(name: str, aggregation: Aggregation) -> Table:
    """An aggregate's table."""
    kind, columns = type(aggregation), _columns(aggregation)
    arguments = aggregation._arguments()
    if getattr(aggregations, kind.__name__, None) is kind:
        return {"function": kind.__name__, **columns, **_non_defaults(kind, arguments)}
    if not kind.__module__.startswith("sash."):
        return {"function": path_of(kind, f"aggregate {name!r}"), **columns, **_non_defaults(kind, arguments)}
    table: Table = {"function": "aggregation", **columns}
    options = _non_defaults(aggregations.aggregation, arguments)
    try:
        paths = {role: path_of(options[role], f"aggregate {name!r}: {role}") for role in _ROLES if role in options}
    except ValueError:
        ready = next((path for role in _ROLES if (path := _ready(aggregation, arguments[role]))), None)
        if ready is None:
            raise
        return {"function": ready}
    return table | {
        argument: value.value if isinstance(value, Enum) else value for argument, value in (options | paths).items()
    }


def _ready(aggregation: Aggregation, function: Any) -> str | None:
    """The path of the aggregation itself, if it is a global of the module that one of its functions is in."""
    return global_path(aggregation, getattr(function, "__module__", None) or "")


def _columns(aggregation: Aggregation) -> Table:
    names = aggregation.columns
    return {"columns": names[0] if len(names) == 1 else list(names)} if names else {}


def _non_defaults(make: Callable[..., Any], arguments: Table) -> Table:
    """The arguments that differ from their defaults."""
    parameters = inspect.signature(make).parameters
    return {
        name: value
        for name, value in arguments.items()
        if name not in parameters or (value is not parameters[name].default and value != parameters[name].default)
    }


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_toml(part)}" for name, part in value.items()) + " }"
    raise ValueError(f"{value!r} of type {type(value).__name__} cannot be written into a query file")
