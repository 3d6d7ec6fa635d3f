"""What watches have in common. A watch knows which windows of one window type are complete, and emits closings.

A closing is a window as a run of slices. Below the watermark ``due`` a watch has nothing to emit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import singledispatch
from typing import Any, ClassVar, Literal, NamedTuple

from sash.engine.rows.slices import Slices
from sash.state.lane_state import WindowState
from sash.windows import Window

__all__ = ["EARLY", "Closing", "Watch", "knows_begins", "watch_of"]

EARLY = -1
"""The revision of early results, of windows that are still open."""


class Closing(NamedTuple):
    """A window that is complete: slices ``low`` to before ``high``. Its first five fields are the order of results."""

    completion: Any
    rank: int
    end: Any
    window: int
    start: Any
    revision: int
    low: int
    high: int
    total: Any = None
    """Its partial, if that is known already."""
    whole: bool = True
    """Whether slices end where it does; else the newest one, which it covers so far, may go on."""
    replaced: tuple[tuple[Any, Any], ...] = ()
    """The bounds of emitted windows that it replaces, if they were others."""


class Watch(ABC):
    """Knows which windows of one window type are complete. Shares the lane's slices and the window's state."""

    group: ClassVar[Literal["counts", "edged", "sessions", "timed", "trailing"]]
    """The list of :class:`~sash.engine.rows.watches.all.Watches` that it is in, of those that follow the same clock."""
    due: Any = -math.inf
    revises = False
    """Whether windows can be corrected: then the emitted ones are remembered."""

    def __init__(self, window: Any, number: int, state: WindowState, slices: Slices, after: Any, settled: int) -> None:
        self.window = window
        self.number = number
        self.state = state
        self.slices = slices
        self.resume(after, settled)

    @abstractmethod
    def resume(self, after: Any, settled: int) -> None:
        """Go on behind the watermark ``after``, up to which windows have been emitted, with ``settled`` tuples."""

    def cut_at_begins(self) -> None:  # noqa: B027  # most know nothing but edges
        """Have slices cut only where windows begin: one that ends inside a slice is emitted before that goes on."""

    @abstractmethod
    def fire(self, upto: Any) -> Iterator[Closing]:
        """The windows that are complete when the watermark goes to ``upto``, and have not been emitted."""

    @abstractmethod
    def corrections(self, time: Any, position: int, upto: Any) -> Iterator[Closing]:
        """The windows up to the watermark that a late tuple has changed; it is in its slice already."""

    @abstractmethod
    def keep_from(self, horizon: Any) -> int:
        """The number of the first slice that is still needed if nothing before ``horizon`` can change any more."""

    def open_at(self, time: Any, high: int) -> Iterator[tuple[Any, Any, int]]:
        """The windows that are open at ``time``, before slice ``high``: bounds, and the number of their first slice."""
        return iter(())

    def skip_one(self) -> None:
        """A tuple has come that an added window knows nothing of: it counts on from one further."""
        state, slices = self.state, self.slices
        slices.journal = (slices.journal, setattr, state, "since_count", state.since_count)
        state.since_count += 1

    def is_begin(self, at: int) -> bool:
        """Whether one of its windows can begin with slice ``at``, which is not the first that it needs."""
        return True

    def begins(self, low: int, upto: int) -> Iterator[int]:
        """The slices behind number ``low`` and before ``upto`` with which one of its windows can begin."""
        return (at for at in range(low + 1, upto) if self.is_begin(at))

    def forget(self, horizon: Any) -> None:
        """Drop what is known of windows that can change no more."""
        old = [extent for extent in self.state.revisions if not extent[1] > horizon]
        if old:
            self._note_revisions()
        for extent in old:
            del self.state.revisions[extent]

    def begun_after(self, start: Any) -> bool:
        """Whether it emits a window that begins at ``start``, which one that was added later may not."""
        return self.state.since is None or start > self.state.since

    def _revise(self, extent: tuple[Any, Any], emitted: bool) -> int:
        """The revision of a window of fixed extent that is emitted again, or for the first time."""
        if not emitted:
            return 0
        revisions = self.state.revisions
        was = revisions.get(extent)
        self.slices.journal = (self.slices.journal, _put_back_one, revisions, extent, was)
        revisions[extent] = revision = 1 if was is None else was + 1
        return revision

    def _note_revisions(self) -> None:
        """Note all revisions in their order, before some go. O(revisions)."""
        revisions = self.state.revisions
        self.slices.journal = (self.slices.journal, _put_back_all, revisions, dict(revisions))

    def _replacements(self, extents: list[tuple[Any, Any]]) -> list[int]:
        """The revisions of windows that replace all emitted ones that they overlap."""
        if not self.revises:
            return [0] * len(extents)
        known = self.state.revisions
        over = [[old for old in known if old[0] < end and start < old[1]] for start, end in extents]
        revisions = [max((known[old] + 1 for old in olds), default=0) for olds in over]
        self._note_revisions()
        for old in {old for olds in over for old in olds}:
            known.pop(old, None)
        known.update(zip(extents, revisions, strict=True))
        return revisions

    def _replace(self, extent: tuple[Any, Any]) -> tuple[int, tuple[tuple[Any, Any], ...]]:
        """The same of one window, and the other bounds that the emitted ones have."""
        start, end = extent
        known = self.state.revisions if self.revises else {}
        replaced = tuple(old for old in known if old[0] < end and start < old[1] and old != extent)
        return self._replacements([extent])[0], replaced

    def _behind(self, horizon: Any) -> int:
        """The first slice with a tuple at or behind ``horizon``."""
        at = self.slices.begin(horizon)
        return at - 1 if at and not self.slices.all[at - 1].last < horizon else at


@singledispatch
def watch_of(window: Window, number: int, state: WindowState, slices: Slices, after: Any, settled: int) -> Watch:
    """The watch of a window. Each type of window registers its own, beside it."""
    raise TypeError(f"no watch is registered for windows such as {window!r}")


def knows_begins(window: Any) -> bool:
    """Whether the type of a window knows where its windows begin. A subclass may define other windows."""
    return "next_begin" in vars(type(window))


def _put_back_one(revisions: dict[Any, int], extent: Any, was: int | None) -> None:
    if was is None:
        revisions.pop(extent, None)
    else:
        revisions[extent] = was


def _put_back_all(revisions: dict[Any, int], was: dict[Any, int]) -> None:
    revisions.clear()
    revisions.update(was)
