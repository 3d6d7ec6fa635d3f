"""The line of each key in a TOML text, which :mod:`tomllib` does not report.

Texts must be valid: tomllib has read them before. So a scanner of a few kinds of tokens is enough.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["lines_of"]

Path = tuple[str, ...]

_TOKEN = re.compile(
    r'''(?P<text>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')'''
    r"|(?P<comment>\#[^\n]*)|(?P<newline>\n)|(?P<mark>[\[\]{}=,.])|(?P<space>[ \t\r]+)|(?P<bare>[^\s\[\]{}=,.\"'#]+)",
    re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def lines_of(text: str) -> dict[Path, int]:
    """The number of the line, from 1, of every key and every table, by its path. O(length of the text).

    >>> lines_of('key = "plug"\\n\\n[windows.hour]\\nrange = "1h"\\n')
    {('key',): 1, ('windows',): 3, ('windows', 'hour'): 3, ('windows', 'hour', 'range'): 4}
    """
    lines: dict[Path, int] = {}
    tokens = _tokens(text)
    table: Path = ()
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
    """The parts of a dotted key, of which ``token`` is the first, up to the mark behind it."""
    parts: list[str] = []
    while token.text != end:
        if token.kind == "text":
            parts.append(str(tomllib.loads(f"key = {token.text}")["key"]))
        elif token.kind == "bare":
            parts.append(token.text)
        token = next(tokens)
    return parts


def _note(lines: dict[Path, int], base: Path, keys: Path, line: int) -> None:
    for size in range(1, len(keys) + 1):
        lines.setdefault((*base, *keys[:size]), line)


def _value(tokens: Iterator[_Token], path: Path, lines: dict[Path, int]) -> None:
    """Skip a value, and note the keys of the tables within it."""
    around: list[tuple[Path, bool]] = []  # what is open: its path, and whether it is a table, not an array
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
