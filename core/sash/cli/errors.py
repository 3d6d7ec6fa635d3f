"""The errors that end a command, and its exit codes."""

from __future__ import annotations

__all__ = ["DATA", "OK", "USAGE", "DataError", "UsageError", "sentence"]

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
