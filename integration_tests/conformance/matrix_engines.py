"""What the engines' parts of the matrix share: the types that an engine has, and a stream with a column of each.

An engine runs one query for all column types, with all aggregates of each over all windows at once. Its stream has the
tuples of two streams of the matrix, under keys of their own: one with nulls and NaN here and there, one of nulls only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import time
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

import sash
from matrix import TYPES, ColumnType, Entry, Row, expected, moments_of, query, refused, stream, supported
from matrix_cells import Wrong, compare, sentence
from matrix_known import known_cells

SHAPE = "several"
UTC = {
    unit: replace(TYPES[f"timestamp[{unit}, zone]"], arrow=pa.timestamp(unit, "UTC"), value=moments_of(unit, "UTC"))
    for unit in ("s", "ms", "us", "ns")
}
"""Timestamps with a zone as engines have them: instants."""
MILLISECONDS = replace(TYPES["time"], arrow=pa.time32("ms"), value=lambda number: time(number // 4, number % 4))

Outcome = tuple[list[Row], dict[str, Any]]
"""Result rows, and the types of their columns."""
Run = Callable[[Sequence[str]], dict[bool, Outcome]]
"""Runs the query of some column types, without lateness and with it."""


@dataclass(frozen=True, eq=False)
class Engine:
    """An engine's way. ``columns``: the types that it has, and what it calls them; others it cannot hold, ever."""

    name: str
    mode: str
    columns: dict[str, tuple[ColumnType, str]]

    def column(self, kind: str) -> str:
        """The name of the column of a type."""
        return f"x{list(self.columns).index(kind)}"

    def entries(self, kind: str, late: bool) -> dict[str, Entry]:
        """The aggregates of a column type that can share a query: all but those that are known to end it."""
        known = known_cells(self.name, kind, late)
        ended = {name for name, reason in known.items() if reason.startswith("raises")}
        entries = supported(self.columns[kind][0], self.column(kind))
        return {name: entry for name, entry in entries.items() if name not in ended}

    def not_built(self, kind: str, late: bool, build: Callable[[sash.Query], Any]) -> Wrong:
        """The aggregates that an engine wrongly refuses when a query is built, and what it says."""
        wrong: Wrong = {}
        for name, entry in self.entries(kind, late).items():
            try:
                build(query({name: entry}, SHAPE, late))
            except Exception as error:
                wrong[name] = f"raises {type(error).__name__}: {error}"
        return wrong

    def query(self, kinds: Sequence[str], late: bool, build: Callable[[sash.Query], Any]) -> sash.Query:
        """One query for all these column types, without what cannot be built."""
        entries = {
            _result(name, kind): entry
            for kind in kinds
            for without in [self.not_built(kind, late, build)]
            for name, entry in self.entries(kind, late).items()
            if name not in without
        }
        return query(entries, SHAPE, late)

    def outcome(self, kind: str, outcome: Outcome) -> Outcome:
        """That part of an outcome that is of one column type."""
        rows, types = outcome
        names = {_result(name, kind): name for name in supported(self.columns[kind][0])}
        places = [name for name in types if " of " not in name]
        own = {name: types[result] for result, name in names.items() if result in types}
        found = [
            {place: row[place] for place in places}
            | {name: row[result] for result, name in names.items() if result in types}
            for row in rows
        ]
        return found, own

    def wrong(self, kind: str, late: bool, outcome: Outcome, typed: Any) -> Wrong:
        """What is wrong with the results of one column type, those that were not asked for included."""
        column = self.columns[kind][0]
        asked = {name: entry for name, entry in self.entries(kind, late).items() if name in outcome[1]}
        left_out = {name: "ends the job" for name in supported(column) if name not in asked}
        return compare(column, asked, both(column, late, self.mode), outcome, typed) | left_out

    def wrong_refusals(self, kind: str, late: bool, build: Callable[[sash.Query], Any]) -> Wrong:
        """What is wrong with how an engine refuses cells when a query is built."""
        wrong: Wrong = {}
        for name, entry in refused(self.columns[kind][0], self.column(kind)).items():
            error: Exception | None = None
            try:
                build(query({name: entry}, "count", late))
            except Exception as raised:
                error = raised
            if problem := _wrong_refusal(error, entry.aggregation, self.columns[kind][0]):
                wrong[name] = problem
        return wrong

    def tuples(self) -> list[Row]:
        """The tuples of both streams, in step, with a column for each type."""
        rows: list[Row] = [{} for _ in range(2 * len(stream(TYPES["bool"], "mixed")))]
        for kind, (column, _) in self.columns.items():
            mixed, nulls = stream(column, "mixed"), stream(column, "nulls")
            pairs = [[row, null | {"k": _of_nulls(null["k"])}] for row, null in zip(mixed, nulls, strict=True)]
            for place, row in enumerate(row for pair in pairs for row in pair):
                rows[place] |= {name: row[name] for name in ("k", "t", "n")} | {self.column(kind): row["x"]}
        return [row | {"seq": place} for place, row in enumerate(rows)]

    def schema(self) -> dict[str, ColumnType]:
        """The columns of the stream."""
        kinds = {self.column(kind): column for kind, (column, _) in self.columns.items()}
        return {"k": TYPES["text"], "t": TYPES["int64"], "n": TYPES["int64"]} | kinds | {"seq": TYPES["int64"]}

    def sql(self, kinds: Sequence[str] = ()) -> str:
        """The same in the engine's SQL; with ``kinds``, of these column types only."""
        names = dict(self.columns.values())
        left_out = {self.column(kind) for kind in self.columns if kinds and kind not in kinds}
        columns = self.schema().items()
        return ", ".join(f"{name} {names[column]}" for name, column in columns if name not in left_out)


def outcomes(engine: Engine, run: Run, kinds: Sequence[str] = ()) -> dict[tuple[str, bool], Outcome | Exception]:
    """Results by column type and lateness. Queries that fail are tried again with half of the types."""
    kinds = kinds or list(engine.columns)
    try:
        found = run(kinds)
    except Exception as error:
        if len(kinds) == 1:
            return {(kinds[0], late): error for late in (False, True)}
        half = len(kinds) // 2
        return outcomes(engine, run, kinds[:half]) | outcomes(engine, run, kinds[half:])
    return {(kind, late): engine.outcome(kind, outcome) for late, outcome in found.items() for kind in kinds}


def both(column: ColumnType, late: bool, mode: str) -> list[Row]:
    """The results of both streams."""
    nulls = expected(column, SHAPE, "nulls", late, mode)
    return expected(column, SHAPE, "mixed", late, mode) + [row | {"k": _of_nulls(row["k"])} for row in nulls]


def _result(name: str, kind: str) -> str:
    return f"{name} of {kind}"


def _of_nulls(key: str) -> str:
    return f"{key} of nulls"


def _wrong_refusal(error: Exception | None, aggregation: sash.Aggregation, column: ColumnType) -> str:
    if error is None:
        return "is not refused"
    if not isinstance(error, TypeError):
        return f"raises {type(error).__name__}: {error}"
    return "" if sentence(aggregation, column) in str(error) else f"is refused by: {error}"
