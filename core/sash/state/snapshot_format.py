"""The format of saved states: an envelope that detects damage, and columns as plain values in few bytes.

Numbers are in a narrow type, times as small steps. Reading never creates an array that is much longer than what was
written: a column of equal numbers is written as one number, so its length comes from a column that is written in full.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from sash.state.lane_state import SliceColumns, TupleColumns
from sash.values.arrays import Array, data_of, mask_of, with_nulls
from sash.values.columns import PartialColumn

__all__ = [
    "BLOCK_OF_SLICES",
    "HEADER",
    "VERSION",
    "WHOLE",
    "Envelope",
    "StateError",
    "column_parts",
    "constant_or_packed",
    "open_envelope",
    "open_sections",
    "pack",
    "read_column",
    "read_constant",
    "read_slices",
    "read_tuples",
    "seal",
    "slice_parts",
    "state_errors",
    "tuple_parts",
    "unpack",
]

VERSION = 2
HEADER, BLOCK_OF_SLICES, WHOLE = 1, 2, 3
"""What an envelope holds."""
_LENGTH = struct.Struct("<Q")
_PREAMBLE = struct.Struct("<4sHBBI")
_CHECK = struct.Struct("<I")
_FEW = 4
"""So many numbers take fewer bytes as they are."""
_NARROW = [(np.uint8, 2**8), (np.uint16, 2**16), (np.uint32, 2**32)]


class StateError(ValueError):
    """Bytes that are not a state of this query: damaged, cut off, of something else, or of a newer version."""


_DAMAGE = (
    *(ArithmeticError, AttributeError, LookupError, RuntimeError, StopIteration, TypeError, ValueError),
    np.ma.MAError,
)
"""What reading values raises that nobody wrote."""


@contextmanager
def state_errors() -> Iterator[None]:
    """Raise whatever damaged values lead to as a :class:`StateError`."""
    try:
        yield
    except StateError:
        raise
    except _DAMAGE as error:
        raise StateError(f"the saved state cannot be read: {error}") from error


class Envelope(NamedTuple):
    """What is inside, and by which version of the format it was written."""

    version: int
    kind: int
    sections: list[bytes]

    def require(self, kinds: Collection[int], least: int = 1) -> None:
        """Refuse an envelope of another kind, or with fewer sections."""
        if self.kind not in kinds or len(self.sections) < least or self.version < 1:
            raise StateError(
                "the saved state is damaged, or not in the place where it belongs: it is a part of another kind"
            )


def seal(kind: int, sections: Sequence[bytes]) -> bytes:
    """A preamble and sections, each between its length and the checksum of all bytes so far. O(bytes)."""
    out = [_PREAMBLE.pack(b"SASH", VERSION, kind, 0, len(sections))]
    check = crc32(out[0])
    for section in sections:
        length = _LENGTH.pack(len(section))
        check = crc32(section, crc32(length, check))
        out += [length, section, _CHECK.pack(check)]
    return b"".join(out)


def open_envelope(blob: bytes) -> Envelope:
    """The reverse of :func:`seal`. Raises :class:`StateError` for other or damaged bytes. O(bytes)."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise StateError(f"a saved state is bytes; got {type(blob).__name__}")
    blob = bytes(blob)
    if blob[:4] != b"SASH":
        raise StateError(
            "this is not a saved state of Sash: it does not begin like one" if blob else "the saved state is empty"
        )
    if len(blob) < _PREAMBLE.size:
        raise StateError(f"the saved state is cut off: it has {len(blob)} bytes only")
    _, version, kind, _, count = _PREAMBLE.unpack_from(blob)
    if version > VERSION:
        raise StateError(
            f"the saved state is of format version {version}, but this version of Sash reads up to {VERSION}: use a "
            "newer one"
        )
    at, check = _PREAMBLE.size, crc32(blob[: _PREAMBLE.size])
    sections: list[bytes] = []
    while len(sections) < count:
        end = at + _LENGTH.size + (_LENGTH.unpack_from(blob, at)[0] if at + _LENGTH.size <= len(blob) else 0)
        if end + _CHECK.size > len(blob):
            raise StateError(f"the saved state is cut off, or damaged: section {len(sections)} reaches beyond its end")
        check = crc32(blob[at:end], check)
        if check != _CHECK.unpack_from(blob, end)[0]:
            raise StateError(f"the saved state is damaged: the checksum of section {len(sections)} does not match")
        sections.append(blob[at + _LENGTH.size : end])
        at = end + _CHECK.size
    if at != len(blob):
        raise StateError(f"the saved state is damaged: {len(blob) - at} bytes follow its end")
    return Envelope(version, kind, sections)


def open_sections(blob: bytes, kind: int, least: int = 1) -> list[bytes]:
    """The sections, at least so many, of an envelope of this kind."""
    envelope = open_envelope(blob)
    envelope.require([kind], least)
    return envelope.sections


# arrays of numbers


def pack(array: Array) -> Any:
    """An array as it is, or, for whole numbers close to each other, their least and the differences from it. O(n)."""
    if array.dtype != np.int64 or len(array) < _FEW:
        return array
    least, most = int(array.min()), int(array.max())
    for dtype, size in _NARROW:
        if most - least < size:
            return least, (array - least).astype(dtype)
    return array


def unpack(written: Any) -> Array:
    """The reverse of :func:`pack`. O(n)."""
    least, numbers = written if isinstance(written, tuple) else (None, written)
    if not isinstance(numbers, np.ndarray) or numbers.ndim != 1:  # repeating rows of a wide one would take much memory
        raise StateError("the saved state is damaged: a column is of another kind")
    if least is None:
        return numbers
    if numbers.dtype.kind not in "iu" or type(least) is not int:
        raise StateError("the saved state is damaged: a column is of another kind")
    return np.asarray(numbers.astype(np.int64) + least)


def constant_or_packed(array: Array) -> Any:
    """The number, if all are the same; else as :func:`pack`. O(n)."""
    if len(array) and array.dtype in (np.int64, np.float64):
        bits = array.view(np.int64)
        if len(array) == 1 or (bits == bits[0]).all():
            return array[0].item()
    return pack(array)


def read_constant(written: Any, size: int) -> Array:
    """The reverse of :func:`constant_or_packed`, for an array of ``size``. O(n)."""
    array = np.full(size, written) if isinstance(written, int | float) else unpack(written)
    if len(array) != size:
        raise StateError("the saved state is damaged: a column is not as long as it says")
    return array


def _steps(times: Array, begins: Array) -> tuple[Any, ...]:
    """Times of keys' slices, which lie close together: the first of each key, and small steps."""
    if times.dtype != np.int64 or len(times) < _FEW:
        return (times,)
    filled = begins[:-1][begins[:-1] < begins[1:]]
    steps = np.diff(times, prepend=times[:1])
    steps[filled] = 0
    most = max(-int(steps.min()), int(steps.max()))
    for dtype in (np.int8, np.int16, np.int32):
        if most <= np.iinfo(dtype).max:
            return pack(times[filled]), steps.astype(dtype)
    return (times,)


def _read_steps(written: tuple[Any, ...], sizes: Array) -> Array:
    steps = unpack(written[-1])
    if (len(sizes) and not 0 <= sizes.min() <= sizes.max() <= len(steps)) or int(sizes.sum()) != len(steps):
        raise StateError("the saved state is damaged: columns of its slices are of different lengths")
    if len(written) == 1:
        return steps
    total, filled = np.cumsum(steps, dtype=np.int64), sizes[sizes > 0]
    return np.asarray(total + np.repeat(unpack(written[0]) - total[np.cumsum(filled) - filled], filled))


# partials


def column_parts(column: PartialColumn) -> tuple[Any, ...]:
    """A column of partials as plain values. O(n)."""
    all_valid = bool(column.arrays) and bool(column.valid.all())
    bits = None if all_valid else np.packbits(column.valid).tobytes()
    return len(column), bits, column.shape, [pack(array) for array in column.arrays], column.objects


def read_column(written: tuple[Any, ...]) -> PartialColumn:
    """The reverse of :func:`column_parts`. O(n)."""
    size, bits, shape, arrays, objects = written
    arrays = tuple(map(unpack, arrays))
    lengths = [*map(len, arrays), *([] if objects is None else [len(objects)])]
    fits = bool(lengths) if bits is None else len(bits) == (size + 7) // 8
    if not fits or any(length != size for length in lengths):
        raise StateError("the saved state is damaged: a column is not as long as it says")
    valid = np.ones(size, np.bool_)
    if bits is not None:
        valid = np.unpackbits(np.frombuffer(bits, np.uint8), count=size).astype(np.bool_)
    return PartialColumn(valid, shape, arrays, objects)


# tuples and slices


def tuple_parts(tuples: TupleColumns) -> Any:
    """Tuples as plain values; None if there are none. O(n)."""
    if not len(tuples):
        return None
    columns = {name: (pack(data_of(column)), mask_of(column)) for name, column in tuples.columns.items()}
    return pack(tuples.codes), pack(tuples.times), columns


def read_tuples(written: Any) -> TupleColumns:
    """The reverse of :func:`tuple_parts`. O(n)."""
    if written is None:
        return TupleColumns.none()
    codes, times = unpack(written[0]), unpack(written[1])
    columns = {name: with_nulls(unpack(data), mask) for name, (data, mask) in written[2].items()}
    if {len(codes)} != {len(times), *map(len, columns.values()), len(codes)}:
        raise StateError("the saved state is damaged: columns of tuples are of different lengths")
    return TupleColumns(codes, times, columns)


def slice_parts(slices: SliceColumns, sizes: Array) -> tuple[Any, ...]:
    """Slices as plain values; ``sizes`` is how many each key has. O(n)."""
    first, last = slices.first, slices.last
    are_whole = first.dtype == last.dtype == np.int64
    return (
        constant_or_packed(sizes),
        _steps(first, np.concatenate([[0], np.cumsum(sizes)])),
        constant_or_packed(last - first) if are_whole else None if np.array_equal(first, last) else (last,),
        constant_or_packed(slices.count),
        [column_parts(column) for column in slices.partials],
        slices.dtypes,
        tuple_parts(slices.kept),
    )


def read_slices(written: tuple[Any, ...], keys: int) -> SliceColumns:
    """The reverse of :func:`slice_parts`, for slices of so many keys. O(n)."""
    sizes, steps, last, count, partials, dtypes, kept = written
    sizes = read_constant(sizes, keys)
    first = _read_steps(steps, sizes)
    size = len(first)
    if last is None:
        last = first
    elif isinstance(last, tuple) and len(last) == 1:
        last = unpack(last[0])
    else:
        last = first + read_constant(last, size)
    codes = np.repeat(np.arange(keys), sizes)
    columns = tuple(map(read_column, partials))
    return SliceColumns(codes, first, last, read_constant(count, size), columns, dtypes, read_tuples(kept))
