"""Passes over columns of times, against their definitions."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.kernels.time_passes import cuts, is_sorted, late_rows, late_rows_by, locate

TIMES = st.lists(st.integers(-50, 50), max_size=40)
DTYPE = st.sampled_from([np.int64, np.float64])


@settings(max_examples=60, deadline=None)
@given(TIMES, DTYPE)
def test_sorted(times: list[int], dtype: Any) -> None:
    assert is_sorted(np.array(times, dtype)) == (times == sorted(times))
    assert is_sorted(np.array(sorted(times), dtype))


def test_sorted_at_the_seams_of_blocks() -> None:
    for at in (1, 1023, 1024, 1025, 2047, 2048, 2049, 4999):
        times = np.arange(5000)
        times[at] = times[at - 1] - 1
        assert not is_sorted(times)
    assert is_sorted(np.arange(5000)) and is_sorted(np.array([]))


def late(times: list[int], watermark: Any, delay: int, lateness: int) -> tuple[list[bool], Any, Any]:
    """Row by row, as the specification says."""
    mark = -math.inf if watermark is None else watermark
    dropped, newest = [], None
    for time in times:
        dropped.append(time < mark - lateness)
        if not dropped[-1]:
            newest = time if newest is None else max(newest, time)
        mark = max(mark, time - delay)
    return dropped, None if mark == -math.inf else mark, newest


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(TIMES, st.one_of(st.none(), st.integers(-60, 60)))), st.integers(0, 9), st.integers(0, 9), DTYPE
)
def test_late_rows(groups: list[tuple[list[int], Any]], delay: int, lateness: int, dtype: Any) -> None:
    wanted = [late(times, mark, delay, lateness) for times, mark in groups]
    for (times, mark), expected in zip(groups, wanted, strict=True):
        dropped, *rest = late_rows(np.array(times, dtype), mark, delay, lateness)
        assert ([False] * len(times) if dropped is None else dropped.tolist(), *rest) == expected
        assert dropped is None or dropped.any()
    starts = np.cumsum([0, *(len(times) for times, _ in groups)])
    column = np.array([time for times, _ in groups for time in times], dtype)
    dropped, marks, newest, known = late_rows_by(column, starts, [mark for _, mark in groups], delay, lateness)
    flags = [False] * len(column) if dropped is None else dropped.tolist()
    assert flags == [flag for group, _, _ in wanted for flag in group]
    assert marks == [mark for _, mark, _ in wanted]
    assert [time if some else None for time, some in zip(newest, known, strict=True)] == [time for *_, time in wanted]


def test_times_at_the_ends_of_their_range() -> None:
    ends = np.array([np.iinfo(np.int64).min + 1, np.iinfo(np.int64).max, 0])
    dropped, watermark, newest = late_rows(ends, None, 5, 5)
    assert dropped is not None and dropped.tolist() == [False, False, True]
    assert watermark == ends[1] - 5 and newest == ends[1]
    _, watermark, _ = late_rows(np.array([3]), int(ends[1]), 5, 5)
    assert watermark == ends[1]
    assert late_rows(np.array([1.0, 2.0]), math.inf, 1, 1)[1:] == (math.inf, None)
    begins, _ = cuts(np.array([0, ends[1] - 1, ends[1]]), [1 << 62], [0])
    assert begins.tolist() == [0, 1, 3]


@settings(max_examples=150, deadline=None)
@given(st.lists(TIMES), st.lists(st.tuples(st.integers(1, 30), st.integers(-40, 40)), min_size=1, max_size=3))
def test_cuts(groups: list[list[int]], grids: list[tuple[int, int]]) -> None:
    times = [time for group in groups for time in sorted(group)]
    starts = np.cumsum([0, *map(len, groups)])
    wanted: list[tuple[int, int, int]] = []
    for group, (begin, end) in enumerate(pairwise(starts)):
        for row in range(begin, end):
            edge = max((times[row] - offset) // period * period + offset for period, offset in grids)
            if not wanted or wanted[-1][1:] != (group, edge):
                wanted.append((row, group, edge))
    periods, offsets = zip(*grids, strict=True)
    begins, edges = cuts(np.array(times, np.int64), periods, offsets, starts)
    assert begins.tolist() == [*(row for row, _, _ in wanted), len(times)]
    assert edges.tolist() == [edge for _, _, edge in wanted]


@settings(max_examples=100, deadline=None)
@given(TIMES, TIMES, DTYPE)
def test_locate(edges: list[int], times: list[int], dtype: Any) -> None:
    marks = np.array(sorted(set(edges)), dtype)
    column = np.array(times, dtype)
    assert locate(marks, column).tolist() == (np.searchsorted(marks, column, side="right") - 1).tolist()


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_read_only_columns(dtype: Any) -> None:
    times = np.arange(5, dtype=dtype)
    times.flags.writeable = False
    assert is_sorted(times) and late_rows(times, None, 0, 0)[1] == 4
    assert locate(times, times).tolist() == [0, 1, 2, 3, 4]
