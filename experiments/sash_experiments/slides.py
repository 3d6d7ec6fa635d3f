"""A merging algorithm as a function of one value: what a window of fixed size does when the value comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sash import Aggregation
from sash.aggregators import SBA, FiBA

__all__ = ["Slide", "boundary", "fiba", "fifo"]

Slide = Callable[[Any], Any]


def fifo(algorithm: type[Any], aggregation: Aggregation, values: list[Any]) -> Slide:
    """Evict, insert, query, in a window that is filled with ``values``."""
    window = algorithm(aggregation)
    window.insert_many(values)
    window.query()
    evict, insert, query = window.evict, window.insert, window.query

    def slide(value: Any) -> Any:
        evict()
        insert(value)
        return query()

    return slide


def fiba(aggregation: Aggregation, values: list[Any]) -> Slide:
    """FiBA, whose values have times."""
    window = FiBA(aggregation)
    window.insert_many_at(enumerate(values))
    window.query()
    clock = len(values)

    def slide(value: Any) -> Any:
        nonlocal clock
        window.evict()
        window.insert_at(clock, value)
        clock += 1
        return window.query()

    return slide


def boundary(make: Callable[[], SBA], values: list[Any]) -> Slide:
    """SBA and PBA, which evict by themselves."""
    window = make()
    window.insert_many(values)
    insert, query = window.insert, window.query

    def slide(value: Any) -> Any:
        return query() if insert(value) else None

    return slide
