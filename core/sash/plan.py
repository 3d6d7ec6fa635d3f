"""How a query is run, and why: what ``explain`` tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from sash import aggregators
from sash.aggregations.base import Aggregation, Kind
from sash.aggregators import FIFO, PBA, SBA, FifoAggregator
from sash.query import Query
from sash.windows import CountWindow

__all__ = ["Plan", "Swag", "explain", "plan"]


class Swag(Protocol):
    """One key's window: whether a value completes a window, and its result then."""

    def insert(self, value: Any) -> bool: ...
    def query(self) -> Any: ...


class _Fifo:
    """A FIFO algorithm led over a count window."""

    def __init__(self, window: FifoAggregator, shape: CountWindow) -> None:
        self._window = window
        self._shape = shape
        self._until = shape.range
        self.query = window.query

    def insert(self, value: Any) -> bool:
        """Add a value; True if it completes a window."""
        window, shape = self._window, self._shape
        if self._until == shape.slide and len(window) == shape.range:
            window.evict_many(shape.slide)
        window.insert(value)
        self._until -= 1
        if self._until:
            return False
        self._until = shape.slide
        return True


@dataclass(frozen=True)
class Plan:
    """The algorithm chosen for a query, the reason, and how to make the structure of one key."""

    query: Query
    algorithm: str
    reason: str
    make: Callable[[], Swag]
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def plan(query: Query) -> Plan:
    """Choose how to run ``query``. O(1).

    >>> import sash
    >>> peak = sash.Query(windows=sash.sliding(16), aggregates={"peak": sash.Max("load")}, algorithm="daba")
    >>> plan(peak).algorithm
    'DABA'
    """
    shape, together = query.windows, query.together
    if query.algorithm == "auto":
        pba = PBA(together, shape.range, shape.slide)
        if pba.parallel:
            return _planned(query, PBA, f"a second thread helps: {pba.reason}", pba.chunk)
        return _planned(query, SBA, f"PBA's second thread would not help: {pba.reason}", shape.range // shape.slide)
    algorithm = _by_name(query.algorithm)
    if issubclass(algorithm, SBA):
        return _planned(query, algorithm, "as asked for", algorithm(together, shape.range, shape.slide).chunk)
    return _planned(query, algorithm, "as asked for")


def _by_name(name: str) -> type[SBA] | type[FifoAggregator]:
    fixed: tuple[type[SBA] | type[FifoAggregator], ...] = (SBA, PBA, *FIFO)
    by_name = {algorithm.__name__.lower(): algorithm for algorithm in fixed}
    if not isinstance(name, str) or name.lower().replace("_", "") not in by_name:
        raise ValueError(f"algorithm must be 'auto' or one of {', '.join(map(repr, by_name))}; got {name!r}")
    return by_name[name.lower().replace("_", "")]


def _planned(query: Query, algorithm: type[SBA] | type[FifoAggregator], reason: str, chunk: int | None = None) -> Plan:
    shape, together = query.windows, query.together
    n, m = divmod(shape.range, shape.slide)

    def make() -> Swag:
        if issubclass(algorithm, SBA):
            return algorithm(together, shape.range, shape.slide)
        return _Fifo(algorithm(together), shape)

    make()  # an algorithm that cannot serve an aggregate says so now
    held = "values" if chunk is None else "slices"
    lines = [
        f"windows    {shape}: on counts, in order of arrival; context free",
        f"slices     {n} of {shape.slide} value{'s' * (shape.slide > 1)} a window" + (f" and {m} values" if m else ""),
        "tuples     dropped once they are in their slice: nothing arrives late"
        if chunk is not None
        else "tuples     kept lifted, one partial a value: the algorithm is led value by value",
        f"algorithm  {algorithm.__name__}: {reason}",
        *([f"chunk      {chunk} slices; a window covers {n // chunk} whole at most"] if chunk is not None else []),
        f"merges     {_merges(algorithm, shape)}",
        f"state      about {n if chunk is not None else shape.range} {held} a key, {_size(together)}",
        "compiled   no: row by row in Python",
    ]
    return Plan(query, algorithm.__name__, reason, make, tuple(lines))


def _merges(algorithm: type[SBA] | type[FifoAggregator], shape: CountWindow) -> str:
    document = aggregators.__doc__ or ""
    row = next(line for line in document.splitlines() if line.startswith(f"| {algorithm.__name__} |"))
    begun = ", one more for the begun slice" if shape.range % shape.slide and issubclass(algorithm, SBA) else ""
    return row.split("|")[2].strip() + " per slide, amortised / worst" + begun


def _size(aggregation: Aggregation) -> str:
    sizes = {
        Kind.DISTRIBUTIVE: "a partial is as large as a result",
        Kind.ALGEBRAIC: "a partial has a fixed size",
        Kind.HOLISTIC: "a partial grows with what it covers",
    }
    return sizes[aggregation.kind]


def explain(query: Query) -> str:
    """The plan in words.

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding(10, 2), aggregates={"peak": sash.Max("load")}, algorithm="pba")
    >>> print(sash.explain(query))
    windows    W[10, 2]: on counts, in order of arrival; context free
    slices     5 of 2 values a window
    tuples     dropped once they are in their slice: nothing arrives late
    algorithm  PBA: as asked for
    chunk      4 slices; a window covers 1 whole at most
    merges     3 / 3 on the main thread per slide, amortised / worst
    state      about 5 slices a key, a partial is as large as a result
    compiled   no: row by row in Python
    """
    return str(plan(query))
