"""Numbers for keys, in the order of first appearance: within a batch, and of all keys of a stream."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from sash.frames.frame import Frame
from sash.values.arrays import Array, array_of, concatenate, data_of, mask_of, objects, to_list, with_nulls
from sash.values.shares import extent, in_shares, shares_of

__all__ = ["KeyTable", "Renumbered", "factorize", "number_keys"]

Key = tuple[Any, ...]
_MANY = 1 << 14
_NAN = ("NaN",)
"""Stands for NaN, which no dict finds."""


class KeyTable:
    """Key columns ``names`` to numbers and back. Null is a key like any other, and so is NaN.

    Keys arrive in batches, as columns, or one by one, as the values of a row. :meth:`undo` takes a failed call back:
    O(keys), once.

    >>> table = KeyTable(["plug"])
    >>> [table.number((plug,)) for plug in "aba"], table.key(1), len(table)
    ([0, 1, 0], ('b',), 2)
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._columns: dict[str, Array] = {}
        self._in_columns = 0  # the first keys are in columns, the others in rows
        self._rows: list[Key] = []
        self.numbers: dict[Any, int] | None = {}
        """The numbers of keys, which are single values or tuples; None: not computed yet. Changed only here."""
        self._as_rows: list[Key] | None = []  # the keys in columns, as rows; None: not yet computed

    def __len__(self) -> int:
        return self._in_columns + len(self._rows)

    def number(self, key: Key, row: int = 0) -> int:
        """The number of a row's key. O(1); ``row`` is named by the error if it cannot be a key."""
        numbers = self.numbers if self.numbers is not None else self._index()
        try:
            known = numbers.get(key[0] if len(key) == 1 else key)
            return self._number_new(key, numbers) if known is None else known
        except TypeError as error:
            for name, value in zip(self._names, key, strict=True):
                if not _is_hashable(value):
                    raise TypeError(f"column {name!r}, row {row}: {value!r} cannot be a key: {error}") from error
            raise

    def _number_new(self, key: Key, numbers: dict[Any, int]) -> int:
        plain = tuple(_NAN if value != value else value for value in key)
        index = plain[0] if len(plain) == 1 else plain
        known = numbers.get(index)
        if known is not None:
            return known
        if self._keep_zones({name: array_of([value]) for name, value in zip(self._names, key, strict=True)}):
            return self.number(key)
        numbers[index] = number = len(self)
        self._rows.append(key)
        return number

    def number_batch(self, codes: Array, distinct: Mapping[str, Array]) -> Array:
        """The numbers of rows' keys, which are ``codes`` of ``distinct`` ones. A look-up a distinct key."""
        if len(codes) and not self._names:
            self.number(())
        if not len(codes) or not self._names:
            return codes
        self._keep_zones(distinct)
        distinct = {name: self._in_zone(name, distinct[name]) for name in self._names}
        keys = _keys(list(distinct.values()))
        numbers = self._index()
        known = np.array([numbers.get(key, -1) for key in keys], np.int64)
        new = np.flatnonzero(known < 0)
        if len(new):
            known[new] = np.arange(len(self), len(self) + len(new))
            self._columns = _stack(self._whole(), {name: distinct[name][new] for name in self._names})
            self._in_columns, self._rows, self._as_rows = len(self) + len(new), [], None
            numbers.update((keys[place], int(known[place])) for place in new.tolist())
        return known[codes]

    def _keep_zones(self, more: Mapping[str, Array]) -> bool:
        """Keep times as datetimes in UTC where ``more`` has some with a zone; whether that changed a column.

        Tables have such times as numbers, rows as datetimes: the same moment is one key. O(distinct) of object columns.
        """
        found = {
            name: objects(to_list(column, "UTC"))
            for name, column in self._columns.items()
            if column.dtype.kind == "M" and _has_zones(more[name])
        }
        if found:
            self._columns = {**self._columns, **found}
            self.numbers = self._as_rows = None
        return bool(found)

    def _in_zone(self, name: str, column: Array) -> Array:
        """A column of further keys; its times as datetimes in UTC if there are such keys already."""
        if column.dtype.kind != "M" or not len(self) or not _has_zones(self._whole()[name]):
            return column
        return objects(to_list(column, "UTC"))

    def _whole(self) -> dict[str, Array]:
        """The columns of all keys, also of those in rows."""
        if not self._rows:
            return self._columns
        rows = {name: array_of([key[place] for key in self._rows]) for place, name in enumerate(self._names)}
        return _stack(self._columns, rows)

    def _index(self) -> dict[Any, int]:
        if self.numbers is None:
            keys = _keys(list(self._whole().values())) if len(self) and self._names else [()] * len(self)
            self.numbers = dict(zip(keys, range(len(keys)), strict=True))
        return self.numbers

    def key(self, number: int) -> Key:
        """The values of a key. O(1), but for the first after a batch that brought keys."""
        if number >= self._in_columns:
            return self._rows[number - self._in_columns]
        if not self._names:
            return ()
        if self._as_rows is None:
            self._as_rows = list(zip(*(to_list(column) for column in self._columns.values()), strict=True))
        return self._as_rows[number]

    def columns(self, codes: Array) -> tuple[dict[str, Array], Array]:
        """The columns of the keys that occur among ``codes``, and the codes as places in them."""
        if not len(self):
            return {name: np.zeros(0, object) for name in self._names}, codes
        occurs = np.zeros(len(self), np.bool_)
        occurs[codes] = True
        if occurs.all():
            return dict(self._whole()), codes
        return {name: column[occurs] for name, column in self._whole().items()}, (np.cumsum(occurs) - 1)[codes]

    def keep(self, which: Array) -> KeyTable:
        """The table of some of the keys, numbered from 0."""
        return self._of({name: column[which] for name, column in self._whole().items()}, int(which.sum()))

    def _of(self, columns: dict[str, Array], size: int) -> KeyTable:
        table = KeyTable(self._names)
        table._columns, table._in_columns, table.numbers, table._as_rows = columns, size, None, None
        return table

    def mark(self) -> Any:
        """What :meth:`undo` needs. O(1)."""
        return self._columns, self._in_columns, self._rows, len(self._rows)

    def undo(self, mark: Any) -> None:
        """Forget the keys since ``mark``. Can be called again."""
        columns = self._columns
        self._columns, self._in_columns, self._rows, rows = mark
        del self._rows[rows:]
        self._as_rows = None
        if self.numbers is not None and (len(self.numbers) != len(self) or columns is not self._columns):
            self.numbers = None

    def parts(self) -> tuple[Any, ...]:
        """Its state, as it is written."""
        return len(self), {name: (data_of(column), mask_of(column)) for name, column in self._whole().items()}

    @staticmethod
    def read(names: Sequence[str], written: tuple[Any, ...]) -> KeyTable:
        """The table that :meth:`parts` describes."""
        size, columns = written
        return KeyTable(names)._of({name: with_nulls(*column) for name, column in columns.items()}, size)


def _has_zones(column: Array) -> bool:
    if column.dtype.kind != "O":
        return False
    return any(isinstance(value, datetime) and value.tzinfo is not None for value in column)


def _stack(columns: dict[str, Array], more: dict[str, Array]) -> dict[str, Array]:
    """Columns with further rows after theirs."""
    return {name: concatenate(_typed_nulls(column, more[name]), more[name]) for name, column in columns.items()} or more


def _typed_nulls(column: Array, like: Array) -> Array:
    """A column of objects that are all null as one of the times that follow, which would lose their zone as objects."""
    if column.dtype.kind != "O" or like.dtype.kind != "M" or any(value is not None for value in column):
        return column
    return with_nulls(np.zeros(len(column), like.dtype), np.ones(len(column), np.bool_))


def _keys(columns: Sequence[Array]) -> list[Any]:
    """Keys as dicts hold them: one value, or a tuple; NaN is equal to itself."""
    lists = [_moments(column) if column.dtype == "M8[ns]" else to_list(column) for column in columns]
    for place, column in enumerate(columns):
        if column.dtype.kind in "fcO":
            lists[place] = [_NAN if value != value else value for value in lists[place]]
    return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))


def _moments(column: Array) -> list[Any]:
    """Nanoseconds as microseconds where those are the same time: a key's unit may change from batch to batch."""
    short = column.astype("M8[us]")
    same = np.isnat(data_of(column)) | (data_of(short) == data_of(column))
    if same.all():
        return to_list(short)
    return [a if is_same else b for a, b, is_same in zip(to_list(short), to_list(column), same, strict=True)]


class Renumbered:
    """Codes by way of others: ``numbers[codes]``, of which the array is made where it is needed. O(n), once.

    >>> np.asarray(Renumbered(np.array([7, 5, 7]) - 5, np.array([1, -1, 0])))
    array([0, 1, 0])
    """

    dtype = np.dtype(np.int64)

    def __init__(self, codes: Array, numbers: Array) -> None:
        self.codes, self.numbers = codes, numbers

    def __len__(self) -> int:
        return len(self.codes)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self._array

    @cached_property
    def _array(self) -> Array:
        array = np.empty(len(self), np.int64)

        def write(begin: int, end: int) -> None:
            np.take(self.numbers, self.codes[begin:end], out=array[begin:end], mode="clip")

        in_shares(write, shares_of(len(array)))
        return array

    def tolist(self) -> list[int]:
        """The numbers as a list. O(n)."""
        numbers: list[int] = self._array.tolist()
        return numbers


def factorize(frame: Frame, keys: Sequence[str]) -> tuple[Array, dict[str, Array]]:
    """The number of each row's key, from 0 in the order of first appearance, and the distinct keys' columns.

    Null is a key like any other, and so is NaN. Costs a pass or two over each column where numbers lie close together
    or the library that it is from hashes it, a hash of every value otherwise.

    >>> from sash.frames import columns_of
    >>> codes, distinct = factorize(columns_of({"plug": ["b", "a", None, "b"]}, ["plug"]), ["plug"])
    >>> codes, distinct
    (array([0, 1, 2, 0]), {'plug': array(['b', 'a', None], dtype=object)})
    """
    codes, distinct = number_keys(frame, keys)
    return np.asarray(codes), distinct


def number_keys(frame: Frame, keys: Sequence[str]) -> tuple[Array | Renumbered, dict[str, Array]]:
    """The same; numbers that are one look-up away from the column are left there."""
    if not keys:
        return _zeros(len(frame)), {}
    codes, size = _column(frame, keys[0])
    for key in keys[1:]:
        more, of = _column(frame, key)
        if size * of >= 2**62:
            codes, size = _dense(codes)
        codes, size = codes * of + more, size * of
    numbered, first = _by_appearance(*(_dense(codes) if size > 4 * len(codes) + 1024 else (codes, size)))
    return numbered, {key: frame.take(key, first) for key in keys}


def _zeros(size: int) -> Array:
    """The codes of one key. Read-only: many take no memory, which would have to be cleared for each batch."""
    return np.zeros(size, np.int64) if size < _MANY else np.broadcast_to(np.int64(0), size)


def _by_appearance(codes: Array, size: int) -> tuple[Array | Renumbered, Array]:
    """Renumber codes below ``size`` in the order of appearance; the codes, and the row where each appears first."""
    number, first = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    appearances = [np.zeros(0, np.int64)]
    known, head = 0, codes[: 4 * size + 1024]  # keys mostly appear early
    rows: Array = np.arange(len(head))
    result, unknown = np.empty(len(codes), np.int64), None
    while len(head):
        first[head[::-1]] = rows[::-1]  # the last to be written is the first row
        appeared = np.sort(first[(first >= 0) & (number < 0)])
        number[codes[appeared]] = np.arange(known, known + len(appeared))
        known += len(appeared)
        appearances.append(appeared)
        if known == size and unknown is None:
            return Renumbered(codes, number), appeared
        if unknown is None:
            unknown = _renumber(codes, number, result)
        else:
            result[unknown] = number[codes[unknown]]
            unknown = unknown[result[unknown] < 0]
        rows = unknown[: 4 * len(rows)]
        head = codes[rows]
    return result, np.concatenate(appearances)


def _renumber(codes: Array, number: Array, result: Array) -> Array:
    """Write the number of each code; the rows whose code has none."""

    def write(begin: int, end: int) -> Array:
        part = result[begin:end]
        np.take(number, codes[begin:end], out=part, mode="clip")
        return np.flatnonzero(part < 0) + begin if part.min(initial=0) < 0 else np.zeros(0, np.int64)

    return np.concatenate(in_shares(write, shares_of(len(codes))))


def _column(frame: Frame, key: str) -> tuple[Array, int]:
    """Codes of one column, from 0, and a number above them all."""
    codes = frame.codes(key)
    if codes is not None:
        least, most = extent(codes) if len(codes) else (0, -1)
        return (codes + 1, most + 2) if least < 0 else (codes, most + 1)
    array = frame[key]
    nulls = mask_of(array)
    if nulls is None:
        return _dense(_bits(array, key))
    codes, size = _dense(_bits(data_of(array), key))
    return np.where(nulls, size, codes), size + 1


def _bits(array: Array, key: str) -> Array:
    """Whole numbers that are equal where the values are."""
    kind = array.dtype.kind
    if kind in "OUSV" or array.dtype.itemsize > 8:
        return _hash_values(array.tolist(), key)
    if kind == "f":
        array = array.astype(np.float64) + 0.0  # of the two zeros the positive one
        array[np.isnan(array)] = np.nan
    if kind in "fmMc":
        return array.view(np.int64)
    return array.astype(np.int64, copy=False)


def _hash_values(values: list[Any], key: str) -> Array:
    """Number the values with a dict, as the keys of rows."""
    try:
        table: dict[Any, int] = dict(zip(dict.fromkeys(values), count()))
    except TypeError as error:
        row = next(row for row, value in enumerate(values) if not _is_hashable(value))
        raise TypeError(f"column {key!r}, row {row}: {values[row]!r} cannot be a key: {error}") from error
    nans = [value for value in table if value != value]
    for value in nans:
        table[value] = table[nans[0]]
    return np.fromiter(map(table.__getitem__, values), np.int64, len(values))


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _dense(numbers: Array) -> tuple[Array, int]:
    """Codes of whole numbers: their distances to the least, unless these far exceed the number of rows."""
    if not len(numbers):
        return numbers, 0
    least, most = extent(numbers)
    if most - least <= 2 * len(numbers) + 1024:
        return numbers - least if least else numbers, most - least + 1
    if (pandas := sys.modules.get("pandas")) is not None:
        codes, distinct = pandas.factorize(numbers)
        return codes.astype(np.int64, copy=False), len(distinct)
    distinct, codes = np.unique(numbers, return_inverse=True)
    return codes.astype(np.int64, copy=False), len(distinct)
