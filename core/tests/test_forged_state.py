"""States that someone made on purpose, under right checksums: restoring takes no more than a multiple of their size.

Each number of a state is replaced by large ones, each column of numbers by a wide one.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sash
from sash import StateError
from sash.runtime.operator import KeyedOperator
from sash.state import snapshot_format
from sash.state.values import NotTagged, dumps, loads

TIMES = sash.Query(
    key="k",
    windows={"slide": sash.sliding("20s", "2s"), "visit": sash.session("7s"), "count": sash.sliding(9, 2)},
    aggregates={"sum": sash.Sum("x"), "all": sash.Collect("x")},
    time="t",
    watermark_delay="2s",
    allowed_lateness="3s",
)
LONG = sash.Query(key="k", windows=sash.sliding(1500), aggregates={"n": sash.Sum("x")})
"""A window of so many slices that some are in blocks."""
LARGE = [10**8, -(10**8), 2**40, 2**63 - 1, 2**200]


def saved() -> tuple[sash.Query, bytes]:
    op = KeyedOperator(TIMES)
    op.process_batch({"k": ["a", "b"] * 20, "x": np.arange(40), "t": (np.arange(40) // 3).astype("datetime64[s]")})
    return TIMES, op.snapshot()


def parts() -> tuple[bytes, dict[Any, bytes]]:
    op = KeyedOperator(LONG)
    op.process_batch({"k": ["a", "b"] * 1300, "x": np.arange(2600)})
    header, written, _ = op.snapshot_parts()
    return header, dict(written)


def variants(value: Any) -> Iterator[Any]:
    """The value with one number in it replaced, for all numbers in it."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from (value | {name: other} for other in variants(part))
    elif isinstance(value, list | tuple):
        for at, part in enumerate(value):
            yield from (type(value)([*value[:at], other, *value[at + 1 :]]) for other in variants(part))
    elif isinstance(value, np.ndarray) and value.dtype.kind in "iu" and len(value):
        for number in LARGE:
            if np.iinfo(value.dtype).min <= number <= np.iinfo(value.dtype).max:
                yield np.concatenate([value[:-1], np.array([number], value.dtype)])
        yield np.zeros((len(value), 10_000), np.bool_)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from LARGE


def forgeries(blob: bytes) -> Iterator[bytes]:
    _, kind, sections = snapshot_format.open_envelope(blob)
    for at, section in enumerate(sections):
        for other in variants(loads(section)):
            yield snapshot_format.seal(kind, [*sections[:at], dumps(other), *sections[at + 1 :]])


def restored(restore: Any, *arguments: Any) -> int:
    """Restore, or be refused; the most memory that it took, in bytes."""
    tracemalloc.start()
    try:
        restore(*arguments)
    except StateError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


@pytest.mark.parametrize("kind", [sash.Operator, KeyedOperator])
@pytest.mark.filterwarnings("ignore::sash.PerformanceWarning")
def test_large_numbers_take_no_memory(kind: Any) -> None:
    query, blob = saved()
    least = restored(kind.restore, query, blob)
    tried = [restored(kind.restore, query, forged) - 10 * len(forged) for forged in forgeries(blob)]
    assert len(tried) > 80
    assert max(tried) < least + 100 * len(blob)


def test_large_numbers_in_a_header_or_a_block_take_no_memory() -> None:
    header, blocks = parts()
    first = next(iter(blocks))
    least = restored(KeyedOperator.restore_parts, LONG, header, blocks)
    size = len(header) + sum(map(len, blocks.values()))
    tried = [
        restored(KeyedOperator.restore_parts, LONG, forged, blocks) - 10 * len(forged) for forged in forgeries(header)
    ]
    tried += [
        restored(KeyedOperator.restore_parts, LONG, header, blocks | {first: forged}) - 10 * len(forged)
        for forged in forgeries(blocks[first])
    ]
    assert len(tried) > 50
    assert max(tried) < least + 100 * size


@pytest.mark.parametrize("parts", [("1e30000000", None), ("1/3", 1), (2.5, None), (1, 0), (1 << 200_000, 3), (True, 2)])
def test_fractions_are_of_whole_numbers(parts: tuple[Any, Any]) -> None:
    with pytest.raises(NotTagged):
        loads(b"r" + b"".join(map(dumps, parts)))


def test_a_fraction_that_could_not_be_read_is_not_written() -> None:
    with pytest.raises(NotTagged, match="bits cannot be saved"):
        dumps(Fraction(1, 3**100_000))
    long = Fraction(1, 3**80_000)
    assert loads(dumps(long)) == long
