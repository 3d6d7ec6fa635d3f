"""Errors of a user's own functions: they name the aggregate, its column and the row, and nothing has happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import sash
from sash.runtime.operator import KeyedOperator

pytestmark = pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")


def lift(value: float) -> float:
    if value == 13:
        raise KeyError("unlucky")
    return value


def combine(a: float, b: float) -> float:
    if b == 13:
        raise ValueError("no thirteen")
    return a + b


def lower(total: float) -> float:
    if total > 12:
        raise RuntimeError("too much")
    return total


def plain(value: float) -> float:
    return value


def add(a: float, b: float) -> float:
    return a + b


FUSSY = {
    "lift": ("cannot aggregate 13.* KeyError: 'unlucky'", {"lift": lift, "combine": add}),
    "combine": ("cannot combine .* with 13.*: ValueError: no thirteen", {"lift": plain, "combine": combine}),
    "lower": ("cannot lower 1[3-9].*: RuntimeError: too much", {"lift": plain, "combine": add, "lower": lower}),
}
WINDOWS = {"count": sash.sliding(2), "time": sash.sliding(2, on="t"), "session": sash.session(5, on="t")}
ROWS = [{"k": "ab"[number % 2], "t": number // 2, "x": 1.0, "y": 0} for number in range(6)]
BAD = {"k": "a", "t": 3, "x": 13.0, "y": 0}


def query_of(role: str, window: str, several: bool) -> sash.Query:
    fussy = sash.aggregation("x", name="fussy", **FUSSY[role][1])  # type: ignore[arg-type]
    aggregates = {"r": fussy, "s": sash.Sum("x")} if several else {"r": fussy}
    return sash.Query(key="k", windows=WINDOWS[window], aggregates=aggregates)


every = pytest.mark.parametrize("role", FUSSY)


@every
@pytest.mark.parametrize("several", [False, True], ids=["alone", "several"])
@pytest.mark.parametrize("window", WINDOWS)
def test_by_rows(role: str, window: str, several: bool) -> None:
    op = sash.Operator(query_of(role, window, several))
    for row in ROWS:
        op.process(row)
    before = op.snapshot()
    if role == "lift" or window == "count":
        with pytest.raises(Exception, match=rf"row 6: fussy\('x'\) {FUSSY[role][0]}"):
            op.process(BAD)
        assert op.snapshot() == before
        assert op.process(BAD | {"x": 2.0}) is not None
    else:  # it is merged and lowered when its window ends, where there is no row
        with pytest.raises(Exception, match=rf"fussy\('x'\) {FUSSY[role][0]}"):
            process_and_close(op)


def process_and_close(op: sash.Operator) -> None:
    op.process(BAD)
    op.close()


TABLES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "rows": list,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "Arrow": pa.Table.from_pylist,
}


@every
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("window", WINDOWS)
def test_by_batches(role: str, window: str, table: str) -> None:
    asked, of = query_of(role, window, True), TABLES[table]
    words = rf"row 7: fussy\('x'\) {FUSSY[role][0]}"
    for operator in (sash.Operator, KeyedOperator):
        op = operator(asked)
        op.process_batch(of(ROWS[:4]))
        before = op.snapshot()
        if role == "lift" or window == "count":
            with pytest.raises(Exception, match=words):
                op.process_batch(of([*ROWS[4:], ROWS[-1], BAD]))
            assert op.snapshot() == before
        assert op.process_batch(of(ROWS[4:])) is not None
    with pytest.raises(Exception, match=words):
        sash.run(asked, of([*ROWS, ROWS[-1], BAD]))


def test_compiled_functions_too() -> None:
    """What compiled code raises is raised again by Python, which knows the row."""
    rows = {"x": [float(place % 5) for place in range(1000)]}
    rows["x"][705] = 13.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sash.kernels.tiers.COMPILE_ROWS", 0)
        for role in ("lift", "combine"):
            fussy = sash.aggregation("x", name="fussy", **FUSSY[role][1])  # type: ignore[arg-type]
            asked = sash.Query(windows=sash.tumbling(10), aggregates={"r": fussy})
            with pytest.raises(Exception, match=rf"row 705: fussy\('x'\) {FUSSY[role][0]}"):
                sash.run(asked, pa.table(rows))
