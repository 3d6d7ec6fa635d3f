"""Reads a query from the content of a file; errors name the line (:mod:`sash.query.file` has the schema)."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from sash import aggregations
from sash.aggregations import Aggregation
from sash.query import Query
from sash.query.import_paths import ImportRefused, Imports, near
from sash.windows import TYPES, Window, punctuated

__all__ = ["OPTIONS", "ROLES", "QueryFileError", "QueryImportError", "Reader", "lines_of"]

_LONGEST = 1000
"""Characters of an error."""
Keys = tuple[str, ...]
"""The path of a key."""

OPTIONS = ("key", "time", "time_unit", "watermark_delay", "allowed_lateness", "algorithm", "combine_time", "early")
"""The arguments of :class:`sash.Query` that are values, not tables."""
_KEYS = (*OPTIONS, "window", "windows", "aggregates")
_FUNCTIONS: dict[str, type[Aggregation]] = {
    name: kind
    for name, kind in vars(aggregations).items()
    if isinstance(kind, type) and issubclass(kind, Aggregation) and kind is not Aggregation
}
ROLES = ("lift", "combine", "lower", "invert")
"""The arguments of :func:`sash.aggregation` that are functions."""


class QueryFileError(ValueError):
    """An error in a query file at ``path`` and ``line`` (from 1)."""

    def __init__(self, path: str, line: int, sentence: str) -> None:
        self.path = path
        self.line = line
        super().__init__(f"{path}, line {line}: {_shorten(sentence)}")


def _shorten(sentence: str) -> str:
    """The sentence without the middle of what it quotes, if that is long."""
    if len(sentence) <= _LONGEST:
        return sentence
    return f"{sentence[: _LONGEST // 2]} […] {sentence[-_LONGEST // 2 :]}"


class QueryImportError(QueryFileError):
    """A query file names code that it may not import: ``reason``.

    Allowing ``module`` would help; if it is None, nothing would.
    """

    def __init__(self, path: str, line: int, reason: str, module: str | None) -> None:
        self.reason = reason
        self.module = module
        remedy = "" if module is None else f"; if you trust the file, say allow_imports=[{module!r}]"
        super().__init__(path, line, reason + remedy)


class Reader:
    """Reads what tomllib returned. ``lines`` are those of the keys, by path; ``imports`` may be imported."""

    def __init__(self, name: str, lines: Mapping[Keys, int], imports: Imports) -> None:
        self.name = name
        self.lines = lines
        self.imports = imports

    def error(self, path: Keys, sentence: str) -> QueryFileError:
        """The error at the line of ``path``, or of the nearest table around it."""
        return QueryFileError(self.name, self.line(path), sentence)

    def line(self, path: Keys) -> int:
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def query(self, content: dict[str, Any]) -> Query:
        self.check_keys((), content, _KEYS)
        self.check_type(("key",), content, "a column name, or a list of them", str, list)
        self.check_type(("time",), content, "a column name", str)
        self.check_type(("time_unit",), content, "'s', 'ms', 'us' or 'ns'", str)
        self.check_type(("algorithm",), content, "a name", str)
        self.check_type(("combine_time",), content, "a duration such as '2us'", str)
        if ("window" in content) == ("windows" in content):
            where = ("windows",) if "windows" in content else ()
            raise self.error(where, "expected either one [window] or several [windows.NAME]")
        aggregates = {
            name: self.aggregate(("aggregates", name), table) for name, table in self.tables("aggregates", content)
        }
        windows: Any
        if "windows" in content:
            windows = {name: self.window(("windows", name), table) for name, table in self.tables("windows", content)}
        else:
            windows = self.window(("window",), content["window"])
        options = {name: content[name] for name in OPTIONS if name in content}
        try:
            return Query(windows=windows, aggregates=aggregates, **options)
        except (TypeError, ValueError, OverflowError) as error:
            raise self.error(self.culprit(content, str(error)), str(error)) from error

    def tables(self, section: str, content: dict[str, Any]) -> Any:
        tables = content.get(section)
        if not isinstance(tables, dict) or not tables:
            raise self.error((section,), f"expected a table [{section}.NAME] for each of the {section}")
        return tables.items()

    def window(self, path: Keys, table: Any) -> Window:
        kind, arguments = self.split(path, table, "type", TYPES)
        if kind == "punctuated":
            return self.build(path, table, punctuated, self.punctuation(path, arguments), {})  # type: ignore[no-any-return]
        if kind == "while" and isinstance(arguments.get("policy"), str):
            arguments["policy"] = self.object((*path, "policy"), arguments["policy"])
        make = TYPES.get(kind) or self.object((*path, "type"), kind)
        # Windows are immutable, and so are the values of their arguments.
        arguments = {name: tuple(value) if isinstance(value, list) else value for name, value in arguments.items()}
        window = self.build(path, table, make, (), arguments)
        if not isinstance(window, Window):
            raise self.error((*path, "type"), f"expected a window; {kind!r} is {window!r}")
        return window

    def punctuation(self, path: Keys, arguments: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of ``punctuated``: a column, or a function and its columns."""
        self.check_keys(path, arguments, ("when", "columns"))
        if not isinstance(when := arguments.get("when"), str):
            raise self.error(
                (*path, "when"), "expected when: a boolean column, or the path of a function, with columns"
            )
        if "columns" not in arguments:
            return (when,)
        return (self.object((*path, "when"), when), *self.columns(path, arguments["columns"]))

    def aggregate(self, path: Keys, table: Any) -> Aggregation:
        kind, arguments = self.split(path, table, "function", (*_FUNCTIONS, "aggregation"))
        columns = self.columns(path, arguments.pop("columns", ()))
        make: Any
        if kind == "aggregation":
            make = aggregations.aggregation
            for role in ROLES:
                if role in arguments:
                    arguments[role] = self.object((*path, role), arguments[role])
            columns, arguments["columns"] = (), columns
        else:
            make = _FUNCTIONS.get(kind) or self.object((*path, "function"), kind)
        aggregate = self.build(path, table, make, columns, arguments)
        if not isinstance(aggregate, Aggregation):
            raise self.error((*path, "function"), f"expected an aggregation; {kind!r} is {aggregate!r}")
        return aggregate

    def split(self, path: Keys, table: Any, key: str, known: Collection[str]) -> tuple[str, dict[str, Any]]:
        """The value of ``key`` in a table, which says what it describes, and its other keys, the arguments."""
        if not isinstance(table, dict):
            remedy = "; one window is [window], several are [windows.NAME]" if path[0] == "windows" else ""
            raise self.error(path, f"expected a table with a {key}; got {table!r}{remedy}")
        if key not in table:
            raise self.error(path, f"expected {key}: one of {', '.join(known)}, or a path 'package.module:object'")
        kind = table[key]
        if not isinstance(kind, str) or (kind not in known and ":" not in kind):
            hint = near(kind, known) or f"; expected one of {', '.join(known)}, or a path 'package.module:object'"
            raise self.error((*path, key), f"unknown {key} {kind!r}{hint}")
        return kind, {name: value for name, value in table.items() if name != key}

    def build(self, path: Keys, table: Any, make: Any, columns: tuple[Any, ...], arguments: dict[str, Any]) -> Any:
        """Call a class or a function with the arguments; an object that is ready takes none."""
        if not callable(make):
            if columns or arguments:
                raise self.error((*path, next(iter(arguments), "columns")), f"{make!r} is ready and takes no arguments")
            return make
        parameters = _parameters(make)
        if parameters is not None:
            self.check_keys(path, arguments, parameters, ("columns",) if path[0] == "aggregates" else ())
        try:
            return make(*columns, **arguments)
        except (TypeError, ValueError, ImportError, OverflowError) as error:
            raise self.error((*path, *self.culprit(table, str(error))), str(error)) from error

    def columns(self, path: Keys, columns: Any) -> tuple[str, ...]:
        names = (columns,) if isinstance(columns, str) else columns
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise self.error((*path, "columns"), f"expected a column name, or a list of them; got {columns!r}")
        return tuple(names)

    def object(self, path: Keys, name: Any) -> Any:
        if not isinstance(name, str):
            raise self.error(path, f"expected the path of a Python object, 'package.module:object'; got {name!r}")
        try:
            return self.imports.load(name)
        except ImportRefused as error:
            raise QueryImportError(self.name, self.line(path), str(error), error.module) from error
        except ValueError as error:
            raise self.error(path, str(error)) from error

    def check_keys(self, path: Keys, table: dict[str, Any], known: Collection[str], more: Collection[str] = ()) -> None:
        """Refuse unknown keys. ``more`` are known too, but not listed as expected."""
        for key in table:
            if key not in known and key not in more:
                hint = near(key, [*known, *more]) or f"; expected {', '.join(known) or 'no arguments'}"
                raise self.error((*path, key), f"unknown key {key!r}{hint}")

    def check_type(self, path: Keys, table: dict[str, Any], expected: str, *types: type) -> None:
        if path[-1] in table and not isinstance(table[path[-1]], types):
            raise self.error(path, f"{path[-1]} must be {expected}; got {table[path[-1]]!r}")

    def culprit(self, table: dict[str, Any], message: str) -> Keys:
        """The key, or the table, that a message names first; else the key whose value it quotes."""
        words = re.findall(r"\w+", message)
        for word in words:
            if word in table and word not in ("window", "windows"):
                return (word,)
            for section in ("aggregates", "windows"):
                if f"{word!r}" in message and word in table.get(section, ()):
                    return (section, word)
        quoted = next((key for key, value in table.items() if isinstance(value, str) and repr(value) in message), None)
        if quoted is not None:
            return (quoted,)
        return ("columns",) if any(word.startswith("column") for word in words) and "columns" in table else ()


def _parameters(make: Any) -> list[str] | None:
    """The names of the arguments of a function; None if it takes any."""
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL]


# the lines of keys


_TOKEN = re.compile(
    r'''(?P<text>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')'''
    r"|(?P<comment>\#[^\n]*)|(?P<newline>\n)|(?P<mark>[\[\]{}=,.])|(?P<space>[ \t\r]+)|(?P<bare>[^\s\[\]{}=,.\"'#]+)",
    re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def lines_of(text: str) -> dict[Keys, int]:
    """The number of the line, from 1, of every key and every table, by its path. O(length of the text).

    :mod:`tomllib` does not report it. It has read the text before, so a scanner of a few kinds of tokens is enough.

    >>> lines_of('key = "plug"\\n\\n[windows.hour]\\nrange = "1h"\\n')
    {('key',): 1, ('windows',): 3, ('windows', 'hour'): 3, ('windows', 'hour', 'range'): 4}
    """
    lines: dict[Keys, int] = {}
    tokens = _tokens(text)
    table: Keys = ()
    for token in tokens:
        if token.kind == "newline":
            continue
        if token.text == "[":
            keys = _key(tokens, next(tokens), "]")
            table = tuple(keys)
            _note(lines, (), table, token.line)
            for rest in tokens:
                if rest.kind == "newline":
                    break
        else:
            keys = _key(tokens, token, "=")
            _note(lines, table, tuple(keys), token.line)
            _value(tokens, (*table, *keys), lines)
    return lines


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind not in ("comment", "space"):
            yield _Token(kind, match[0], line)
        line += match[0].count("\n")


def _key(tokens: Iterator[_Token], token: _Token, end: str) -> list[str]:
    """The parts of a dotted key, of which ``token`` is the first, up to the mark after it."""
    parts: list[str] = []
    while token.text != end:
        if token.kind == "text":
            parts.append(str(tomllib.loads(f"key = {token.text}")["key"]))
        elif token.kind == "bare":
            parts.append(token.text)
        token = next(tokens)
    return parts


def _note(lines: dict[Keys, int], base: Keys, keys: Keys, line: int) -> None:
    for size in range(1, len(keys) + 1):
        lines.setdefault((*base, *keys[:size]), line)


def _value(tokens: Iterator[_Token], path: Keys, lines: dict[Keys, int]) -> None:
    """Skip a value, and note the keys of the tables within it."""
    around: list[tuple[Keys, bool]] = []  # what is open: its path, and whether it is a table, not an array
    key_is_next = False
    for token in tokens:
        if token.text in ("[", "{"):
            around.append((path, token.text == "{"))
            key_is_next = token.text == "{"
        elif token.text in ("]", "}"):
            path, _ = around.pop()
            key_is_next = False
        elif token.text == ",":
            path, key_is_next = around[-1]
        elif token.kind == "newline":
            if not around:
                return
        elif key_is_next:
            keys = _key(tokens, token, "=")
            _note(lines, path, tuple(keys), token.line)
            path, key_is_next = (*path, *keys), False
