"""Long streams: thousands of slices open at the end, late tuples, sessions beside other windows, cut and restored.

A stream is taken whole, row by row, and cut at random places: by rows and by batches, saved and restored between them.
Both must give the same rows, and those of the definition: short streams by the evaluator, row for row; long ones by
what each window holds in the end, read off section 3 of the design with sorted lists.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sash
from sash.runtime.operator import KeyedOperator
from sash.testing import Evaluator

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")

Row = dict[str, Any]
Event = tuple[Any, ...]
SUMS: dict[str, sash.Aggregation] = {"sum": sash.Sum("x"), "top": sash.Max("x"), "n": sash.Count()}
ORDERED: dict[str, sash.Aggregation] = {"first": sash.First("x"), "last": sash.Last("x"), "n": sash.Count()}


@dataclass(frozen=True)
class Pace:
    """How a stream goes on: steps of the newest time, how often a tuple is late, and by how much at most."""

    steps: tuple[int, ...] = (0, 1, 1, 1, 2)
    late: float = 0.0
    behind: int = 0
    pauses: float = 0.01


def rows(size: int, pace: Pace, seed: int) -> list[Row]:
    chance = random.Random(seed)
    now, stream = 0, []
    for _ in range(size):
        now += 40 if chance.random() < pace.pauses else chance.choice(pace.steps)
        behind = chance.randint(1, pace.behind) if chance.random() < pace.late else 0
        stream.append({"t": now - behind, "x": None if chance.random() < 0.1 else chance.randint(-50, 50)})
    return stream


def events(stream: list[Row], every: int, behind: int, close: bool = True) -> list[Event]:
    """Tuples, a watermark ``behind`` the newest of them after each ``every``, if that is not 0, and the end."""
    found: list[Event] = []
    newest = 0
    for place, row in enumerate(stream, 1):
        found.append(("row", row))
        newest = max(newest, row["t"])
        if every and place % every == 0:
            found.append(("advance", newest - behind))
    return [*found, ("close",)] if close else found


# two ways to take a stream


def uncut(query: sash.Query, stream: list[Event], own: bool) -> list[Row]:
    op = sash.Operator(query, own_watermark=own)
    return [result for event in stream for result in _on(op, event)]


def _on(op: sash.Operator, event: Event) -> list[Row]:
    match event:
        case "row", row:
            return op.process(row)
        case "advance", watermark:
            return op.advance(watermark)
    return op.close()


def cut(query: sash.Query, stream: list[Event], own: bool, chance: random.Random, pieces: int) -> list[Row]:
    """In pieces, each row by row or as one batch, with a restart between them as often as not."""
    op = sash.Operator(query, own_watermark=own)
    found: list[Row] = []
    for piece in _pieces(stream, chance, pieces):
        if piece[0][0] == "row" and chance.random() < 0.5:
            found += op.process_batch([row for _, row in piece])
        else:
            found += [result for event in piece for result in _on(op, event)]
        if chance.random() < 0.5 and piece[-1] != ("close",):
            op = sash.Operator.restore(query, op.snapshot(trusted=True), own_watermark=own, trusted=True)
    return found


def cut_keyed(query: sash.Query, stream: list[Event], own: bool, chance: random.Random, pieces: int) -> list[Row]:
    """The same by the operator of all keys, of which there is one."""
    keyed = query.using(key="k")
    op = KeyedOperator(keyed, own_watermark="key" if own else False)
    like = [{"k": "a", "t": 0, "x": 0}][:0]
    found: list[Row] = []
    for piece in _pieces(stream, chance, pieces):
        if piece[0][0] == "row":
            found += op.process_batch([row | {"k": "a"} for _, row in piece])
        for event in piece:
            if event[0] == "advance":
                found += op.advance(event[1], like=like)
            elif event[0] == "close":
                found += op.close(like=like)
        if chance.random() < 0.5:
            op = KeyedOperator.restore(
                keyed, op.snapshot(trusted=True), own_watermark="key" if own else False, trusted=True
            )
    return [{name: value for name, value in row.items() if name != "k"} for row in found]


def _pieces(stream: list[Event], chance: random.Random, most: int) -> Iterator[list[Event]]:
    """Tuples in stretches, everything else alone."""
    ends = sorted({*chance.sample(range(1, len(stream) + 1), min(most, len(stream))), len(stream)})
    begin = 0
    for end in ends:
        stretch: list[Event] = []
        for event in stream[begin:end]:
            if event[0] == "row":
                stretch.append(event)
            else:
                yield from ([stretch] if stretch else [])
                yield [event]
                stretch = []
        yield from ([stretch] if stretch else [])
        begin = end


# what windows hold in the end


def settled(query: sash.Query, stream: list[Event], own: bool) -> dict[Any, dict[str, Any]]:
    """The aggregates of every window when all tuples are there that were not too late, by name, start and end."""
    tuples = sorted(_taken(query, stream, own), key=lambda row: row["t"])
    times = [row["t"] for row in tuples]
    found = {}
    for name, window in query.named.items():
        for start, end, low, high in _extents(window, times):
            found[name, start, end] = _aggregates(query, [row["x"] for row in tuples[low:high]])
    return found


def _taken(query: sash.Query, stream: list[Event], own: bool) -> Iterator[Row]:
    (lane,) = query.lanes
    watermark = -(10**9)
    for event in stream:
        if event[0] == "advance":
            watermark = max(watermark, event[1])
        elif event[0] == "row" and event[1]["t"] >= watermark - lane.lateness:
            watermark = max(watermark, event[1]["t"] - lane.delay if own else watermark)
            yield event[1]


def _extents(window: Any, times: list[int]) -> Iterator[tuple[Any, Any, int, int]]:
    """Start, end, and the places of the first tuple and behind the last one."""
    if isinstance(window, sash.windows.CountWindow):
        for start in range(0, len(times) - window.range + 1, window.slide):
            yield start, start + window.range, start, start + window.range
    elif isinstance(window, sash.windows.Session):
        edges = [0, *(at for at in range(1, len(times)) if times[at] - times[at - 1] >= window.number), len(times)]
        for low, high in pairwise(edges):
            yield times[low], times[high - 1] + window.number, low, high
    else:
        r, s, o = window.numbers
        for start in range((times[0] - r - o) // s * s + o, times[-1] + 1, s):
            low, high = bisect_left(times, start), bisect_left(times, start + r)
            if high > low:
                yield start, start + r, low, high


def _aggregates(query: sash.Query, values: list[Any]) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    every = {
        "sum": sum(known) if known else None,
        "top": max(known, default=None),
        "first": known[0] if known else None,
        "last": known[-1] if known else None,
        "n": len(values),
    }
    return {name: every[name] for name in query.aggregates}


def last_told(query: sash.Query, results: list[Row]) -> dict[Any, dict[str, Any]]:
    """The latest result of each window."""
    return {
        (row.get("window"), row["window_start"], row["window_end"]): {name: row[name] for name in query.aggregates}
        for row in results
    }


# long streams

SEVERAL = {
    "second": sash.tumbling(1, on="t"),
    "sliding": sash.sliding(600, 7, on="t"),
    "count": sash.sliding(100, 7),
    "session": sash.session(4, on="t"),
}
FREE = {name: SEVERAL[name] for name in ("second", "sliding", "session")}
TIMED = {name: SEVERAL[name] for name in ("second", "sliding")}
IN_ORDER, DISORDER, LATE = Pace(), Pace(late=0.3, behind=9), Pace(late=0.2, behind=40)


@dataclass(frozen=True)
class Stream:
    """A query over a long stream. ``every``: the engine's watermark comes after so many tuples, 0: never."""

    windows: Mapping[str, Any]
    pace: Pace
    aggregates: Mapping[str, sash.Aggregation]
    delay: int = 0
    lateness: int | None = None
    own: bool = True
    every: int = 0
    size: int = 3000

    def query(self) -> sash.Query:
        return sash.Query(
            windows=self.windows,
            aggregates=self.aggregates,
            time="t",
            watermark_delay=self.delay,
            allowed_lateness=self.lateness,
        )


STREAMS = {
    "in order": Stream(SEVERAL, IN_ORDER, ORDERED),
    "in disorder": Stream(SEVERAL, DISORDER, SUMS, delay=9),
    "in disorder, some too late": Stream(SEVERAL, LATE, ORDERED, delay=9),
    "corrected": Stream(SEVERAL, LATE, SUMS, delay=5, lateness=40),
    "corrected, tuples kept": Stream(SEVERAL, LATE, ORDERED, delay=5, lateness=40, size=1500),
    "corrected by columns": Stream(TIMED, LATE, SUMS, delay=5, lateness=40),
    "corrected by columns, few watermarks": Stream(TIMED, LATE, SUMS, lateness=60, own=False, every=700),
    "all open at the end": Stream(FREE, DISORDER, SUMS, own=False),
    "all open at the end, with lateness": Stream(FREE, DISORDER, SUMS, lateness=50, own=False),
    "all open at the end, tuples kept": Stream(FREE, DISORDER, ORDERED, lateness=50, own=False),
    "few watermarks": Stream(FREE, LATE, SUMS, lateness=60, own=False, every=700),
    "long delay": Stream(FREE, LATE, SUMS, delay=2000, lateness=60),
}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("way", [cut, cut_keyed])
def test_a_long_stream_is_cut_anywhere(way: Any, name: str, seed: int) -> None:
    told = STREAMS[name]
    query = told.query()
    stream = events(rows(told.size, told.pace, seed), told.every, told.delay)
    whole = uncut(query, stream, told.own)
    assert len(whole) > 1000
    found, wanted = last_told(query, whole), settled(query, stream, told.own)
    wrong = {place: (found.get(place), right) for place, right in wanted.items() if found.get(place) != right}
    assert not wrong, f"{len(wrong)} of {len(wanted)} windows, as found and expected: {next(iter(wrong.items()))}"
    assert told.lateness or len(found) == len(whole) == len(wanted)
    assert _sorted(way(query, stream, told.own, random.Random(seed), 30)) == _sorted(whole)


def _sorted(results: list[Row]) -> list[str]:
    """By key and batch results come in an order of their own."""
    return sorted(map(repr, results))


# streams of some hundred tuples, to the row


@st.composite
def scenarios(draw: st.DrawFn) -> tuple[sash.Query, list[Event], bool, int]:
    windows = draw(st.sampled_from([["session", "one"], ["session", "four", "count"], ["session", "one", "four"]]))
    every = {
        "session": sash.session(draw(st.integers(2, 6)), on="t"),
        "one": sash.sliding(1, 1, on="t"),
        "four": sash.sliding(9, 4, on="t"),
        "count": sash.sliding(5, 3),
    }
    own, seed = draw(st.booleans()), draw(st.integers(0, 10**6))
    query = sash.Query(
        windows={name: every[name] for name in windows},
        aggregates=draw(st.sampled_from([SUMS, ORDERED])),
        time="t",
        watermark_delay=draw(st.sampled_from([0, 3])),
        allowed_lateness=draw(st.sampled_from([None, 6, 30])),
    )
    pace = draw(st.sampled_from([IN_ORDER, Pace(late=0.1, behind=5), Pace(late=0.3, behind=9), LATE]))
    stream = rows(draw(st.integers(60, 160)), pace, seed)
    return query, events(stream, 0 if own else draw(st.sampled_from([0, 7, 50])), 3, draw(st.booleans())), own, seed


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(scenarios())
def test_a_stream_that_is_cut_gives_the_rows_of_the_definition(scenario: Any) -> None:
    query, stream, own, seed = scenario
    evaluator = _Driven(query, own)
    wanted = _sorted([result for event in stream for result in evaluator.on(event)])
    assert _sorted(uncut(query, stream, own)) == wanted
    assert _sorted(cut(query, stream, own, random.Random(seed), 8)) == wanted
    assert _sorted(cut_keyed(query, stream, own, random.Random(seed), 8)) == wanted


class _Driven(Evaluator):
    """The definition; without its own watermark, tuples do not move it."""

    def __init__(self, query: sash.Query, own: bool) -> None:
        super().__init__(query)
        if not own:
            for lane in self.lanes.values():
                lane.delay = 10**12
