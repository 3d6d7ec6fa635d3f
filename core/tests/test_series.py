"""``sash.rolling`` of a Series of pandas or polars gives a Series beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.aggregations.ordered import M4Result

TIMES = pd.date_range("2024-03-01", periods=6, freq="h", tz="Europe/Berlin")
LOAD = pd.Series([3.0, 1.0, np.nan, 1.0, 5.0, 9.0], index=TIMES, name="load")


@given(values=st.lists(st.one_of(st.none(), st.floats(-9, 9)), max_size=20), range_=st.integers(1, 6))
def test_it_is_what_pandas_and_polars_have(values: list[float | None], range_: int) -> None:
    series = pd.Series(values, dtype=float, name="x")
    ours = sash.rolling(series, sash.Max(), range_, partial=True)
    pd.testing.assert_series_equal(ours, series.rolling(range_, min_periods=1).max())
    frame = pl.Series("x", values, dtype=pl.Float64)
    assert sash.rolling(frame, sash.Max(), range_, partial=True).equals(
        frame.rolling_max(range_, min_samples=1), check_names=True
    )


def test_index_and_name_stay_and_rows_without_a_window_are_null() -> None:
    peaks = sash.rolling(LOAD, sash.Max(), range=4, slide=2)
    pd.testing.assert_series_equal(peaks, pd.Series([np.nan, np.nan, np.nan, 3.0, np.nan, 9.0], TIMES, name="load"))


def test_whole_numbers_stay_whole() -> None:
    numbers = pd.Series([1, 5, 3])
    pd.testing.assert_series_equal(sash.rolling(numbers, sash.Sum(), 2), pd.Series([pd.NA, 6, 8], dtype="Int64"))
    pd.testing.assert_series_equal(sash.rolling(numbers, sash.Max(), 1), numbers)
    assert sash.rolling(pl.Series([1, 5, 3]), sash.Sum(), 2).to_list() == [None, 6, 8]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_floats_have_nan_for_null_as_in_pandas(dtype: str) -> None:
    numbers = pd.Series([1, 5, 3, 8], dtype=dtype, name="x")
    pd.testing.assert_series_equal(sash.rolling(numbers, sash.Mean(), 3), numbers.rolling(3).mean())
    pd.testing.assert_series_equal(
        sash.rolling(numbers, sash.SampleStdDev(), 3, min_periods=2), numbers.rolling(3, min_periods=2).std()
    )
    nullable = sash.rolling(numbers.convert_dtypes(convert_integer=False).astype("Float64"), sash.Mean(), 3)
    assert nullable.dtype == pd.Float64Dtype()


def test_times_keep_their_zone() -> None:
    latest = sash.rolling(pd.Series(TIMES), sash.Last(), 2)
    pd.testing.assert_series_equal(latest, pd.Series([pd.NaT, *TIMES[1:]]))


def test_results_of_several_parts_are_structures() -> None:
    assert sash.rolling(pd.Series([3, 1, 4]), sash.M4(), 3).tolist() == [None, None, M4Result(1, 4, 3, 4)]
    parts = {"min": 1, "max": 4, "first": 3, "last": 4}
    assert sash.rolling(pl.Series([3, 1, 4]), sash.M4(), 3).to_list() == [None, None, parts]


def test_two_columns() -> None:
    frame = pd.DataFrame({"load": [3.0, 9.0, 4.0], "house": ["a", "b", "c"]}, index=[7, 8, 9])
    with pytest.warns(sash.PerformanceWarning):
        who = sash.rolling((frame.load, frame.house), sash.ArgMax(), 2)
    pd.testing.assert_series_equal(who, pd.Series([None, "b", "b"], index=[7, 8, 9], name="load"))
    with pytest.raises(ValueError, match="different indexes"):
        sash.rolling((frame.load, frame.house.reset_index(drop=True)), sash.ArgMax(), 2)


@pytest.mark.parametrize("series", [pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0])])
def test_out_is_for_arrays(series: Any) -> None:
    with pytest.raises(TypeError, match="out= is for arrays"):
        sash.rolling(series, sash.Max(), 1, out=np.zeros(2))
