"""Agreement with pandas and DuckDB on all that they can express: the same windows, asked for in their own words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import sash

ROWS = 300
KEYS = ["plug", "lamp", "oven"]
AGGREGATES = {
    "peak": sash.Max("x"),
    "total": sash.Sum("x"),
    "mean": sash.Mean("x"),
    "n": sash.Count(),
    "middle": sash.Median("x"),
    "first": sash.First("x"),
    "last": sash.Last("x"),
}
IN_PANDAS = {
    "peak": ("x", "max"),
    "total": ("x", "sum"),
    "mean": ("x", "mean"),
    "n": ("x", "size"),
    "middle": ("x", "median"),
    "first": ("x", "first"),
    "last": ("x", "last"),
}
IN_SQL = """
    max(x) as peak, sum(x) as total, avg(x) as mean, count(*) as n, median(x) as middle,
    first(x order by ts, seq) as first, last(x order by ts, seq) as last
"""


def data(seed: int = 0) -> pd.DataFrame:
    """Tuples in order, some at equal times, in bursts, with pauses, and from before zero."""
    random = np.random.default_rng(seed)
    steps = random.choice([0, 1, 1, 2, 3, 40], ROWS)
    return pd.DataFrame(
        {
            "k": random.choice(KEYS, ROWS),
            "ts": np.cumsum(steps) - 200,
            "x": random.integers(-50, 50, ROWS),
            "seq": np.arange(ROWS),
            "mark": random.random(ROWS) < 0.1,
        }
    )


def moments(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with timestamps."""
    return frame.assign(ts=pd.Timestamp("2024-02-28 23:59:00") + pd.to_timedelta(frame["ts"], unit="s"))


def shuffled(frame: pd.DataFrame) -> pd.DataFrame:
    """The same tuples, out of order but for those at equal times."""
    block = np.random.default_rng(1).permutation(frame["ts"].max() - frame["ts"].min() + 1)
    return frame.iloc[np.argsort(block[frame["ts"] - frame["ts"].min()], kind="stable")].reset_index(drop=True)


def run(windows: Any, frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    asked: dict[str, Any] = {"key": "k", "time": "ts", "aggregates": AGGREGATES}
    found = sash.run(sash.Query(windows=windows, **asked | options), frame)
    assert isinstance(found, pd.DataFrame)
    return found


def sql(text: str, frame: pd.DataFrame) -> pd.DataFrame:
    """What DuckDB says to ``text``, in which ``t`` is the table."""
    with duckdb.connect() as connection:
        connection.execute("set threads = 1")
        connection.register("t", frame)
        return connection.execute(text).df()


def assert_agree(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    """The same rows, whatever the order of the keys and whatever the width of the types."""
    columns = [column for column in found.columns if column in expected.columns]
    assert set(columns) == set(expected.columns) and len(expected)
    place = [column for column in ("k", "window_end", "window_start") if column in columns]
    a, b = (frame[columns].sort_values(place, ignore_index=True) for frame in (found, expected))
    pd.testing.assert_frame_equal(a, b, check_dtype=False, check_exact=False, rtol=1e-12)


SHAPES = [(1, 1), (4, 1), (4, 2), (7, 3), (5, 5), (9, 8)]


@pytest.mark.parametrize(("r", "s"), SHAPES)
def test_count_windows_are_pandas_rolling(r: int, s: int) -> None:
    frame = data()
    found = run(sash.sliding(r, s), frame)
    parts = []
    for k, part in frame.groupby("k"):
        rolling = part["x"].rolling(r)
        names = {"peak": "max", "total": "sum", "mean": "mean", "n": "count", "middle": "median"}
        every = pd.DataFrame({name: getattr(rolling, method)() for name, method in names.items()})
        every["first"], every["last"] = part["x"].shift(r - 1), part["x"]
        every = every.assign(k=k, window_end=np.arange(1, len(part) + 1))
        every["window_start"] = every["window_end"] - r
        parts.append(every.iloc[r - 1 :: s])
    assert_agree(found, pd.concat(parts))


@pytest.mark.parametrize("r", [1, 3, 8])
def test_partial_count_windows_are_pandas_rolling_with_min_periods(r: int) -> None:
    frame = data()
    found = run(sash.sliding(r, partial=True), frame, aggregates={"peak": sash.Max("x"), "total": sash.Sum("x")})
    rolling = frame.groupby("k")["x"].rolling(r, min_periods=1)
    expected = pd.DataFrame({"peak": rolling.max(), "total": rolling.sum()}).reset_index()
    expected["window_end"] = expected.groupby("k").cumcount() + 1
    expected["window_start"] = (expected["window_end"] - r).clip(lower=0)
    assert_agree(found, expected.drop(columns="level_1"))


@pytest.mark.parametrize(("r", "s"), SHAPES)
def test_count_windows_are_rows_between(r: int, s: int) -> None:
    """In the order of time, and of arrival among equal times; the data come in another."""
    frame = data()
    over = f"over (partition by k order by ts, seq rows between {r - 1} preceding and current row)"
    expected = sql(
        f"""
        select k, row_number() over (partition by k order by ts, seq) as window_end, window_end - {r} as window_start,
            max(x) {over} as peak, list(x) {over} as "all", arg_max(seq, x) {over} as who, count(*) {over} as n
        from t qualify window_end >= {r} and (window_end - {r}) % {s} = 0
        """,
        frame,
    )
    computed = {"peak": sash.Max("x"), "all": sash.Collect("x"), "who": sash.ArgMax("x", "seq"), "n": sash.Count()}
    found = run(sash.sliding(r, s), shuffled(frame), aggregates=computed)
    for each in (found, expected):
        each["all"] = each["all"].map(list)
    assert_agree(found, expected)


@pytest.mark.parametrize(("r", "offset"), [(1, 0), (10, 0), (10, 3), (64, -5)])
def test_tumbling_windows_are_groups_by_the_floor(r: int, offset: int) -> None:
    frame = data()
    start = ((frame["ts"] - offset) // r * r + offset).rename("window_start")
    expected = frame.groupby(["k", start]).agg(**IN_PANDAS).reset_index()  # type: ignore[call-overload]
    expected["window_end"] = expected["window_start"] + r
    assert_agree(run(sash.tumbling(r, offset=offset, on="ts"), shuffled(frame)), expected)


@pytest.mark.parametrize(("r", "offset"), [("10s", "0s"), ("7s", "2s"), ("1h", "15m")])
def test_tumbling_windows_are_pandas_resample(r: str, offset: str) -> None:
    frame = moments(data()).drop(columns="k")
    found = run(sash.tumbling(r, offset=offset), frame, key=None)
    rule = frame.set_index("ts").resample(pd.Timedelta(r), origin="epoch", offset=pd.Timedelta(offset))
    expected = rule.agg(**IN_PANDAS).reset_index(names="window_start")  # type: ignore[arg-type]
    expected["window_end"] = expected["window_start"] + pd.Timedelta(r)
    assert_agree(found, expected[expected["n"] > 0])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_any_unit_are_duckdbs_time_buckets(unit: str) -> None:
    frame = moments(data()).astype({"ts": f"datetime64[{unit}]"})
    expected = sql(
        f"""
        select k, time_bucket(interval '10 seconds', ts, timestamp '1970-01-01') as window_start,
            window_start + interval '10 seconds' as window_end, {IN_SQL}
        from t group by k, window_start
        """,
        frame,
    )
    found = run(
        sash.tumbling("10s"), shuffled(data()).assign(ts=lambda each: moments(each)["ts"].astype(frame["ts"].dtype))
    )
    for column in ("window_start", "window_end"):
        found[column], expected[column] = found[column].astype("M8[ns]"), expected[column].astype("M8[ns]")
    assert_agree(found, expected)


@pytest.mark.parametrize(("r", "s", "offset"), [(10, 5, 0), (10, 1, 0), (7, 3, 1), (100, 20, -7), (5, 5, 2)])
def test_sliding_time_windows_are_a_join_with_all_their_extents(r: int, s: int, offset: int) -> None:
    frame = data()
    extents = f"""
        select k * {s} + {offset} as window_start, k * {s} + {offset} + {r} as window_end
        from generate_series(-5000, 5000) as every(k)
    """
    expected = sql(
        f"""
        select t.k, window_start, window_end, {IN_SQL}
        from t join ({extents}) on window_start <= ts and ts < window_end
        group by t.k, window_start, window_end
        """,
        frame,
    )
    assert_agree(run(sash.sliding(r, s, offset=offset, on="ts"), shuffled(frame)), expected)


@pytest.mark.parametrize("r", [1, 5, 60])
def test_windows_that_end_at_each_tuple_are_range_between(r: int) -> None:
    """Of the windows of slide 1, those that end right behind a tuple are what SQL's windows by range are."""
    frame = data()
    over = f"over (partition by k order by ts range between {r - 1} preceding and current row)"
    expected = sql(
        f"""
        select distinct k, ts + 1 - {r} as window_start, ts + 1 as window_end, max(x) {over} as peak,
            sum(x) {over} as total, count(*) {over} as n, median(x) {over} as middle, avg(x) {over} as mean
        from t
        """,
        frame,
    )
    found = run(sash.sliding(r, 1, on="ts"), frame).drop(columns=["first", "last"])
    ends = pd.MultiIndex.from_frame(frame[["k", "ts"]].assign(ts=frame["ts"] + 1))
    assert_agree(found[pd.MultiIndex.from_frame(found[["k", "window_end"]]).isin(ends)], expected)


def test_time_windows_are_pandas_rolling_with_an_offset() -> None:
    """As above, of durations; pandas' rolling on time is (t - range, t] at each tuple."""
    frame = moments(data()).query("k == 'plug'")
    found = run(sash.sliding("30s", "1s"), frame, key=None).set_index("window_end")
    rolling = frame.set_index("ts")["x"].rolling("30s")
    expected = pd.DataFrame({"peak": rolling.max(), "total": rolling.sum(), "n": rolling.count()})
    expected = expected[~expected.index.duplicated(keep="last")]
    expected.index = expected.index + pd.Timedelta("1s")
    pd.testing.assert_frame_equal(
        found.loc[expected.index, list(expected)],
        expected,
        check_dtype=False,
        check_names=False,
        check_index_type=False,
    )


@pytest.mark.parametrize("gap", [1, 3, 40, 1000])
def test_sessions_are_gaps_and_islands(gap: int) -> None:
    frame = data()
    expected = sql(
        f"""
        with gaps as (
            select *, coalesce(ts - lag(ts) over (partition by k order by ts, seq) >= {gap}, true) as begins from t
        ), islands as (
            select *, sum(begins::int) over (partition by k order by ts, seq) as island from gaps
        )
        select k, min(ts) as window_start, max(ts) + {gap} as window_end, {IN_SQL} from islands group by k, island
        """,
        frame,
    )
    assert_agree(run(sash.session(gap, on="ts"), shuffled(frame)), expected)


@pytest.mark.parametrize("gap", ["2s", "40s", "1h"])
def test_sessions_are_groups_by_the_gaps_before(gap: str) -> None:
    frame = moments(data())
    begins = frame.groupby("k")["ts"].diff().fillna(pd.Timedelta.max) >= pd.Timedelta(gap)
    groups = frame.groupby(["k", begins.groupby(frame["k"]).cumsum().rename("session")])
    edges = {"window_start": ("ts", "min"), "window_end": ("ts", "max")}
    expected = groups.agg(**IN_PANDAS, **edges).reset_index().drop(columns="session")  # type: ignore[call-overload]
    expected["window_end"] += pd.Timedelta(gap)
    assert_agree(run(sash.session(gap), frame), expected)


def test_punctuated_windows_are_islands_between_marks() -> None:
    frame = data()
    expected = sql(
        f"""
        with islands as (
            select *, max(ts) filter (mark) over (partition by k order by ts) as window_start from t
        ), edges as (
            select k, ts as edge, lead(ts) over (partition by k order by ts) as next_edge
            from (select distinct k, ts from t where mark)
        )
        select islands.k, window_start, next_edge as window_end, {IN_SQL}
        from islands join edges on islands.k = edges.k and edge = window_start and next_edge is not null
        group by islands.k, window_start, next_edge
        """,
        frame,
    )
    assert_agree(run(sash.punctuated("mark"), shuffled(frame)), expected)


@pytest.mark.parametrize(("number", "every"), [(1, 10), (5, 7), (20, 100)])
def test_the_last_tuples_before_each_edge(number: int, every: int) -> None:
    frame = data()
    over = f"over (partition by k order by ts, seq rows between {number - 1} preceding and current row)"
    expected = sql(
        f"""
        select k, min(ts) {over} as window_start, (floor(ts / {every}) + 1) * {every} as window_end,
            max(x) {over} as peak, sum(x) {over} as total, count(*) {over} as n
        from t
        qualify row_number() over (partition by k, window_end order by ts desc, seq desc) = 1 and n = {number}
        """,
        frame,
    )
    found = run(sash.last(number, every=every, on="ts"), shuffled(frame))
    assert_agree(found[expected.columns.tolist()], expected)


def test_a_measure_that_is_not_the_time() -> None:
    """Kilometres, as floats, in the order of arrival otherwise."""
    frame = data().assign(km=lambda each: (each["ts"] + 200) / 8)
    expected = frame.groupby(["k", (frame["km"] // 2.5 * 2.5).rename("window_start")]).agg(**IN_PANDAS).reset_index()  # type: ignore[call-overload]
    expected["window_end"] = expected["window_start"] + 2.5
    assert_agree(run(sash.tumbling(2.5, on="km"), frame, time=None), expected)


def test_nulls_are_those_of_sql() -> None:
    """Skipped, but for Count(), which counts rows; over nothing but nulls a sum is null and a count is 0."""
    frame = data()
    values = [None if x % 3 else x for x in frame["x"].tolist()]
    rows = [{"ts": ts, "x": x} for ts, x in zip(frame["ts"].tolist(), values, strict=True)]
    computed = {"peak": sash.Max("x"), "total": sash.Sum("x"), "n": sash.Count(), "known": sash.Count("x")}
    asked = sash.Query(windows=sash.tumbling(4, on="ts"), aggregates=computed, time="ts")
    with duckdb.connect() as connection:
        connection.execute("create table t (ts bigint, x bigint)")
        connection.executemany("insert into t values (?, ?)", [[row["ts"], row["x"]] for row in rows])
        expected = connection.execute(
            """
            select floor(ts / 4)::bigint * 4 as start, start + 4, max(x), sum(x)::bigint, count(*), count(x)
            from t group by start order by start
            """
        ).fetchall()
    assert [tuple(row.values()) for row in sash.run(asked, rows)] == expected
    assert any(peak is None for _, _, peak, *_ in expected)


def results(op: sash.Operator, rows: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield from op.process(row)
    yield from op.close()


def test_the_operator_by_rows_agrees_too() -> None:
    """One key's stream, all windows at once."""
    frame = data().query("k == 'lamp'")
    windows = {
        "count": sash.sliding(6, 4),
        "time": sash.sliding(20, 10, on="ts"),
        "session": sash.session(3, on="ts"),
        "mark": sash.punctuated("mark"),
    }
    asked = sash.Query(windows=windows, aggregates=AGGREGATES, time="ts")
    found = pd.DataFrame(results(sash.Operator(asked), frame.to_dict("records")))
    for name, window in windows.items():
        alone = run(window, frame, key=None)
        assert_agree(found[found["window"] == name].drop(columns="window"), alone)
