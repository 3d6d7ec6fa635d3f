"""Python values as bytes, without pickle: a letter for the type, then the value, everything little-endian.

Numbers of any size, text, bytes, times, NumPy's scalars and arrays, and tuples, lists, dicts and sets of them can be
written. Any other object is pickled, and only for a caller who says that the bytes are ``trusted``, because reading a
pickle runs code. Reading never goes beyond the end, and never takes more than is there.
docs/state.md lists the letters.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sash.values.timestamps import zone_name, zone_of

__all__ = ["NotTagged", "dumps", "loads"]

INT, FLOAT, SIZE, SPAN = (struct.Struct(layout) for layout in ("<q", "<d", "<I", "<iii"))
MOMENT = struct.Struct("<HBBBBBIB")
DTYPES = "biufcmMSU"
_FEW = 8  # numbers in a list, from which on they are written as an array
_DAMAGE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
_MOST_BITS = 1 << 17
"""Of the numbers of a fraction."""
Put = Callable[[bytes], Any]


class NotTagged(ValueError):
    """Bytes that hold no value, or a value that cannot be written as bytes."""


def dumps(value: Any, trusted: bool = False) -> bytes:
    """The bytes of a value; O(its size).

    >>> dumps((True, "load", 2**64))
    b'(\\x03\\x00\\x00\\x00Ts\\x04\\x00\\x00\\x00loadI\\t\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01'
    """
    out: list[bytes] = []
    _write(value, out.append, trusted)
    return b"".join(out)


def _write(value: Any, put: Put, trusted: bool) -> None:
    writer = _WRITERS.get(type(value))
    if writer is not None:
        writer(value, put, trusted)
    elif isinstance(value, np.generic) and value.dtype.kind in DTYPES:
        put(b"n" + _sized(value.dtype.newbyteorder("<").str.encode()))
        put(_sized(np.array([value]).astype(value.dtype.newbyteorder("<"), copy=False).tobytes()))
    elif type(value).__name__ == "Timestamp" and isinstance(value, datetime):
        put(b"P" + _sized((zone_name(value) or "").encode()) + INT.pack(value.value))  # type: ignore[attr-defined]
    else:
        _write_pickle(value, put, trusted)


def _sized(body: bytes) -> bytes:
    return SIZE.pack(len(body)) + body


def _write_pickle(value: Any, put: Put, trusted: bool) -> None:
    if not trusted:
        raise NotTagged(
            f"a value of type {type(value).__module__}.{type(value).__qualname__} can be saved only inside an engine's "
            "state; elsewhere let partials, values and keys be numbers, text, bytes, times, or tuples, lists and "
            "dicts of them"
        )
    import cloudpickle

    put(b"p" + _sized(cloudpickle.dumps(value)))


def _write_int(value: int, put: Put, trusted: bool) -> None:
    if -(2**63) <= value < 2**63:
        put(b"i" + INT.pack(value))
    else:
        put(b"I" + _sized(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)))


def _write_fraction(value: Fraction, put: Put, trusted: bool) -> None:
    _check_fraction(value.numerator, value.denominator)
    put(b"r")
    _write_int(value.numerator, put, trusted)
    _write_int(value.denominator, put, trusted)


def _write_list(letters: bytes) -> Callable[[Any, Put, bool], None]:
    def write(values: Any, put: Put, trusted: bool) -> None:
        kinds = set(map(type, values)) if len(values) >= _FEW else set()
        if kinds == {float} or (kinds == {int} and -(2**63) <= min(values) and max(values) < 2**63):
            put(letters[1:] + (b"d" if float in kinds else b"q"))
            put(_sized(np.array(list(values), "<f8" if float in kinds else "<i8").tobytes()))
            return
        put(letters[:1] + SIZE.pack(len(values)))
        for value in values:
            _write(value, put, trusted)

    return write


def _write_dict(values: dict[Any, Any], put: Put, trusted: bool) -> None:
    put(b"{" + SIZE.pack(len(values)))
    for key, value in values.items():
        _write(key, put, trusted)
        _write(value, put, trusted)


def _write_set(letter: bytes) -> Callable[[Any, Put, bool], None]:
    def write(values: Any, put: Put, trusted: bool) -> None:
        put(letter)
        _write(list(values), put, trusted)

    return write


def _write_moment(value: datetime, put: Put, trusted: bool) -> None:
    zone = zone_name(value) or ""
    if zone and value.replace(tzinfo=zone_of(zone)).utcoffset() != value.utcoffset():
        _write_pickle(value, put, trusted)  # a zone that its name does not describe
        return
    parts = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond, value.fold)
    put(b"M" + _sized(zone.encode()) + MOMENT.pack(*parts))


def _write_array(value: Any, put: Put, trusted: bool) -> None:
    if value.dtype.kind == "O":
        put(b"o" + SIZE.pack(value.ndim) + b"".join(map(SIZE.pack, value.shape)))
        _write(value.ravel().tolist(), put, trusted)
    elif value.dtype.kind in DTYPES:
        little = value.astype(value.dtype.newbyteorder("<"), copy=False)
        put(b"a" + _sized(little.dtype.str.encode()) + SIZE.pack(value.ndim))
        put(b"".join(map(SIZE.pack, value.shape)))
        put(little.tobytes())
    else:
        _write_pickle(value, put, trusted)


_WRITERS: dict[type, Callable[[Any, Put, bool], Any]] = {
    type(None): lambda value, put, trusted: put(b"N"),
    bool: lambda value, put, trusted: put(b"T" if value else b"F"),
    int: _write_int,
    float: lambda value, put, trusted: put(b"d" + FLOAT.pack(value)),
    complex: lambda value, put, trusted: put(b"c" + FLOAT.pack(value.real) + FLOAT.pack(value.imag)),
    str: lambda value, put, trusted: put(b"s" + _sized(value.encode("utf-8", "surrogatepass"))),
    bytes: lambda value, put, trusted: put(b"b" + _sized(value)),
    tuple: _write_list(b"(<"),
    list: _write_list(b"[l"),
    dict: _write_dict,
    set: _write_set(b"S"),
    frozenset: _write_set(b"Z"),
    date: lambda value, put, trusted: put(b"D" + INT.pack(value.toordinal())),
    datetime: _write_moment,
    timedelta: lambda value, put, trusted: put(b"t" + SPAN.pack(value.days, value.seconds, value.microseconds)),
    Decimal: lambda value, put, trusted: put(b"x" + _sized(str(value).encode())),
    Fraction: _write_fraction,
    np.ndarray: _write_array,
}


# reading


def loads(data: bytes, trusted: bool = False) -> Any:
    """The value that :func:`dumps` wrote. Raises :class:`NotTagged` for bytes that it did not write.

    >>> loads(dumps({"load": [1, 2.5, None], "big": 2**100}))
    {'load': [1, 2.5, None], 'big': 1267650600228229401496703205376}
    """
    reader = _Reader(data, trusted)
    try:
        value = reader.value()
    except NotTagged:
        raise
    except (*_DAMAGE, struct.error) as error:
        raise NotTagged(f"it holds bytes that mean nothing: {error}") from error
    if reader.at != len(data):
        raise NotTagged("it goes on after its end")
    return value


class _Reader:
    """Reads values one after the other; never beyond the end, whatever sizes the bytes claim."""

    def __init__(self, data: bytes, trusted: bool) -> None:
        self.data = data
        self.at = 0
        self.trusted = trusted

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise NotTagged("it ends too early")
        self.at += size
        return self.data[self.at - size : self.at]

    def unpack(self, layout: struct.Struct) -> Any:
        return layout.unpack(self.take(layout.size))

    def size(self, least: int = 1) -> int:
        """A number of things that are still to come, each of at least that many bytes."""
        size: int = self.unpack(SIZE)[0]
        if size * least > len(self.data) - self.at:
            raise NotTagged("it ends too early")
        return size

    def sized(self) -> bytes:
        return self.take(self.size())

    def value(self) -> Any:
        letter = self.take(1)
        reader = _READERS.get(letter)
        if reader is None:
            raise NotTagged(f"there is no value of type {letter!r}")
        return reader(self)

    def shape(self) -> tuple[int, ...]:
        return tuple(self.unpack(SIZE)[0] for _ in range(self.size(4)))

    def dtype(self) -> np.dtype[Any]:
        text = self.sized().decode()
        dtype = np.dtype(text)
        if dtype.str != text or dtype.kind not in DTYPES:
            raise NotTagged(f"there is no array of type {text!r}")
        return dtype


def _check_fraction(numerator: Any, denominator: Any) -> None:
    """Refuse what would take long to read: reducing a fraction takes time that grows with the square of its digits."""
    if type(numerator) is not int or type(denominator) is not int:  # Fraction reads texts, too: "1e30000000" is one
        raise NotTagged("a fraction in it is not of whole numbers")
    if max(numerator.bit_length(), denominator.bit_length()) > _MOST_BITS:
        raise NotTagged(f"a fraction of more than {_MOST_BITS:,} bits cannot be saved")


def _read_fraction(reader: _Reader) -> Fraction:
    numerator, denominator = reader.value(), reader.value()
    _check_fraction(numerator, denominator)
    return Fraction(numerator, denominator)


def _read_list(reader: _Reader) -> list[Any]:
    return [reader.value() for _ in range(reader.size())]


def _read_numbers(reader: _Reader) -> list[Any]:
    dtype = {b"q": "<i8", b"d": "<f8"}[reader.take(1)]
    numbers: list[Any] = np.frombuffer(reader.sized(), dtype).tolist()
    return numbers


def _read_moment(reader: _Reader) -> datetime:
    zone = reader.sized().decode()
    *parts, fold = reader.unpack(MOMENT)
    return datetime(*parts, tzinfo=zone_of(zone) if zone else None, fold=fold)  # type: ignore[misc]


def _read_timestamp(reader: _Reader) -> Any:
    from pandas import Timestamp

    zone = reader.sized().decode()
    value = reader.unpack(INT)[0]
    return Timestamp(value, tz="UTC").tz_convert(zone_of(zone)) if zone else Timestamp(value)


def _read_array(reader: _Reader) -> Any:
    dtype, shape = reader.dtype(), reader.shape()
    size = dtype.itemsize
    for length in shape:
        size *= length
    return np.frombuffer(reader.take(size), dtype).reshape(shape).copy()


def _read_objects(reader: _Reader) -> Any:
    shape, values = reader.shape(), reader.value()
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape)


def _read_scalar(reader: _Reader) -> Any:
    dtype = reader.dtype()
    return np.frombuffer(reader.sized(), dtype)[0] if dtype.itemsize else reader.sized() and dtype.type()


def _read_pickle(reader: _Reader) -> Any:
    body = reader.sized()
    if not reader.trusted:
        raise NotTagged(
            "it holds Python objects of a user's own types, whose reading runs code: it can be read only from an "
            "engine's own state, never from a file that someone may have handed over"
        )
    import cloudpickle

    try:
        return cloudpickle.loads(body)
    except Exception as error:
        raise NotTagged(f"a user's own object in it cannot be read: {error}") from error


_READERS: dict[bytes, Callable[[_Reader], Any]] = {
    b"N": lambda reader: None,
    b"T": lambda reader: True,
    b"F": lambda reader: False,
    b"i": lambda reader: reader.unpack(INT)[0],
    b"I": lambda reader: int.from_bytes(reader.sized(), "little", signed=True),
    b"d": lambda reader: reader.unpack(FLOAT)[0],
    b"c": lambda reader: complex(reader.unpack(FLOAT)[0], reader.unpack(FLOAT)[0]),
    b"s": lambda reader: reader.sized().decode("utf-8", "surrogatepass"),
    b"b": lambda reader: reader.sized(),
    b"(": lambda reader: tuple(_read_list(reader)),
    b"<": lambda reader: tuple(_read_numbers(reader)),
    b"[": _read_list,
    b"l": _read_numbers,
    b"{": lambda reader: {reader.value(): reader.value() for _ in range(reader.size(2))},
    b"S": lambda reader: set(reader.value()),
    b"Z": lambda reader: frozenset(reader.value()),
    b"D": lambda reader: date.fromordinal(reader.unpack(INT)[0]),
    b"M": _read_moment,
    b"P": _read_timestamp,
    b"t": lambda reader: timedelta(*reader.unpack(SPAN)),
    b"x": lambda reader: Decimal(reader.sized().decode()),
    b"r": _read_fraction,
    b"n": _read_scalar,
    b"a": _read_array,
    b"o": _read_objects,
    b"p": _read_pickle,
}
