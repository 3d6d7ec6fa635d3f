"""A query: what is computed over which windows, by which key. A description only; it runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sash.aggregations.base import Aggregation
from sash.aggregations.counts import Count
from sash.aggregations.together import Together
from sash.windows import CountWindow

__all__ = ["Query"]


@dataclass(frozen=True)
class Query:
    """``aggregates`` by name over ``windows``, for every value of ``key`` (a column, several, or None) apart.

    ``algorithm`` is "auto", or the name of one in :mod:`sash.aggregators`, in lower case.

    >>> import sash
    >>> sash.Query(key="plug", windows=sash.sliding(range=1024), aggregates={"peak": sash.Max("load")})
    Query(windows=CountWindow(range=1024, slide=1), aggregates={'peak': Max('load')}, key='plug', algorithm='auto')
    """

    windows: CountWindow
    aggregates: Mapping[str, Aggregation]
    key: str | Sequence[str] | None = None
    algorithm: str = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.windows, CountWindow):
            raise TypeError(f"windows must be a window such as sash.sliding(range=1024); got {self.windows!r}")
        if not isinstance(self.aggregates, Mapping) or not self.aggregates:
            raise TypeError(f"aggregates must map names to aggregations, at least one; got {self.aggregates!r}")
        if self.key is not None and not isinstance(self.key, str | Sequence):
            raise TypeError(f"key must be a column name, several, or None; got {self.key!r}")
        for complaint in self._complaints():
            raise ValueError(complaint)

    def _complaints(self) -> Iterator[str]:
        taken = {*self.keys, "window", "window_start", "window_end", "revision"}
        for name, aggregation in self.aggregates.items():
            if not isinstance(aggregation, Aggregation):
                yield f"aggregate {name!r} must be an aggregation such as sash.Max('load'); got {aggregation!r}"
            elif not aggregation.columns and not isinstance(aggregation, Count):
                yield f"aggregate {name!r}: {aggregation!r} names no column to read"
            if name in taken:
                yield f"aggregate {name!r} has the name of another column of the result: choose another"
        if any(not isinstance(column, str) for column in self.keys):
            yield f"key must be a column name, several, or None; got {self.key!r}"

    @property
    def keys(self) -> tuple[str, ...]:
        """The key's columns, none if there is no key."""
        if self.key is None:
            return ()
        return (self.key,) if isinstance(self.key, str) else tuple(self.key)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it reads, each once."""
        read = (column for aggregation in self.aggregates.values() for column in aggregation.columns)
        return tuple(dict.fromkeys((*self.keys, *read)))

    @property
    def together(self) -> Together:
        """Its aggregates as one."""
        return Together(tuple(self.aggregates.values()))
