"""Streams whose state version 0.1 saved in the middle. Each is cut at an event and must go on from there.

This module runs on 0.1 and on every later version: ``write`` saves states with the former, ``test_state_v1`` restores
them with the latter. Names of functions and classes are part of a fingerprint, so they stay as they are.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import numpy as np

import sash
from sash.windows import ContextAware, Edges

Event = tuple[Any, ...]
Row = dict[str, Any]
SUM = {"sum": sash.Sum("x"), "peak": sash.Max("x"), "mean": sash.Mean("x")}
OBJECTS = {
    "all": sash.Collect("name"),
    "text": sash.Concat("name"),
    "who": sash.ArgMax("x", "name"),
    "n": sash.Count("x"),
}


@dataclass(frozen=True)
class Case:
    """A query, the events of a stream, and after how many of them its state was saved.

    Without ``oracle`` the brute-force evaluator cannot say what to expect: it is too slow for whole blocks of slices,
    and knows neither dates nor zones.
    """

    query: sash.Query
    events: list[Event]
    cut: int
    oracle: bool = True
    later: dict[str, Any] = field(default_factory=dict)
    """Windows that the query has in addition when the state is restored: they start there."""


@dataclass(frozen=True)
class Changes(ContextAware):
    """A user's window: from one tuple without a value to the next."""

    on: str | None = None
    columns: tuple[str, ...] = ("x",)

    def observe(self, time: Any, row: Mapping[str, Any], edges: Edges) -> None:
        if row["x"] is None:
            edges.add(time)


@dataclass(frozen=True)
class Lookback(ContextAware):
    """A user's window, forward context aware: a zero puts an edge 2 before it."""

    forward: ClassVar[bool] = True
    on: str | None = None
    columns: tuple[str, ...] = ("x",)

    def observe(self, time: Any, row: Mapping[str, Any], edges: Edges) -> None:
        if row["x"] == 0 and edges.after(time - 2) is None:
            edges.add(time - 2)


def at_most_ten(total: Row, oldest: Row) -> bool:
    """Let the oldest tuple go while those behind it still add up to more than 10."""
    return bool(total["sum"] - (oldest["sum"] or 0) > 10)


def is_zero(x: Any) -> bool:
    """Whether a tuple ends a punctuated window."""
    return bool(x == 0)


def rows(
    size: int, disorder: int = 0, time: Callable[[int], Any] = int, step: int = 3, nulls: bool = False, seed: int = 1
) -> list[Event]:
    """Tuples at most ``disorder`` behind the newest one."""
    chance, newest, events = random.Random(seed), 0, []
    for number in range(size):
        newest += chance.randrange(step)
        late = chance.randrange(disorder + 1)
        x = None if nulls and chance.random() < 0.2 else chance.randrange(8)
        row = {
            "ts": time(max(0, newest - late)),
            "km": (newest - late) / 2,
            "x": x,
            "name": "abcdefg"[number % 7],
            "mark": x == 0,
        }
        events.append(("row", row))
    return events


def keyed(events: list[Event], keys: list[Any], seed: int = 2) -> list[Event]:
    """The same with a key each."""
    chance = random.Random(seed)
    return [("row", {**row, "k": chance.choice(keys)}) for _, row in events]


def query(windows: Any, aggregates: Any = SUM, **options: Any) -> sash.Query:
    return sash.Query(windows=windows, aggregates=aggregates, **options)


BERLIN, START = ZoneInfo("Europe/Berlin"), datetime(2026, 3, 29, 0, 30)  # an hour before the clocks change
MANY = {
    "tumbling": sash.tumbling(10, on="ts"),
    "sliding": sash.sliding(20, 5, on="ts"),
    "count": sash.sliding(7, 2),
    "session": sash.session(4, on="ts"),
    "last": sash.last(4, every=6, on="ts"),
}
DURATIONS = {"minutes": sash.sliding("10m", "5m"), "session": sash.session("4m")}


def moment(zone: ZoneInfo | None) -> Callable[[int], Any]:
    return lambda n: (
        (START.replace(tzinfo=UTC) + timedelta(minutes=n)).astimezone(zone) if zone else START + timedelta(minutes=n)
    )


OPERATOR: dict[str, Case] = {
    "count": Case(query(sash.sliding(5, 2)), rows(40), 23),
    "count partial": Case(query(sash.sliding(6, 4, partial=True), OBJECTS), rows(40), 21),
    "time": Case(query(sash.sliding(12, 3, on="ts"), time="ts"), rows(40), 17),
    "waiting": Case(query(sash.sliding(12, 3, on="ts"), time="ts", watermark_delay=5), rows(60, 5), 33),
    "waiting, order matters": Case(
        query(sash.sliding(12, 3, on="ts"), OBJECTS, time="ts", watermark_delay=5), rows(60, 5), 33
    ),
    "counts that wait": Case(query(sash.sliding(5, 2), time="ts", watermark_delay=5), rows(60, 5), 33),
    "session": Case(query(sash.session(4, on="ts"), time="ts", watermark_delay=2), rows(60, 2, step=6), 31),
    "last": Case(query(sash.last(5, every=4, on="ts"), time="ts", watermark_delay=2), rows(60, 2), 31),
    "punctuated": Case(query(sash.punctuated("mark"), time="ts", watermark_delay=3), rows(60, 3), 40),
    "punctuated in order": Case(query(sash.punctuated(is_zero, "x"), OBJECTS), rows(60), 40),
    "changes": Case(query(Changes("ts"), OBJECTS, time="ts", watermark_delay=3), rows(60, 3, nulls=True), 40),
    "lookback": Case(query(Lookback("ts"), OBJECTS, time="ts", watermark_delay=3), rows(60, 3), 40),
    "while": Case(query(sash.window_while(at_most_ten), time="ts", watermark_delay=3), rows(60, 3), 40),
    "revisions": Case(query(sash.sliding(12, 4, on="ts"), time="ts", allowed_lateness=20), rows(60, 15), 43),
    "revisions of sessions": Case(
        query(sash.session(3, on="ts"), OBJECTS, time="ts", watermark_delay=2, allowed_lateness=20),
        rows(60, 15, step=5),
        43,
    ),
    "revisions of counts": Case(query(sash.sliding(5, 2), OBJECTS, time="ts", allowed_lateness=20), rows(50, 9), 37),
    "revisions of all": Case(query(MANY, time="ts", watermark_delay=2, allowed_lateness=9), rows(60, 9), 43),
    "all": Case(query(MANY, time="ts", watermark_delay=2), rows(60, 2), 31),
    "all with objects": Case(query(MANY, OBJECTS, time="ts", watermark_delay=2), rows(60, 2, nulls=True), 31),
    "two lanes": Case(
        query({"ts": sash.sliding(9, 3, on="ts"), "km": sash.tumbling(2.5, on="km")}, time="ts"), rows(60), 29
    ),
    "three lanes": Case(
        query({"ts": sash.session(4, on="ts"), "km": sash.tumbling(2.5, on="km"), "n": sash.sliding(3)}, OBJECTS),
        rows(60),
        29,
    ),
    "floats": Case(query(MANY, time="ts", watermark_delay=1.5), rows(60, 2, lambda n: n / 4), 31, oracle=False),
    "datetimes": Case(query(DURATIONS, time="ts", watermark_delay="2m"), rows(60, 2, moment(None)), 31),
    "datetimes of a zone": Case(
        query(DURATIONS, time="ts", watermark_delay="2m"), rows(60, 2, moment(BERLIN)), 31, oracle=False
    ),
    "dates": Case(
        query(sash.sliding("7d", "2d"), time="ts"),
        rows(60, 0, lambda n: date(2026, 1, 1) + timedelta(n)),
        31,
        oracle=False,
    ),
    "datetime64": Case(
        query(DURATIONS, time="ts", watermark_delay="2m"),
        rows(60, 2, lambda n: np.datetime64("2026-03-29T00:30", "s") + np.timedelta64(n, "m")),
        31,
        oracle=False,
    ),
    "milliseconds": Case(
        query(sash.sliding("10ms", "5ms"), time="ts", time_unit="ms", watermark_delay="2ms"), rows(60, 2), 31
    ),
    "seconds as floats": Case(
        query(sash.sliding("10s", "5s"), time="ts", time_unit="s", watermark_delay="2s"),
        rows(60, 2, lambda n: n / 2),
        31,
        oracle=False,
    ),
    "window added": Case(
        query({"a": sash.sliding(12, 3, on="ts"), "s": sash.session(5, on="ts")}, time="ts", watermark_delay=4),
        [
            *rows(30, 4),
            ("add", "b", sash.sliding(9, 3, on="ts")),
            ("add", "c", sash.sliding(4, 2)),
            *[("row", {**row, "ts": row["ts"] + 29}) for _, row in rows(50, 4, seed=3)],
        ],
        40,
    ),
    "window new when restored": Case(
        query({"a": sash.sliding(12, 3, on="ts")}, time="ts", watermark_delay=4),
        rows(60, 4),
        33,
        later={"b": sash.session(3, on="ts"), "c": sash.sliding(4)},
    ),
    "watermarks from outside": Case(
        query(MANY, time="ts", watermark_delay=20),
        [*rows(30, 9), ("advance", 15), *[("row", {**row, "ts": row["ts"] + 15}) for _, row in rows(40, 9, seed=4)]],
        38,
    ),
    "values of many types": Case(
        query({"t": sash.sliding(6, 2)}, {"all": sash.Collect("v"), "last": sash.Last("v")}),
        [
            ("row", {"v": v})
            for v in [
                1,
                2.5,
                None,
                "é",
                b"\0",
                2**80,
                True,
                Decimal("1.10"),
                date(2026, 1, 2),
                datetime(2026, 1, 2, tzinfo=BERLIN),
                timedelta(1, 2, 3),
                (1, "a"),
                -0.0,
                math.inf,
            ]
            * 2
        ],
        15,
    ),
    "sketches": Case(
        query(
            sash.sliding(6, 2),
            {
                "median": sash.Median("x"),
                "m4": sash.M4("x"),
                "distinct": sash.CollectDistinct("name"),
                "least": sash.MinCount("x"),
                "std": sash.SampleStdDev("x"),
            },
        ),
        rows(40),
        21,
        oracle=False,
    ),
    "nothing yet": Case(query(MANY, time="ts", watermark_delay=2), rows(30, 2), 0),
    "blocks of counts": Case(query(sash.sliding(1500)), rows(1800), 1650, oracle=False),
    "blocks of time": Case(
        query(sash.sliding(1300, 1, on="ts"), time="ts", watermark_delay=3), rows(1800, 3), 1600, oracle=False
    ),
    "blocks with corrections": Case(
        query(sash.sliding(1300, 1, on="ts"), time="ts", allowed_lateness=50), rows(1800, 20), 1600, oracle=False
    ),
    "blocks, coarser with age": Case(
        query({"s": sash.session(900, on="ts"), "w": sash.sliding(40, 1, on="ts")}, time="ts", watermark_delay=3),
        rows(2500, 3),
        2300,
        oracle=False,
    ),
    "blocks of two lanes": Case(
        query({"n": sash.sliding(700), "ts": sash.sliding(900, 1, on="ts")}), rows(1500), 1300, oracle=False
    ),
}
KEYS: list[Any] = ["a", "b", None, "c"]
KEYED: dict[str, Case] = {
    name: Case(
        sash.Query(
            key="k",
            windows=case.query.windows,
            aggregates=case.query.aggregates,
            time=case.query.time,
            time_unit=case.query.time_unit,
            watermark_delay=case.query.watermark_delay,
            allowed_lateness=case.query.allowed_lateness,
        ),
        keyed(case.events, keys),
        case.cut,
        case.oracle,
        case.later,
    )
    for name, keys in {
        "count": KEYS,
        "count partial": KEYS,
        "time": [1, 2, 3],
        "waiting": [1.5, math.nan, None],
        "waiting, order matters": KEYS,
        "counts that wait": KEYS,
        "session": KEYS,
        "last": KEYS,
        "punctuated": KEYS,
        "changes": KEYS,
        "lookback": KEYS,
        "while": KEYS,
        "revisions": KEYS,
        "revisions of all": KEYS,
        "all": [date(2026, 1, 1), date(2026, 1, 2)],
        "all with objects": KEYS,
        "two lanes": KEYS,
        "three lanes": KEYS,
        "floats": [2**70, 1],
        "datetimes of a zone": KEYS,
        "datetime64": KEYS,
        "milliseconds": KEYS,
        "seconds as floats": [True, False],
        "window new when restored": KEYS,
        "sketches": KEYS,
        "nothing yet": KEYS,
        "blocks of counts": ["a"],
        "blocks of time": ["a", "b"],
        "blocks with corrections": ["a"],
        "blocks, coarser with age": ["a", "b"],
    }.items()
    for case in [OPERATOR[name]]
}


def run(op: Any, events: list[Event], size: int) -> Iterator[Row]:
    """The results of events, which an operator takes row by row (``size`` 0) or in batches of ``size`` rows."""
    batch: list[Row] = []
    for event in [*events, ("flush",)]:
        if event[0] == "row" and size:
            batch.append(event[1])
        if batch and (event[0] != "row" or len(batch) == size):
            results = op.process_batch({name: [row[name] for row in batch] for name in batch[0]})
            batch = []
            yield from as_rows(results)
        if event[0] == "row" and not size:
            yield from op.process(event[1])
        elif event[0] == "advance":
            yield from op.advance(event[1])
        elif event[0] == "add":
            op.add_window(*event[1:])
        elif event[0] == "close":
            results = op.close()
            yield from as_rows(results) if isinstance(results, dict) else results


def as_rows(table: dict[str, list[Any]]) -> list[Row]:
    return [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
