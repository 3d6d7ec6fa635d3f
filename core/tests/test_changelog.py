"""A changelog: who applies it, deletions included, has the windows of all rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.engine.results import DELETED
from sash.runtime.arrow_output import CHANGE, ArrowOutput
from sash.runtime.operator import KeyedOperator
from sash.runtime.stream import Outcomes
from strategies import COMMUTATIVE, NOT_COMMUTATIVE, sessions, time_windows

Row = dict[str, Any]
Kept = dict[tuple[Any, ...], tuple[Any, ...]]
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.sampled_from(["a", "a", "b"]),
            "ts": st.integers(0, 40),
            "x": st.integers(-9, 9),
            "s": st.sampled_from("uvw"),
        }
    ),
    min_size=1,
    max_size=30,
)


def apply(kept: Kept, outcomes: Outcomes) -> None:
    """Take changes in; whatever is deleted must be there."""
    for outcome in outcomes.lanes:
        for row in outcome.rows():
            window = (outcomes.keys["k"][row.code], outcome.lane.names[row.window], row.start, row.end)
            if row.revision == DELETED:
                del kept[window]
            else:
                assert (row.revision == 0) == (window not in kept) or row.revision > 0
                kept[window] = row.aggregates


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@settings(max_examples=100)
@given(
    windows=st.lists(st.one_of(sessions(), sessions(), time_windows()), min_size=1, max_size=2),
    computed=st.lists(st.sampled_from(COMMUTATIVE + NOT_COMMUTATIVE), min_size=1, max_size=2, unique_by=repr),
    delay=st.sampled_from([None, 2]),
    rows=ROWS,
    size=st.integers(1, 10),
    restores=st.booleans(),
)
def test_what_stands_at_the_end_are_the_windows_of_all_rows(
    windows: Any, computed: Any, delay: Any, rows: list[Row], size: int, restores: bool
) -> None:
    query = sash.Query(
        key="k",
        windows={f"w{i}": window for i, window in enumerate(windows)},
        aggregates={f"a{i}": aggregation for i, aggregation in enumerate(computed)},
        time="ts",
        watermark_delay=delay,
        allowed_lateness=100,
    )
    op, kept = KeyedOperator(query, own_watermark="key", deletes=True), Kept()
    for begin in range(0, len(rows), size):
        apply(kept, op.process_outcomes(rows[begin : begin + size]))
        if restores:
            blob = op.snapshot(trusted=True)
            op = KeyedOperator.restore(query, blob, own_watermark="key", deletes=True, trusted=True)
    apply(kept, op.close_outcomes())
    names = ("k", "window", "window_start", "window_end")
    in_order = sorted(rows, key=lambda row: row["ts"])
    expected = {
        tuple(row[name] for name in names): tuple(row[name] for name in query.aggregates)
        for row in sash.run(query.using(allowed_lateness=None), in_order)
    }
    assert repr(sorted(kept.items())) == repr(sorted(expected.items()))


def test_as_columns() -> None:
    """Two sessions, and a row that makes them one:

    x     x          gap 4
    0  3  5
    """
    query = sash.Query(
        windows=sash.session(4, on="ts"), aggregates={"n": sash.Count()}, time="ts", allowed_lateness=100
    )
    with pytest.warns(sash.PerformanceWarning):
        op = KeyedOperator(query, own_watermark=True, deletes=True)
    names = ["window_start", "window_end", "revision", "n"]
    schema = pa.schema([*((name, pa.int64()) for name in names), (CHANGE, pa.int8())])
    output = ArrowOutput(query, schema)
    found = [output.batches(op.process_outcomes({"ts": [0, 5, 50]})), output.batches(op.process_outcomes({"ts": [3]}))]
    rows = [[tuple(row.values()) for batch in batches for row in batch.to_pylist()] for batches in found]
    assert rows[0] == [(0, 4, 0, 1, 0), (5, 9, 0, 1, 0)]
    assert rows[1] == [(0, 4, 0, None, 3), (5, 9, 0, None, 3), (0, 9, 1, 3, 2)]


@pytest.mark.parametrize(
    ("window", "more"),
    [
        (sash.trailing(3, on="ts"), {}),
        (sash.last(3, every=5, on="ts"), {}),
        (sash.session(3, on="ts"), {"early": 5}),
    ],
)
def test_what_has_no_changelog(window: Any, more: dict[str, Any]) -> None:
    query = sash.Query(windows=window, aggregates={"n": sash.Count()}, time="ts", **more)
    with pytest.raises(ValueError, match="there is no changelog of these windows"):
        KeyedOperator(query, deletes=True)
