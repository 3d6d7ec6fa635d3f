"""What simulated engines share: chance from a seed, a schedule that is kept, and crashes at calls of the state API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

__all__ = ["Crash", "World"]


class Crash(BaseException):
    """The process ends here. Nothing that handles errors catches it."""


class World:
    """Chance, the schedule, and when to crash.

    ``crash_at`` are numbers of calls of the state API, counted from the start of the run; by default some by chance.
    ``steady``: nothing else crashes or rescales, either.
    """

    def __init__(self, seed: int, crash_at: frozenset[int] | None = None, steady: bool = False) -> None:
        self.seed, self.chance = seed, Random(seed)
        self.calls, self.schedule = 0, [f"seed {seed}"]
        if crash_at is None:
            crash_at = frozenset(int(2 ** self.chance.uniform(0, 8)) for _ in range(self.chance.choice([0, 1, 2, 4])))
        self._crash_at = crash_at
        self.crashes, self.steady = 0, steady

    def note(self, event: str) -> None:
        """Write an event into the schedule."""
        self.schedule.append(event)

    def call(self, what: str) -> None:
        """A call of the state API: it may be where the process ends."""
        self.calls += 1
        if self.calls in self._crash_at:
            self.crashes += 1
            self.note(f"crash at call {self.calls}: {what}")
            raise Crash

    def often(self, share: float) -> bool:
        """Whether something that happens that often happens now."""
        return self.chance.random() < share

    def pick(self, weighted: dict[Any, float]) -> Any:
        """One of these, by their weights."""
        return self.chance.choices(list(weighted), list(weighted.values()))[0]

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Add the end of the schedule to what is raised."""
        try:
            yield
        except Exception as error:
            error.add_note("\n".join(self.schedule[-200:]))
            raise
