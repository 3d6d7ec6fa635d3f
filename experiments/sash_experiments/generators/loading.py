"""The DEBS challenges' original files, as columns like those that the generators make. In one process: for samples.

Whole data sets go through the pipeline of ``sash_spark``, which reads the same formats.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["load_debs12", "load_debs14"]

Array = np.ndarray[Any, Any]


def load_debs12(path: str | os.PathLike[str], rows: int | None = None) -> dict[str, Array]:
    """The first ``rows`` readings of a file of DEBS 2012 (``allData.txt``), columns as of ``debs12``. O(rows)."""
    found = list(_fields(Path(path), "\t", 5, None, rows))
    ts, seq, *readings = zip(*(fields[:5] for _, fields in found), strict=True) if found else [()] * 5
    numbers = {f"mf0{i}": _numbers(path, column, np.float64, found) for i, column in enumerate(readings, 1)}
    return {
        "key": np.zeros(len(found), np.int64),
        "ts": _times(path, [text.partition("+")[0].removesuffix("Z")[:26] for text in ts], found),
        "seq": _numbers(path, seq, np.int64, found),
        **numbers,
    }


def load_debs14(path: str | os.PathLike[str], rows: int | None = None) -> dict[str, Array]:
    """The first ``rows`` loads of a file of DEBS 2014 (``sorted.csv``), columns as of ``debs14``. O(rows).

    Rows of work (property 0) are left out. A plug is told by its house, household and own number together.
    """
    found = list(_fields(Path(path), ",", 7, (3, "1"), rows))
    columns = zip(*(fields for _, fields in found), strict=True) if found else [()] * 7
    seq, seconds, load, _, plug, household, house = columns
    whole = {
        name: _numbers(path, column, np.int64, found)
        for name, column in (("plug", plug), ("household", household), ("house", house))
    }
    return {
        "key": whole["house"] * 1_000_000 + whole["household"] * 1_000 + whole["plug"],
        "house": whole["house"],
        "ts": _numbers(path, seconds, np.int64, found).astype("datetime64[s]"),
        "seq": _numbers(path, seq, np.int64, found),
        "load": _numbers(path, load, np.float64, found),
    }


def _fields(
    path: Path, separator: str, least: int, only: tuple[int, str] | None, rows: int | None
) -> Iterator[tuple[int, list[str]]]:
    """(the line's number, its fields) of lines that have at least so many, and the wanted value in a place."""

    def wanted(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        for number, line in enumerate(lines, 1):
            fields = line.rstrip("\r\n").split(separator)
            if not line.strip():
                continue
            if len(fields) < least:
                raise ValueError(f"{path}, line {number}: expected {least} columns or more; got {len(fields)}")
            if only is None or fields[only[0]].strip() == only[1]:
                yield number, fields

    with path.open(encoding="utf-8") as lines:
        yield from islice(wanted(lines), rows)


def _numbers(path: Any, column: Sequence[str], kind: Any, found: list[tuple[int, list[str]]]) -> Array:
    try:
        return np.array(column, dtype=np.str_).astype(kind)
    except ValueError:
        return np.array([_one(path, text, kind, line) for text, (line, _) in zip(column, found, strict=True)])


def _one(path: Any, text: str, kind: Any, line: int) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"{path}, line {line}: expected a number; got {text!r}") from None


def _times(path: Any, texts: list[str], found: list[tuple[int, list[str]]]) -> Array:
    for text, (line, _) in zip(texts, found, strict=True):
        try:
            np.datetime64(text, "us")
        except ValueError:
            raise ValueError(f"{path}, line {line}: expected a time in ISO 8601; got {text!r}") from None
    return np.array(texts, dtype="datetime64[us]")
