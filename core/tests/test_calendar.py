"""Windows of a calendar: against the definition, pandas and polars, over changes of clocks and over long times.

New York, 2024       9 March        10 March       11 March
                    |-- 24 h --|--- 23 h ---|--- 24 h ---|
UTC                 5:00       5:00         4:00         4:00
"""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.testing import evaluate
from sash.testing.calendars import starts_at
from sash.values.calendar import Calendar
from sash.windows import CalendarWindow, Window
from strategies import DISORDER, IN_ORDER, NAMES, Row, Scenario, aggregates, cuts, ranges_and_slides, rows
from test_operator import batch, on

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")

CHANGES = {
    "America/New_York": ["2024-03-10", "2024-11-03"],
    "Europe/Berlin": ["2024-03-31", "2024-10-27"],
    "America/St_Johns": ["2006-10-29", "2007-04-01"],  # one minute after midnight
    "America/Toronto": ["1919-03-30"],  # from 23:30 to 0:30
    "America/Sao_Paulo": ["2018-11-04", "2018-02-17"],  # at midnight
    "Pacific/Apia": ["2011-12-30"],  # a day that there was not
    "America/Juneau": ["1867-10-18"],  # a day and a half twice
    "America/Chicago": ["1883-11-18", "2199-11-03"],
    "Africa/Freetown": ["1939-09-03"],
    "Asia/Kathmandu": ["1985-12-31", "2030-02-28"],
    "+05:30": ["1969-12-31"],
}
CALENDARS = [Calendar(unit, zone) for unit in ("day", "month") for zone in (None, *CHANGES)]
HOUR = 3600 * 10**9


def query(window: Any, **options: Any) -> sash.Query:
    return sash.Query(windows=window, aggregates={"n": sash.Count()}, time="ts", **options)


def nanoseconds(day: str) -> int:
    return int(np.datetime64(day, "ns").astype(np.int64))


# calendars


@pytest.mark.parametrize("zone", [zone for zone in CHANGES if zone[0] != "+"])
@pytest.mark.parametrize("unit", ["day", "month"])
@pytest.mark.parametrize("shift", [0, 17 * HOUR])
def test_days_start_when_the_clock_first_shows_their_midnight(zone: str, unit: Any, shift: int) -> None:
    calendar = Calendar(unit, zone, shift)
    for day in CHANGES[zone]:
        number = calendar.index_of(nanoseconds(day))
        numbers = list(range(number - 3, number + 5))
        starts = [starts_at(calendar, each) for each in numbers]
        assert calendar.start(np.array(numbers)).tolist() == starts
        assert [calendar.start_of(each) for each in numbers] == starts
        times = sorted({start + more for start in starts[1:-1] for more in (-HOUR, -1, 0, 1, HOUR // 3, HOUR)})
        held = [max(each for each, start in zip(numbers, starts, strict=True) if start <= time) for time in times]
        assert calendar.index(np.array(times)).tolist() == held
        assert [calendar.index_of(time) for time in times] == held


@pytest.mark.parametrize("calendar", CALENDARS, ids=str)
def test_starts_never_go_back_and_each_day_ends_where_the_next_starts(calendar: Calendar) -> None:
    low, high = calendar.index_of(nanoseconds("1900-01-01")), calendar.index_of(nanoseconds("2200-01-01"))
    starts = calendar.start(np.arange(low, high))
    lengths = np.diff(starts)
    assert (lengths >= 0).all()
    held = np.flatnonzero(lengths)
    assert (calendar.index(starts[held]) == low + held).all()
    assert (calendar.index(starts[held + 1] - 1) == low + held).all()


def test_days_have_23_and_25_hours() -> None:
    calendar = Calendar("day", "America/New_York")
    days = calendar.index_of(nanoseconds("2024-03-10") + 12 * HOUR), calendar.index_of(nanoseconds("2024-11-03T12"))
    assert [(calendar.start_of(day + 1) - calendar.start_of(day)) // HOUR for day in days] == [23, 25]


# the definition

SPANS = st.sampled_from(["d", "d", "w", "mo", "q", "y"])


@st.composite
def calendar_windows(draw: st.DrawFn, zone: str | None) -> CalendarWindow:
    r, s = draw(ranges_and_slides(st.integers(1, 4)))
    unit = draw(SPANS)
    offset = draw(st.sampled_from([0, 0, "6h", "1d 30m"] + (["1mo"] if unit in ("mo", "q", "y") else [])))
    week_start: Any = draw(st.sampled_from(["monday", "sunday"])) if unit == "w" else "monday"
    return CalendarWindow(f"{r}{unit}", f"{s}{unit}", offset, zone, week_start)


@st.composite
def calendar_scenarios(draw: st.DrawFn) -> Scenario:
    zone = draw(st.sampled_from([None, *CHANGES]))
    begin = datetime.fromisoformat(draw(st.sampled_from(CHANGES[zone] if zone else ["2024-02-28", "1969-12-31"])))
    windows: dict[str, Window] = {name: draw(calendar_windows(zone)) for name in NAMES[: draw(st.integers(1, 3))]}
    if draw(st.booleans()):
        windows["others"] = draw(
            st.sampled_from([sash.sliding("5d", "2d"), sash.sliding("90m", "1h"), sash.sliding(3)])
        )
    asked = sash.Query(
        windows=windows,
        aggregates=draw(aggregates()),
        time="ts",
        watermark_delay=draw(st.sampled_from([None, "3h", "20d"])),
        allowed_lateness=draw(st.sampled_from([None, None, "20h", "90d"])),
    )
    step = draw(st.sampled_from([timedelta(minutes=31), timedelta(hours=7), timedelta(days=9, seconds=1)]))
    stream = draw(rows(draw(st.sampled_from([IN_ORDER, DISORDER])), most=25))
    events = [("row", row | {"ts": begin.replace(tzinfo=UTC) + step * row["ts"]}) for row in stream]
    return Scenario(asked, [*events, ("close",)], draw(cuts(events)))


@settings(max_examples=80, deadline=None)
@given(calendar_scenarios())
def test_rows_and_batches_give_the_results_of_the_definition(scenario: Scenario) -> None:
    expected = evaluate(scenario.query, scenario.events)
    by_row, by_batch = sash.Operator(scenario.query), sash.Operator(scenario.query)
    assert [row for event in scenario.events for row in on(by_row, event)] == expected
    results: list[Row] = []
    for begin, end in pairwise([0, *scenario.cuts, len(scenario.events)]):
        results += batch(by_batch, scenario.events[begin:end])
        by_batch = sash.Operator.restore(scenario.query, by_batch.snapshot())
    assert results == expected


@settings(max_examples=40, deadline=None)
@given(calendar_scenarios())
def test_whole_tables_give_the_results_of_the_definition(scenario: Scenario) -> None:
    asked = scenario.query.using(allowed_lateness=None, watermark_delay=None, key="k")
    stream = sorted((event[1] for event in scenario.events if event[0] == "row"), key=lambda row: row["ts"])
    expected = [
        {"k": key} | row for key in "ab" for row in evaluate(asked, [("row", row) for row in stream] + [("close",)])
    ]
    found = sash.run(asked, [{"k": key} | row for key in "ab" for row in stream])
    assert found == (expected if stream else [])


# other judges

EVERY = ["1d", "2d", "5d", "1w", "2w", "1mo", "3mo", "5mo", "1q", "1y", "3y"]


def some_times(zone: str, since: str) -> Any:
    """Times all over, more of them where clocks change. Neither judge has changes behind 2037."""
    random = np.random.default_rng(0)
    far = random.integers(nanoseconds(since), nanoseconds("2037-12-31"), 2000)
    near = [nanoseconds(day) + random.integers(-60, 60, 200) * (HOUR // 2) for day in CHANGES[zone]]
    seconds = np.sort(np.concatenate([far, *near])) // 10**9
    return pd.Series(seconds.astype("datetime64[s]").astype("datetime64[us]")).dt.tz_localize("UTC")


@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin"])
def test_windows_are_those_of_polars(every: str, zone: str) -> None:
    frame = pl.DataFrame({"ts": some_times(zone, "1920-01-01")})
    frame = frame.with_columns(local=pl.col("ts").dt.convert_time_zone(zone))
    groups = frame.group_by_dynamic("local", every=every, include_boundaries=True).agg(n=pl.len())
    found = sash.run(query(sash.tumbling(every, zone=zone)), frame.select("ts"))
    assert found["n"].to_list() == groups["n"].to_list()
    assert found["window_start"].to_list() == groups["_lower_boundary"].dt.convert_time_zone("UTC").to_list()
    assert found["window_end"].to_list() == groups["_upper_boundary"].dt.convert_time_zone("UTC").to_list()


@pytest.mark.parametrize(("every", "rule"), [("1d", "D"), ("1w", "W-MON"), ("1mo", "MS"), ("1q", "QS"), ("1y", "YS")])
@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin"])
def test_windows_are_those_of_pandas(every: str, rule: str, zone: str) -> None:
    are_those_of_pandas(every, rule, zone)


@pytest.mark.parametrize("zone", ["America/Sao_Paulo", "America/St_Johns"])
def test_days_are_those_of_pandas_where_midnights_are_skipped_or_come_twice(zone: str) -> None:
    are_those_of_pandas("1d", "D", zone)


def are_those_of_pandas(every: str, rule: str, zone: str) -> None:
    times = some_times(zone, "1920-01-01")
    closed: Any = {"closed": "left", "label": "left"} if rule.startswith("W") else {}
    counts = pd.Series(1, index=pd.DatetimeIndex(times).tz_convert(ZoneInfo(zone))).resample(rule, **closed).count()
    counts = counts[counts > 0]
    starts: Any = counts.index
    found = sash.run(query(sash.tumbling(every, zone=zone)), pd.DataFrame({"ts": times}))
    assert found["n"].tolist() == counts.tolist()
    assert found["window_start"].tolist() == starts.tz_convert("UTC").tolist()


def test_days_of_utc_are_what_they_were() -> None:
    times = pd.DataFrame({"ts": some_times("America/New_York", "1900-01-01")})
    day, week = sash.sliding("3d", "1d"), sash.tumbling("1w")
    assert sash.run(query(day), times).equals(sash.run(query(CalendarWindow("3d", "1d")), times))
    assert sash.run(query(week), times).equals(sash.run(query(sash.tumbling("7d", offset="4d")), times))


# what goes in and comes out

LATE_EVENING = datetime(2024, 3, 10, 3, 30, tzinfo=UTC)


def test_bounds_are_in_the_zone_of_the_input() -> None:
    window = sash.tumbling("1d", zone="America/New_York")
    (row,) = sash.run(query(window), [{"ts": LATE_EVENING}])
    assert (row["window_start"], row["window_end"]) == (
        datetime(2024, 3, 9, 5, tzinfo=UTC),
        datetime(2024, 3, 10, 5, tzinfo=UTC),
    )
    berlin = LATE_EVENING.astimezone(ZoneInfo("Europe/Berlin"))
    (row,) = sash.run(query(window), [{"ts": berlin}])
    assert str(row["window_start"]) == "2024-03-09 06:00:00+01:00"
    (row,) = sash.run(query(window, time_unit="s"), [{"ts": int(LATE_EVENING.timestamp())}])
    assert row["window_end"] - row["window_start"] == 24 * 3600
    (row,) = sash.run(query(window), [{"ts": "2024-03-10T03:30:00Z"}])
    assert (row["window_start"], row["window_end"]) == ("2024-03-09T05:00:00Z", "2024-03-10T05:00:00Z")


def test_times_without_a_zone_have_days_of_their_own() -> None:
    (row,) = sash.run(query(sash.tumbling("1mo")), [{"ts": datetime(2024, 2, 29, 23, 59)}])
    assert (row["window_start"], row["window_end"]) == (datetime(2024, 2, 1), datetime(2024, 3, 1))
    (row,) = sash.run(query(sash.tumbling("1q")), [{"ts": date(1969, 12, 31)}])
    assert (row["window_start"], row["window_end"]) == (date(1969, 10, 1), date(1970, 1, 1))
    months = np.array(["2024-02-29"], "datetime64[D]")
    found = sash.run(query(sash.sliding("1y", "6mo")), {"ts": months})
    assert found["window_end"].astype(str).tolist() == ["2024-07-01", "2025-01-01"]


@pytest.mark.parametrize("ts", [datetime(2024, 3, 10), date(2024, 3, 10), "2024-03-10T00:00:00", np.datetime64("2024")])
def test_days_of_a_zone_need_times_that_have_one(ts: Any) -> None:
    asked = query(sash.tumbling("1d", zone="America/New_York"))
    with pytest.raises(ValueError, match=r"column 'ts' .*no time zone.*zone='America/New_York'"):
        sash.Operator(asked).process({"ts": ts})
    with pytest.raises(ValueError, match=r"column 'ts' .*no time zone.*zone='America/New_York'"):
        sash.run(asked, pd.DataFrame({"ts": [ts]}))


def test_queries_as_files_and_words(tmp_path: Path) -> None:
    window = sash.sliding("2w", "1w", zone="Europe/Berlin", week_start="sunday", offset="6h")
    text = sash.dump_query(query({"weeks": window, "year": sash.tumbling("1y", offset="3mo")}))
    assert 'range = "2w"\nslide = "1w"\noffset = "6h"\nzone = "Europe/Berlin"\nweek_start = "sunday"\n' in text
    (tmp_path / "query.toml").write_text(text)
    read = sash.load_query(tmp_path / "query.toml")
    assert read.named == {"weeks": window, "year": sash.tumbling("1y", offset="3mo")}
    words = sash.explain(read, verbose=True)
    assert "W[2w, 1w] offset 6h in Europe/Berlin from sunday; context free; days are those of Europe/Berlin" in words
    assert "W[1y, 1y] offset 3mo; context free; days are those of UTC or, for times without a zone, of their" in words
    assert "days are those of UTC" in sash.explain(query(sash.tumbling("1d")), verbose=True)
    assert "days" not in sash.explain(query(sash.tumbling("1h")), verbose=True)
    assert pickle.loads(pickle.dumps(window)) == window  # our own
    assert sash.tumbling("12mo") == sash.tumbling("1y") == sash.tumbling("4q")
    assert sash.tumbling(timedelta(days=1), zone="Europe/Berlin") == sash.tumbling("1d", zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"range": "1d", "zone": "America/New_Yrok"}, "time zone 'America/New_Yrok' is not known"),
        ({"range": "1d", "zone": ""}, "zone must be the name of a time zone"),
        ({"range": "1d", "zone": "+2"}, r"time zone '\+2' is not known"),
        ({"range": "1h", "zone": "Europe/Berlin"}, "range: windows of a calendar in zone='Europe/Berlin' are of whole"),
        ({"range": "24h", "zone": "Europe/Berlin"}, "whole days"),
        ({"range": "0d", "zone": "Europe/Berlin"}, "range must be more than 0"),
        ({"range": "1mo", "slide": "1d"}, "must both be of days and weeks, or both of months and years"),
        ({"range": "1mo", "slide": "1y"}, "range 1mo is below slide 1y"),
        ({"range": "1d", "week_start": "sunday"}, "is for windows of weeks"),
        ({"range": "1w", "week_start": "friday"}, "week_start must be 'monday' or 'sunday'"),
        ({"range": "1w", "offset": "1mo"}, "offset 1mo is of months"),
        ({"range": "1w", "offset": "soon"}, "offset: 'soon' is not a duration"),
        ({"range": 5, "zone": "Europe/Berlin"}, "a window on counts has no time zone"),
        ({"range": 5.0, "on": "km", "zone": "Europe/Berlin"}, "have no time zone"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: str) -> None:
    make: Any = sash.sliding if "slide" in arguments else sash.tumbling
    with pytest.raises((TypeError, ValueError), match=error):
        make(**arguments)
