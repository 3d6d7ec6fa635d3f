"""Reads what :mod:`sash.state.tagged` wrote, and nothing else: never beyond the end, never more than is there."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sash.state.tagged import DTYPES, FLOAT, INT, MOMENT, SIZE, SPAN, NotTagged, dumps
from sash.values.timestamps import zone_of

__all__ = ["dumps", "loads"]


def loads(data: bytes, trusted: bool = False) -> Any:
    """The value that :func:`~sash.state.tagged.dumps` wrote; :class:`NotTagged` for bytes that it did not write.

    >>> loads(dumps({"load": [1, 2.5, None], "big": 2**100}))
    {'load': [1, 2.5, None], 'big': 1267650600228229401496703205376}
    """
    reader = _Reader(data, trusted)
    try:
        value = reader.value()
    except NotTagged:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        MemoryError,
        RecursionError,
        struct.error,
    ) as error:
        raise NotTagged(f"it holds bytes that mean nothing: {error}") from error
    if reader.at != len(data):
        raise NotTagged("it goes on behind its end")
    return value


class _Reader:
    """Reads values one after the other; never beyond the end, whatever lengths it is told."""

    def __init__(self, data: bytes, trusted: bool) -> None:
        self.data = data
        self.at = 0
        self.trusted = trusted

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise NotTagged("it ends too early")
        self.at += size
        return self.data[self.at - size : self.at]

    def unpack(self, form: struct.Struct) -> Any:
        return form.unpack(self.take(form.size))

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


def _read_opaque(reader: _Reader) -> Any:
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
    b"r": lambda reader: Fraction(reader.value(), reader.value()),
    b"n": _read_scalar,
    b"a": _read_array,
    b"o": _read_objects,
    b"p": _read_opaque,
}
