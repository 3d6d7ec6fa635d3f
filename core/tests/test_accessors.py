"""``df.sash``: rows beside those of the frame as pandas and polars have them, and windows as ``sash.run`` has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
import sash.pandas
import sash.polars

ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 60), st.sampled_from([1.0, 2.5, -3.0, None])),
    min_size=1,
    max_size=40,
    unique_by=lambda row: row[:2],
)


def frame_of(rows: list[tuple[str, int, Any]]) -> Any:
    frame: Any = pd.DataFrame(rows, columns=["k", "ts", "x"]).astype({"x": float})
    return frame.assign(ts=pd.to_datetime(frame["ts"], unit="s"))


@settings(max_examples=25, deadline=None)
@given(ROWS, st.integers(1, 20))
def test_rolling_durations_are_those_of_pandas(rows: list[Any], seconds: int) -> None:
    frame = frame_of(rows).sort_values("ts", kind="stable").set_index("ts")
    frame = frame[~frame.index.duplicated()]
    ours = frame.sash.rolling(f"{seconds}s").agg(mean=sash.Mean("x"), n=sash.Count("x"))
    rolling = frame["x"].rolling(f"{seconds}s")
    pd.testing.assert_series_equal(ours["mean"], rolling.mean(), check_names=False)
    pd.testing.assert_series_equal(ours["n"].astype(float), rolling.count(), check_names=False)


@settings(max_examples=25, deadline=None)
@given(ROWS, st.integers(1, 5), st.data())
def test_rolling_counts_by_key_are_those_of_pandas(rows: list[Any], count: int, data: Any) -> None:
    frame, least = frame_of(rows), data.draw(st.integers(1, count))
    ours = frame.sash.rolling(count, by="k", min_periods=least).agg(peak=sash.Max("x"))
    theirs = frame.groupby("k")["x"].rolling(count, min_periods=least).max().droplevel(0).sort_index()
    pd.testing.assert_series_equal(ours["peak"], theirs, check_names=False)
    full = frame.fillna({"x": 0.0}).sash.rolling(count, by="k").agg(peak=sash.Max("x"))["peak"]
    theirs = frame.fillna({"x": 0.0}).groupby("k")["x"].rolling(count).max().droplevel(0).sort_index()
    pd.testing.assert_series_equal(full, theirs, check_names=False)


@settings(max_examples=25, deadline=None)
@given(ROWS, st.integers(1, 20), st.sampled_from(["right", "both", "left", "neither"]))
def test_rolling_by_key_in_any_order_of_rows_is_that_of_polars(rows: list[Any], seconds: int, closed: Any) -> None:
    frame: Any = pl.from_pandas(frame_of(rows))
    ours = frame.sash.rolling(f"{seconds}s", by="k", closed=closed).agg(n=sash.Count(), peak=sash.Max("x"))
    theirs = (
        frame.with_row_index("row")
        .sort("ts")
        .rolling("ts", period=f"{seconds}s", group_by="k", closed="none" if closed == "neither" else closed)
        .agg(n=pl.len(), peak=pl.col("x").max())
    )
    joined = frame.join(theirs, on=["k", "ts"], how="left", maintain_order="left")
    assert ours["n"].to_list() == joined["n"].to_list()
    assert ours["peak"].to_list() == joined["peak"].to_list()


def test_the_index_stays_and_rows_keep_their_order() -> None:
    frame: Any = pd.DataFrame({"km": [9, 1, 4], "x": [1, 2, 4]}, index=["c", "a", "b"])
    ours = frame.sash.rolling(5, on="km").agg(sum=sash.Sum("x"))
    assert ours["sum"].tolist() == [1, 2, 6] and ours.index.tolist() == ["c", "a", "b"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_windows_are_those_of_run(library: str) -> None:
    frame: Any = frame_of([(k, ts, float(ts)) for ts in range(50) for k in "ab"])
    if library == "polars":
        frame = pl.from_pandas(frame)
    on = {"on": "ts"} if library == "pandas" else {}
    windows = {
        "tumbling": (frame.sash.tumbling("7s", by="k", **on), sash.tumbling("7s")),
        "sliding": (frame.sash.sliding("8s", "3s", by="k", offset="1s", **on), sash.sliding("8s", "3s", offset="1s")),
        "cumulative": (frame.sash.cumulative("8s", "2s", by="k", **on), sash.cumulative("8s", "2s")),
        "session": (frame.sash.session("2s", by="k", **on), sash.session("2s")),
    }
    for ours, window in windows.values():
        query = sash.Query(key="k", windows=window, aggregates={"n": sash.Count()}, time="ts")
        assert ours.agg(n=sash.Count()).equals(sash.run(query, frame))
    counts = frame.sash.tumbling(10, by="k").agg(n=sash.Count())
    assert np.asarray(counts["n"]).tolist() == [10] * 10


def test_what_makes_no_sense_is_refused() -> None:
    frame: Any = pd.DataFrame({"x": [1]})
    with pytest.raises(TypeError, match="name their column with on=, for the index is a RangeIndex"):
        frame.sash.rolling("5min")
    with pytest.raises(TypeError, match="name their column with on=; columns of times are none"):
        sash.polars.SashAccessor(pl.from_pandas(frame)).tumbling("5min")
    with pytest.raises(ValueError, match="closed='left' is for windows on time"):
        frame.sash.rolling(5, closed="left")
