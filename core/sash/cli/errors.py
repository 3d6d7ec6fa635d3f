"""The errors that end a command, and its exit codes."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["DATA", "OK", "USAGE", "DataError", "UsageError", "root_cause", "sentence"]

OK, DATA, USAGE = 0, 1, 2
"""Exit codes: success, bad data, invalid usage."""
_LONGEST = 600


class UsageError(Exception):
    """Invalid usage: arguments, the query file, an engine that is not installed."""


class DataError(Exception):
    """Bad data: a file that cannot be read, a column that is missing or of a wrong type."""


def sentence(error: BaseException) -> str:
    """An error in one line."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
    elif isinstance(error, KeyError) and error.args:  # whose text is a representation, quotes and all
        text = str(error.args[0])
    else:
        text = str(error)
    line = " ".join(text.split()) or type(error).__name__
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def root_cause(texts: Iterable[str]) -> str:
    """The most helpful sentence of the messages of an engine's error and its causes, with or without traces.

    >>> root_cause(["Could not execute", "[Internal error, <Exception on server side:\\na.B: no\\n\\tat a.B.c(B:1)\\n"
    ...             "Caused by: java.io.IOException: no room\\n\\t... 3 more\\n\\nEnd of exception on server side>]"])
    'no room'
    >>> root_cause(["Job aborted", "Traceback:\\n  File x\\nValueError: column 'load', row 3: too large"])
    "column 'load', row 3: too large"
    """
    lines = [line.strip() for text in texts for line in text.splitlines()]
    messages = [
        line for line in lines if line and not line.startswith(("at ", "... ")) and "on server side" not in line
    ]
    ours = [line for line in messages if line.startswith(("TypeError:", "ValueError:", "KeyError:", "OverflowError:"))]
    if ours:
        return ours[-1].partition(": ")[2]
    return re.sub(r"^(Caused by: )?([\w$]+\.)+[\w$]+: ", "", messages[-1]) if messages else "it gives no reason"
