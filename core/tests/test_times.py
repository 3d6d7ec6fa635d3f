"""Times of every kind go in and come out as they were, and what is no time is refused by column and row."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.runtime.times import Times
from sash.values.time_codec import TimeCodec

BERLIN = ZoneInfo("Europe/Berlin")
NAIVE = st.datetimes(datetime(1678, 1, 1), datetime(2261, 12, 31))
ZONES = st.sampled_from([UTC, BERLIN, timezone(timedelta(hours=-5, minutes=-30)), timezone(timedelta(seconds=12345))])
ZONES_BY_OFFSET = timezone(timedelta(hours=-5, minutes=-30))
UNITS = "D h m s ms us ns".split()


def codec_of(value: Any) -> TimeCodec:
    return TimeCodec.of(value, 0, "ts")


def array_codec(array: Any, zone: str | None = None) -> TimeCodec:
    codec = TimeCodec.of_array(array, "ts", zone)
    assert codec is not None
    return codec


ROW_VALUES = st.one_of(
    NAIVE,
    st.builds(lambda t, zone: t.replace(tzinfo=UTC).astimezone(zone), NAIVE, ZONES),
    st.dates(date(1678, 1, 1), date(2261, 12, 31)),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)


@given(value=ROW_VALUES)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    codec = codec_of(value)
    inside = codec.to_inside(value, 0, "ts")
    back = codec.from_inside(inside)
    assert back == value and type(back) is type(value)
    assert isinstance(inside, int if not isinstance(value, float) else float)
    if isinstance(value, datetime):
        assert back.utcoffset() == value.utcoffset()
    assert TimeCodec.from_text(codec.text) == codec


@given(ns=st.lists(st.integers(-(2**63) + 1, 2**63 - 1)), unit=st.sampled_from(UNITS))
def test_an_array_comes_back_in_its_unit(ns: list[int], unit: str) -> None:
    array = np.array(ns, "datetime64[ns]").astype(f"datetime64[{unit}]")
    codec = array_codec(array)
    if ns and min(ns) < -(2**63) + 10**14:  # rounding down to the unit would leave the range
        return
    inside = codec.to_inside_array(array, "ts")
    back = codec.from_inside_array(inside)
    assert inside.dtype == np.int64 and back.dtype == array.dtype and (back == array).all()


@given(value=NAIVE)
def test_all_ways_to_tell_a_time_are_the_same_inside(value: datetime) -> None:
    array = np.array([value], "datetime64[us]")
    inside = codec_of(value).to_inside(value, 0, "ts")
    assert inside == pd.Timestamp(value).value == array_codec(array).to_inside_array(array, "ts")[0]
    assert inside == codec_of(value).to_inside(array[0], 0, "ts")
    objects = np.array([value], object)
    assert inside == array_codec(objects).to_inside_array(objects, "ts")[0]
    aware = value.replace(tzinfo=UTC).astimezone(BERLIN)
    assert inside == codec_of(aware).to_inside(value.replace(tzinfo=UTC), 0, "ts")


def test_finer_edges_get_a_finer_unit() -> None:
    array = np.array(["2024-03-01"], "datetime64[D]")
    codec = array_codec(array)
    for step, unit in [(3600, "h"), (90, "s"), (0.5, "ms"), (1e-6, "us"), (1e-9, "ns")]:
        edges = codec.to_inside_array(array, "ts") + round(step * 10**9)
        assert codec.from_inside_array(edges).dtype == f"datetime64[{unit}]"
        assert codec.for_steps([round(step * 10**9)]).unit == unit
    assert codec.for_steps([]) == codec
    assert TimeCodec("number").for_steps([3]) == TimeCodec("number")
    assert codec_of(date(2024, 3, 1)).from_inside(3600 * 10**9) == datetime(1970, 1, 1, 1)
    with pytest.raises(ValueError, match="not a whole number of microseconds"):
        codec_of(datetime(2024, 3, 1)).from_inside(1)


def test_units_that_are_not_a_number_of_nanoseconds() -> None:
    for dtype in ("datetime64[Y]", "datetime64[M]", "datetime64[W]"):
        array = np.array(["2024-02-01"], "datetime64[D]").astype(dtype)
        codec = array_codec(array)
        back = codec.from_inside_array(codec.to_inside_array(array, "ts"))
        assert back.dtype == "datetime64[D]" and (back == array).all()
    tens = np.array([3, 4], "datetime64[10s]")
    assert array_codec(tens).to_inside_array(tens, "ts").tolist() == [30 * 10**9, 40 * 10**9]
    with pytest.raises(TypeError, match="at most nanoseconds"):
        array_codec(np.array([3], "datetime64[ps]"))


def test_pandas_timestamps_keep_their_nanoseconds_and_zone() -> None:
    for value in (pd.Timestamp(1_700_000_000_123_456_789), pd.Timestamp("2024-10-27 02:30:00.000000001", tz="UTC")):
        codec = codec_of(value)
        assert codec.kind == "timestamp"
        assert codec.from_inside(codec.to_inside(value, 0, "ts")) == value
    late = pd.Timestamp("2024-10-27 01:30", tz="UTC").tz_convert("Europe/Berlin")
    assert codec_of(late).from_inside(codec_of(late).to_inside(late, 0, "ts")).utcoffset() == late.utcoffset()
    assert codec_of(late).zone == "Europe/Berlin"
    stamps = np.array([late, late], object)
    codec = array_codec(stamps)
    assert codec.from_inside_array(codec.to_inside_array(stamps, "ts")).tolist() == [late, late]
    seconds = pd.Timestamp("2024-03-01").as_unit("s")
    assert codec_of(seconds).to_inside(seconds, 0, "ts") == seconds.value


def test_arrow_timestamps() -> None:
    column = pa.array([datetime(2024, 3, 1, 12)], pa.timestamp("ms", tz="Europe/Berlin"))
    array = column.to_numpy()
    codec = array_codec(array, "Europe/Berlin")
    assert codec.text == "datetime64 ms Europe/Berlin"
    inside = codec.to_inside_array(array, "ts")
    assert (codec.from_inside_array(inside) == array).all()
    assert codec.from_inside(inside[0]) == datetime(2024, 3, 1, 12, tzinfo=UTC)
    assert codec.from_inside(inside[0]).tzinfo == BERLIN


def test_a_repeated_hour_is_told_apart() -> None:
    first = datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN)
    second = first.replace(fold=1)
    codec = codec_of(first)
    assert codec.to_inside(second, 0, "ts") - codec.to_inside(first, 0, "ts") == 3600 * 10**9
    assert codec.from_inside(codec.to_inside(second, 0, "ts")).fold == 1
    objects = codec.from_inside_array(codec.to_inside_array(np.array([first, second], object), "ts"))
    assert [value.fold for value in objects] == [0, 1] and objects[0].tzinfo == BERLIN


def test_numbers_of_every_width() -> None:
    for dtype in "b h i q B H I Q e f d".split():
        array = np.array([1, 2], dtype)
        codec = array_codec(array)
        inside = codec.to_inside_array(array, "km")
        assert inside.tolist() == [1, 2] and inside.dtype == ("f8" if array.dtype.kind == "f" else "i8")
        assert codec.from_inside_array(inside) is inside
    assert codec_of(np.int32(3)).to_inside(np.float32(1.5), 0, "km") == 1.5
    objects = np.array([1, 2.5], object)
    assert array_codec(objects).to_inside_array(objects, "km").tolist() == [1.0, 2.5]
    assert TimeCodec("number").to_inside_array(np.array([], object), "km").dtype == np.int64
    assert TimeCodec.of_array(np.array([], object), "km") is None


MOMENT = datetime(2024, 3, 1)
MASKED: Any = np.ma.MaskedArray([1, 2], [False, True])  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("first", "value", "error", "words"),
    [
        (1, None, ValueError, "every row needs a time, but it is None"),
        (1, float("nan"), ValueError, "nan is not a time: expected a finite number"),
        (1, float("inf"), ValueError, "inf is not a time"),
        (1, "12:00", TypeError, "expected a plain number, as before; got '12:00' of str"),
        (1, True, TypeError, "got True of bool"),
        (1, np.True_, TypeError, "of bool"),
        (1, Decimal(1), TypeError, "of Decimal"),
        (1, 2**63, ValueError, "expected a time of 64 bits"),
        (1, MOMENT, TypeError, "expected a plain number, as before"),
        (1, np.datetime64("2024-03-01"), TypeError, "expected a plain number"),
        (MOMENT, 1, TypeError, "expected datetimes without a time zone, as before; got 1 of type int"),
        (MOMENT, None, ValueError, "every row needs a time"),
        (MOMENT, pd.NaT, ValueError, "every row needs a time, but it is NaT"),
        (MOMENT, np.datetime64("NaT"), ValueError, "every row needs a time"),
        (MOMENT, "2024-03-01", TypeError, "got '2024-03-01' of type str"),
        (MOMENT, MOMENT.replace(tzinfo=UTC), TypeError, "datetimes without a time zone"),
        (MOMENT.replace(tzinfo=UTC), MOMENT, TypeError, "datetimes with a time zone"),
        (MOMENT, MOMENT.date(), TypeError, "expected datetimes"),
        (MOMENT.date(), MOMENT, TypeError, "expected dates"),
        (MOMENT, datetime(2500, 1, 1), ValueError, "between the years 1677 and 2262"),
        (MOMENT.date(), date(1500, 1, 1), ValueError, "between the years 1677 and 2262"),
    ],
)
def test_what_is_no_time_is_refused(first: Any, value: Any, error: type[Exception], words: str) -> None:
    codec = codec_of(first)
    with pytest.raises(error, match=words) as caught:
        codec.to_inside(value, 7, "ts")
    assert "column 'ts', row 7: " in str(caught.value)
    objects = np.empty(2, object)
    objects[:] = [first, value]
    with pytest.raises(error, match=words) as caught:
        codec.to_inside_array(objects, "ts", row=6)
    assert "column 'ts', row 7: " in str(caught.value)


@pytest.mark.parametrize("value", [None, float("nan"), pd.NaT, "noon", True, 1j, timedelta(1), 2**64])
def test_a_first_value_that_is_no_time(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="column 'ts', row 0: "):
        codec_of(value)


@pytest.mark.parametrize(
    ("array", "error", "words"),
    [
        (np.array([1.0, np.nan]), ValueError, "row 11: nan is not a time"),
        (np.array([1, 2**63], "u8"), ValueError, "row 11: 9223372036854775808 is out of range"),
        (np.array(["2024", "NaT"], "M8[s]"), ValueError, "row 11: every row needs a time"),
        (np.array(["2024", "2300"], "M8[s]"), ValueError, "row 11: .*1677 and 2262"),
        (np.array(["2024", "1500"], "M8[s]"), ValueError, "row 11: .*1677 and 2262"),
        (MASKED, ValueError, "row 11: every row needs a time"),
        (np.array([True, False]), TypeError, "got values of type bool"),
        (np.array(["a"]), TypeError, "'a' is not a time in ISO 8601"),
        (np.array([3], "m8[s]"), TypeError, "got values of type timedelta64"),
    ],
)
def test_arrays_that_hold_what_is_no_time(array: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=f"column 'ts'.*{words}"):
        array_codec(array).to_inside_array(array, "ts", row=10)


def test_numbers_and_timestamps_do_not_mix_in_arrays() -> None:
    with pytest.raises(TypeError, match="row 0: expected plain numbers, as before"):
        TimeCodec("number").to_inside_array(np.array(["2024"], "M8[s]"), "ts")
    with pytest.raises(TypeError, match="expected timestamps without a time zone, as before; got 1"):
        TimeCodec("datetime64", "s").to_inside_array(np.array([1]), "ts")


def test_a_column_that_gets_a_zone_later() -> None:
    array = np.array(["2024"], "M8[s]")
    assert TimeCodec("datetime64", "s", "UTC").to_inside_array(array, "ts", zone="Europe/Berlin")[0] > 0
    with pytest.raises(TypeError, match="column 'ts', row 3: expected timestamps without a time zone, as before"):
        TimeCodec("datetime64", "s").to_inside_array(array, "ts", row=3, zone="UTC")


def test_durations_need_timestamps_and_numbers_need_numbers() -> None:
    def check(value: Any, windows: Any, time: str | None = None) -> None:
        query = sash.Query(windows=windows, aggregates={"n": sash.Count()}, time=time)
        Times(query).of_row(query.lanes[0], value, 0)

    with pytest.raises(ValueError, match=r"holds plain numbers.*windows with on='ts', as in sash.sliding\(range=3600"):
        check(1, sash.tumbling("1s"), "ts")
    with pytest.raises(ValueError, match=r"holds datetimes.*durations such as '10s', with time='ts'"):
        check(MOMENT, sash.tumbling(1, on="ts"))
    for value in (1, MOMENT):
        check(value, sash.punctuated("end"), "ts")
    check(1, sash.tumbling(1, on="ts"))
    check(MOMENT, sash.tumbling("1s"), "ts")


def test_a_zone_or_a_text_that_is_not_known() -> None:
    with pytest.raises(ValueError, match="time zone 'Mars/Olympus' is not known here"):
        TimeCodec("datetime", "us", "Mars/Olympus").from_inside(0)
    with pytest.raises(ValueError, match="does not describe"):
        TimeCodec.from_text("sundial - -")


@given(moments=st.lists(NAIVE, min_size=1, max_size=12), zone=st.sampled_from([None, UTC, ZONES_BY_OFFSET]))
def test_texts_are_the_times_that_they_write(moments: list[datetime], zone: Any) -> None:
    moments = sorted(moments)
    if zone is not None:
        moments = [moment.replace(tzinfo=zone) for moment in moments]
    texts = [moment.isoformat() for moment in moments]
    if zone is UTC:
        texts = [text.replace("+00:00", "Z") for text in texts]
    query = sash.Query(windows=sash.tumbling("1h"), aggregates={"n": sash.Count()}, time="ts")
    by_time = sash.run(query, [{"ts": moment} for moment in moments])
    expected = [{name: _text(value) for name, value in row.items()} for row in by_time]
    assert sash.run(query, [{"ts": text} for text in texts]) == expected
    op = sash.Operator(query)
    rows = [result for text in texts for result in op.process({"ts": text})]
    op = sash.Operator.restore(query, op.snapshot())
    assert rows + op.close() == expected


def _text(value: Any) -> Any:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value


@pytest.mark.parametrize("library", [pd.DataFrame, pa.table, dict])
def test_columns_of_texts(library: Any) -> None:
    query = sash.Query(windows=sash.tumbling("1d"), aggregates={"n": sash.Count()}, time="ts")
    data = library({"ts": ["2024-03-01T12:00+01:00", "2024-03-01T22:30Z", "2024-03-03T01:00:00+02:00"]})
    results = sash.run(query, data)
    ends = results["window_end"].to_pylist() if library is pa.table else list(results["window_end"])
    assert ends == ["2024-03-02T01:00:00+01:00", "2024-03-03T01:00:00+01:00"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("noon", "column 'ts', row 1: 'noon' is not a time in ISO 8601"),
        ("2024-03-01T12:00:00.1234567", "is finer than microseconds"),
        ("2024-03-01T12:00:00Z", "expected texts in ISO 8601 without a time zone, as before"),
        (datetime(2024, 3, 1), "expected texts in ISO 8601 without a time zone, as before"),
    ],
)
def test_texts_that_are_no_times(text: Any, words: str) -> None:
    query = sash.Query(windows=sash.tumbling("1h"), aggregates={"n": sash.Count()}, time="ts")
    with pytest.raises(TypeError, match=words):
        sash.run(query, [{"ts": "2024-03-01"}, {"ts": text}])


def test_texts_beside_positions_in_a_typed_table() -> None:
    windows = {"last": sash.sliding(2), "hour": sash.tumbling("1h")}
    query = sash.Query(windows=windows, aggregates={"n": sash.Count()}, time="ts")
    texts = ["2024-03-01T12:00:00", "2024-03-01T12:30:00"]
    assert [row["window_end"] for row in sash.run(query, pa.table({"ts": texts})).to_pylist()] == [
        {"position": 2, "ts": None},
        {"position": None, "ts": "2024-03-01T13:00:00"},
    ]
