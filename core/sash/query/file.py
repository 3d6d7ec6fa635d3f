"""Queries as TOML files, read and written; errors of reading point at the line.

```toml
key = "plug"                      # a column, or several: ["house", "plug"]; none: leave it out
time = "ts"                       # the event-time column; none: arrival order
time_unit = "ms"                  # what plain numbers in it are: "s", "ms", "us", "ns"; timestamps: leave it out
watermark_delay = "2s"            # a duration, a number, or by column: { ts = "2s", km = 0.5 }
allowed_lateness = "10s"          # likewise
# early = "10s"                   # likewise: open windows are emitted every 10 s
algorithm = "auto"
combine_time = "2us"              # the duration of one merge; without it, it is measured

[window]                          # one window; or several by name: [windows.hour], [windows.visit]
type = "sliding"
range = "1h"
slide = "10s"

[aggregates.peak]                 # a table for each aggregate
function = "Max"
columns = "load"                  # a column, or several

[aggregates.p99]
function = "Quantile"
columns = "load"
q = 0.99
```

| type | keys |
| --- | --- |
| "sliding" | range, slide (1), offset (0), on, partial (false), center (false), min_periods, zone, week_start |
| "tumbling" | range, offset (0), on, zone, week_start ("monday") |
| "cumulative" | range, step, which divides it, offset (0), on |
| "trailing" | range, closed ("right"), on |
| "session" | gap, on |
| "punctuated" | when: a boolean column; or the path of a function, with the columns that it takes |
| "while" | policy: the path of a function policy(total, oldest), on |
| "last" | count, every, offset (0), on, partial (false) |
| "package.module:Name" | the arguments of a class of windows; none for a window that is ready |

``where = "paid"`` in any of them names a boolean column: rows for which it is not true do not count. ``function`` is an
aggregation of Sash, with its arguments; or the path "package.module:object" of a user's own, a
class, with its arguments, or a ready one, with nothing else; or "aggregation", with the paths of ``lift``, ``combine``,
``lower`` and ``invert`` and the other arguments of :func:`sash.aggregation`.

Paths import Python code, and run it, so a query file may name none unless the program allows its package:
``load_query(path, allow_imports=["package"])``.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from sash import aggregations
from sash.aggregations import Aggregation
from sash.query import Query
from sash.query.import_paths import Imports, global_path, path_of
from sash.query.read import OPTIONS, ROLES, QueryFileError, QueryImportError, Reader, lines_of
from sash.windows import Window

__all__ = ["QueryFileError", "QueryImportError", "dump_query", "load_query", "parse_query"]

Table = dict[str, Any]
_MOST_DOTS = 1000
"""In a line. Python's TOML reader takes memory that grows with the square of the parts of a dotted key."""


def load_query(path: str | os.PathLike[str], *, allow_imports: Iterable[str] = ()) -> Query:
    """The query of a TOML file.

    ``allow_imports`` lists the modules whose code a file may name: ``["house"]`` allows "house:lift" and
    "house.plugs:lift". Loading such a file runs code of those modules.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = Path(path).read_bytes()[: error.start].count(b"\n") + 1
        raise QueryFileError(str(path), line, "the file is not a text in UTF-8") from error
    return parse_query(text, str(path), allow_imports=allow_imports)


def parse_query(text: str, name: str = "query", *, allow_imports: Iterable[str] = ()) -> Query:
    """The query of a TOML text, which errors call ``name``. ``allow_imports`` is as for :func:`load_query`.

    >>> parse_query('''
    ... window = { type = "sliding", range = 16 }
    ... aggregates.peak = { function = "Max", columns = "load" }
    ... ''').aggregates
    {'peak': Max('load')}
    """
    imports = Imports(allow_imports)
    for number, words in enumerate(text.split("\n"), 1):
        if words.count(".") > _MOST_DOTS:
            raise QueryFileError(name, number, "the parts of its keys are nested too deeply to be read")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else text.count("\n") + 1
        raise QueryFileError(name, line, f"this is not TOML: {error}") from error
    except RecursionError as error:
        raise QueryFileError(name, _most_nested_line(text), "values are nested too deeply to be read") from error
    except ValueError as error:  # Python refuses to read longer numbers
        line = _line_at(text, re.search(rf"\d[\d_]{{{sys.get_int_max_str_digits()},}}", text))
        raise QueryFileError(name, line, f"the number is too long: {error}") from error
    return Reader(name, lines_of(text), imports).query(content)


def _line_at(text: str, match: re.Match[str] | None) -> int:
    return 1 if match is None else text.count("\n", 0, match.start()) + 1


def _most_nested_line(text: str) -> int:
    """The line that opens most arrays and tables."""
    lines = text.splitlines() or [""]
    return max(range(len(lines)), key=lambda number: lines[number].count("[") + lines[number].count("{")) + 1


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
    import tomli_w  # only who writes a file waits for it

    document: Table = {name: getattr(query, name) for name in OPTIONS}
    if query.algorithm == "auto":
        document["algorithm"] = None
    windows = {title: _window(window) for title, window in query.named.items()}
    document |= {"window": windows[None]} if None in windows else {"windows": windows}
    document["aggregates"] = {name: _aggregate(name, aggregation) for name, aggregation in query.aggregates.items()}
    return tomli_w.dumps(_writable(document))


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
        raise ValueError(f"{window!r} holds values that a file cannot describe: make {kind.__name__} a dataclass")
    else:
        arguments = {}
    return {"type": path_of(kind, f"the type of {window!r}")} | arguments


def _aggregate(name: str, aggregation: Aggregation) -> Table:
    """An aggregate's table."""
    kind, names, arguments = type(aggregation), aggregation.inputs, aggregation._arguments()
    columns = {"columns": names[0] if len(names) == 1 else list(names)} if names else {}
    if getattr(aggregations, kind.__name__, None) is kind:
        return {"function": kind.__name__, **columns, **_non_defaults(kind, arguments)}
    if not kind.__module__.startswith("sash."):
        return {"function": path_of(kind, f"aggregate {name!r}"), **columns, **_non_defaults(kind, arguments)}
    table: Table = {"function": "aggregation", **columns}
    options = _non_defaults(aggregations.aggregation, arguments)
    try:
        paths = {role: path_of(options[role], f"aggregate {name!r}: {role}") for role in ROLES if role in options}
    except ValueError:
        modules = (getattr(arguments[role], "__module__", None) or "" for role in ROLES)
        ready = next((path for module in modules if (path := global_path(aggregation, module))), None)
        if ready is None:
            raise
        return {"function": ready}
    return table | {
        argument: value.value if isinstance(value, Enum) else value for argument, value in (options | paths).items()
    }


def _non_defaults(make: Callable[..., Any], arguments: Table) -> Table:
    """The arguments that differ from their defaults."""
    parameters = inspect.signature(make).parameters
    return {
        name: value
        for name, value in arguments.items()
        if name not in parameters or (value is not parameters[name].default and value != parameters[name].default)
    }


def _writable(value: Any) -> Any:
    """A value as TOML has it: without what is None."""
    if isinstance(value, bool | str | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_writable(part) for part in value]
    if isinstance(value, Mapping):
        return {name: _writable(part) for name, part in value.items() if part is not None}
    raise ValueError(f"{value!r} of type {type(value).__name__} cannot be written into a query file")
