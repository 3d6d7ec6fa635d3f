"""The nodes of FiBA's tree, and all that concerns a node wherever it hangs in the tree.

    level 1    times [ 1    5    8 ]         The items of an inner node are its children, and times[i] is the
               items [ │    │    │ ]         oldest time below items[i], so that a time is found by bisection.
                   ┌───┘    │    └───┐       times[0] decides nothing, and at the old end lags behind.
    level 0  [ 1  3  4 ] [ 5  5 ] [ 8  9 ]   The items of a leaf are the partials of its entries.
             [ a  b  c ] [ d  e ] [ f  g ]

Levels are counted from the leaves. Every node but the root has from ``most // 2`` to ``most`` items. A node
beside the two outermost paths of the tree (module `spine`) has an ``agg``, the sum of all below it, which the
paper calls its up aggregate. ``STALE`` marks one to compute again; those above it are stale too.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import reduce
from typing import Any

from sash.aggregations.laws import alike
from sash.aggregators.base import Combine

__all__ = [
    "STALE",
    "Node",
    "aggregates",
    "boundary",
    "check",
    "count_nodes",
    "cut",
    "entries",
    "measure",
    "merge_entries",
    "range_parts",
]


class Stale(Enum):
    """An enum, since copies and pickles of its member are the member itself."""

    STALE = "stale"


STALE = Stale.STALE


class Node:
    """A leaf, on level 0, or an inner node."""

    __slots__ = ("agg", "items", "size", "times")

    def __init__(self, times: list[Any], items: list[Any], level: int) -> None:
        self.times = times
        self.items = items
        self.agg: Any = STALE
        self.size = measure(items, level)

    def put(self, at: int, nodes: Sequence[Node]) -> None:
        """Replace the child ``at`` with ``nodes``, which cover the same stretch of time."""
        self.items[at : at + 1] = nodes
        self.times[at + 1 : at + 1] = [node.times[0] for node in nodes[1:]]

    def merge_first(self) -> None:
        """Merge the first child into the second."""
        node, sibling = self.items[:2]
        sibling.times[:0] = node.times
        sibling.items[:0] = node.items
        del self.times[0], self.items[0]

    def share_first(self, level: int) -> None:
        """Move items of the second child, on ``level``, to the first, until it has as many or one more."""
        node, sibling = self.items[:2]
        moved = (len(sibling.items) - len(node.items) + 1) // 2
        node.times += sibling.times[:moved]
        node.items += sibling.items[:moved]
        del sibling.times[:moved], sibling.items[:moved]
        sibling.agg = STALE
        sibling.size = measure(sibling.items, level)
        self.times[1] = sibling.times[0]


def measure(items: Sequence[Any], level: int) -> int:
    """How many entries are in or below ``items``."""
    return sum([item.size for item in items]) if level else len(items)


def cut(times: list[Any], items: list[Any], level: int, most: int) -> list[Node]:
    """As few nodes as can hold ``items``, equally full: if several, each has at least ``most // 2``."""
    nodes: list[Node] = []
    start = 0
    for left in range(-(-len(items) // most), 0, -1):
        end = start - (start - len(items)) // left
        nodes.append(Node(times[start:end], items[start:end], level))
        start = end
    return nodes


def merge_entries(node: Node, level: int, times: list[Any], partials: list[Any], most: int) -> list[Node]:
    """The nodes that replace ``node`` when entries, sorted by time, are added to it.

    Each node that gets entries is replaced once. The others are shared with the old tree, which does not change.
    """
    if not level:
        return cut(*_merge_into_leaf(node, times, partials), level, most)
    new_times: list[Any] = []
    new_items: list[Any] = []
    done = start = 0
    while start < len(times):
        at = bisect_right(node.times, times[start], 1) - 1
        end = bisect_left(times, node.times[at + 1], start + 1) if at + 1 < len(node.items) else len(times)
        nodes = merge_entries(node.items[at], level - 1, times[start:end], partials[start:end], most)
        new_times += node.times[done:at] + [child.times[0] for child in nodes]
        new_items += node.items[done:at] + nodes
        done, start = at + 1, end
    return cut(new_times + node.times[done:], new_items + node.items[done:], level, most)


def _merge_into_leaf(leaf: Node, times: list[Any], partials: list[Any]) -> tuple[list[Any], list[Any]]:
    new_times, new_items = leaf.times[:], leaf.items[:]
    at = 0
    for done, time in enumerate(times):
        at = bisect_right(new_times, time, at)
        if at == len(new_times):
            return new_times + times[done:], new_items + partials[done:]
        new_times.insert(at, time)
        new_items.insert(at, partials[done])
        at += 1
    return new_times, new_items


def aggregate(node: Node, level: int, combine: Combine) -> Any:
    """Compute the sum of all below a stale node from what is fresh below it."""
    node.agg = reduce(combine, aggregates(node.items, level, combine))
    return node.agg


def aggregates(items: list[Any], level: int, combine: Combine) -> list[Any]:
    """The partials that items of a node on ``level`` stand for."""
    if not level:
        return items
    return [aggregate(node, level - 1, combine) if node.agg is STALE else node.agg for node in items]


def range_parts(node: Node, level: int, start: Any, end: Any, combine: Combine) -> list[Any]:
    """Partials that add up to the entries with ``start <= time < end`` below ``node``, in order; None is no bound.

    Two paths lead down to the two boundaries; between them are whole children. None of these is on an outermost
    path of the tree, so each has its ``agg``.
    """
    items = node.items
    if not level:
        first = 0 if start is None else bisect_left(node.times, start)
        return items[first : len(items) if end is None else bisect_left(node.times, end)]
    first = -1 if start is None else boundary(node, start)
    last = len(items) if end is None else boundary(node, end)
    if first == last:
        return range_parts(items[first], level - 1, start, end, combine)
    older = [] if start is None else range_parts(items[first], level - 1, start, None, combine)
    younger = [] if end is None else range_parts(items[last], level - 1, None, end, combine)
    return older + aggregates(items[first + 1 : last], level, combine) + younger


def boundary(node: Node, time: Any) -> int:
    """The child of an inner node below which the entries before ``time`` end."""
    return bisect_left(node.times, time, 1) - 1


def entries(node: Node, level: int) -> Iterator[tuple[Any, Any]]:
    """The entries below ``node`` as (time, partial), oldest first."""
    if not level:
        yield from zip(node.times, node.items, strict=True)
        return
    for child in node.items:
        yield from entries(child, level - 1)


def check(node: Node, level: int, most: int, combine: Combine) -> None:
    """Assert the invariants of a node beside the spines and of all below it."""
    assert most // 2 <= len(node.items) <= most
    assert len(node.times) == len(node.items)
    below = list(entries(node, level))
    assert node.size == len(below)
    assert node.agg is STALE or alike(node.agg, reduce(combine, [partial for _, partial in below]))
    if level:
        for time, child in zip(node.times, node.items, strict=True):
            assert time == next(entries(child, level - 1))[0]
            assert child.agg is not STALE or node.agg is STALE
            check(child, level - 1, most, combine)


def count_nodes(node: Node, level: int) -> int:
    """How many nodes there are from ``node`` down."""
    return 1 + sum(count_nodes(child, level - 1) for child in node.items) if level else 1
