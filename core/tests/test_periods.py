"""``center`` and ``min_periods`` of :func:`sash.rolling`: those of pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash

MASKED: Any = np.ma
VALUES = st.lists(st.sampled_from([1.0, 2.5, -3.0, 7.0, None]), max_size=30)
AGGREGATES: dict[str, sash.Aggregation] = {
    "max": sash.Max(),
    "sum": sash.Sum(),
    "mean": sash.Mean(),
    "median": sash.Median(),
}


@settings(max_examples=60, deadline=None)
@given(VALUES, st.integers(1, 8), st.booleans(), st.sampled_from(sorted(AGGREGATES)), st.data())
def test_series_are_those_of_pandas(values: list[Any], size: int, center: bool, name: str, data: Any) -> None:
    least = data.draw(st.one_of(st.just(None) if center else st.nothing(), st.integers(1, size)))
    series = pd.Series(values, index=[f"r{i}" for i in range(len(values))], dtype=float, name="x")
    ours = sash.rolling(series, AGGREGATES[name], size, center=center, min_periods=least)
    theirs = getattr(series.rolling(size, center=center, min_periods=least), name)()
    pd.testing.assert_series_equal(ours.astype(float), theirs, check_names=False)
    masked = MASKED.MaskedArray([0.0 if value is None else value for value in values], [v is None for v in values])
    array = sash.rolling(masked, AGGREGATES[name], size, center=center, min_periods=least)
    np.testing.assert_allclose(MASKED.filled(array.astype(float), np.nan), theirs.to_numpy())


def test_polars_and_texts() -> None:
    series = pl.Series("x", [1, 2, 3, 4])
    assert sash.rolling(series, sash.Sum(), 3, center=True).to_list() == [None, 6, 9, None]
    assert sash.rolling(series, sash.Sum(), 3, partial=True, center=True).to_list() == [3, 6, 9, 7]
    with pytest.warns(sash.PerformanceWarning):
        texts = sash.rolling(np.array(["a", "b", "c"], object), sash.Concat(), 3, center=True, min_periods=2)
    assert texts.tolist() == ["a,b", "a,b,c", "b,c"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"min_periods": 4}, "min_periods must be a whole number from 1 to the range, 3; got 4"),
        ({"min_periods": 0}, "min_periods must be a whole number from 1"),
        ({"center": True, "slide": 2}, "leave out slide and out"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        sash.rolling(np.arange(5), sash.Sum(), 3, **options)
    with pytest.raises(TypeError, match="counts rows, null or not"):
        sash.rolling(np.arange(5), sash.Count(), 3, center=True)
