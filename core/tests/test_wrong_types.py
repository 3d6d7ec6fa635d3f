"""Values of another type than those before, row by row and in batches: an error says where, and nothing has changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pytest

import sash

VALUES: dict[str, list[Any]] = {
    "numbers": [1.5, 2.5],
    "whole numbers": [1, 2],
    "text": ["a", "b"],
    "times": [datetime(2024, 3, 1), datetime(2024, 3, 2)],
}
WINDOWS = {"counts": sash.sliding(2), "time": sash.tumbling(10, on="t")}


def process(op: sash.Operator, how: str, values: list[Any], start: int) -> None:
    if how == "rows":
        for number, value in enumerate(values, start):
            op.process({"t": number, "x": value})
    else:
        column: Any = np.array(values) if how == "array" else values
        op.process_batch({"t": list(range(start, start + len(values))), "x": column})


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("more", [{}, {"n": sash.Count(), "at": sash.Last("t"), "last": sash.Last("x")}])
@pytest.mark.parametrize("first", ["rows", "batch"])
@pytest.mark.parametrize("then", ["rows", "batch", "array"])
@pytest.mark.parametrize(
    ("before", "after"),
    [("numbers", "text"), ("text", "numbers"), ("whole numbers", "text"), ("text", "whole numbers"), ("times", "text")],
)
def test_values_of_another_type_are_named_and_change_nothing(
    windows: str, more: dict[str, sash.Aggregation], first: str, then: str, before: str, after: str
) -> None:
    op = sash.Operator(sash.Query(windows=WINDOWS[windows], aggregates={**more, "peak": sash.Max("x")}))
    process(op, first, VALUES[before], 0)
    seen = op.snapshot()
    with pytest.raises(TypeError) as caught:
        process(op, then, VALUES[after], 2)
    value = repr(VALUES[after][0])
    if then == "rows":
        assert f"row 2: Max('x') cannot combine {VALUES[before][-1]!r} with {value}" in str(caught.value)
    else:
        named = f"column 'x', row 2: expected values as before; got {value} of type"
        assert named in str(caught.value)
    assert op.snapshot() == seen
    process(op, then, VALUES[before], 2)
    assert op.metrics["tuples_in"] == 4
