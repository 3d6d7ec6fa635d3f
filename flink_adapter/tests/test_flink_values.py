"""Values as PyFlink has them, and as operators do: those that are in others, too."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from pyflink.common import Row
from pyflink.common.time import Instant

from sash_flink.values import IN_PROCESSES, reader, writer

NOON, INSTANT = datetime(2024, 3, 1, 12, 0, 0, 5, tzinfo=UTC), Instant(1_709_294_400, 5_000)
TIME = pa.timestamp("us", "UTC")
STRUCT = pa.struct([("x", pa.int64()), ("at", TIME)])


@pytest.mark.parametrize(
    ("kind", "theirs", "ours"),
    [
        (TIME, INSTANT, NOON),
        (TIME, None, None),
        (pa.list_(TIME), [INSTANT, None], [NOON, None]),
        (pa.list_(TIME), None, None),
        (STRUCT, Row(1, INSTANT), {"x": 1, "at": NOON}),
        (STRUCT, None, None),
        (pa.list_(STRUCT), [Row(1, INSTANT)], [{"x": 1, "at": NOON}]),
    ],
)
def test_times_are_read_and_written_wherever_they_are(kind: Any, theirs: Any, ours: Any) -> None:
    read = reader(kind, IN_PROCESSES)
    assert read is not None
    assert read(theirs) == ours
    assert writer(kind, IN_PROCESSES)(ours) == theirs


def test_what_has_been_read_may_be_read_again() -> None:
    """Keys are."""
    read = reader(TIME, IN_PROCESSES)
    assert read is not None and read(NOON) == NOON


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.list_(pa.int64())])
def test_others_are_as_they_are(kind: Any) -> None:
    assert reader(kind, IN_PROCESSES) is None
