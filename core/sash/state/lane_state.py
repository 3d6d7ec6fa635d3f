"""The state of one key's stream, of neither engine: what is saved, and how one engine takes over from the other.

Slices are held as columns. All that can be computed from it, ``csa``, ``lcs``, trees, the next edge, is not part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sash.values.partial_column import PartialColumn

__all__ = ["BLOCK", "LaneState", "SliceTable", "Tuple", "WindowState", "next_block"]

BLOCK = 512
"""How many slices a block has."""

Tuple = tuple[Any, tuple[Any, ...]]
"""A tuple that is kept: its time, and its values in the order of ``Query.values``."""


def next_block(numbered: Any, held: Any) -> Any:
    """The first number of a block behind all ``held`` slices, of which the first is ``numbered``.

    Slices that change after they were final take new numbers from here on: a block is never written twice.

    >>> next_block(0, 512), next_block(100, 413)
    (512, 1024)
    """
    return -(-(numbered + held) // BLOCK) * BLOCK


@dataclass
class SliceTable:
    """Slices in the order of time: the times of their first and last tuples, how many they are, and the partials.

    ``partials`` has a column for each aggregate of the query. ``tuples`` are those of the slices that keep them, by the
    slice's place in the table.
    """

    first: Sequence[Any]
    last: Sequence[Any]
    count: Sequence[int]
    partials: tuple[PartialColumn, ...]
    tuples: dict[int, list[Tuple]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.count)


@dataclass
class WindowState:
    """What a window knows besides the slices.

    It gives windows only that begin behind the time ``since`` (None: all) and not before position ``since_count``: it
    was added while the stream ran. ``edges`` are those that tuples brought; ``revisions`` how often windows that are
    not yet beyond correction were emitted again, by (start, end).
    """

    since: Any = None
    since_count: int = 0
    edges: list[Any] = field(default_factory=list)
    revisions: dict[tuple[Any, Any], int] = field(default_factory=dict)

    def copy(self) -> WindowState:
        """Another one, equal and independent."""
        return WindowState(self.since, self.since_count, list(self.edges), dict(self.revisions))


@dataclass
class LaneState:
    """The state of one lane.

    - ``watermark``: None is before all times; ``newest``: the largest time accepted so far, None if there is none;
    - ``accepted``: how many tuples were; those in ``pending`` wait, in order of arrival, for the watermark to reach
      their time, the others are in slices (or have left);
    - ``settled``: position of the tuple that will be the next to be sliced in order (accepted minus pending);
    - ``direct_until``: tuples up to this time go straight into their slice, although later ones wait: when they began
      to wait, slices without tuples were there. None: there is no such time;
    - ``final``: how many slices at the start of the table can change no more; ``numbered`` is the number of the first
      slice in the table. Numbers only grow: slices that were merged take new ones (:func:`next_block`).
    """

    watermark: Any
    newest: Any
    accepted: int
    slices: SliceTable
    pending: list[Tuple]
    windows: dict[str | None, WindowState]
    direct_until: Any = None
    final: int = 0
    numbered: int = 0
    late_dropped: int = 0
    late_corrected: int = 0
    results: int = 0
    merges: int = 0
