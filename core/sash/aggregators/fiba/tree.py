"""The finger tree of FiBA: a B-tree of timed partials that grows and shrinks from its two ends.

                          root                        left:  the sum of all below the root's first child
                     ┌──────┼──────┐                  root:  the sum of all below the children between
      left spine   [ ]    [ ] …    [ ]  right spine   right: the sum of all below the root's last child
                 ┌──┴──┐        ┌──┴──┐
       finger  [ ]    [ ] …   [ ]    [ ]  finger      total = left ⊕ root ⊕ right
             oldest                youngest

A search for a time starts at the nearer finger, goes up the spine only as far as needed, and down again. What a
node keeps depends on its place (modules `nodes`, `spine`), so that a change concerns none above that point.

Only `total` and `range_total` call ``combine``: they compute what changes have marked as stale. Every change
compares times, which may raise, before it alters anything.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import reduce
from itertools import pairwise
from typing import Any

from sash.aggregations.laws import alike
from sash.aggregators.base import Combine
from sash.aggregators.fiba.nodes import (
    STALE,
    Node,
    aggregates,
    boundary,
    check,
    cut,
    entries,
    measure,
    merge_entries,
    range_parts,
)
from sash.aggregators.fiba.spine import LeftSpine, RightSpine, Spine

__all__ = ["FingerTree"]

Path = list[tuple[Node, int]]  # nodes from a spine down to a leaf, each with a position in it


class FingerTree:
    """Entries in order of time, those with equal times in order of arrival, and their sum.

    >>> tree = FingerTree(lambda older, younger: older + younger, min_arity=2)
    >>> for time in 5, 2, 8, 1, 9, 4: tree.insert(time, str(time))
    >>> tree.total(), tree.range_total(2, 8), tree.cut_off(5), tree.total()
    ('124589', '245', 3, '589')
    """

    def __init__(self, combine: Combine, min_arity: int) -> None:
        self._combine = combine
        self._least = min_arity
        self._most = 2 * min_arity
        self.left = LeftSpine(combine)
        self.right = RightSpine(combine)
        self.clear()

    def clear(self) -> None:
        """Remove all entries."""
        self._plant(Node([], [], 0), 0)

    def _plant(self, root: Node, top: int) -> None:
        self.root = root
        self.top = top
        self.left.plant(root, top)
        self.right.plant(root, top)

    def total(self) -> Any:
        """The sum of all entries."""
        root = self.root
        if root.agg is STALE:
            root.agg = self._sum_of(aggregates(self._inner(), self.top, self._combine))
        if not self.top:
            return root.agg
        total = self.left.total()
        if root.agg is not None:
            total = self._combine(total, root.agg)
        return self._combine(total, self.right.total())

    def range_total(self, start: Any, end: Any) -> Any:
        """The sum of the entries with ``start <= time < end``."""
        return self._sum_of(range_parts(self.root, self.top, start, end, self._combine))

    def _inner(self) -> list[Any]:
        return self.root.items[1:-1] if self.top else self.root.items

    def _sum_of(self, partials: list[Any]) -> Any:
        return reduce(self._combine, partials) if partials else None

    def append(self, time: Any, partial: Any) -> None:
        """Add an entry that is not older than any other."""
        leaf = self.right.nodes[0]
        leaf.times.append(time)
        leaf.items.append(partial)
        leaf.agg = STALE  # which matters if the leaf is the root
        if len(leaf.items) > self._most:
            self._replace(self.right, 0, cut(leaf.times, leaf.items, 0, self._most))

    def insert(self, time: Any, partial: Any) -> None:
        """Add an entry, after those with the same time."""
        spine, level, path, node = self._leaf_of(time)
        at = bisect_right(node.times, time)
        node.times.insert(at, time)
        node.items.insert(at, partial)
        spine.keep(level, spine.inside(level, path[0][1] if path else at))
        self._grow(spine, path, node)

    def replace(self, time: Any, partial: Any) -> bool:
        """Replace the partial of the first entry with this very time; False if there is none."""
        spine, level, path, node = self._leaf_of(time)
        at = bisect_left(node.times, time)
        if at == len(node.times) or node.times[at] != time:
            return False
        node.items[at] = partial
        spine.keep(level, spine.inside(level, path[0][1] if path else at))
        for below in [*(parent for parent, _ in path[1:]), *([node] if path else [])]:
            below.agg = STALE
        return True

    def insert_many(self, times: list[Any], partials: list[Any]) -> None:
        """Add entries that are sorted by time, at least one."""
        spine, level = self._covering(times[0], times[-1])
        nodes = merge_entries(spine.nodes[level], level, times, partials, self._most)
        spine.keep(level, 0)
        self._replace(spine, level, nodes)
        spine.descend(level)

    def _leaf_of(self, time: Any) -> tuple[Spine, int, Path, Node]:
        """The leaf that ``time`` belongs to, and the way to it: spine, level on it, nodes below."""
        spine, level = self._covering(time, time)
        node = spine.nodes[level]
        path: Path = []
        for _ in range(level):
            at = bisect_right(node.times, time, 1) - 1
            path.append((node, at))
            node = node.items[at]
        return spine, level, path, node

    def _covering(self, first: Any, last: Any) -> tuple[Spine, int]:
        """A spine and its lowest level below which all times from ``first`` to ``last`` belong."""
        level = 0
        if self.top and last < self.root.times[1]:
            nodes = self.left.nodes
            while not last < nodes[level + 1].times[1]:
                level += 1
            return self.left, level
        nodes = self.right.nodes
        while level < self.top and first < nodes[level + 1].times[-1]:
            level += 1
        return self.right, level

    def _grow(self, spine: Spine, path: Path, node: Node) -> None:
        """Mark the nodes above ``node``, a leaf with a new entry, as stale, and cut those that are too large."""
        level = 0
        for parent, at in reversed(path):
            if len(node.items) > self._most:
                parent.put(at, cut(node.times, node.items, level, self._most))
            else:
                node.agg = STALE
                node.size += 1
            node = parent
            level += 1
        if len(node.items) > self._most:
            self._replace(spine, level, cut(node.times, node.items, level, self._most))

    def _replace(self, spine: Spine, level: int, nodes: list[Node]) -> None:
        """Put ``nodes`` in place of a spine's node, and cut the nodes above it that become too large."""
        while level < self.top:
            spine.hand_up(level, nodes)
            parent = spine.nodes[level + 1]
            parent.put(spine.outer % len(parent.items), nodes)
            spine.nodes[level] = nodes[spine.outer]
            if len(parent.items) <= self._most:
                return
            level += 1
            nodes = cut(parent.times, parent.items, level, self._most)
        while len(nodes) > 1:
            level += 1
            nodes = cut([node.times[0] for node in nodes], nodes, level, self._most)
        self._plant(nodes[0], level)

    def pop(self) -> None:
        """Remove the oldest entry; there must be one."""
        leaf = self.left.nodes[0]
        del leaf.times[0], leaf.items[0]
        self.left.keep(0, len(leaf.items))
        if len(leaf.items) < self._least:
            self._repair(0)

    def cut_off(self, time: Any) -> int:
        """Remove the entries before ``time``, which are not all; returns how many they were."""
        left = self.left
        path = self._path_to(time)
        top = len(path) - 1
        if top:  # the sizes of spine nodes are not kept up to date
            left.nodes[top - 1].size = left.size_below(top)
        removed = 0
        for level, (node, at) in enumerate(reversed(path)):
            removed += measure(node.items[:at], level)
            del node.times[:at], node.items[:at]
        left.descend(top)
        left.keep(top, left.width(top))
        if top:
            left.keep(top - 1, 0)
        self._repair(top)
        return removed

    def _path_to(self, time: Any) -> Path:
        """The path from the left spine down to the leaf where the entries before ``time`` end."""
        level = 0
        while level < self.top and self.left.nodes[level + 1].times[1] < time:
            level += 1
        node = self.left.nodes[level]
        path: Path = []
        for _ in range(level):
            at = boundary(node, time)
            path.append((node, at))
            node = node.items[at]
        return [*path, (node, bisect_left(node.times, time))]

    def _repair(self, level: int) -> None:
        """Fill the nodes of the left spine that are too small, on ``level`` and below.

        From the top down, each with one item to spare, so that the next one can take a sibling from it.
        """
        while level < self.top and self._is_short(level):
            level += 1
        while level == self.top > 0 and len(self.root.items) == 1:
            level -= 1
            self._plant(self.root.items[0], level)
        while level:
            level -= 1
            if self._is_short(level):
                self._fill(level)

    def _is_short(self, level: int) -> bool:
        return len(self.left.nodes[level].items) < self._least + (level > 0)

    def _fill(self, level: int) -> None:
        """Merge a node of the left spine with its sibling, or share items if that node would be too large."""
        left = self.left
        node, parent = left.nodes[level], left.nodes[level + 1]
        sibling = parent.items[1]
        left.keep(level + 1, len(parent.items) - 2)
        left.keep(level, 0)
        if len(parent.items) == 2:  # then it is the root, and the sibling is on the right spine
            self.right.keep(level, 0)
        if len(node.items) + len(sibling.items) > self._most:
            parent.share_first(level)
        else:
            parent.merge_first()
            left.nodes[level] = sibling
            if len(parent.items) == 1:
                self._plant(sibling, level)

    def _check(self) -> None:
        root, inner = self.root, self._inner()
        assert root is self.left.nodes[self.top] is self.right.nodes[self.top]
        assert len(root.times) == len(root.items) <= self._most
        self.left.check(self._most)
        self.right.check(self._most)
        if self.top:
            assert len(root.items) >= 2
            for child in inner:
                check(child, self.top - 1, self._most, self._combine)
                assert child.agg is not STALE or root.agg is STALE
            inner = [partial for child in inner for _, partial in entries(child, self.top - 1)]
        assert root.agg is STALE or alike(root.agg, self._sum_of(inner))
        times = [time for time, _ in entries(root, self.top)]
        assert not any(younger < older for older, younger in pairwise(times))
