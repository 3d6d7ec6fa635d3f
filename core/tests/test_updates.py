"""Updates: who keeps the last result of each window has what the definition gives for the rows so far."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.runtime.operator import KeyedOperator
from sash.runtime.stream import Outcomes
from sash.testing import evaluate
from strategies import COMMUTATIVE, NOT_COMMUTATIVE, cumulatives, time_windows

Row = dict[str, Any]
Kept = dict[tuple[Any, ...], tuple[Any, ...]]
WINDOWS = st.one_of(time_windows(), cumulatives())
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.sampled_from(["a", "a", "b"]),
            "ts": st.integers(0, 40),
            "x": st.one_of(st.none(), st.integers(-9, 9)),
            "s": st.sampled_from("uvw"),
        }
    ),
    max_size=30,
)


def keep(kept: Kept, outcomes: Outcomes) -> None:
    seen = set()
    for outcome in outcomes.lanes:
        for row in outcome.rows():
            window = (outcomes.keys["k"][row.code], outcome.lane.names[row.window], row.start, row.end)
            assert window not in seen, "a window has two results in one update"
            seen.add(window)
            kept[window] = row.aggregates


def by_definition(query: sash.Query, rows: list[Row]) -> Kept:
    """The last result of each window, those that are open included."""
    kept: Kept = {}
    for key in {row["k"] for row in rows}:
        events: list[Any] = [("row", row) for row in rows if row["k"] == key]
        for result in evaluate(query.using(key=None), [*events, ("close",)]):
            window = (key, *(result[name] for name in ("window", "window_start", "window_end")))
            kept[window] = tuple(result[name] for name in query.aggregates)
    return kept


@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
@settings(max_examples=100)
@given(
    windows=st.lists(WINDOWS, min_size=1, max_size=2),
    computed=st.lists(st.sampled_from(COMMUTATIVE + NOT_COMMUTATIVE), min_size=1, max_size=2, unique_by=repr),
    lateness=st.sampled_from([None, 3, 20]),
    rows=ROWS,
    size=st.integers(1, 10),
)
def test_the_last_results_are_those_of_all_rows_so_far(
    windows: Any, computed: Any, lateness: Any, rows: list[Row], size: int
) -> None:
    query = sash.Query(
        key="k",
        windows={f"w{i}": window for i, window in enumerate(windows)},
        aggregates={f"a{i}": aggregation for i, aggregation in enumerate(computed)},
        time="ts",
        watermark_delay=4,
        allowed_lateness=lateness,
    )
    op, kept = KeyedOperator(query, own_watermark="key"), Kept()
    for begin in range(0, len(rows), size):
        keep(kept, op.update_outcomes(rows[begin : begin + size]))
        assert repr(sorted(kept.items())) == repr(sorted(by_definition(query, rows[: begin + size]).items()))


def test_a_watermark_and_late_rows_in_one_update() -> None:
    """The window is complete by the watermark and corrected by the row behind it: one result, the last."""
    query = sash.Query(
        key="k", windows={"w": sash.tumbling(10, on="ts")}, aggregates={"n": sash.Count()}, time="ts",
        allowed_lateness=20,
    )  # fmt: skip
    op, kept = KeyedOperator(query), Kept()
    keep(kept, op.update_outcomes([{"k": "a", "ts": 1}]))
    keep(kept, op.update_outcomes([{"k": "a", "ts": 2}], watermark=12))
    assert kept == {("a", "w", 0, 10): (2,)}
    assert op.metrics["results_out"] == 2


@pytest.mark.parametrize(
    "window", [sash.session(3, on="ts"), sash.sliding(3), sash.trailing(3, on="ts"), sash.punctuated("x")]
)
def test_windows_whose_bounds_move_are_refused(window: Any) -> None:
    query = sash.Query(windows=window, aggregates={"n": sash.Count()}, time="ts")
    with pytest.raises(ValueError, match=r"windows cannot be updated: the bounds of .* depend on tuples"):
        KeyedOperator(query).update_outcomes([])
