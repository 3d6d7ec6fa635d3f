"""Who is compared by ``bench mta``: recalculation, DABA, Log MTA and AMTA, in memory and in each store."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import sash
from sash.aggregators import AMTA, DABA, LogMTA, Recalc
from sash.stores import LMDBStore, RedisStore, RocksDBStore, StoredAMTA, StoredLogMTA
from sash_experiments.processes import free_port

__all__ = ["ALL", "IN_MEMORY", "STORED", "Enforce", "Places", "Policy", "enforcer", "new_window", "sized"]

IN_MEMORY = {"Recalc": Recalc, "DABA": DABA, "LogMTA": LogMTA, "AMTA": AMTA}
STORED = {
    f"{name}, {store}": (algorithm, store)
    for store in ("LMDB", "RocksDB", "Redis")
    for name, algorithm in (("LogMTA", StoredLogMTA), ("AMTA", StoredAMTA))
}
ALL = [*IN_MEMORY, *STORED]
Policy = Callable[[Any, Any], Any]
Enforce = Callable[[], object]


def sized() -> tuple[sash.Aggregation, Policy]:
    """Listings 2 and 3: each update counts as one and tells how many there may be; more than that leave."""
    monoid = sash.aggregation(lift=lambda most: (1, most), combine=lambda a, b: (a[0] + b[0], b[1]), name="sized")
    return monoid, lambda total, oldest: total[0] - oldest[0] >= total[1]


def enforcer(window: Any, policy: Policy, oldest: Any) -> Enforce:
    """Lets go what the policy says: by a search, or, where there is none, one value after the other.

    DABA and recalculation are told what the oldest single value aggregates to: the same for every value here.
    """
    if isinstance(window, AMTA | LogMTA):
        return lambda: window.evict_while(policy)

    def one_by_one() -> None:
        while len(window) and policy(window.query(), oldest):
            window.evict()

    return one_by_one


class Places:
    """New stores for windows: folders on disk, and hashes of a Redis server that writes its log before it answers."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self.url, self._number, self.last = folder, url, 0, folder

    def store(self, kind: str) -> Any:
        self._number += 1
        where = self.last = self._folder / f"{kind}-{self._number}"
        if kind == "LMDB":
            return LMDBStore(where)
        return RocksDBStore(where) if kind == "RocksDB" else RedisStore(self.url, where.name, timeout=60)

    @staticmethod
    @contextmanager
    def opened() -> Iterator[Places]:
        """With a server of its own on a free loopback port."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sash-mta-")))
            yield Places(folder, stack.enter_context(_server(folder)))


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("there is no redis-server on PATH: scripts/redis installs it on Debian and Ubuntu")
    port = free_port()
    options = {"port": port, "bind": "127.0.0.1", "dir": folder, "appendonly": "yes", "appendfsync": "always"}
    options |= {"save": "", "auto-aof-rewrite-percentage": 0}
    command = [program, *(str(part) for name, value in options.items() for part in (f"--{name}", value))]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        for _ in range(500):
            with socket.socket() as sock:
                if sock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@contextmanager
def new_window(name: str, aggregation: sash.Aggregation, places: Places) -> Iterator[Any]:
    """A new, empty window of a contender."""
    if name in IN_MEMORY:
        yield IN_MEMORY[name](aggregation)
        return
    algorithm, kind = STORED[name]
    window = algorithm(aggregation, places.store(kind))
    try:
        yield window
    finally:
        window.abandon()
        if kind != "Redis":
            shutil.rmtree(places.last)
