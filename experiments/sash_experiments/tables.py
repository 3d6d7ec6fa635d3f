"""Tables in Markdown, made from raw results by script and not by hand."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["Goal", "goals", "grid", "grouped", "insert", "medians", "number_or_power", "table"]

Goal = tuple[str, str, bool | str]
"""What was to be reached, what was, and whether it is enough."""


def insert(text: str, path: Path, mark: str) -> None:
    """Put a text between the marks ``<!-- mark: begin -->`` and ``<!-- mark: end -->`` of a Markdown file."""
    begin, end = f"<!-- {mark}: begin -->\n", f"<!-- {mark}: end -->"
    before, rest = path.read_text(encoding="utf-8").split(begin)
    path.write_text(f"{before}{begin}{text.strip()}\n{end}{rest.split(end)[1]}", encoding="utf-8")


def grouped(rows: Iterable[Mapping[str, str]], value: str, *keys: str) -> dict[tuple[str, ...], list[float]]:
    """The numbers of a column by what other columns say; rows without a number are left out."""
    found: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        if row.get(value):
            found[tuple(row[key] for key in keys)].append(float(row[value]))
    return found


def medians(rows: Iterable[Mapping[str, str]], value: str, *keys: str) -> dict[tuple[str, ...], float]:
    """The medians of a column by what other columns say.

    >>> medians([{"n": "1", "us": "3"}, {"n": "1", "us": "5"}, {"n": "2", "us": ""}], "us", "n")
    {('1',): 4.0}
    """
    return {key: statistics.median(numbers) for key, numbers in grouped(rows, value, *keys).items()}


def table(title: str, heads: Sequence[str], lines: Iterable[Sequence[Any]], words: int = 1) -> Iterator[str]:
    """A table, unless there are no lines; the first ``words`` columns are not numbers.

    >>> print(*table("Title", ["a", "b"], [["x", 1.234], ["y", ""]]), sep="; ")
    ; Title; ; | a | b |; | --- | ---: |; | x | 1.23 |; | y |  |
    """
    lines = list(lines)
    if lines:
        rule = ["---" if place < words else "---:" for place in range(len(heads))]
        yield from ("", title, "") if title else ("",)
        for line in (heads, rule, *lines):
            yield "| " + " | ".join(f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in line) + " |"


def grid(
    title: str,
    head: str,
    lines: Mapping[str, Mapping[str, float]],
    style: str | Callable[[float], str] = "{:.1f}",
    columns: Sequence[str] | None = None,
    words: int = 1,
) -> Iterator[str]:
    """A table of {line: {column: number}}; numbers are written in a style."""
    if columns is None:
        columns = list(dict.fromkeys(column for line in lines.values() for column in line))
    show = style.format if isinstance(style, str) else style
    cells = [[name, *(show(line[at]) if at in line else "" for at in columns)] for name, line in lines.items()]
    yield from table(title, [head, *map(number_or_power, columns)], cells, words)


def number_or_power(text: str) -> str:
    """A power of 2 as one.

    >>> number_or_power("1024"), number_or_power("1000"), number_or_power("sash")
    ('2^10', '1000', 'sash')
    """
    number = int(text) if text.isdigit() else 0
    return f"2^{math.log2(number):g}" if number and number & (number - 1) == 0 else text


def goals(found: Iterable[Goal], title: str = "Goals") -> Iterator[str]:
    """The table of goals."""
    words = {True: "yes", False: "no"}
    lines = [(text, reached, words[met] if isinstance(met, bool) else met) for text, reached, met in found]
    yield from table(title, ["goal", "reached", "met"], lines, 3)
