"""The cases: over all types of windows, disorder, late rows, several windows, own aggregates and windows, all types.

Streams are small, and in time all keys of a stream keep step: an engine's watermark, which is one for all keys, then
never runs ahead of a key's own. Values are such that sums of them are exact in any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

import sash
from sash.testing import Evaluator
from sash.windows import ContextAware, ContextFree, Edges

Row = dict[str, Any]
ORDER = "seq"
"""The column that tells the order of arrival."""

_ARROW = {
    "string": pa.string(),
    "long": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "decimal(10,2)": pa.decimal128(10, 2),
}


@dataclass(frozen=True)
class Case:
    """A query, the types of its columns by their names in SQL, and its tuples as they arrive."""

    name: str
    query: sash.Query
    schema: Mapping[str, str]
    rows: list[Row]
    options: Mapping[str, Any] = field(default_factory=dict)
    """What a runtime has to be told besides: ``types`` of results that nothing else tells."""
    empty: bool = False
    """It has no results, which is what it is about."""

    @property
    def arrow(self) -> Any:
        """The schema of the stream in Arrow."""
        return pa.schema([(name, _ARROW[kind]) for name, kind in self.schema.items()])

    @property
    def ddl(self) -> str:
        """The same for Spark."""
        return ", ".join(f"`{name}` {kind}" for name, kind in self.schema.items())

    @property
    def mixed(self) -> bool:
        """Whether ends of windows are times here and positions there, or of several columns."""
        counted = {getattr(window, "measure", "time") for window in self.query.named.values()}
        return len(self.query.lanes) > 1 or len(counted) > 1

    def batches(self) -> list[list[Row]]:
        """Its tuples in two micro-batches."""
        half = len(self.rows) // 2
        return [self.rows[:half], self.rows[half:]]

    def by_key(self) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
        """The tuples of each key."""
        found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
        for row in self.rows:
            found.setdefault(tuple(row[key] for key in self.query.keys), []).append(row)
        return found

    @property
    def watermark(self) -> Any:
        """That of all keys, when all tuples have come and nothing else does; None: there is none in time."""
        time = self.query.time
        if time is None or "timestamp" not in self.schema[time]:
            return None
        (lane,) = [lane for lane in self.query.lanes if lane.order == time]
        return {time: max(row[time] for row in self.rows) - timedelta(microseconds=lane.delay // 1000)}

    def streamed(self, close: bool = False) -> list[Row]:
        """Its results when tuples come one by one; ``close``: and then no more."""
        return list(self._evaluated(self.query, lambda rows: rows, self.watermark, close))

    def unfinished(self) -> list[Row]:
        """Those of its tuples alone: no watermark of all keys follows them."""
        return list(self._evaluated(self.query, lambda rows: rows, None))

    def settled(self) -> list[Row]:
        """Its results when all tuples are there: nothing is late, and all windows are closed."""
        query = self.query.using(allowed_lateness=None, watermark_delay=None, early=None)
        order = query.orders[0] if query.orders else ORDER
        found = self._evaluated(query, lambda rows: sorted(rows, key=lambda row: row[order]), None, close=True)
        marks = ({"revision": 0} if self.query.revises else {}) | ({"final": True} if self.query.early else {})
        return [row | marks for row in found]

    def _evaluated(self, query: sash.Query, arrange: Any, watermark: Any, close: bool = False) -> Iterator[Row]:
        for key, rows in self.by_key().items():
            evaluator = Evaluator(query)
            results = [result for row in arrange(rows) for result in evaluator.process(row)]
            if watermark is not None:
                results += evaluator.advance(watermark)
            if close:
                results += evaluator.close()
            yield from (dict(zip(query.keys, key, strict=True)) | result for result in results)


# streams


def at(seconds: float) -> datetime:
    return datetime(2024, 3, 31, 0, 59, 30, tzinfo=UTC) + timedelta(seconds=seconds)


SCHEMA = {"k": "string", "ts": "timestamp", "x": "long", "s": "string", "mark": "boolean", ORDER: "long"}


def stream(times: Sequence[float], keys: Sequence[Any] = ("a", "b")) -> list[Row]:
    """A tuple of each key at each time, which are as they arrive."""
    rows: list[Row] = []
    for number, time in enumerate(times):
        for key in keys:
            x = None if len(rows) % 7 == 3 else (len(rows) * 5) % 11 - 4
            row = {"k": key, "ts": at(time), "x": x, "s": chr(97 + number % 26), "mark": number % 4 == 1}
            rows.append(row | {ORDER: len(rows)})
    return rows


IN_ORDER = [0, 1, 1, 4, 5, 9, 12, 12, 13, 20, 26, 27, 40, 41, 47, 60]
DISORDER = [3, 1, 0, 5, 4, 7, 9, 6, 12, 15, 13, 14, 22, 20, 30, 28, 31, 50, 60]
"""Never more than three seconds behind the newest."""
LATE = [0, 5, 12, 8, 20, 11, 3, 31, 22, 45, 29, 44, 46, 10, 60]
"""Up to twelve seconds behind, and one that is 36."""

EARLY = {"time": sash.sliding("20s", "10s"), "session": sash.session("5s"), "count": sash.tumbling(4)}
MONTHS = {
    "week": sash.tumbling("1w", zone="America/New_York", week_start="sunday"),
    "month": sash.tumbling("1mo", zone="Asia/Kathmandu"),
    "quarter": sash.sliding("2q", "1q"),
}


def hours(times: Iterable[float], each: int = 1) -> list[float]:
    """Times that pass as slowly as hours or, with 24 of them ``each``, days."""
    return [time * 3600 * each for time in times]


TIMES = {"step": sash.cumulative("15s", step="5s"), "tail": sash.trailing("8s"), "session": sash.session("4s")}
TAILS = {
    "right": sash.trailing("9s"),
    "neither": sash.trailing("6s", "neither"),
    "count": sash.sliding(4, 2, partial=True),
    "ten": sash.tumbling("10s"),
}
AROUND = {
    "five": sash.sliding(5, center=True, min_periods=3),
    "four": sash.sliding(4, min_periods=2),
    "three": sash.sliding(3, 1),
    "ten": sash.tumbling("10s"),
}
YEARS = {
    "year": sash.tumbling("1y", zone="Pacific/Auckland"),
    "tail": sash.trailing("30d"),
    "step": sash.cumulative("8d", "2d"),
}


SUMS = {"sum": sash.Sum("x"), "n": sash.Count(), "top": sash.Max("x")}
FILTERED = {
    "sum": sash.Sum("x", where="mark"),
    "n": sash.Count(where="mark"),
    "who": sash.ArgMin("x", "s", where="mark"),
    "all": sash.Collect("s", where="mark"),
    "rise": sash.Slope("x", ORDER, where="mark"),
    "seen": sash.Any("mark"),
    "rows": sash.Count(),
}
STATISTICS = {
    "variance": sash.SampleVariance("x"),
    "spread": sash.PopulationVariance("x"),
    "skewness": sash.Skewness("x"),
    "kurtosis": sash.Kurtosis("x"),
    "covariance": sash.Covariance("x", ORDER),
    "correlation": sash.Correlation("x", ORDER),
    "slope": sash.Slope("x", ORDER),
    "weighted": sash.WeightedMean("x", ORDER),
    "fading": sash.ExponentialMean("x", ORDER, half_life=3),
    "product": sash.Product("x"),
    "any": sash.Any("mark"),
    "each": sash.All("mark"),
    "distinct": sash.ExactDistinctCount("x"),
    "mode": sash.Mode("x"),
}
VALUED = {
    "weighted": sash.WeightedMean("x", ORDER),
    "any": sash.Any("mark"),
    "mode": sash.Mode("x"),
    "median": sash.Median("x"),
    "list": sash.Collect("x"),
    "m4": sash.M4("x"),
    "n": sash.Count(),
}
ORDERED = {"all": sash.Concat("s"), "first": sash.First("x"), "who": sash.ArgMin("x", "s")}


def case(name: str, windows: Any, times: Sequence[float], aggregates: Any = None, **more: Any) -> Case:
    """One over the usual columns."""
    options = {"time": "ts", "key": "k"} | more
    return Case(name, sash.Query(windows=windows, aggregates=aggregates or SUMS, **options), SCHEMA, stream(times))


def numbered(name: str, unit: Any, kind: str, windows: Any, times: Sequence[float], **more: Any) -> Case:
    """The same with times that are plain numbers of a unit since 1970."""
    size = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    made: Any = int if kind == "long" else float
    rows = [row | {"ts": made(Fraction(row["ts"].timestamp()) * size)} for row in stream(times)]
    options = {"time": "ts", "time_unit": unit, "key": "k"} | more
    return Case(name, sash.Query(windows=windows, aggregates=SUMS, **options), SCHEMA | {"ts": kind}, rows)


@dataclass(frozen=True)
class Doubling(ContextFree):
    """A user's own: windows that double in length, on counts."""

    measure = "count"

    def next_edge(self, after: Any) -> Any:
        return 2 ** (math.floor(math.log2(after)) + 1) if after >= 1 else 1

    def windows(self, after: Any, upto: Any) -> Iterator[tuple[Any, Any]]:
        start, end = 0, 1
        while end <= upto:
            if end > after:
                yield start, end
            start, end = end, end * 2


@dataclass(frozen=True)
class Nulls(ContextAware):
    """A user's own: from one tuple without a value to the next."""

    on: str | None = None
    columns: tuple[str, ...] = ("x",)

    def observe(self, time: Any, row: Mapping[str, Any], edges: Edges) -> None:
        if row["x"] is None:
            edges.add(time)


SPREAD = sash.aggregation(
    "x",
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda p: p[1] - p[0],
    commutative=True,
    name="spread",
)
ZOO = {
    "k": "int",
    "day": "date",
    "ts": "timestamp_ntz",
    "d": "decimal(10,2)",
    "f": "double",
    "g": "float",
    "b": "boolean",
    "raw": "binary",
    "seen": "timestamp",
    "big": "long",
    "s": "string",
    ORDER: "long",
}


def zoo() -> list[Row]:
    rows: list[Row] = []
    for i in range(24):
        null = i % 5 == 2
        row = {
            "k": None if i % 3 == 2 else i % 3,
            "day": date(1969, 12, 30) + timedelta(days=i % 2),
            "ts": at(i // 6 * 7).replace(tzinfo=None),
            "d": None if null else Decimal(i * 25 - 100) / 100,
            "f": None if i % 4 == 1 else math.nan if i == 13 else i / 8,
            "g": None if null else i / 4,
            "b": None if null else i % 2 == 0,
            "raw": None if null else bytes([i, 0, 255]),
            "seen": None if null else at(-i) + timedelta(microseconds=i),
            "big": None if null else 2**60 + i,
            "s": None if null else ["", "é", "日本", "'\"\\"][i % 4],
        }
        rows.append(row | {ORDER: i})
    return rows


DRIVEN = {"k": "string", "km": "long", "ts": "timestamp", "x": "long", ORDER: "long"}


def driven() -> list[Row]:
    return [{"k": "ab"[i % 2], "km": i * 3 + i % 5, "ts": at(i), "x": i % 7, ORDER: i} for i in range(30)]


def since() -> list[Row]:
    return [{"since": at(i % 2), "local": at(i % 3).replace(tzinfo=None), "x": i % 7, ORDER: i} for i in range(30)]


CASES = [
    case("time", sash.sliding("10s", "4s"), IN_ORDER),
    case("time-disorder", sash.sliding("12s", "3s", offset="1s"), DISORDER, watermark_delay="3s"),
    case("time-disorder-in-order-of-time", sash.tumbling("10s"), DISORDER, ORDERED, watermark_delay="3s"),
    case("time-late", sash.sliding("10s", "5s"), LATE, allowed_lateness="12s"),
    case("time-late-many-open", sash.tumbling("1s"), range(150), watermark_delay="120s", allowed_lateness="5s"),
    case("session-beside", {"session": sash.session("5s"), "each": sash.tumbling("1s")}, range(150)),
    case("time-too-late", sash.tumbling("10s"), LATE, watermark_delay="2s"),
    case("filters", sash.sliding("20s", "10s"), DISORDER, FILTERED, watermark_delay="3s"),
    case("cumulative", sash.cumulative("12s", step="4s", offset="1s"), DISORDER, ORDERED, watermark_delay="3s"),
    case("cumulative-late", sash.cumulative("15s", step="5s"), LATE, SUMS | ORDERED, allowed_lateness="12s"),
    case("early", EARLY, DISORDER, SUMS | ORDERED, watermark_delay="3s", early="4s"),
    case("early-late", sash.sliding("20s", "10s"), LATE, allowed_lateness="12s", early="5s"),
    case("days-of-a-zone", sash.sliding("2d", "1d", zone="Europe/Berlin"), hours(DISORDER), watermark_delay="3h"),
    case("weeks-and-months", MONTHS, hours(LATE, 24), SUMS | ORDERED, allowed_lateness="12d"),
    numbered("days-of-numbers", "ms", "long", sash.tumbling("1d", zone="America/New_York"), hours(IN_ORDER)),
    case("trailing", sash.trailing("7s"), DISORDER, watermark_delay="3s"),
    case("trailing-ordered", {"a": sash.trailing("4s", "left"), "b": sash.trailing("9s", "both")}, IN_ORDER, ORDERED),
    case("trailing-late", sash.trailing("6s"), LATE, SUMS | ORDERED, allowed_lateness="12s"),
    case("trailing-beside-others", TAILS, LATE, SUMS | ORDERED, allowed_lateness="12s"),
    case("trailing-filters", sash.trailing("8s", "neither"), DISORDER, FILTERED, watermark_delay="3s"),
    case("trailing-without-a-key", sash.trailing("5s"), IN_ORDER, key=None),
    case("early-of-all-kinds", TIMES, DISORDER, FILTERED, watermark_delay="3s", early="4s"),
    case("years-and-trailing-days", YEARS, hours(DISORDER, 24 * 7), SUMS | ORDERED, watermark_delay="21d"),
    case("statistics", sash.sliding("20s", "10s"), DISORDER, STATISTICS, watermark_delay="3s"),
    case("statistics-late", sash.cumulative("20s", step="10s"), LATE, STATISTICS, allowed_lateness="12s"),
    case("statistics-on-counts", sash.sliding(6, 2, partial=True), IN_ORDER, STATISTICS),
    case("statistics-trailing", sash.trailing("12s"), IN_ORDER, STATISTICS),
    numbered("trailing-nanoseconds", "ns", "long", sash.trailing("6s", "both"), DISORDER, watermark_delay="3s"),
    numbered("trailing-floats", "s", "double", sash.trailing("2500ms"), LATE, allowed_lateness="12s"),
    numbered("early-milliseconds", "ms", "long", sash.cumulative("12s", "4s"), DISORDER, early="5s"),
    numbered("numbers-of-seconds", "s", "long", sash.sliding("10s", "4s"), DISORDER, watermark_delay="3s"),
    numbered("numbers-of-milliseconds", "ms", "long", sash.sliding("10s", "5s"), LATE, allowed_lateness="12s"),
    numbered("numbers-of-microseconds", "us", "long", sash.session("5s"), DISORDER, watermark_delay="3500ms"),
    numbered("floats-of-seconds", "s", "double", sash.tumbling("2500ms"), DISORDER, watermark_delay="3s"),
    case("session", sash.session("5s"), DISORDER, watermark_delay="3s"),
    case("session-late", sash.session("4s"), LATE, SUMS | ORDERED, allowed_lateness="12s", watermark_delay="1s"),
    case("count", sash.sliding(5, 2), IN_ORDER, SUMS | ORDERED),
    case("count-partial-disorder", sash.sliding(6, 4, partial=True), DISORDER, ORDERED, watermark_delay="3s"),
    case("count-late", sash.tumbling(4), LATE, ORDERED, allowed_lateness="12s"),
    case("count-arrival", sash.sliding(7, 1), IN_ORDER, SUMS | ORDERED, time=None),
    case("centered", sash.sliding(5, center=True, min_periods=3), IN_ORDER, SUMS | ORDERED),
    case("centered-arrival", sash.sliding(4, center=True, min_periods=1), IN_ORDER, FILTERED, time=None),
    case("centered-late", sash.sliding(3, center=True, min_periods=2), LATE, ORDERED, allowed_lateness="12s"),
    case("centered-beside-others", AROUND, DISORDER, VALUED, watermark_delay="3s"),
    case("least-values", sash.sliding(6, min_periods=4), DISORDER, FILTERED, watermark_delay="3s"),
    case("punctuated", sash.punctuated("mark"), DISORDER, watermark_delay="3s"),
    case("last", sash.last(3, every="5s", partial=True), DISORDER, ORDERED, watermark_delay="3s"),
    case(
        "several",
        {"ten": sash.sliding("10s", "5s"), "four": sash.tumbling("4s"), "session": sash.session("6s")},
        DISORDER,
        SUMS | ORDERED,
        watermark_delay="3s",
    ),
    case(
        "several-on-times-and-counts",
        {"ten": sash.tumbling("10s"), "three": sash.sliding(3, 1), "last": sash.last(2, every="10s")},
        IN_ORDER,
    ),
    case("without-a-key", sash.tumbling("10s"), IN_ORDER, key=None),
    case("own-aggregate", {"a": sash.sliding("10s", "5s"), "b": sash.tumbling("20s")}, IN_ORDER, {"spread": SPREAD}),
    case("own-window", Doubling(), IN_ORDER),
    case("own-window-of-context", Nulls(), DISORDER, watermark_delay="3s"),
    case(
        "results-of-several-parts",
        sash.tumbling("20s"),
        IN_ORDER,
        {"m4": sash.M4("x"), "list": sash.Collect("x"), "median": sash.Median("x"), "mean": sash.Mean("x")},
    ),
    case("forced", sash.sliding(4, 1), IN_ORDER, {"top": sash.Max("x")}, algorithm="daba"),
    Case(
        "types",
        sash.Query(
            key=["k", "day"],
            windows=sash.tumbling("10s"),
            aggregates={
                "sum_d": sash.Sum("d"),
                "max_d": sash.Max("d"),
                "min_f": sash.Min("f"),
                "sum_f": sash.Sum("f"),
                "max_g": sash.Max("g"),
                "first_b": sash.First("b"),
                "last_raw": sash.Last("raw"),
                "seen": sash.Max("seen"),
                "big": sash.Sum("big"),
                "top": sash.Max("big"),
                "s": sash.Last("s"),
                "text": sash.Concat("s"),
                "n": sash.Count("s"),
                "when": sash.ArgMax("big", "seen"),
            },
            time="ts",
        ),
        ZOO,
        zoo(),
    ),
    Case(
        "keys-that-are-times",
        sash.Query(key=["since", "local"], windows=sash.sliding(3), aggregates={"sum": sash.Sum("x")}),
        {"since": "timestamp", "local": "timestamp_ntz", "x": "long", ORDER: "long"},
        since(),
    ),
    Case(
        "kilometres",
        sash.Query(
            key="k", windows=sash.sliding(10, 5, on="km"), aggregates={"sum": sash.Sum("x")}, watermark_delay={"km": 4}
        ),
        DRIVEN,
        driven(),
    ),
    Case(
        "trailing-and-cumulative-kilometres",
        sash.Query(
            key="k",
            windows={"tail": sash.trailing(9, "left", on="km"), "trip": sash.cumulative(20, 5, on="km")},
            aggregates={"sum": sash.Sum("x"), "n": sash.Count()},
            watermark_delay={"km": 4},
            early=10,
        ),
        DRIVEN,
        driven(),
    ),
    Case(
        "time-and-kilometres",
        sash.Query(
            key="k",
            windows={"km": sash.sliding(10, 5, on="km"), "time": sash.tumbling("5s")},
            aggregates={"sum": sash.Sum("x")},
            time="ts",
            watermark_delay={"km": 4, "ts": "1s"},
        ),
        DRIVEN,
        driven(),
    ),
]
