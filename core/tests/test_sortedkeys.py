"""Sorted rows in batches of any size, keys in groups or not, give what all rows at once give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.frames import columns_of
from sash.runtime.sorted_batches import KeyNumbers, SortedKeys

WINDOWS = [sash.sliding(3, partial=True), sash.sliding(4, 2, on="t"), sash.session(2, on="t"), sash.tumbling(1)]


def run_sorted(query: sash.Query, rows: list[dict[str, Any]], sizes: list[int], groups: int | None) -> list[Any]:
    """As an engine does: rows sorted by group, if there are groups, or else by key; within that by time."""
    rank = (lambda row: (row["k"] % groups, row["t"])) if groups else (lambda row: (row["k"], row["t"]))
    ordered = sorted(rows, key=rank)
    numbers, engine = KeyNumbers(["k"]), SortedKeys(query)
    open_keys: list[int] = []
    results: list[Any] = []

    def note(outcomes: Any, known: list[int]) -> None:
        for each in outcomes:
            columns = (each.codes, each.start, each.end, *(each.aggregates[name] for name in query.aggregates))
            results.extend((known[code], *rest) for code, *rest in zip(*(list(c) for c in columns), strict=True))

    at = 0
    while at < len(ordered):
        size = sizes[at % len(sizes)]
        batch = ordered[at : at + size]
        frame = columns_of(batch, query.columns)
        grouped = np.array([row["k"] % groups for row in batch]) if groups else None
        codes, new, starts, left = numbers.number(frame, grouped)
        known = open_keys + [batch[row]["k"] for row in new]
        note(engine.process(frame, codes, starts), known)
        open_keys = known[left:]
        at += size
    note(engine.close(), open_keys)
    return sorted(results, key=lambda row: row[0])


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12)), max_size=40),
    st.lists(st.integers(1, 7), min_size=1, max_size=3),
    st.sampled_from([None, 1, 2, 3]),
    st.sampled_from(WINDOWS),
)
def test_batches_of_any_size(pairs: list[tuple[int, int]], sizes: list[int], groups: int | None, window: Any) -> None:
    rows = [{"k": k, "t": t, "x": float(i)} for i, (k, t) in enumerate(pairs)]
    query = sash.Query(key="k", windows=window, aggregates={"top": sash.Max("x"), "n": sash.Count()}, time="t")
    expected = sorted((tuple(row.values()) for row in sash.run(query, rows)), key=lambda row: row[0])
    assert run_sorted(query, rows, sizes, groups) == expected


def test_windows_in_several_orders_are_refused() -> None:
    windows = {"a": sash.sliding(3), "b": sash.sliding(4, 2, on="km")}
    with pytest.raises(ValueError, match="one order only"):
        SortedKeys(sash.Query(windows=windows, aggregates={"n": sash.Count()}))
