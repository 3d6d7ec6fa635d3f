"""The local runtime: a query over a whole data set in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from sash.plan import plan
from sash.query import Query

__all__ = ["run"]

Row = dict[str, Any]


def run(query: Query, data: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> Any:
    """All results of ``query`` over ``data``, in the order in which the windows are complete.

    ``data`` is columns (a mapping of names to arrays) or rows (mappings); the results are of the same kind. A result
    has the key's columns, ``window_start`` and ``window_end`` (the positions of the window's first value and of the
    first after it, counted by key) and the aggregates. Costs a lift, the planned merges and a lower a row.

    >>> import sash
    >>> query = sash.Query(key="plug", windows=sash.sliding(2), aggregates={"peak": sash.Max("load")})
    >>> sash.run(query, {"plug": ["a", "b", "a", "a"], "load": [3, 9, 5, 4]})
    {'plug': ['a', 'a'], 'window_start': [0, 1], 'window_end': [2, 3], 'peak': [5, 5]}
    """
    names = (*query.keys, "window_start", "window_end", *query.aggregates)
    if isinstance(data, Mapping):
        results = list(_results(query, _rows_of_columns(query, data)))
        return {name: [row[i] for row in results] for i, name in enumerate(names)}
    return [dict(zip(names, row, strict=True)) for row in _results(query, _rows_of_rows(query, data))]


def _rows_of_columns(query: Query, data: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Tuples of the query's columns."""
    for column in query.columns:
        if column not in data:
            raise KeyError(f"column {column!r} is not in the data, which has {', '.join(map(repr, data))}")
    lengths = {column: len(data[column]) for column in query.columns or data}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns are of different lengths: {lengths}")
    if not query.columns:
        return iter([()] * next(iter(lengths.values()), 0))
    return zip(*(_plain(data[column]) for column in query.columns), strict=True)


def _plain(column: Sequence[Any]) -> Sequence[Any]:
    """A NumPy array as a list: its elements as Python's own, made in one go."""
    return column.tolist() if isinstance(column, np.ndarray) else column


def _rows_of_rows(query: Query, data: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for number, row in enumerate(data):
        try:
            yield tuple([row[column] for column in query.columns])
        except KeyError as error:
            raise KeyError(
                f"row {number} has no column {error.args[0]!r}; it has {', '.join(map(repr, row))}"
            ) from None


def _results(query: Query, rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    make, shape = plan(query).make, query.windows
    key_of, value_of = _readers(query)
    windows: dict[Any, Any] = {}
    starts: dict[Any, int] = {}
    for number, row in enumerate(rows):
        key = key_of(row)
        try:
            window = windows.get(key)
        except TypeError as error:
            named = dict(zip(query.keys, key, strict=True))
            raise TypeError(f"row {number}: {named} cannot be a key: {error}") from error
        if window is None:
            window = windows[key] = make()
            starts[key] = 0
        try:
            complete = window.insert(value_of(row))
        except TypeError as error:
            raise TypeError(f"row {number}: {error}") from error
        if complete:
            start = starts[key]
            starts[key] = start + shape.slide
            yield (*key, start, start + shape.range, *window.query())


def _readers(query: Query) -> tuple[Callable[[Any], tuple[Any, ...]], Callable[[Any], tuple[Any, ...]]]:
    """How the key, and what each aggregate reads, is taken from a tuple of the query's columns."""
    place = {column: i for i, column in enumerate(query.columns)}
    readers = [_reader([place[column] for column in part.columns]) for part in query.together.parts]
    keys = [place[column] for column in query.keys]

    def key_of(row: Any) -> tuple[Any, ...]:
        return tuple([row[i] for i in keys])

    def value_of(row: Any) -> tuple[Any, ...]:
        return tuple([read(row) for read in readers])

    return key_of, value_of


def _reader(places: list[int]) -> Callable[[Any], Any]:
    return itemgetter(*places) if places else lambda row: None
