"""Queries as files: TOML in, a :class:`sash.Query` out, and errors that point at the line.

```toml
key = "plug"                      # a column, or several: ["house", "plug"]; none: leave it out
time = "ts"                       # the event-time column; none: arrival order
time_unit = "ms"                  # what plain numbers in it are: "s", "ms", "us", "ns"; timestamps: leave it out
watermark_delay = "2s"            # a duration, a number, or by column: { ts = "2s", km = 0.5 }
allowed_lateness = "10s"          # likewise
algorithm = "auto"

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
| "sliding" | range, slide (1), offset (0), on, partial (false) |
| "tumbling" | range, offset (0), on |
| "session" | gap, on |
| "punctuated" | when: a boolean column; or the path of a function, with columns, which it is given |
| "last" | count, every, offset (0), on, partial (false) |
| "package.module:Name" | the arguments of a class of windows; none for a window that is ready |

``function`` is an aggregation of Sash, with its arguments; or the path "package.module:object" of a user's own, a
class, with its arguments, or a ready one, with nothing else; or "aggregation", with the paths of ``lift``, ``combine``,
``lower`` and ``invert`` and the other arguments of :func:`sash.aggregation`.

Paths import Python code, and run it, so a query file may name none unless the program allows its package:
``load_query(path, allow_imports=["package"])``.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

from sash.query import Query
from sash.query.import_paths import Imports
from sash.query.read import QueryFileError, QueryImportError, Reader
from sash.query.toml_lines import lines_of
from sash.query.write import dump_query

__all__ = ["QueryFileError", "QueryImportError", "dump_query", "load_query", "parse_query"]


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
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else text.count("\n") + 1
        raise QueryFileError(name, line, f"this is not TOML: {error}") from error
    return Reader(name, lines_of(text), imports).query(content)
