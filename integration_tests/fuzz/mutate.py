"""Mutations: of bytes, of lines of text, and of values inside saved states."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from sash.state import snapshot_format
from sash.state.values import NotTagged, dumps, loads

__all__ = ["forge", "of_bytes", "of_text"]

WORDS = [
    "0", "-1", "1e30000000", "9" * 4301, "1" + "0" * 400, "nan", "inf", "-0.0", "true", "null", "''", '"', "'''",
    "[" * 3000, "{" * 3000, "]", "}", "\\u0000", "\x00", "\ufeff", "é", "\ud7ff", "=", ".", ".".join("a" * 9000),
    "#", ",", ":", "\n", "\r", "\t", "1969-12-31T23:59:59Z", "0000-00-00", "2024-02-30", "10s", "1e9s", "-1mo",
    "9999999999w", "os:system",
]  # fmt: skip
"""What often breaks readers of text."""


def of_bytes(data: bytes, chance: Random) -> bytes:
    """Some bytes changed, left out, doubled, or put elsewhere."""
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(changed) + 1)
        size = chance.choice([1, 1, 2, 4, 8, chance.randrange(1, 200)])
        match chance.randrange(5):
            case 0:
                changed[at : at + size] = chance.randbytes(size)
            case 1:
                del changed[at : at + size]
            case 2:
                changed[at:at] = changed[at : at + size] * chance.choice([1, 2, 50])
            case 3:
                changed[at : at + size] = bytes([chance.choice([0, 1, 127, 128, 255])]) * min(size, len(changed) - at)
            case _:
                other = chance.randrange(len(changed) + 1)
                changed[at : at + size] = changed[other : other + size]
    return bytes(changed)


def of_text(data: bytes, chance: Random) -> bytes:
    """As :func:`of_bytes`, or with words that often break readers in the place of others, and lines moved."""
    if chance.random() < 0.2:
        return of_bytes(data, chance)
    lines = data.split(b"\n")
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(lines))
        line, word = lines[at], chance.choice(WORDS).encode("utf-8", "surrogatepass")
        match chance.randrange(4):
            case 0:
                begin = chance.randrange(len(line) + 1)
                lines[at] = line[:begin] + word + line[begin + chance.randrange(6) :]
            case 1:
                parts = line.split(chance.choice([b"=", b",", b":", b" "]))
                parts[chance.randrange(len(parts))] = word
                lines[at] = b"=".join(parts) if b"=" in line else b",".join(parts)
            case 2:
                lines.insert(at, lines[chance.randrange(len(lines))])
            case _:
                del lines[at]
                lines = lines or [b""]
    return b"\n".join(lines)


# values inside saved states

_DTYPES = ["<i8", "<f8", "|b1", "<M8[s]", "<U1", "|u1"]
_ATOMS: list[Callable[[Random], Any]] = [
    lambda chance: chance.choice([0, 1, -1, 2, 5, 511, 512, 10**8, 2**31, 2**62, 2**63 - 1, -(2**63), 2**64, 10**400]),
    lambda chance: chance.choice([0.0, -1.5, 1e300, float("inf"), float("-inf"), float("nan")]),
    lambda chance: chance.choice([None, True, False, "", "x", "number - -", "datetime64 ns -", "epoch W Nowhere/Else"]),
    lambda chance: chance.choice([Decimal("1e30000000"), Decimal("NaN"), Decimal("-0"), Fraction(1, 3), 10**5000]),
    lambda chance: chance.choice([datetime.max, datetime(1, 1, 1, tzinfo=UTC), timedelta.max, b"", b"\x00" * 9]),
    lambda chance: chance.choice([(), [], {}, set(), frozenset(), ((),), [[]], {None: None}]),
    lambda chance: np.zeros(chance.choice([0, 1, 7, 600]), chance.choice(_DTYPES)),
    lambda chance: np.zeros((chance.choice([0, 1, 3]), chance.choice([0, 1, 10**6])), "|b1")[:1],
    lambda chance: chance.choice([np.float64("nan"), np.datetime64("NaT"), np.int8(-1), np.array(7), np.array(None)]),
]


def forge(state: bytes, chance: Random) -> bytes:
    """A state of which some values were changed, under right checksums: as if someone had made it on purpose."""
    _, kind, sections = snapshot_format.open_envelope(state)
    if chance.random() < 0.2:  # bytes of values
        at = chance.randrange(len(sections))
        sections[at] = of_bytes(sections[at], chance)
    else:
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(sections))
            try:
                sections[at] = dumps(_changed(loads(sections[at]), chance))
            except NotTagged:
                sections[at] = of_bytes(sections[at], chance)
    return snapshot_format.seal(kind, sections)


def _changed(value: Any, chance: Random) -> Any:
    """The value with one of its parts, or itself, changed."""
    if isinstance(value, dict) and value and chance.random() < 0.95:
        key = chance.choice(list(value))
        return {name: _changed(part, chance) if name == key else part for name, part in value.items()}
    if isinstance(value, list | tuple) and value and chance.random() < 0.95:
        items, at = list(value), chance.randrange(len(value))
        if chance.random() < 0.05:
            del items[at]
        elif chance.random() < 0.05:
            items.insert(at, items[chance.randrange(len(items))])
        else:
            items[at] = _changed(items[at], chance)
        return type(value)(items)
    if isinstance(value, np.ndarray) and value.size and value.ndim == 1 and chance.random() < 0.7:
        return _changed_array(value, chance)
    if isinstance(value, int) and chance.random() < 0.3:
        return value + chance.choice([-1, 1, 10**8, -(10**8)])
    return chance.choice(_ATOMS)(chance)


def _changed_array(array: Any, chance: Random) -> Any:
    array = array.copy()
    match chance.randrange(4):
        case 0 if array.dtype.kind in "iuf":
            info = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.finfo(array.dtype)
            array[chance.randrange(len(array))] = chance.choice([info.min, info.max, 0, 1])
        case 1:
            array = np.concatenate([array, array[:1]])
        case 2:
            array = array[: chance.randrange(len(array))]
        case _:
            array = array.view(chance.choice(["|u1", "|i1", "|b1"])) if array.dtype.kind in "iufmMb" else array[::-1]
    return array
