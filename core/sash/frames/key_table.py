"""The keys that were seen so far, numbered in the order of their appearance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sash.values.arrays import Array, nullable, read_nullable, to_list
from sash.values.joining import joined

__all__ = ["KeyTable"]


class KeyTable:
    """Key columns ``names`` to numbers and back. Null is a key like any other, and so is NaN."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._columns: dict[str, Array] = {}
        self._numbers: dict[Any, int] | None = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def numbered(self, codes: Array, distinct: Mapping[str, Array]) -> tuple[Array, KeyTable]:
        """The numbers of rows' keys, given as codes of distinct ones; the table with those that are new.

        This table stays as it is. Costs a look-up a distinct key.
        """
        if not self._names:
            known = self._like({}, {(): 0}, 1) if len(codes) else self
            return codes, known
        if not len(codes):
            return codes, self
        keys = _keys([distinct[name] for name in self._names])
        numbers = self._index()
        found = np.array([numbers.get(key, -1) for key in keys], np.int64)
        new = np.flatnonzero(found < 0)
        if not len(new):
            return found[codes], self
        found[new] = np.arange(self._size, self._size + len(new))
        columns = {name: distinct[name][new] for name in self._names}
        if self._size:
            columns = {name: joined(self._columns[name], column) for name, column in columns.items()}
        more = {keys[at]: self._size + i for i, at in enumerate(new.tolist())}
        return found[codes], self._like(columns, numbers | more, self._size + len(new))

    def _like(self, columns: dict[str, Array], numbers: dict[Any, int] | None, size: int) -> KeyTable:
        table = KeyTable(self._names)
        table._columns, table._numbers, table._size = columns, numbers, size
        return table

    def _index(self) -> dict[Any, int]:
        if self._numbers is None:
            keys = _keys([self._columns[name] for name in self._names]) if self._columns else []
            self._numbers = dict(zip(keys, range(len(keys)), strict=True))
        return self._numbers

    def columns(self, codes: Array) -> tuple[dict[str, Array], Array]:
        """The columns of the keys that occur among ``codes``, and the codes as places in them."""
        if not self._size:
            return {name: np.zeros(0, object) for name in self._names}, codes
        there = np.zeros(self._size, np.bool_)
        there[codes] = True
        if there.all():
            return dict(self._columns), codes
        return {name: column[there] for name, column in self._columns.items()}, (np.cumsum(there) - 1)[codes]

    def keep(self, which: Array) -> KeyTable:
        """The table of some of the keys, numbered anew."""
        return self._like({name: column[which] for name, column in self._columns.items()}, None, int(which.sum()))

    def parts(self) -> tuple[Any, ...]:
        """What is written of it."""
        return self._size, {name: nullable(column) for name, column in self._columns.items()}

    @staticmethod
    def read(names: Sequence[str], written: tuple[Any, ...]) -> KeyTable:
        """What :meth:`parts` was written of."""
        size, columns = written
        return KeyTable(names)._like({name: read_nullable(of) for name, of in columns.items()}, None, size)


def _keys(columns: Sequence[Array]) -> list[Any]:
    """Keys as dicts hold them: one value, or a tuple; NaN is equal to itself."""
    lists = [_told(column) for column in columns]
    return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))


def _told(column: Array) -> list[Any]:
    values = to_list(column)
    if column.dtype.kind in "fcO" and any(value != value for value in values):
        return [_NAN if value != value else value for value in values]
    return values


_NAN = ("NaN",)
