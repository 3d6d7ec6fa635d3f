"""Pictures of queries: what they show is what the definition says."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.runtime.plot.timelines import timelines
from sash.testing import evaluate

BEGIN = datetime(2024, 3, 1, 9, tzinfo=UTC)
LOADS = {"plug": ["a", "b", "a", "a", "b", "a"], "ts": [0, 1, 3, 4, 9, 11], "load": [3, 8, 5, 1, 2, 9]}
EVERY = sash.Query(
    key="plug",
    time="ts",
    windows={
        "ten": sash.tumbling(10, on="ts"),
        "visit": sash.session(4, on="ts"),
        "two": sash.sliding(2),
        "last": sash.trailing(5, on="ts"),
    },
    aggregates={"peak": sash.Max("load"), "all": sash.Collect("load")},
)


def hints(drawn: str) -> list[str]:
    """What the windows' boxes say."""
    root = ElementTree.fromstring(drawn)
    return [title.text or "" for title in root.iterfind(".//{*}rect/{*}title")]


def test_each_window_of_the_key_is_drawn_with_its_results() -> None:
    rows = [dict(zip(LOADS, values, strict=True)) for values in zip(*LOADS.values(), strict=True)]
    expected = evaluate(EVERY, [*(("row", row) for row in rows if row["plug"] == "b"), ("close",)])
    windows = [text for text in hints(sash.plot(EVERY, LOADS, key="b")) if "peak" in text]
    assert sorted(windows) == sorted(
        f"{row['window_start']} to {row['window_end']}: peak = {row['peak']}, all = {row['all']}" for row in expected
    )


def test_without_a_key_it_is_the_first_rows() -> None:
    assert sash.plot(EVERY, LOADS) == sash.plot(EVERY, LOADS, key="a") != sash.plot(EVERY, LOADS, key="b")
    assert "plug = a, by ts" in sash.plot(EVERY, LOADS)


WINDOWS = st.one_of(
    st.builds(lambda range, slide: sash.sliding(range * slide, slide, on="ts"), st.integers(1, 6), st.integers(1, 6)),
    st.builds(lambda gap: sash.session(gap, on="ts"), st.integers(1, 6)),
    st.builds(lambda range: sash.trailing(range, "right", on="ts"), st.integers(1, 6)),
    st.builds(lambda range: sash.trailing(range, "both", on="ts"), st.integers(1, 6)),
)


@given(st.lists(st.integers(0, 40), max_size=20), WINDOWS, WINDOWS)
def test_slices_hold_each_tuple_that_windows_cover_once(times: list[int], one: Any, other: Any) -> None:
    query = sash.Query({"one": one, "other": other}, {"n": sash.Count()}, time="ts")
    for timeline in timelines(query, {"ts": times}, None, 10**6):
        slices = list(timeline.slices())
        assert sum(tuples for _, _, tuples in slices) == len(times)
        for bar in timeline.bars:
            first, last = ((bisect_right if behind else bisect_left)(sorted(times), at) for at, behind in bar.edges())
            assert last - first == bar.results["n"]


@pytest.mark.parametrize(
    "times",
    [
        [BEGIN + timedelta(minutes=minute) for minute in (0, 1, 7)],
        np.array(["2024-03-01T09:00", "2024-03-01T09:01", "2024-03-01T09:07"], "datetime64[s]"),
        pd.Series(pd.to_datetime(["2024-03-01 09:00", "2024-03-01 09:01", "2024-03-01 09:07"], utc=True)),
        ["2024-03-01T09:00:00Z", "2024-03-01T09:01:00Z", "2024-03-01T09:07:00Z"],
    ],
    ids=["datetime", "datetime64", "pandas", "text"],
)
def test_times_of_any_library_are_written_by_the_clock(times: Any) -> None:
    query = sash.Query(sash.tumbling("5m"), {"n": sash.Count()}, time="ts")
    drawn = sash.plot(query, {"ts": times})
    assert re.findall(r">(\d\d:\d\d)<", drawn) == ["09:00", "09:02", "09:04", "09:06", "09:08", "09:10"]
    assert len([text for text in hints(drawn) if "n = " in text]) == 2


def test_more_windows_than_asked_for_are_counted() -> None:
    query = sash.Query(sash.sliding(2), {"peak": sash.Max("load")})
    drawn = sash.plot(query, {"load": list(range(3000))}, most=5)
    assert len([text for text in hints(drawn) if "peak" in text]) == 5
    assert "2,994 more windows are not drawn" in drawn


def test_several_orders_are_drawn_one_below_the_other() -> None:
    query = sash.Query(
        {"km": sash.tumbling(2, on="km"), "s": sash.tumbling(3, on="ts")}, {"n": sash.Count()}, time="ts"
    )
    drawn = sash.plot(query, {"km": [0, 1, 5], "ts": [0, 4, 5]})
    assert "by km" in drawn and "by ts" in drawn


@pytest.mark.parametrize("data", [{"load": []}, {"load": [1]}], ids=["no rows", "no window"])
def test_nothing_to_draw_is_a_picture_too(data: dict[str, list[int]]) -> None:
    query = sash.Query(sash.sliding(2), {"peak": sash.Max("load")})
    assert not [text for text in hints(sash.plot(query, data)) if "peak" in text]


def test_names_and_values_cannot_break_the_picture() -> None:
    query = sash.Query({"<a&b>": sash.sliding(2)}, {'"x"': sash.Concat("t")})
    drawn = sash.plot(query, {"t": ["<script>", "]]>"]})
    assert "<script>" not in drawn
    assert any("<script>,]]>" in text for text in hints(drawn))


def test_notebooks_show_it_and_a_file_keeps_it(tmp_path: Path) -> None:
    drawn = sash.plot(sash.Query(sash.sliding(2), {"peak": sash.Max("load")}), {"load": [1, 2, 3]})
    assert drawn._repr_html_() == str(drawn)
    drawn.save(tmp_path / "peak.svg")
    assert (tmp_path / "peak.svg").read_text(encoding="utf-8") == drawn


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(KeyError, match=r"no row has the key 'c'; there are 'a', 'b'"):
        sash.plot(EVERY, LOADS, key="c")
    keyless = sash.Query(sash.sliding(2), {"peak": sash.Max("load")})
    with pytest.raises(ValueError, match=r"the query has no key"):
        sash.plot(keyless, {"load": [1]}, key="a")
    with pytest.raises(ValueError, match=r"most must be a number of windows"):
        sash.plot(keyless, {"load": [1]}, most=0)
