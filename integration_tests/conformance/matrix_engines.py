"""What the engines' parts of the matrix share: the types that an engine has, and a stream of one column type.

An engine runs one query a column type, with all aggregates over all windows at once. Its stream has the tuples of two
streams of the matrix, under keys of their own: one with nulls and NaN here and there, one of nulls only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import time
from functools import cache
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

import sash
from matrix import TYPES, ColumnType, Entry, Row, expected, moments_of, query, stream, supported
from matrix_cells import Wrong, compare, sentence
from matrix_known import known_cells

SHAPE = "several"
UTC = {
    unit: replace(TYPES[f"timestamp[{unit}, zone]"], arrow=pa.timestamp(unit, "UTC"), value=moments_of(unit, "UTC"))
    for unit in ("s", "ms", "us", "ns")
}
"""Timestamps with a zone as engines have them: instants."""
MILLISECONDS = replace(TYPES["time"], arrow=pa.time32("ms"), value=lambda number: time(number // 4, number % 4))


@dataclass(frozen=True)
class Engine:
    """An engine's way. ``columns``: the types that it has, and what it calls them; others it cannot hold, ever."""

    name: str
    mode: str
    columns: dict[str, tuple[ColumnType, str]]

    def entries(self, kind: str, late: bool) -> dict[str, Entry]:
        """The aggregates of a column type that can share a query: all but those that are known to end it."""
        known = known_cells(self.name, kind, late)
        ended = {name for name, reason in known.items() if reason.startswith("raises")}
        return {name: entry for name, entry in supported(self.columns[kind][0]).items() if name not in ended}

    def query(self, kind: str, late: bool, without: Wrong) -> sash.Query:
        entries = {name: entry for name, entry in self.entries(kind, late).items() if name not in without}
        return query(entries, SHAPE, late)

    def not_built(self, kind: str, late: bool, build: Callable[[sash.Query], Any]) -> Wrong:
        """The aggregates that an engine wrongly refuses when a query is built, and what it says."""
        wrong: Wrong = {}
        for name, entry in self.entries(kind, late).items():
            try:
                build(query({name: entry}, SHAPE, late))
            except Exception as error:
                wrong[name] = f"raises {type(error).__name__}: {error}"
        return wrong

    def wrong(self, kind: str, late: bool, outcome: tuple[list[Row], dict[str, Any]], typed: Any) -> Wrong:
        """What is wrong with results, those that were not asked for included."""
        column = self.columns[kind][0]
        asked = {name: entry for name, entry in self.entries(kind, late).items() if name in outcome[1]}
        left_out = {name: "ends the job" for name in supported(column) if name not in asked}
        return compare(column, asked, both(column, late, self.mode), outcome, typed) | left_out


@cache
def tuples(column: ColumnType) -> list[Row]:
    """The tuples of both streams, in step."""
    mixed, nulls = stream(column, "mixed"), stream(column, "nulls")
    pairs = [[row, null | {"k": _of_nulls(null["k"])}] for row, null in zip(mixed, nulls, strict=True)]
    return [row | {"seq": place} for place, row in enumerate(row for pair in pairs for row in pair)]


def both(column: ColumnType, late: bool, mode: str) -> list[Row]:
    """The results of both."""
    nulls = expected(column, SHAPE, "nulls", late, mode)
    return expected(column, SHAPE, "mixed", late, mode) + [row | {"k": _of_nulls(row["k"])} for row in nulls]


def _of_nulls(key: str) -> str:
    return f"{key} of nulls"


def wrong_refusal(error: Exception | None, aggregation: sash.Aggregation, column: ColumnType) -> str:
    """What is wrong with how a cell is refused."""
    if error is None:
        return "is not refused"
    if not isinstance(error, TypeError):
        return f"raises {type(error).__name__}: {error}"
    return "" if sentence(aggregation, column) in str(error) else f"is refused by: {error}"
