"""Bloom: never a false negative, the promised rate of false positives, the same bits in every process."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.aggregations.bloom import BloomFilter, encode

SCALARS = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.text(),
    st.binary(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7))])),
)
VALUES = SCALARS | st.lists(SCALARS, max_size=3).map(tuple)


def filter_of(bloom: sash.Bloom, values: list[Any]) -> BloomFilter:
    result = bloom.lower(reduce(bloom.combine, map(bloom.lift, values), bloom.identity))
    assert isinstance(result, BloomFilter)
    return result


@given(st.lists(VALUES, min_size=1, max_size=30))
def test_no_false_negatives(values: list[Any]) -> None:
    seen = filter_of(sash.Bloom(capacity=5, error_rate=0.5), values)
    assert all(value in seen for value in values)


@pytest.mark.parametrize("error_rate", [0.2, 0.05, 0.01, 0.001])
@pytest.mark.parametrize("capacity", [50, 2000])
def test_false_positives_at_capacity(error_rate: float, capacity: int) -> None:
    """Filters that hold ``capacity`` values are asked for 20,000 others: within a quarter and 3σ."""
    bloom = sash.Bloom(capacity=capacity, error_rate=error_rate)
    asked, yes = 0, 0
    for trial in range(10):
        seen = filter_of(bloom, [f"{trial}-in-{i}" for i in range(capacity)])
        yes += sum(f"{trial}-out-{i}" in seen for i in range(2000))
        asked += 2000
    expected = asked * error_rate
    assert abs(yes - expected) <= 0.25 * expected + 3 * math.sqrt(expected)


def test_size_and_hashes_are_the_formulas() -> None:
    bloom = sash.Bloom(capacity=1000, error_rate=0.01)
    assert (bloom.size, bloom.hashes) == (9586, 7)
    assert sash.Bloom(capacity=1, error_rate=0.99).hashes == 1


@given(VALUES, VALUES)
def test_encoding_is_equal_exactly_where_values_are(a: Any, b: Any) -> None:
    assert (encode(a) == encode(b)) == (a == b or nan_aside(a) == nan_aside(b))


def nan_aside(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(nan_aside, value))
    return "this is NaN" if value != value else value


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        (2**70, float(2**70)),
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        ((1, "a"), (1.0, "a")),
        (datetime(2024, 1, 1, 12, tzinfo=UTC), datetime(2024, 1, 1, 5, tzinfo=timezone(timedelta(hours=-7)))),
    ],
)
def test_equal_values_are_one(a: Any, b: Any) -> None:
    assert encode(a) == encode(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, "1"),
        ("a", b"a"),
        (("a", "b"), ("ab",)),
        (("a", "b"), ("asb",)),
        (("a", ("b",)), ("a", "b")),
        (-1, 255),
        (date(2024, 1, 1), datetime(2024, 1, 1)),
        (datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)),
        (date(2024, 1, 1), int.from_bytes(encode(date(2024, 1, 1))[1:], "big")),
        (2**53, 2.0**53 + 2),
    ],
)
def test_different_values_are_two(a: Any, b: Any) -> None:
    assert encode(a) != encode(b)


def test_same_bits_in_another_process() -> None:
    program = (
        "import sash, datetime; b = sash.Bloom();"
        "p = None\n"
        "for v in ['plug', 7, 0.1, b'x', datetime.date(2024, 2, 29), ('a', 1)]: p = b.combine(p, b.lift(v))\n"
        "print(b.lower(p).to_bytes().hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    here = filter_of(sash.Bloom(), ["plug", 7, 0.1, b"x", date(2024, 2, 29), ("a", 1)])
    assert outputs == {here.to_bytes().hex()}


def test_bits_do_not_change_with_versions() -> None:
    """A stored filter must stay readable: these positions are part of the format."""
    assert sash.Bloom(capacity=10, error_rate=0.1).lift("plug") == 274911461392


@given(st.lists(VALUES), st.lists(VALUES), st.lists(VALUES))
def test_algebra(x: list[Any], y: list[Any], z: list[Any]) -> None:
    bloom = sash.Bloom(capacity=20)
    a, b, c = (reduce(bloom.combine, map(bloom.lift, values), None) for values in (x, y, z))
    assert bloom.combine(a, bloom.combine(b, c)) == bloom.combine(bloom.combine(a, b), c)
    assert bloom.combine(a, b) == bloom.combine(b, a)
    assert not bloom.invertible


def test_estimates_how_many() -> None:
    seen = filter_of(sash.Bloom(capacity=1000), [*range(600), *range(600)])
    assert seen.estimated_count() == pytest.approx(600, rel=0.05)
    assert BloomFilter(0b1111, 4, 2).estimated_count() == math.inf


def test_a_filter_is_a_value() -> None:
    seen = filter_of(sash.Bloom(), ["a", "b"])
    assert BloomFilter.from_bytes(seen.to_bytes()) == seen == pickle.loads(pickle.dumps(seen))
    assert hash(seen) == hash(filter_of(sash.Bloom(), ["b", "a"]))
    with pytest.raises(AttributeError):
        seen.bits = 0  # type: ignore[misc]


def test_nothing_is_in_an_empty_filter() -> None:
    empty = BloomFilter(0, 100, 3)
    assert "a" not in empty
    assert repr(empty) == "BloomFilter(about 0 values in 100 bits, 3 hashes)"
    assert sash.Bloom().lower(sash.Bloom().lift(None)) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: b"x" + data,
        lambda data: data[:5],
        lambda data: data[:-1] + b"\xff",  # bits beyond the last
    ],
)
def test_damaged_bytes_are_refused(damage: Callable[[bytes], bytes]) -> None:
    data = filter_of(sash.Bloom(), ["a"]).to_bytes()
    with pytest.raises(ValueError, match="not a filter"):
        BloomFilter.from_bytes(damage(data))


@pytest.mark.parametrize("value", [Decimal(1), [1], {1}, (1, None), 1j, object()])
def test_values_without_a_stable_hash_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="stable hash"):
        sash.Bloom("house").lift(value)


@pytest.mark.parametrize(
    "arguments",
    [{"capacity": 0}, {"capacity": 2.5}, {"error_rate": 0.0}, {"error_rate": 1.0}, {"error_rate": 1}],
)
def test_arguments_that_make_no_filter(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must"):
        sash.Bloom(**arguments)
