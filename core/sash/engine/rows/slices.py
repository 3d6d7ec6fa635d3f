"""Slices, and the operations on them: update, merge, split, and the shift of a tuple to the next slice.

    slices   |--A--|--B----|-C-|        A slice is the partial of neighbouring tuples that belong to the same
    tuples   a  a  b  b  b  c  c        windows. Edges of windows lie only between slices.

Each operation notes in the journal how to undo its change before it makes the change. So a call can be rolled back
wherever it fails or is interrupted: in a later merge, in a user's function or between two lines.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import Any

from sash.engine.rows.bundle import Bundle
from sash.state.key_states import SliceState
from sash.state.lane_state import Tuple

__all__ = ["Slice", "Slices", "cut", "put_back_end"]

_first = attrgetter("first")
_position = attrgetter("position")
_time = lambda kept: kept[0]  # noqa: E731  # of a tuple that is kept


class Slice:
    """Neighbouring tuples as one partial.

    ``first`` and ``last`` are their times, ``position`` is that of the first among all tuples, ``end`` the next edge of
    a window on time. ``edge``: a window's edge is at its begin; ``counted``: one on counts. ``key`` orders
    slices and never changes. ``tuples`` is None if they are not kept.
    """

    __slots__ = ("count", "counted", "edge", "end", "first", "key", "last", "partial", "position", "tuples")

    def __init__(self, key: Any, time: Any, position: int, partial: Any, end: Any, tuples: list[Tuple] | None) -> None:
        self.key = key
        self.first = self.last = time
        self.position = position
        self.partial = partial
        self.count = 1
        self.end = end
        self.edge = self.counted = False
        self.tuples = tuples


class Slices:
    """The slices of a lane in order.

    ``changed`` holds those that a store has not seen as they are; a store that appends has the first ``sealed``.

    ``journal`` is how to take back what the current call has done: a chain ``(older, put_back, *what)``, newest first,
    None if nothing has changed. An entry is noted before its change, and ``put_back(*what)`` can be called again: it
    does not matter how much of the change has happened. ``(older, name, value)`` is of an attribute of the lane.
    Neither ``changed`` nor ``sealed`` is put back, for they are derived. Entries refer to nothing that refers to the
    journal: no cycle keeps an operator alive.
    """

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.all: list[Slice] = []
        self.changed: dict[Any, Slice | None] = {}
        self.sealed = 0
        self.journal: Any = None
        self._keys = 0

    def begin(self, time: Any) -> int:
        """The number of the first slice without a tuple before ``time``."""
        held = self.all
        if held and held[-1].first < time:  # as at most ends of windows: one is complete when it has passed
            return len(held)
        if len(held) > 1 and held[-2].first < time:
            return len(held) - 1
        return bisect_left(self.all, time, key=_first)

    def at(self, position: int) -> int:
        """The number of the first slice without a tuple before ``position``."""
        return bisect_left(self.all, position, key=_position)

    def covering(self, time: Any) -> int:
        """The number of the last slice that begins at or before ``time``; -1 if there is none."""
        return bisect_right(self.all, time, key=_first) - 1

    def _key_at(self, at: int) -> tuple[int, ...]:
        """A key between those of the neighbours: an extension of the older one's, smaller than all before."""
        self._keys += 1
        if at == len(self.all):
            return (self._keys,)
        return (*self.all[at - 1].key, -self._keys) if at else (-self._keys,)

    def insert(self, at: int, time: Any, position: int, partial: Any, end: Any, tuples: list[Tuple] | None) -> Slice:
        """Insert a slice of one tuple."""
        new = Slice(self._key_at(at), time, position, partial, end, tuples)
        if at == len(self.all):
            self.journal = (self.journal, cut, self.all, at)
        else:
            self.journal = (self.journal, _take_out, self.all, new)
        self.all.insert(at, new)
        self.changed[new.key] = new
        return new

    def _remember(self, slice_: Slice) -> None:
        """Note a slice as it is. Only :meth:`add_last` changes its list of tuples, and notes that itself."""
        was = [getattr(slice_, name) for name in Slice.__slots__]
        self.journal = (self.journal, _put_back_slice, slice_, was)
        self.changed[slice_.key] = slice_

    def add_last(self, slice_: Slice, time: Any, partial: Any, values: Any) -> None:
        """Update: add a tuple that is not older than those of the slice. 1 merge."""
        merged = self.bundle.combine(slice_.partial, partial)
        tuples = slice_.tuples
        self.journal = (self.journal, put_back_end, slice_, slice_.partial, slice_.count, slice_.last)
        if tuples is not None:
            self.journal = (self.journal, cut, tuples, len(tuples))
        self.changed[slice_.key] = slice_
        slice_.partial, slice_.last = merged, time
        slice_.count += 1
        if tuples is not None:
            tuples.append((time, values))

    def add(self, slice_: Slice, time: Any, partial: Any, values: Any) -> None:
        """Update: add a tuple at its time. 1 merge, or all of the slice's if order matters and it is not the last."""
        if not time < slice_.last:
            self.add_last(slice_, time, partial, values)
            return
        if slice_.tuples is None:
            merged, tuples = self.bundle.combine(slice_.partial, partial), None
        else:
            at = bisect_right(slice_.tuples, time, key=_time)
            tuples = [*slice_.tuples[:at], (time, values), *slice_.tuples[at:]]
            if self.bundle.merging.commutative:
                merged = self.bundle.combine(slice_.partial, partial)
            else:
                merged = self.bundle.fold([values for _, values in tuples])
        self._remember(slice_)
        slice_.partial, slice_.tuples = merged, tuples
        slice_.first = min(slice_.first, time)
        slice_.count += 1

    def merge(self, at: int) -> None:
        """Merge: join the next slice to slice ``at``. 1 merge."""
        slice_, removed = self.all[at : at + 2]
        merged = self.bundle.combine(slice_.partial, removed.partial)
        self._remember(slice_)
        self.journal = (self.journal, _put_in, self.all, at + 1, removed)
        slice_.partial, slice_.last, slice_.end = merged, removed.last, removed.end
        slice_.count += removed.count
        slice_.tuples = None if slice_.tuples is None or removed.tuples is None else slice_.tuples + removed.tuples
        del self.all[at + 1]
        self.changed[removed.key] = None

    def split(self, at: int, place: int) -> None:
        """Split: the tuples of slice ``at`` from number ``place`` on become a slice. All its merges."""
        slice_ = self.all[at]
        assert slice_.tuples is not None and 0 < place < slice_.count
        older, younger = slice_.tuples[:place], slice_.tuples[place:]
        partials = [self.bundle.fold([values for _, values in part]) for part in (older, younger)]
        self._remember(slice_)
        new = self.insert(at + 1, younger[0][0], slice_.position + place, partials[1], slice_.end, younger)
        new.last, new.count = slice_.last, len(younger)
        slice_.partial, slice_.tuples, slice_.last, slice_.count = partials[0], older, older[-1][0], place

    def split_at(self, position: int) -> int:
        """The number of the slice that begins at ``position``, which is split off if necessary."""
        at = self.at(position)
        if at < len(self.all) and self.all[at].position == position:
            return at
        before = self.all[at - 1]
        if position >= before.position + before.count:
            return at
        self.split(at - 1, position - before.position)
        return at

    def shift(self, at: int) -> None:
        """Shift: move the last tuple of slice ``at`` to the next one, by ``invert`` where there is one."""
        slice_, following = self.all[at : at + 2]
        assert slice_.tuples is not None and following.tuples is not None and slice_.count > 1
        moved = slice_.tuples[-1]
        left = self.bundle.without_last(slice_.partial, [values for _, values in slice_.tuples])
        right = self.bundle.combine(self.bundle.lift(moved[1]), following.partial)
        self._remember(slice_)
        self._remember(following)
        slice_.partial, slice_.tuples = left, slice_.tuples[:-1]
        slice_.count -= 1
        slice_.last = slice_.tuples[-1][0]
        following.partial, following.tuples = right, [moved, *following.tuples]
        following.count += 1
        following.first = moved[0]
        following.position -= 1

    def note_counted(self) -> None:
        """Note which slices begin at an edge on counts. Call it before that changes."""
        self.journal = (self.journal, _put_back_each, "counted", [(slice_, slice_.counted) for slice_ in self.all])

    def move_positions(self, start: int) -> None:
        """Move all slices from number ``start`` on by one position: a tuple came before them."""
        moved = self.all[start:]
        self.journal = (self.journal, _put_back_each, "position", [(slice_, slice_.position) for slice_ in moved])
        for slice_ in moved:
            slice_.position += 1

    def cut_off(self, at: int) -> list[Tuple]:
        """Remove the slices from number ``at`` on, to slice them again. Returns the tuples that they keep."""
        removed = self.all[at:]
        self.journal = (self.journal, _put_behind, self.all, at, removed)
        del self.all[at:]
        for slice_ in removed:
            self.changed[slice_.key] = None
        return [kept for slice_ in removed for kept in slice_.tuples or ()]

    def drop_oldest(self, count: int) -> None:
        """Remove ``count`` of the oldest slices, which no window needs any more."""
        self.journal = (self.journal, _put_before, self.all, self.all[:count])
        del self.all[:count]

    def drop_tuples(self, held: list[Slice]) -> None:
        """Drop the tuples of these slices. They cannot be split any more, and so take no more tuples."""
        self.journal = (self.journal, _put_back_each, "tuples", [(slice_, slice_.tuples) for slice_ in held])
        self.journal = (self.journal, _put_back_each, "end", [(slice_, slice_.end) for slice_ in held])
        for slice_ in held:
            slice_.tuples = None
            slice_.end = min(slice_.end, slice_.last)

    def replace(self, held: list[Slice]) -> None:
        """Replace all slices. The caller rebuilds what is derived from them."""
        self.journal = (self.journal, _put_behind, self.all, 0, list(self.all))
        self.all[:] = held

    def states(self) -> list[SliceState]:
        """The slices as a state has them, with the partials of the aggregates apart. O(slices)."""
        separate = self.bundle.separate
        return [
            SliceState(
                slice_.first,
                slice_.last,
                slice_.count,
                separate(slice_.partial),
                None if slice_.tuples is None else list(slice_.tuples),
            )
            for slice_ in self.all
        ]

    def touch(self) -> None:
        """Note that derived state changes, so that a rollback rebuilds it."""
        self.journal = (self.journal, _put_nothing_back)

    def roll_back(self, lane: object) -> None:
        """Undo the entries of the journal, newest first. Resumes if it was interrupted and is called again."""
        while self.journal is not None:
            older, put_back, *what = self.journal
            if isinstance(put_back, str):
                setattr(lane, put_back, *what)
            else:
                put_back(*what)
            self.journal = older


# how entries of the journal are undone


def put_back_end(slice_: Slice, partial: Any, count: int, last: Any) -> None:
    """Undo a tuple at the end of a slice, or in a slice where order does not matter."""
    slice_.partial, slice_.count, slice_.last = partial, count, last


def cut(items: list[Any], length: int) -> None:
    """Undo what was put at the end of a list."""
    del items[length:]


def _put_nothing_back() -> None:
    pass


def _put_back_slice(slice_: Slice, was: list[Any]) -> None:
    for name, value in zip(Slice.__slots__, was, strict=True):
        setattr(slice_, name, value)


def _put_back_each(name: str, was: list[tuple[Slice, Any]]) -> None:
    for slice_, value in was:
        setattr(slice_, name, value)


def _take_out(held: list[Slice], new: Slice) -> None:
    if new in held:
        held.remove(new)


def _put_in(held: list[Slice], at: int, removed: Slice) -> None:
    if at == len(held) or held[at] is not removed:
        held.insert(at, removed)


def _put_behind(held: list[Slice], at: int, removed: list[Slice]) -> None:
    held[at:] = removed


def _put_before(held: list[Slice], removed: list[Slice]) -> None:
    if not held or held[0] is not removed[0]:
        held[:0] = removed
