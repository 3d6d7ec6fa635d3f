"""Times in Flink's milliseconds, and as operators have them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sash.spi import milliseconds
from sash_flink.clock import NEVER, Clock

INSTANT, LOCAL = datetime(2024, 3, 1, 12, tzinfo=UTC), datetime(2024, 3, 1, 12)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (INSTANT, 1_709_294_400_000),
        (LOCAL, 1_709_294_400_000),
        (INSTANT.astimezone(timezone(timedelta(hours=2))), 1_709_294_400_000),
        (datetime(1970, 1, 1, 0, 0, 0, 1), 1),
        (datetime(1970, 1, 1, 0, 0, 0, 1000), 1),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999), 0),
        (datetime(1969, 12, 31, 23, 59, 59, 1), -999),
        (date(1970, 1, 2), 86_400_000),
        (date(1969, 12, 31), -86_400_000),
        (np.datetime64(1, "ns"), 1),
        (np.datetime64(-1, "ns"), 0),
        (7, 7),
        (-7.5, -7),
        (np.int64(7), 7),
    ],
)
def test_milliseconds_are_rounded_up(at: Any, expected: int) -> None:
    assert milliseconds(at) == expected


@pytest.mark.parametrize("kind", ["instant", "local", "date", "number"])
def test_a_watermark_is_the_last_time_that_is_over(kind: Any) -> None:
    clock, day = Clock("t", kind), 86_400_000
    told = clock.mark(3 * day - 1)
    assert told is not None
    assert milliseconds(told["t"]) == 3 * day
    assert clock.mark(4 * day - 1) != told, "one watermark is kept, not the first"
    assert clock.mark(NEVER) is None
    assert Clock(None).mark(3 * day) is None


def test_a_timer_is_set_to_the_last_time_before_a_window_is_complete() -> None:
    clock = Clock("t", "instant")
    assert clock.timer(INSTANT, 0) == 1_709_294_399_999
    assert clock.timer(INSTANT, 1_709_294_400_000) == 1_709_294_400_001, "but not to one that is over"
    assert clock.timer(None, 0) is None


@pytest.mark.parametrize(
    ("unit", "number"), [(10**9, Fraction(3, 2)), (10**6, 1500), (10**3, 1_500_000), (1, 15 * 10**8)]
)
def test_numbers_of_a_unit_are_converted(unit: int, number: Any) -> None:
    clock = Clock("t", "number", unit)
    assert clock.mark(1499) == {"t": number}
    assert clock.timer(number, 0) == 1499
    assert clock.timer(float(number), 0) == 1499
    assert clock.moment(NEVER) * unit > -(2**63), "no time is out of range"


def test_numbers_of_no_unit_are_milliseconds() -> None:
    assert Clock("t").mark(1499) == {"t": 1500}
    assert Clock("t").timer(1500, 0) == 1499
