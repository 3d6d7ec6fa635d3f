"""Hypothesis strategies: windows of every type, aggregates, queries, streams in any order, and what happens to them.

Times are small numbers, so that windows and tuples meet: on edges, at equal times, before zero. Values are integers,
so that sums are exact whatever the order they are merged in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import count
from operator import itemgetter
from typing import Any, ClassVar, Literal

from hypothesis import strategies as st

import sash
from sash.windows import ContextAware, ContextFree, Edges, Window
from sash.windows.base import Extent

Event = tuple[Any, ...]
Row = dict[str, Any]


@dataclass(frozen=True)
class Growing(ContextFree):
    """A user's own: from one square number to the one after the next, so of every length and overlapping."""

    on: str | None = None

    def next_edge(self, after: Any) -> Any:
        return next(n * n for n in count() if n * n > after)

    def windows(self, after: Any, upto: Any) -> Iterator[Extent]:
        for n in count():
            start, end = n * n, (n + 2) * (n + 2)
            if end > upto:
                return
            if end > after:
                yield start, end


@dataclass(frozen=True)
class GrowingCounts(Growing):
    """The same on counts."""

    measure: ClassVar[Literal["time", "count"]] = "count"


@dataclass(frozen=True)
class Changes(ContextAware):
    """A user's own: from one tuple without a value to the next, as :func:`sash.punctuated` would have it."""

    on: str | None = None
    columns: tuple[str, ...] = ("x",)

    def observe(self, time: Any, row: Mapping[str, Any], edges: Edges) -> None:
        if row["x"] is None:
            edges.add(time)


@dataclass(frozen=True)
class Lookback(ContextAware):
    """A user's own, forward context aware: a tuple that is 0 puts an edge 2 before it, if none lies behind that."""

    forward: ClassVar[bool] = True
    on: str | None = None
    columns: tuple[str, ...] = ("x",)

    def observe(self, time: Any, row: Mapping[str, Any], edges: Edges) -> None:
        if row["x"] == 0 and edges.after(time - 2) is None:
            edges.add(time - 2)


def is_zero(x: Any) -> bool:
    return bool(x == 0)


@st.composite
def ranges_and_slides(draw: st.DrawFn, numbers: st.SearchStrategy[Any]) -> tuple[Any, Any]:
    """Any r >= s: divided by it or not, tumbling, of overlap one or many."""
    a, b = draw(numbers), draw(numbers)
    return max(a, b), min(a, b)


WHOLE = st.integers(1, 9)
HALVES = st.integers(1, 18).map(lambda n: n / 2)
TENTHS = st.integers(1, 30).map(lambda n: n / 10)
"""Not exact in binary: k times one of them is not always where a tenth is."""


@st.composite
def count_windows(draw: st.DrawFn) -> Window:
    r, s = draw(ranges_and_slides(st.integers(1, 6)))
    return sash.sliding(r, s, partial=draw(st.booleans()))


@st.composite
def time_windows(draw: st.DrawFn, numbers: st.SearchStrategy[Any] = WHOLE) -> Window:
    r, s = draw(ranges_and_slides(numbers))
    return sash.sliding(r, s, offset=draw(st.one_of(st.just(0), numbers)), on="ts")


@st.composite
def cumulatives(draw: st.DrawFn, numbers: st.SearchStrategy[Any] = WHOLE) -> Window:
    """Of one step or several; steps that are no binary fractions divide their multiples but for rounding."""
    step, steps = draw(numbers), draw(st.integers(1, 5))
    return sash.cumulative(step * steps, step=step, offset=draw(st.one_of(st.just(0), numbers)), on="ts")


def trailings(numbers: st.SearchStrategy[Any] = WHOLE) -> st.SearchStrategy[Window]:
    closed = st.sampled_from(["right", "right", "both", "left", "neither"])
    return st.builds(lambda range_, closed: sash.trailing(range_, closed, on="ts"), numbers, closed)


def sessions(numbers: st.SearchStrategy[Any] = WHOLE) -> st.SearchStrategy[Window]:
    return st.builds(lambda gap: sash.session(gap, on="ts"), numbers)


@st.composite
def lasts(draw: st.DrawFn, numbers: st.SearchStrategy[Any] = WHOLE) -> Window:
    number, every, offset = draw(st.integers(1, 4)), draw(numbers), draw(st.sampled_from([0, 1]))
    return sash.last(number, every=every, offset=offset, on="ts", partial=draw(st.booleans()))


PUNCTUATED = st.sampled_from([sash.punctuated("mark"), sash.punctuated(is_zero, "x"), Changes()])


def ordered_windows(numbers: st.SearchStrategy[Any] = WHOLE) -> st.SearchStrategy[Window]:
    """Windows of any type in the order of ``ts``."""
    return st.one_of(
        time_windows(numbers),
        count_windows(),
        sessions(numbers),
        cumulatives(numbers),
        trailings(numbers),
        PUNCTUATED,
        lasts(numbers),
        st.sampled_from([Growing("ts"), GrowingCounts(), Lookback()]),
    )


ARRIVAL_WINDOWS: st.SearchStrategy[Window] = st.one_of(
    count_windows(), count_windows(), PUNCTUATED, st.sampled_from([Growing(), GrowingCounts(), Lookback()])
)
"""Windows in the order of arrival."""

SPREAD = sash.aggregation(
    "x",
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda p: p[1] - p[0],
    commutative=True,
    name="spread",
)
COMMUTATIVE: list[sash.Aggregation] = [
    sash.Max("x"),
    sash.Sum("x"),
    sash.Count(),
    sash.Count("x"),
    sash.Mean("x"),
    sash.Median("x"),
    SPREAD,
]
NOT_COMMUTATIVE: list[sash.Aggregation] = [
    sash.Collect("x"),
    sash.Concat("s"),
    sash.First("x"),
    sash.Last("s"),
    sash.ArgMax("x", "s"),
]


def aggregates() -> st.SearchStrategy[dict[str, sash.Aggregation]]:
    """One to three of them; often all commutative, for then tuples need not be kept."""
    some = st.lists(st.sampled_from(COMMUTATIVE), min_size=1, max_size=3, unique_by=repr)
    more = st.lists(st.sampled_from(COMMUTATIVE + NOT_COMMUTATIVE), min_size=1, max_size=3, unique_by=repr)
    return st.one_of(some, more).map(lambda chosen: {f"a{i}": each for i, each in enumerate(chosen)})


NAMES = ["w1", "w2", "w3", "w4"]


@st.composite
def queries(
    draw: st.DrawFn,
    windows: st.SearchStrategy[Window] | None = None,
    delays: Sequence[Any] = (None, 0, 1, 3, 10),
    latenesses: Sequence[Any] = (None, 0, 2, 5, 20, 20),
    computed: st.SearchStrategy[dict[str, sash.Aggregation]] | None = None,
) -> sash.Query:
    """One to four windows in the order of ``ts``, for one key."""
    chosen = draw(st.lists(ordered_windows() if windows is None else windows, min_size=1, max_size=4))
    single = len(chosen) == 1 and draw(st.booleans())
    return sash.Query(
        windows=chosen[0] if single else dict(zip(NAMES, chosen, strict=False)),
        aggregates=draw(aggregates() if computed is None else computed),
        time="ts",
        watermark_delay=draw(st.sampled_from(delays)),
        allowed_lateness=draw(st.sampled_from(latenesses)),
    )


def corrected_queries(
    numbers: st.SearchStrategy[Any] = WHOLE,
    latenesses: Sequence[Any] = (1, 2, 5, 20),
    delays: Sequence[Any] = (None, 0, 1, 3),
) -> st.SearchStrategy[sash.Query]:
    """Queries whose results batches correct by columns."""
    some = st.lists(st.sampled_from(COMMUTATIVE), min_size=1, max_size=3, unique_by=repr)
    computed = some.map(lambda chosen: {f"a{i}": each for i, each in enumerate(chosen)})
    return queries(st.one_of(time_windows(numbers), cumulatives(numbers)), delays, latenesses, computed)


@st.composite
def arrival_queries(draw: st.DrawFn) -> sash.Query:
    """Without a time."""
    chosen = draw(st.lists(ARRIVAL_WINDOWS, min_size=1, max_size=3))
    return sash.Query(windows=dict(zip(NAMES, chosen, strict=False)), aggregates=draw(aggregates()))


@dataclass(frozen=True)
class Pace:
    """How a stream goes on: by how much from tuple to tuple, and how far behind that tuples may come."""

    steps: tuple[Any, ...]
    behind: tuple[Any, ...] = (0,)


IN_ORDER = Pace((1, 0, 0, 2, 3, 7, 30))
DISORDER = Pace((1, 0, 0, 2, 3, 5, 12), (0, 0, 1, 2, 4, 9, 25))
HALVES_IN_ORDER = Pace((0.5, 0, 1.0, 2.5, 7.0))
HALVES_IN_DISORDER = Pace((0.5, 0, 1.0, 2.5, 7.0), (0, 0, 0.5, 1.5, 6.0))
TENTHS_IN_ORDER = Pace((0.1, 0, 0.2, 0.3, 0.7, 1.1))
TENTHS_IN_DISORDER = Pace((0.1, 0, 0.2, 0.3, 0.7, 1.1), (0, 0, 0.1, 0.4))


@st.composite
def rows(draw: st.DrawFn, pace: Pace, most: int = 40) -> list[Row]:
    """A stream of tuples: in bursts, with gaps, at equal times, from before zero."""
    drawn = st.tuples(
        st.sampled_from(pace.steps),
        st.sampled_from(pace.behind),
        st.sampled_from([1, 0, 2, 3, 5, -4, 9, None]),
        st.sampled_from(["a", "b", "c", None]),
        st.sampled_from([False, False, False, True]),
    )
    # Lists are short unless they must not be.
    tuples = draw(st.one_of(st.lists(drawn, max_size=most // 2), st.lists(drawn, min_size=most // 3, max_size=most)))
    now = draw(st.sampled_from([0, -20, 3]))
    stream = []
    for step, behind, x, s, mark in tuples:
        now += step
        stream.append({"ts": now - behind, "x": x, "s": s, "mark": mark})
    return stream


@st.composite
def advances(draw: st.DrawFn, stream: list[Row]) -> list[Event]:
    """The tuples of a stream as events, here and there with a watermark near the tuple before."""
    behind = {n: [("row", row)] for n, row in enumerate(stream)}
    for n, ahead in draw(_places(stream, st.sampled_from([0, -2, 1, 4, 11]))):
        behind[n].append(("advance", stream[n]["ts"] + ahead))
    return [event for events in behind.values() for event in events]


def _places(among: Sequence[Any], what: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[int, Any]]]:
    """Something at some places, in order: drawn apart from what is there, so that both shrink."""
    if not among:
        return st.just([])
    return st.lists(st.tuples(st.integers(0, len(among) - 1), what), max_size=5).map(
        lambda drawn: sorted(drawn, key=itemgetter(0))
    )


@st.composite
def changing(draw: st.DrawFn, query: sash.Query, events: list[Event], windows: Any = None) -> list[Event]:
    """The same events with windows added and removed between them; one of the query's own always stays."""
    if not isinstance(query.windows, Mapping):
        return events
    present = list(query.named)
    changed = {n: [event] for n, event in enumerate(events)}
    window = ordered_windows() if windows is None else windows
    for n, added in draw(_places(events, st.one_of(window, st.none()))):
        if added is not None:
            name = f"more{len(changed[n])} at {n}"
            present.append(name)
            changed[n].append(("add", name, added))
        elif len(present) > 1:
            changed[n].append(("remove", present.pop(draw(st.integers(1, len(present) - 1)))))
    return [event for piece in changed.values() for event in piece]


@dataclass
class Scenario:
    """A query and all that happens to it."""

    query: sash.Query
    events: list[Event]
    cuts: list[int] = field(default_factory=list)
    """Where the events are cut in batches, or where a state is saved."""

    def __repr__(self) -> str:
        shown = "\n".join(f"    {event!r}," for event in self.events)
        return f"Scenario(\n  {self.query!r},\n  [\n{shown}\n  ],\n  cuts={self.cuts})"


def cuts(events: Sequence[Any]) -> st.SearchStrategy[list[int]]:
    """Up to five places between events."""
    return st.sets(st.integers(0, len(events)), max_size=5).map(sorted)


@st.composite
def scenarios(
    draw: st.DrawFn,
    query: st.SearchStrategy[sash.Query] | None = None,
    paces: Sequence[Pace] = (IN_ORDER, DISORDER, DISORDER),
    changes: bool = False,
    most: int = 40,
    windows: Any = None,
    advanced: bool = True,
) -> Scenario:
    """A query, a stream with watermarks, perhaps windows added and removed, the end of it or not, and cuts."""
    asked = draw(queries() if query is None else query)
    stream = draw(rows(draw(st.sampled_from(paces)), most))
    events: list[Event] = [("row", row) for row in stream]
    if advanced and asked.time is not None:
        events = draw(advances(stream))
    if changes:
        events = draw(changing(asked, events, windows))
    if draw(st.booleans()):
        events.append(("close",))
    return Scenario(asked, events, draw(cuts(events)))


@st.composite
def timestamp_scenarios(draw: st.DrawFn, zone: timezone | None = None) -> Scenario:
    """With timestamps for times, and durations."""
    seconds = st.integers(1, 9)
    r, s = draw(ranges_and_slides(seconds))
    windows = {
        "time": sash.sliding(f"{r}s", f"{s}s", offset=f"{draw(seconds)}s"),
        "session": sash.session(timedelta(seconds=draw(seconds))),
        "last": sash.last(draw(st.integers(1, 4)), every=f"{draw(seconds)}s"),
        "trailing": sash.trailing(f"{draw(seconds)}s", draw(st.sampled_from(["right", "both", "left", "neither"]))),
        "count": draw(count_windows()),
        "mark": sash.punctuated("mark"),
    }
    names = draw(st.sets(st.sampled_from(sorted(windows)), min_size=1))
    asked = sash.Query(
        windows={name: windows[name] for name in sorted(names)},
        aggregates=draw(aggregates()),
        time="ts",
        watermark_delay=draw(st.sampled_from([None, "3s"])),
        allowed_lateness=draw(st.sampled_from([None, "20s"])),
    )
    begin = datetime(1970, 1, 1, 0, 0, 10, tzinfo=zone)
    stream = draw(rows(draw(st.sampled_from([IN_ORDER, DISORDER])), most=25))
    events = [("row", row | {"ts": begin + timedelta(seconds=row["ts"])}) for row in stream]
    return Scenario(asked, [*events, ("close",)], draw(cuts(events)))


@st.composite
def two_lane_scenarios(draw: st.DrawFn) -> Scenario:
    """Windows on time and others on kilometres, which advance at another pace: each with a watermark of its own."""
    windows = {
        "time": draw(ordered_windows()),
        "km": sash.sliding(draw(st.integers(4, 9)), draw(st.integers(1, 4)), on="km"),
        "trip": sash.session(draw(st.integers(1, 9)), on="km"),
        "count": draw(count_windows()),
    }
    names = draw(st.sampled_from([["time", "km"], ["km", "trip", "count"], ["time", "trip"], ["trip", "time", "km"]]))
    asked = sash.Query(
        windows={name: windows[name] for name in names},
        aggregates=draw(aggregates()),
        time="ts" if "time" in names else None,
        watermark_delay=draw(st.sampled_from([None, {"km": 3}])),
        allowed_lateness=draw(st.sampled_from([None, {"km": 10}])),
    )
    stream, other = draw(rows(DISORDER, most=25)), draw(rows(DISORDER, most=25))
    events: list[Event] = [("row", row | {"km": at["ts"]}) for row, at in zip(stream, other, strict=False)]
    return Scenario(asked, [*events, ("close",)], draw(cuts(events)))


def arrival_scenarios() -> st.SearchStrategy[Scenario]:
    """In the order of arrival."""
    return scenarios(arrival_queries())
