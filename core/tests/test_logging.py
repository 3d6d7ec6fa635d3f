"""What goes to the logger ``sash``: little, and nothing a row."""

from __future__ import annotations

import logging

import pytest

import sash


def test_restoring_and_changing_engines_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    query = sash.Query(sash.sliding(2), {"peak": sash.Max("x")}, key="k")
    with caplog.at_level(logging.DEBUG, logger="sash"):
        op = sash.Operator(query)
        for _ in range(5):
            op.process({"k": "a", "x": 1})
        assert caplog.messages == []
        op.process_batch({"k": ["b", "c"], "x": [1, 2]})
        assert caplog.messages == ["windows in the order of arrival change from rows to columns"]
        caplog.clear()
        sash.Operator.restore(query, op.snapshot())
    assert caplog.messages == ["restored the state of 3 keys, after 7 rows"]
