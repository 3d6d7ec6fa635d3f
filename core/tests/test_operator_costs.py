"""What an operator costs and holds, the decisions behind it, and tables of every kind in and out."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import sash
from sash.engine.decisions import Removal, decide
from sash.testing import Counted
from sash.windows import ContextClass

ROWS = [{"ts": i, "x": i % 7} for i in range(500)]


def asked(**options: Any) -> sash.Query:
    default: dict[str, Any] = {
        "windows": sash.sliding(20, 2, on="ts"),
        "aggregates": {"a": sash.Max("x")},
        "time": "ts",
    }
    return sash.Query(**default | options)


@pytest.mark.parametrize("n", [2, 7, 64, 100, 129])
def test_a_slide_costs_at_most_three_merges_besides_those_of_lcs(n: int) -> None:
    """1 for csa, at most 2 for the window and 1 for lcs, which PBA leaves to another thread; 2 more once a chunk."""
    counted = Counted(sash.Max("x"))
    op = sash.Operator(asked(windows=sash.sliding(n, 1, on="ts"), aggregates={"a": counted}))
    slides = 20 * n
    worst = 0
    for i in range(slides):
        before = counted.calls
        op.process({"ts": i, "x": 1})
        if i > 2 * n:
            worst = max(worst, counted.calls - before)
    chunk = max(1 << (n.bit_length() - 2), 1)
    assert counted.calls <= 4 * slides + 2 * slides // chunk
    assert worst <= 6  # not one slide waits for a chunk
    assert op.metrics["merges"] == counted.calls


def test_windows_of_many_lengths_share_slices_and_their_merges() -> None:
    """100 windows over the same slices: each costs 2 merges when it is complete, whatever its length."""
    counted = Counted(sash.Max("x"))
    windows = {f"w{i}": sash.sliding(10 + i, 10 + i, on="ts") for i in range(100)}
    op = sash.Operator(asked(windows=windows, aggregates={"a": counted}))
    results = sum(len(op.process({"ts": i, "x": 1})) for i in range(2000))
    levels = 7  # lengths of chunks up to 64 slices
    assert counted.calls <= 2000 + 2 * results + 2 * levels * 2000


def test_a_late_tuple_and_a_correction_are_logarithmic() -> None:
    counted = Counted(sash.Max("x"))
    query = asked(windows=sash.sliding(1024, 1024, on="ts"), aggregates={"a": counted}, allowed_lateness=4096)
    op = sash.Operator(
        query.using(windows={"long": sash.sliding(1024, 1024, on="ts"), "fine": sash.tumbling(1, on="ts")})
    )
    for i in range(4096):
        op.process({"ts": i, "x": 1})
    before = counted.calls
    assert len(op.process({"ts": 1500, "x": 9})) == 2  # one of each window
    assert counted.calls - before <= 4 * 4 * 6 * 2  # 4µ(log_µ n + 1) for FiBA's change and for its range


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, False),
        ({"watermark_delay": 5}, False),
        ({"watermark_delay": 5, "allowed_lateness": 5}, False),
        ({"windows": sash.session(3, on="ts"), "watermark_delay": 5}, False),
        ({"windows": sash.sliding(5), "watermark_delay": None}, False),
        ({"windows": sash.sliding(5), "watermark_delay": 5}, True),
        ({"windows": sash.last(5, every=3, on="ts")}, True),
        ({"windows": sash.punctuated("x"), "watermark_delay": 5}, True),
        ({"aggregates": {"a": sash.Collect("x")}}, False),
        ({"aggregates": {"a": sash.Collect("x")}, "watermark_delay": 5}, True),
    ],
)
def test_tuples_are_kept_only_when_they_must_be(options: dict[str, Any], kept: bool) -> None:
    """Figure 4; and those that are kept are few, however long the stream."""
    query = asked(**options)
    assert decide(query, query.lanes[0]).keeps is kept
    op = sash.Operator(query)
    held, slices = set(), set()
    for i in range(3000):
        op.process({"ts": i, "x": i % 7})
        held.add(op.metrics["tuples_held"])
        slices.add(op.metrics["slices_held"])
    assert (max(held) > 0) is kept and max(held) <= 150
    assert max(slices) <= 150


def test_classes_of_windows_and_ways_to_remove() -> None:
    assert sash.tumbling(5, on="ts").context_class(arrival=False) is ContextClass.CF
    assert sash.tumbling(5).context_class(arrival=True) is ContextClass.CF
    assert sash.tumbling(5).context_class(arrival=False) is ContextClass.FCF
    assert sash.session(5, on="ts").context_class(arrival=False) is ContextClass.FCF
    assert sash.last(5, every=1, on="ts").context_class(arrival=False) is ContextClass.FCA
    aggregates = {"sum": sash.Sum("x"), "max": sash.Max("x"), "all": sash.Collect("x")}
    query = asked(windows=sash.sliding(5), aggregates=aggregates, allowed_lateness=5)
    decisions = decide(query, query.lanes[0])
    assert decisions.removal == (Removal.INVERT, Removal.RECOMPUTE, Removal.RECOMPUTE)
    punctuated = asked(windows=sash.punctuated("x"), watermark_delay=1)
    assert "depend on tuples that may come out of order" in decide(punctuated, punctuated.lanes[0]).why


def _frames() -> dict[str, Any]:
    begin = datetime(2024, 3, 1, 12)
    times = [begin + timedelta(seconds=i // 3) for i in range(60)]
    columns = {"ts": times, "x": [float(i % 11) for i in range(60)]}
    return {
        "pandas": pd.DataFrame(columns),
        "arrow": pa.table(columns),
        "batch": pa.table(columns).to_batches()[0],
        "polars": pl.DataFrame(columns),
        "arrays": {"ts": np.array(times, "datetime64[us]"), "x": np.array(columns["x"])},
        "lists": columns,
    }


@pytest.mark.parametrize("kind", list(_frames()))
def test_batches_of_every_kind_give_tables_of_that_kind(kind: str) -> None:
    query = sash.Query(windows=sash.sliding("6s", "2s"), aggregates={"top": sash.Max("x")}, time="ts")
    frames = _frames()
    rows = [dict(zip(frames["lists"], row, strict=True)) for row in zip(*frames["lists"].values(), strict=True)]
    by_row = sash.Operator(query)
    expected = [result for row in rows for result in by_row.process(row)]
    table = sash.Operator(query).process_batch(frames[kind])
    assert type(table) is type(frames[kind])
    if kind in ("arrow", "batch"):
        got = table.to_pylist()
    elif kind == "polars":
        got = table.to_dicts()
    elif kind == "pandas":
        got = table.to_dict("records")
    else:
        lists = {name: column.tolist() if kind == "arrays" else column for name, column in table.items()}
        got = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    assert expected and got == expected


def test_only_the_caller_moves_the_watermark_if_it_is_not_the_operators_own() -> None:
    op = sash.Operator(asked(), own_watermark=False)
    assert not [result for row in reversed(ROWS) for result in op.process(row)]  # nothing is late either
    found = op.advance(100)
    assert found == sash.Operator(asked(windows=sash.sliding(20, 2, on="ts"))).close() + [
        {"window_start": start, "window_end": start + 20, "a": max(ts % 7 for ts in range(max(start, 0), start + 20))}
        for start in range(-18, 82, 2)
    ]
    assert op.metrics["late_dropped"] == 0 and op.process({"ts": 50, "x": 1}) == []
    assert op.metrics["late_dropped"] == 1 and op.dropped == (0,)


def test_slices_that_are_final_are_written_once() -> None:
    query = asked(windows=sash.sliding(5000, 1, on="ts"))
    op = sash.Operator(query)
    blocks: dict[Any, bytes] = {}
    sizes = []
    for _ in range(8):
        first = op.metrics["tuples_in"]
        op.process_batch({"ts": np.arange(first, first + 1000), "x": np.ones(1000)})
        header, written, deleted = op.snapshot_parts()
        blocks = {name: block for name, block in (blocks | written).items() if name not in deleted}
        sizes.append(len(header) + sum(map(len, written.values())))
    assert max(sizes[2:]) < 3 * 1024 * 8 * 4  # what a batch adds and the open block, not the whole window
    again = sash.Operator.restore_parts(query, header, blocks)
    more = {"ts": np.arange(8000, 8010), "x": np.arange(10.0)}
    assert {k: v.tolist() for k, v in again.process_batch(more).items()} == {
        k: v.tolist() for k, v in op.process_batch(more).items()
    }


def test_explain_tells_what_was_decided() -> None:
    query = asked(windows={"a": sash.sliding(20, 2, on="ts"), "n": sash.sliding(8)}, allowed_lateness=3)
    text = sash.explain(query, verbose=True)
    assert "a: W[20, 2] on ts; context free" in text and "n: W[8, 1]; forward context free, on counts" in text
    assert "FiBA: late tuples change slices" in text
    assert "kept in their slice: W[8, 1] counts tuples that may come out of order" in text
    assert "by recomputing the slice" in text
    assert "no: results can be corrected (allowed_lateness), and W[8, 1] is corrected tuple by tuple" in text
    op = sash.Operator(asked())
    op.process_batch({"ts": np.arange(3), "x": np.ones(3)})
    assert "compiled   a: yes" in op.explain()
