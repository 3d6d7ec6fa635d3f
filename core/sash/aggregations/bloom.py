"""Bloom filters: which values were in a window, in a fixed number of bits.

A partial is one Python integer of ``m`` bits, so that combining two filters is one ``|``. Each value sets
``k`` of them. For a capacity of n values and a rate p of false positives (Bloom's formulas):

    m = ⌈-n·ln p / (ln 2)²⌉          k = round(m/n · ln 2)

A filter is the same on every machine and in every process, so positions do not come from ``hash()``, which is salted,
but from BLAKE2b over an encoding that is equal for equal values only: ``1``, ``1.0`` and ``True`` are one value,
``"1"`` is another. Two 64-bit halves of the digest give all k positions by enhanced double hashing (Dillinger and
Manolios), which is as accurate as k independent hashes.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation, Flat, Kind

__all__ = ["Bloom", "BloomFilter"]

_EPOCH = datetime(1970, 1, 1)
_UTC_EPOCH = _EPOCH.replace(tzinfo=UTC)
_HEADER = struct.Struct("<4sHQ")
_MAGIC = b"SBF1"


def encode(value: Any) -> bytes:
    """Bytes that are equal for equal values only, the same on every machine and in every process."""
    if isinstance(value, np.datetime64 | np.timedelta64):  # they count nanoseconds, unlike Python's types
        letter = b"t" if isinstance(value, np.datetime64) else b"m"
        return letter + encode(int(value.astype(f"{value.dtype.kind}8[ns]").astype(np.int64)))
    if isinstance(value, np.number | np.bool_):
        value = value.item()
    if isinstance(value, float):
        if not value.is_integer():
            return b"f" + struct.pack(">d", math.nan if value != value else value)
        value = int(value)
    if isinstance(value, int):
        return b"i" + value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    if isinstance(value, datetime):
        return _encode_timestamp(value)
    if isinstance(value, date):
        return b"d" + encode(value.toordinal())
    if isinstance(value, timedelta):
        nanoseconds = getattr(value, "nanoseconds", 0)  # of pandas' durations
        return b"m" + encode(value // timedelta(microseconds=1) * 1000 + nanoseconds)
    if isinstance(value, tuple):
        parts = list(map(encode, value))
        return b"(" + b"".join(struct.pack(">Q", len(part)) + part for part in parts)
    raise TypeError("only numbers, text, bytes, dates, timestamps, durations and tuples of them have a stable hash")


def _encode_timestamp(value: datetime) -> bytes:
    """Encodes the instant if there is an offset, else the clock time; the two are never equal."""
    aware = value.utcoffset() is not None
    since = value - _UTC_EPOCH if aware else value.replace(tzinfo=None) - _EPOCH
    microseconds = since // timedelta(microseconds=1)
    nanoseconds = microseconds * 1000 + getattr(value, "nanosecond", 0)  # of pandas' timestamps
    return (b"z" if aware else b"t") + encode(nanoseconds)


def _mask(value: Any, size: int, hashes: int) -> int:
    """The bits that a value sets."""
    place, step = struct.unpack("<QQ", blake2b(encode(value), digest_size=16).digest())
    bits = 0
    for i in range(1, hashes + 1):
        bits |= 1 << place % size
        place += step
        step += i
    return bits


@dataclass(frozen=True, slots=True, repr=False)
class BloomFilter:
    """A set that never misses a value and rarely reports one that it does not hold.

    >>> import sash
    >>> seen = sash.Bloom()
    >>> houses = seen.lower(seen.combine(seen.lift("a"), seen.lift("b")))
    >>> "a" in houses, "z" in houses
    (True, False)
    >>> houses
    BloomFilter(about 2 values in 9586 bits, 7 hashes)
    """

    bits: int
    size: int
    hashes: int

    def __contains__(self, value: Any) -> bool:
        mask = _mask(value, self.size, self.hashes)
        return self.bits & mask == mask

    def estimated_count(self) -> float:
        """About how many distinct values it holds, by the share of bits that are set (Swamidass and Baldi)."""
        unset = self.size - self.bits.bit_count()
        return self.size / self.hashes * math.log(self.size / unset) if unset else math.inf

    def to_bytes(self) -> bytes:
        """Portable bytes: ``SBF1``, k (2 bytes), m (8 bytes), the bits; all little-endian."""
        header = _HEADER.pack(_MAGIC, self.hashes, self.size)
        return header + self.bits.to_bytes((self.size + 7) // 8, "little")

    @classmethod
    def from_bytes(cls, data: bytes) -> BloomFilter:
        """The filter that ``to_bytes`` wrote."""
        magic, hashes, size = _HEADER.unpack_from(data) if len(data) >= _HEADER.size else (b"", 0, 0)
        bits = int.from_bytes(data[_HEADER.size :], "little")
        if magic != _MAGIC or len(data) != _HEADER.size + (size + 7) // 8 or bits >> size:
            raise ValueError(f"these {len(data)} bytes are not a filter that BloomFilter.to_bytes wrote")
        return cls(bits, size, hashes)

    def __repr__(self) -> str:
        about = f"about {self.estimated_count():.0f} values"
        return f"BloomFilter({about} in {self.size} bits, {self.hashes} hashes)"


def _union(a: int, b: int) -> int:
    return a | b


def _merge_rows(older: Any, younger: Any) -> None:
    """:func:`_union` on words."""
    for i in range(older.shape[0]):
        older[i] |= younger[i]


def _from_row(row: Any) -> int | None:
    return int.from_bytes(row.tobytes(), "little") or None


class Bloom(Aggregation):
    """A :class:`BloomFilter` with about ``error_rate`` false positives at ``capacity`` values, fewer below.

    Values may be numbers, text, bytes, dates, timestamps and tuples of them. Values that are equal in Python count
    as one, and so do NaNs.

    Algebraic, commutative, not invertible. A combine costs O(m) bit operations, 64 at a time: 1.2 kB at the defaults.

    >>> import sash
    >>> houses = sash.Bloom("house", capacity=1000, error_rate=0.01)
    >>> 17 in houses.lower(houses.lift(17.0))
    True
    """

    kind = Kind.ALGEBRAIC
    commutative = True
    _combine = staticmethod(_union)
    _options = ("capacity", "error_rate")

    def __init__(self, *columns: str, capacity: int = 1000, error_rate: float = 0.01, where: str | None = None) -> None:
        super().__init__(*columns, where=where)
        if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:
            raise ValueError(f"capacity must be a whole number of values, at least 1; got {capacity!r}")
        if not isinstance(error_rate, float) or not 0.0 < error_rate < 1.0:
            raise ValueError(f"error_rate must be above 0 and below 1; got {error_rate!r}")
        self.capacity = capacity
        self.error_rate = error_rate
        self.size = math.ceil(-capacity * math.log(error_rate) / math.log(2) ** 2)
        self.hashes = max(1, round(self.size / capacity * math.log(2)))

    def flat(self) -> Flat:
        """A row is the filter's bits in words; that of the identity is zero."""
        size = -(-self.size // 64) * 8
        return Flat(
            size // 8,
            "<u8",
            lambda bits: np.frombuffer((bits or 0).to_bytes(size, "little"), "<u8"),
            _from_row,
            _merge_rows,
        )

    def _lift(self, value: Any) -> int:
        return _mask(value, self.size, self.hashes)

    def _lower(self, partial: int) -> BloomFilter:
        return BloomFilter(partial, self.size, self.hashes)
