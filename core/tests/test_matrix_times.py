"""The matrix of time columns: every type of time × every way × every shape of windows, with and without lateness.

Where windows begin and end is told in the type that the times came in; positions stay whole numbers beside them. What
is expected is worked out by the definition over plain numbers, and the numbers are then told as times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import sash
from matrix import DELAY, LATENESS, TYPES, ColumnType, Row, arrow_schema, stream
from matrix import evaluate as definition
from matrix_cells import alike, plain
from matrix_ways import LOCAL, Way

pytestmark = [pytest.mark.filterwarnings("ignore::sash.PerformanceWarning"), pytest.mark.xdist_group("matrix")]
AGGREGATES = {"rows": sash.Count(), "top": sash.Max("n"), "who": sash.Collect("seq")}


@dataclass(frozen=True)
class Times:
    """A type of time: the time that stands for a number, and the duration that stands for one."""

    column: ColumnType
    time: Callable[[int], Any]
    span: Callable[[int], Any]


def _times(column: ColumnType) -> Times:
    match column.family:
        case "date":  # three days before 1970, where a window of every third day begins
            return Times(column, lambda number: column.value(number - 1), lambda number: f"{number}d")
        case "timestamp":
            return Times(column, column.value, lambda number: f"{number}{column.arrow.unit}")
        case _:
            return Times(column, column.value, column.value)


TIMES = {
    name: _times(column)
    for name, column in TYPES.items()
    if column.family in ("timestamp", "date") or name in ("int64", "int32", "float64")
}
SHAPES = ("time", "session", "several")
KNOWN = [
    (
        "timestamp[ns, zone]",
        "time | session | several",
        "process_batch of Arrow",
        "close() gives rows, in which a datetime cannot tell the nanoseconds",
    ),
]
"""What is wrong today: types, shapes and ways, and why. A cell that comes right has to leave."""


def _known(way: str, name: str, shape: str) -> str | None:
    for types, shapes, ways, reason in KNOWN:
        if name in types.split(" | ") and shape in shapes.split(" | ") and way in ways.split(" | "):
            return reason
    return None


def _query(shape: str, late: bool, span: Callable[[int], Any], on: str | None) -> sash.Query:
    windows = {
        "time": sash.sliding(span(7), span(3), on=on),
        "session": sash.session(span(3), on=on),
        "count": sash.sliding(5, 3),
    }
    return sash.Query(
        key="k",
        windows=windows if shape == "several" else windows[shape],
        aggregates=AGGREGATES,
        time="t",
        watermark_delay=span(DELAY),
        allowed_lateness=span(LATENESS) if late else None,
    )


def _expected(times: Times, shape: str, late: bool, mode: str) -> list[Row]:
    asked = _query(shape, late, int, "t")
    found = definition(asked, stream(TYPES["int64"], "whole"), mode)
    return [
        row | {end: times.time(row[end]) for end in ("window_start", "window_end") if row.get("window") != "count"}
        for row in found
    ]


def _problem(way: Way, times: Times, shape: str, late: bool) -> str:
    """What is wrong with a cell, in words; nothing, if it is right."""
    asked = _query(shape, late, times.span, "t" if times.column.family in ("int", "float") else None)
    rows = [row | {"t": times.time(row["t"])} for row in stream(TYPES["int64"], "whole")]
    schema = arrow_schema(TYPES["int64"], times.column)
    try:
        found, types = way.run(asked, schema, rows)
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"
    for end in ("window_start", "window_end"):
        kind = TYPES["int64"].arrow if times.column.family == "int" else times.column.arrow  # ends may lie further out
        if way.typed is not None and shape != "several" and types[end] != way.typed(kind):
            return f"{end} is of type {types[end]}, not {way.typed(kind)}"
    wanted = [_plain(asked, row) for row in _expected(times, shape, late, way.mode)]
    told = [_plain(asked, row) for row in found]
    if len(told) != len(wanted):
        return f"{len(told)} rows, not {len(wanted)}"
    for a, b in zip(sorted(told, key=repr), sorted(wanted, key=repr), strict=True):
        if not alike(a, b):
            return f"{a}, not {b}"
    return ""


def _plain(asked: sash.Query, row: Row) -> list[Any]:
    return [plain(_end(row[name])) for name in asked.results]


def _end(value: Any) -> Any:
    """An end of a window out of a structure with a field for each thing that windows are on."""
    if isinstance(value, dict):
        (value,) = [part for part in value.values() if part is not None]
    return value


@pytest.mark.parametrize("late", [False, True], ids=["", "late"])
@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("way", LOCAL)
def test_windows_begin_and_end_at_times_as_they_came(way: str, name: str, late: bool) -> None:
    told = []
    for shape in SHAPES:
        problem, known = _problem(LOCAL[way], TIMES[name], shape, late), _known(way, name, shape)
        cell = f"{shape} windows over {name}, {way}{', allowed_lateness' * late}"
        if problem and known is None:
            told.append(f"{cell}: {problem}")
        elif known is not None and not problem:
            told.append(f"{cell} is right now: take it out of KNOWN")
    assert not told, "\n".join(told)
