"""The end of the input with many windows open: each is emitted, exactly once, with and without allowed lateness."""

from __future__ import annotations

from typing import Any

import pytest

import sash
from sash.runtime.operator import KeyedOperator
from sash.testing import evaluate

WINDOWS: dict[str, Any] = {
    "tumbling": sash.tumbling(1, on="t"),
    "sliding": sash.sliding(7, 2, on="t"),
    "floats": sash.sliding(1.5, 0.5, on="t"),
    "session": sash.session(3, on="t"),
    "last": sash.last(5, every=3, on="t"),
    "together": {"each": sash.tumbling(1, on="t"), "session": sash.session(3, on="t"), "counts": sash.sliding(6, 2)},
}
ROWS = [{"t": t if t % 9 else t - 4, "k": "a"} for t in range(140) if t % 20 < 15]


def query(windows: Any, **options: Any) -> sash.Query:
    return sash.Query(windows=windows, aggregates={"sum": sash.Sum("t"), "n": sash.Count()}, time="t", **options)


def emitted(asked: sash.Query) -> list[dict[str, Any]]:
    """By the definition, if no tuple moves the watermark."""
    late = asked.using(watermark_delay=1000)
    return evaluate(late, [("row", row) for row in ROWS] + [("close",)])


@pytest.mark.parametrize("lateness", [None, 5])
@pytest.mark.parametrize("windows", WINDOWS.values(), ids=WINDOWS)
def test_all_open_windows_are_emitted_at_the_end(windows: Any, lateness: Any) -> None:
    asked = query(windows, allowed_lateness=lateness)
    by_rows, by_batches = (sash.Operator(asked, own_watermark=False) for _ in range(2))
    assert [result for row in ROWS for result in by_rows.process(row)] == []
    assert by_batches.process_batch(ROWS) == []
    expected = emitted(asked)
    assert len(expected) > 8
    assert by_rows.close() == by_batches.close() == expected
    keyed = KeyedOperator(asked.using(key="k"))
    assert keyed.process_batch(ROWS) == []
    assert keyed.close(like=[]) == [{"k": "a"} | row for row in expected]


def test_thousands_of_open_windows_are_emitted_at_the_end() -> None:
    asked = query(sash.tumbling(1, on="t"), allowed_lateness=5)
    op = sash.Operator(asked, own_watermark=False)
    for t in range(3000):
        op.process({"t": t})
    assert [(row["window_start"], row["sum"]) for row in op.close()] == [(t, t) for t in range(3000)]
