"""The spines of FiBA's tree: the paths from its root to its oldest and its youngest leaf, the two fingers.

             root
           ┌──┘        A spine keeps running sums, from the root outwards: on each level over the children
        [ S  c  d ]    beside the spine, innermost first, and at last over the entries of the leaf.
       ┌──┘
    [ S  a  b ]        left spine, level 2:    d            c⊕d
   ┌──┘                            level 1:    b⊕c⊕d        a⊕b⊕c⊕d
  [ x  y  z ]                      level 0:    z⊕a⊕b⊕c⊕d    y⊕z⊕a⊕b⊕c⊕d    x⊕y⊕z⊕a⊕b⊕c⊕d

The last sum is that of the whole side: the left or right aggregate that the paper keeps at the finger. A change
invalidates only the sums further out. Near the ends, where most changes are, these are few: an eviction drops
the last sum of the old leaf, an insertion in order adds one to those of the young leaf.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, ClassVar

from sash.aggregations.laws import alike
from sash.aggregators.base import Combine
from sash.aggregators.fiba.nodes import STALE, Node, aggregates, check, entries, measure

__all__ = ["LeftSpine", "RightSpine", "Spine"]


class Spine(ABC):
    """``nodes[level]`` is the spine's node on a level, the root last; ``sums[level]`` are its known sums.

    Above the level ``dirty`` all sums are known. The root has none: no sum of a spine depends on the root's other
    children, whose sum is the root's ``agg``.
    """

    __slots__ = ("combine", "dirty", "nodes", "sums")

    outer: ClassVar[int]
    """Which item of a node is on the spine: the first, 0, or the last, -1."""

    def __init__(self, combine: Combine) -> None:
        self.combine = combine
        self.nodes: list[Node] = []
        self.sums: list[list[Any]] = []
        self.dirty = 0

    def plant(self, root: Node, top: int) -> None:
        """Start again in a tree whose root is on level ``top``."""
        self.nodes = [root] * (top + 1)
        self.descend(top)
        self.sums = [[] for _ in range(top)]
        self.dirty = max(top - 1, 0)

    def descend(self, level: int) -> None:
        """Find the nodes below a level again."""
        for below in range(level - 1, -1, -1):
            self.nodes[below] = self.nodes[below + 1].items[self.outer]

    def total(self) -> Any:
        """The sum of all on this side of the root. Leaves no node beside the spine stale."""
        for level in range(self.dirty, -1, -1):
            if len(self.sums[level]) < len(self.nodes[level].items) - (level > 0):
                self._complete(level)
        self.dirty = 0
        return self.sums[0][-1]

    def _complete(self, level: int) -> None:
        sums = self.sums[level]
        if sums:
            total = sums[-1]
        else:
            total = self.sums[level + 1][-1] if level + 1 < len(self.sums) else None
        parts = self._parts(level, len(sums))
        self._add_up(sums, total, aggregates(parts, level, self.combine))

    def keep(self, level: int, count: int) -> None:
        """After a change keep the ``count`` innermost sums of a level and drop those further out.

        On the root's level, the root's ``agg`` becomes stale instead.
        """
        if level == len(self.sums):
            self.nodes[level].agg = STALE
            return
        del self.sums[level][count:]
        for below in range(level):
            self.sums[below].clear()
        if level > self.dirty:
            self.dirty = level

    def hand_up(self, level: int, nodes: Sequence[Node]) -> None:
        """Account for a level's node cut into ``nodes``; all but the outermost are now beside the spine.

        The sums further out still cover the same entries, unless what was cut off went to the root.
        """
        if level + 1 == len(self.sums):
            self.keep(level + 1, 0)
            self.keep(level, 0)
        else:
            del self.sums[level][: sum([len(node.items) for node in nodes]) - len(nodes[self.outer].items)]
            self.dirty = max(self.dirty, level + 1)

    def width(self, level: int) -> int:
        """How many sums a level has when they are all known."""
        return len(self.nodes[level].items) - (level > 0)

    def size_below(self, level: int) -> int:
        """How many entries there are below the outermost child of a level's node."""
        return sum(measure(self._parts(below, 0), below) for below in range(level))

    def check(self, most: int) -> None:
        """Assert what must hold below the root."""
        assert len(self.nodes) == len(self.sums) + 1
        total = None
        for level in range(len(self.sums) - 1, -1, -1):
            node, sums = self.nodes[level], self.sums[level]
            assert node is self.nodes[level + 1].items[self.outer]
            assert most // 2 <= len(node.items) == len(node.times) <= most
            assert len(sums) == self.width(level) or level <= self.dirty
            parts = self._parts(level, 0)
            if level:
                for child in parts:
                    check(child, level - 1, most, self.combine)
                below = [[partial for _, partial in entries(child, level - 1)] for child in parts]
                parts = [reduce(self.combine, partials) for partials in below]
            expected: list[Any] = []
            self._add_up(expected, total, parts)
            assert len(expected) == self.width(level)
            assert all(map(alike, sums, expected))
            total = expected[-1]

    @abstractmethod
    def inside(self, level: int, at: int) -> int:
        """How many sums of a level do not include item ``at`` of its node."""

    @abstractmethod
    def _parts(self, level: int, start: int) -> list[Any]:
        """What a level adds up, entries or children beside the spine, innermost first: from ``start`` on."""

    @abstractmethod
    def _add_up(self, sums: list[Any], total: Any, partials: Iterable[Any]) -> None:
        """Append to ``sums`` one sum for each partial, from ``total`` outwards."""


class LeftSpine(Spine):
    """The spine at the old end, where outwards is towards the older."""

    __slots__ = ()
    outer = 0

    def inside(self, level: int, at: int) -> int:
        return len(self.nodes[level].items) - 1 - at

    def _parts(self, level: int, start: int) -> list[Any]:
        parts = self.nodes[level].items[level > 0 :]
        parts.reverse()
        return parts[start:]

    def _add_up(self, sums: list[Any], total: Any, partials: Iterable[Any]) -> None:
        combine = self.combine
        for partial in partials:
            total = partial if total is None else combine(partial, total)
            sums.append(total)


class RightSpine(Spine):
    """The spine at the young end, where outwards is towards the younger."""

    __slots__ = ()
    outer = -1

    def inside(self, level: int, at: int) -> int:
        return at

    def _parts(self, level: int, start: int) -> list[Any]:
        items = self.nodes[level].items
        return items[start:-1] if level else items[start:]

    def _add_up(self, sums: list[Any], total: Any, partials: Iterable[Any]) -> None:
        combine = self.combine
        for partial in partials:
            total = partial if total is None else combine(total, partial)
            sums.append(total)
