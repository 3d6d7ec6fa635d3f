"""The keys that have come so far, numbered in the order of their appearance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sash.values.arrays import Array, array_of, joined, nullable, read_nullable, to_list

__all__ = ["KeyTable"]

Key = tuple[Any, ...]


class KeyTable:
    """Key columns ``names`` to numbers and back. Null is a key like any other, and so is NaN.

    Keys come in batches, as columns, or one by one, as the values of a row. A call that fails is taken back by
    :meth:`undo`: O(keys), once.

    >>> table = KeyTable(["plug"])
    >>> [table.number((plug,)) for plug in "aba"], table.key(1), len(table)
    ([0, 1, 0], ('b',), 2)
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._columns: dict[str, Array] = {}
        self._columned = 0  # so many keys are in columns; those behind them are in rows
        self._rows: list[Key] = []
        self._numbers: dict[Any, int] | None = {}
        self._listed: list[Key] | None = []  # the keys in columns, as rows; None: to be made

    def __len__(self) -> int:
        return self._columned + len(self._rows)

    # keys that come

    def number_of(self, key: Key) -> int | None:
        """The number of a key that has come already; None: it has not, or cannot be looked up at once. O(1)."""
        if self._numbers is None:
            return None
        try:
            return self._numbers.get(key[0] if len(key) == 1 else key)
        except TypeError:  # it cannot be a key, which number() says
            return None

    def number(self, key: Key, row: int = 0) -> int:
        """The number of a row's key. O(1); ``row`` is named by the error if it cannot be a key."""
        numbers = self._numbers if self._numbers is not None else self._index()
        try:
            known = numbers.get(key[0] if len(key) == 1 else key)
            return self._number_new(key, numbers) if known is None else known
        except TypeError as error:
            for name, value in zip(self._names, key, strict=True):
                if type(value).__hash__ is None:
                    raise TypeError(f"column {name!r}, row {row}: {value!r} cannot be a key: {error}") from error
            raise

    def _number_new(self, key: Key, numbers: dict[Any, int]) -> int:
        plain = tuple(_NAN if value != value else value for value in key)
        index = plain[0] if len(plain) == 1 else plain
        known = numbers.get(index)
        if known is not None:
            return known
        numbers[index] = number = len(self)
        self._rows.append(key)
        return number

    def number_batch(self, codes: Array, distinct: Mapping[str, Array]) -> Array:
        """The numbers of rows' keys, given as ``codes`` of ``distinct`` ones. A look-up a distinct key."""
        if not self._names:
            if len(codes):
                self.number(())
            return codes
        if not len(codes):
            return codes
        keys = _keys([distinct[name] for name in self._names])
        numbers = self._index()
        found = np.array([numbers.get(key, -1) for key in keys], np.int64)
        new = np.flatnonzero(found < 0)
        if len(new):
            found[new] = np.arange(len(self), len(self) + len(new))
            self._append({name: distinct[name][new] for name in self._names}, len(new))
            numbers.update((keys[place], int(found[place])) for place in new.tolist())
        return found[codes]

    def _append(self, columns: dict[str, Array], size: int) -> None:
        self._columns = {name: joined(own, columns[name]) for name, own in self._whole().items()} or columns
        self._columned, self._rows, self._listed = len(self) + size, [], None

    def _whole(self) -> dict[str, Array]:
        """The columns of all keys, those that came in rows included."""
        if not self._rows:
            return self._columns
        behind = {name: array_of([key[place] for key in self._rows]) for place, name in enumerate(self._names)}
        return {name: joined(own, behind[name]) for name, own in self._columns.items()} or behind

    def _index(self) -> dict[Any, int]:
        if self._numbers is None:
            keys = _keys(list(self._whole().values())) if len(self) and self._names else [()] * len(self)
            self._numbers = dict(zip(keys, range(len(keys)), strict=True))
        return self._numbers

    # keys that are asked for

    def key(self, number: int) -> Key:
        """The values of a key. O(1), but for the first after a batch that brought keys."""
        if number >= self._columned:
            return self._rows[number - self._columned]
        if not self._names:
            return ()
        if self._listed is None:
            self._listed = list(zip(*(to_list(column) for column in self._columns.values()), strict=True))
        return self._listed[number]

    def columns(self, codes: Array) -> tuple[dict[str, Array], Array]:
        """The columns of the keys that occur among ``codes``, and the codes as places in them."""
        if not len(self):
            return {name: np.zeros(0, object) for name in self._names}, codes
        there = np.zeros(len(self), np.bool_)
        there[codes] = True
        if there.all():
            return dict(self._whole()), codes
        return {name: column[there] for name, column in self._whole().items()}, (np.cumsum(there) - 1)[codes]

    def keep(self, which: Array) -> KeyTable:
        """The table of some of the keys, numbered anew."""
        return self._of({name: column[which] for name, column in self._whole().items()}, int(which.sum()))

    def _of(self, columns: dict[str, Array], size: int) -> KeyTable:
        table = KeyTable(self._names)
        table._columns, table._columned, table._numbers, table._listed = columns, size, None, None
        return table

    # all or nothing

    def mark(self) -> Any:
        """What :meth:`undo` needs. O(1)."""
        return self._columns, self._columned, self._rows, len(self._rows)

    def undo(self, mark: Any) -> None:
        """Forget the keys that have come since ``mark``. Can be called again."""
        self._columns, self._columned, self._rows, rows = mark
        del self._rows[rows:]
        self._listed = None
        if self._numbers is not None and len(self._numbers) != len(self):
            self._numbers = None

    # state

    def parts(self) -> tuple[Any, ...]:
        """What is written of it."""
        return len(self), {name: nullable(column) for name, column in self._whole().items()}

    @staticmethod
    def read(names: Sequence[str], written: tuple[Any, ...]) -> KeyTable:
        """What :meth:`parts` was written of."""
        size, columns = written
        return KeyTable(names)._of({name: read_nullable(column) for name, column in columns.items()}, size)


def _keys(columns: Sequence[Array]) -> list[Any]:
    """Keys as dicts hold them: one value, or a tuple; NaN is equal to itself."""
    lists = [_hashable(column) for column in columns]
    return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))


def _hashable(column: Array) -> list[Any]:
    values = to_list(column)
    if column.dtype.kind in "fcO" and any(value != value for value in values):
        return [_NAN if value != value else value for value in values]
    return values


_NAN = ("NaN",)
