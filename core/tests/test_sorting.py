"""Passes over columns of times, against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.kernels.row_passes import locate
from sash.values.shares import is_sorted

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
    assert is_sorted(times)
    assert locate(times, times).tolist() == [0, 1, 2, 3, 4]
