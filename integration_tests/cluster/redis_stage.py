"""A window in a Redis server of a container that dies: it slides on when the server is back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import sash
from sash.aggregations.custom import Together
from sash.stores import RedisStore, StoreAway, StoredAMTA

from ..ports import free_ports
from .engine import Host, wait_for
from .stream import START
from .tally import Tally, tally

__all__ = ["RedisStage"]

RANGE = 300
SLIDES = 500
"""How many values a second of the stream has."""
AGGREGATION = Together([sash.Count(), sash.First(), sash.Last(), sash.Sum()])


class RedisStage:
    """The values are 0, 1, 2, …; a result, by the number of its last value, is that of the last 300 of them."""

    name = "redis"

    def __init__(self, host: Host) -> None:
        (self.port,) = free_ports(1)
        settings = "--appendonly yes --appendfsync always --protected-mode no --dir /var/tmp".split()
        self.node = host.node("redis", ["redis-server", *settings], {6379: self.port}).start()
        self.window = self._opened()
        self.results: dict[int, set[str]] = {}
        self.value = self.steps = 0

    def _opened(self) -> StoredAMTA:
        """Once the server answers."""

        def opened() -> list[StoredAMTA]:  # an empty window would count as none
            store = RedisStore(f"redis://127.0.0.1:{self.port}", timeout=1.0)
            return [StoredAMTA(AGGREGATION, store, buffer=16, cache=16)]

        (window,) = wait_for("Redis", opened)
        assert isinstance(window, StoredAMTA)
        return window

    @property
    def now(self) -> datetime:
        return START + timedelta(seconds=self.steps)

    def feed(self, steps: int) -> None:
        """Slide so far; while the server is away, try again."""
        self.steps += steps
        while self.value < self.steps * SLIDES:
            self._patiently(self._slide)

    def _slide(self) -> None:
        if self.value == self._inserted():
            self.window.insert((self.value,) * 4)
        while len(self.window) > RANGE:
            self.window.evict()
        self.results.setdefault(self.value, set()).add(str(self.window.query()))
        self.value += 1

    def _inserted(self) -> int:
        """How many values have come: the last one tells. What is refused has not been."""
        return int(self.window.query()[2]) + 1 if len(self.window) else 0

    @staticmethod
    def _patiently(done: Callable[[], Any]) -> None:
        def tried() -> bool:
            try:
                done()
            except StoreAway:
                return False
            return True

        wait_for("Redis", tried)

    def wait_beyond(self, moment: datetime) -> None:
        """All that came is safe in the server."""
        assert self.now > moment
        self._patiently(self.window.flush)

    def whole(self) -> None:
        """It is when it answers."""

    # faults

    def kill(self) -> None:
        """kill -9 of the server; values come until they are refused, and then it is started again."""
        self.node.kill()
        try:
            for _ in range(10_000):
                self._slide()
        except StoreAway:
            self.node.restart()
            return
        raise AssertionError("nothing was refused while there was no server")

    def pause(self) -> None:
        """The server hangs until a value is refused."""
        self.node.pause()
        try:
            for _ in range(10_000):
                self._slide()
        except StoreAway:
            return
        finally:
            self.node.unpause()
        raise AssertionError("nothing was refused while the server hung")

    def kill_in_recovery(self) -> None:
        """kill -9 of the server while it reads its log after another."""
        self.kill()
        self.node.kill()
        self.node.restart()

    def lose_the_window(self) -> None:
        """The process that has the window dies, too: what it had flushed, or more, is in the server."""
        self.window.abandon()
        self.node.kill()
        self.node.restart()
        self.window = self._opened()
        self.value = self._inserted() - 1  # its result may not have been told

    def end(self) -> Tally:
        """Count: a result that was told twice must be the same."""
        wanted = [_told(value) for value in range(self.steps * SLIDES)]
        self._patiently(self.window.close)
        self.node.stop()
        return tally(self.name, wanted, [each for told in self.results.values() for each in told])


def _told(value: int) -> str:
    values = range(max(value - RANGE + 1, 0), value + 1)
    return str((len(values), values[0], values[-1], sum(values)))
