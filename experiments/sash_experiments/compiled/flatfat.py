"""FlatFAT: a complete binary tree of sums in one array, whose leaves are a ring.

Node i has children 2i and 2i + 1. ``filled`` says which nodes are not ⊥. Where the ring has wrapped around, the total
is suffix(F) ⊕ prefix(E) instead of the root.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash_experiments.compiled.atomics import seldom
from sash_experiments.compiled.jit import step
from sash_experiments.compiled.operations import Operations
from sash_experiments.compiled.steps import State, Steps, capacity

__all__ = ["flatfat"]

F, E = 0, 1
SUFFIX, PREFIX = 0, 1  # the rows of ``sides``


def flatfat(operations: Operations) -> Steps:
    """A slide log2 c merges for a capacity c < 2n if c = n, else up to twice that; query 0, or 2 log2 c.

    As in the paper, the tree is updated once for both changes of a slide, and the root is the total, unless the ring
    has wrapped around and the order of values matters.
    """
    lift, copy, absorb, merge = operations.lift, operations.copy, operations.absorb, operations.merge
    commutative = operations.commutative

    @step
    def update(tree: Any, filled: Any, node: int) -> None:
        left, right = 2 * node, 2 * node + 1
        filled[node] = filled[left] | filled[right]
        if filled[left] & filled[right]:
            merge(tree, node, tree, left, tree, right)
        elif filled[left]:
            copy(tree, node, tree, left)
        elif filled[right]:
            copy(tree, node, tree, right)

    @step
    def insert(state: Any, source: Any, k: int) -> None:
        at, tree, filled, _ = state
        slots = tree.shape[0] >> 1
        leaf = slots + (at[E] & (slots - 1))
        lift(tree, leaf, source, k)
        filled[leaf] = 1
        at[E] += 1
        node, left = leaf >> 1, (slots + ((at[F] - 1) & (slots - 1))) >> 1
        while node:
            if seldom(node != left and at[F] > 0):  # what is above the value that has left is not updated yet
                update(tree, filled, left)
            update(tree, filled, node)
            node >>= 1
            left >>= 1

    @step
    def evict(state: Any) -> None:
        at, tree, filled, _ = state
        slots = tree.shape[0] >> 1
        leaf = slots + (at[F] & (slots - 1))
        filled[leaf] = 0
        at[F] += 1

    @step
    def query(state: Any, answers: Any, place: int) -> None:
        at, tree, filled, sides = state
        if commutative:
            copy(answers, place, tree, 1)
            return
        slots = tree.shape[0] >> 1
        first, last = slots + (at[F] & (slots - 1)), slots + ((at[E] - 1) & (slots - 1))
        if first <= last:
            copy(answers, place, tree, 1)
            return
        copy(sides, SUFFIX, tree, first)
        while first > 1:
            if first & 1 == 0 and filled[first + 1]:
                absorb(sides, SUFFIX, tree, first + 1)
            first >>= 1
        copy(sides, PREFIX, tree, last)
        while last > 1:
            if last & 1 and filled[last - 1]:
                merge(answers, place, tree, last - 1, sides, PREFIX)
                copy(sides, PREFIX, answers, place)
            last >>= 1
        merge(answers, place, sides, SUFFIX, sides, PREFIX)

    def arrays(size: int) -> State:
        nodes = 2 * capacity(size)
        return np.zeros(2, np.int64), operations.rows(nodes), np.zeros(nodes, np.uint8), operations.rows(2)

    return Steps(arrays, insert, evict, query, held=(0, 3))
