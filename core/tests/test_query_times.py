"""The times of a query: what came first decides how they are written, and a failed call leaves no trace."""

from __future__ import annotations

import pickle
from copy import deepcopy
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sash
from sash.frames import Frame, columns_of
from sash.query.lanes import Lane
from sash.runtime.times import Times

SECOND = 10**9


def times_of(window: Any, **options: Any) -> tuple[Lane, Times]:
    query = sash.Query(windows=window, aggregates={"n": sash.Count()}, **options)
    return query.lanes[0], Times(query)


def frame_of(values: Any) -> Frame:
    return columns_of({"ts": values}, ["ts"])


def test_the_order_of_arrival_has_no_times() -> None:
    lane, times = times_of(sash.tumbling(2))
    assert times.of_row(lane, None, 0) == (None, times)
    assert times.of_array(lane, columns_of({"x": [1]}, ["x"])) == (None, times)
    assert times.outside(lane, 7) == 7 and not times.knows(lane) and times.texts() == {}


@pytest.mark.parametrize(
    ("value", "inside"),
    [
        (datetime(1970, 1, 1, 0, 0, 3), 3 * SECOND),
        (datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC), 3 * SECOND),
        (date(1970, 1, 2), 86_400 * SECOND),
        (pd.Timestamp(3), 3),
        (np.datetime64(3, "s"), 3 * SECOND),
    ],
)
def test_a_row_a_batch_and_a_watermark_adopt_the_same_times(value: Any, inside: int) -> None:
    lane, unknown = times_of(sash.tumbling("1d"), time="ts")
    listed = np.empty(1, object)
    listed[0] = value
    row, batch, watermark = (
        unknown.of_row(lane, value, 0),
        unknown.of_array(lane, frame_of(listed), 0),
        unknown.of_watermark(lane, value, 0),
    )
    assert row[0] == watermark[0] == inside and batch[0] is not None and batch[0].tolist() == [inside]
    assert row[1].codecs == batch[1].codecs == watermark[1].codecs
    assert row[1].outside(lane, inside) == value
    assert not unknown.knows(lane) and row[1].knows(lane)


def test_each_lane_has_its_own_times() -> None:
    windows = {"near": sash.tumbling(5, on="km"), "soon": sash.tumbling("5s")}
    query = sash.Query(windows=windows, aggregates={"n": sash.Count()}, time="ts")
    times = Times(query)
    for lane, value in zip(query.lanes, (2.5, datetime(1970, 1, 1)), strict=True):
        _, times = times.of_row(lane, value, 0)
    assert times.texts() == {"km": "number - -", "ts": "datetime us -"}
    again = Times.from_texts(query, times.texts())
    assert again.codecs == times.codecs


def test_windows_finer_than_the_column_refine_its_unit() -> None:
    lane, unknown = times_of(sash.tumbling("500ms"), time="ts")
    _, times = unknown.of_array(lane, frame_of(np.array([0], "datetime64[s]")))
    assert times.texts() == {"ts": "datetime64 ms -"}
    empty = frame_of(np.zeros(0, "datetime64[s]"))
    assert unknown.outside_array(lane, np.zeros(0, np.int64), empty).dtype == np.dtype("datetime64[ms]")
    assert times.outside_array(lane, np.array([SECOND // 2]), empty).dtype == np.dtype("datetime64[ms]")


@pytest.mark.parametrize("empty", [[], np.zeros(0), np.zeros(0, "datetime64[s]")])
def test_an_empty_batch_decides_nothing(empty: Any) -> None:
    lane, unknown = times_of(sash.tumbling("1s"), time="ts")
    array, times = unknown.of_array(lane, frame_of(empty))
    assert array is not None and array.dtype == np.int64 and len(array) == 0
    assert times is unknown


def test_what_does_not_fit_is_refused_and_leaves_the_times_as_they_were() -> None:
    lane, unknown = times_of(sash.tumbling("1s"), time="ts")
    for refused in (
        lambda: unknown.of_row(lane, 3, 0),
        lambda: unknown.of_array(lane, frame_of([3])),
        lambda: unknown.of_watermark(lane, 3, 0),
    ):
        with pytest.raises(ValueError, match="column 'ts' holds plain numbers, but windows"):
            refused()
    assert not unknown.knows(lane)
    lane, unknown = times_of(sash.tumbling("1500ms"), time="ts", time_unit="s")
    with pytest.raises(ValueError, match="a window of 1500000000 ns"):
        unknown.of_row(lane, 3, 0)
    inside, times = unknown.of_row(lane, 3.0, 0)
    assert inside == 3 * SECOND and times.outside(lane, 1_500_000_000) == 1.5


def test_errors_name_the_row_of_the_stream() -> None:
    lane, unknown = times_of(sash.tumbling("1s"), time="ts")
    _, times = unknown.of_row(lane, datetime(1970, 1, 1), 0)
    with pytest.raises(TypeError, match="column 'ts', row 7: expected datetimes without a time zone, as before"):
        times.of_row(lane, 3, 7)
    with pytest.raises(ValueError, match="column 'ts', row 8: every row needs a time"):
        times.of_array(lane, frame_of([datetime(1970, 1, 1), None]), first_row=7)


def test_a_watermark_of_plain_numbers_leaves_open_whether_rows_are_whole() -> None:
    lane, unknown = times_of(sash.tumbling("1s"), time="ts", time_unit="ms")
    assert unknown.of_watermark(lane, Fraction(5, 2), 0) == (2_500_000, unknown)
    _, times = unknown.of_row(lane, 0.5, 0)
    assert times.texts() == {"ts": "float-epoch ms -"}
    assert times.of_watermark(lane, 2, 1) == (2_000_000, times)


def test_times_can_be_copied_and_pickled() -> None:
    lane, unknown = times_of(sash.tumbling("1s"), time="ts")
    _, times = unknown.of_row(lane, datetime(1970, 1, 1) + timedelta(seconds=1), 0)
    for other in (deepcopy(times), pickle.loads(pickle.dumps(times))):
        assert other.codecs == times.codecs
