"""What is left after kill -9 of the process, and what happens when a Redis server goes away and comes back."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import redis

import sash
import store_writer
from redis_server import RedisServer
from sash.stores import RedisStore, StoreAway, StoredAMTA, StoreError


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    yield server
    server.stop()


def killed(arguments: list[str], seconds: float) -> int:
    """Run a writer and kill it; the last number that it said was flushed, 0 if it said none."""
    command = [sys.executable, store_writer.__file__, *arguments]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said: list[str] = []
    assert writer.stdout is not None and writer.stderr is not None
    listener = Thread(target=lambda: said.extend(writer.stdout or ()))
    listener.start()
    while not said and writer.poll() is None:
        time.sleep(0.01)
    time.sleep(seconds)
    writer.kill()
    assert writer.wait(30) == -9, writer.stderr.read()
    listener.join(30)
    return int(said[-1]) if said else 0


@pytest.mark.parametrize("kind", ["lmdb", "rocksdb", "redis"])
def test_after_kill_9_the_window_is_that_of_a_prefix(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    where = request.getfixturevalue("server").url if kind == "redis" else str(tmp_path / "store")
    rng = random.Random(7)
    before = 0
    for _ in range(4):
        flushed = killed([kind, where], rng.uniform(0.05, 0.4))
        window = store_writer.opened(kind, where)
        window.verify()
        inserted = window._end
        assert inserted >= flushed > before
        # behind an insert and before the eviction that goes with it is a prefix of all calls too
        states = {store_writer.whole(inserted)}
        if inserted % 1000 == 0:
            states.add(not_emptied(inserted))
        elif len(window) > store_writer.LARGEST:
            window.evict()
        assert window.query() in states
        drained(window)
        window.abandon()
        before = flushed


def not_emptied(inserted: int) -> tuple[Any, ...]:
    values = range(inserted - store_writer.LARGEST - 1, inserted)
    return (len(values), values[0], values[-1], sum(values))


def drained(window: StoredAMTA) -> None:
    """Each value that is left, not only their sums."""
    last = window._end
    while len(window):
        values = range(last - len(window), last)
        assert window.query() == (len(values), values[0], values[-1], sum(values))
        window.evict()


def fill(window: StoredAMTA, taken: list[str]) -> None:
    """Insert until it is refused: values are buffered for a while, and what is refused has not been."""
    for i in range(100, 1000):
        window.insert(str(i))
        taken.append(str(i))


class TestRedisGoesAway:
    def window(self, server: RedisServer, timeout: float = 1.0) -> StoredAMTA:
        store = RedisStore(server.url, timeout=timeout)
        return StoredAMTA(sash.Concat(separator=" "), store, buffer=8, cache=8)

    def test_killed_and_started_again_nothing_flushed_is_lost(self, server: RedisServer) -> None:
        window = self.window(server)
        for i in range(500):
            window.insert(str(i))
        window.flush()
        server.kill()
        window.abandon()
        server.start()
        again = self.window(server)
        assert again.query() == " ".join(map(str, range(500)))
        again.close()

    def test_a_window_goes_on_when_the_server_is_back(self, server: RedisServer) -> None:
        window = self.window(server)
        taken: list[str] = []
        for i in range(100):
            window.insert(str(i))
            taken.append(str(i))
        server.kill()
        with pytest.raises(StoreAway, match=r"the Redis store 'sash:window' at redis:.* does not answer"):
            fill(window, taken)
        assert 100 <= len(taken) < 300
        with pytest.raises(StoreAway):
            window.flush()
        assert window.query() == " ".join(taken)
        server.start()
        for i in range(1000, 1100):
            window.insert(str(i))
            taken.append(str(i))
            if i % 2:
                window.evict()
                del taken[0]
        window.flush()
        assert window.query() == " ".join(taken)
        window.abandon()
        again = self.window(server)
        assert again.query() == " ".join(taken)
        again.close()

    def test_reading_too(self, server: RedisServer) -> None:
        window = self.window(server)
        window.insert_many(map(str, range(1000)))
        window.flush()
        server.kill()
        window.evict_many(600)
        with pytest.raises(StoreAway):
            window.query()
        server.start()
        assert window.query() == " ".join(map(str, range(600, 1000)))
        window.close()

    def test_a_server_that_hangs_does_not_hang_the_window(self, server: RedisServer) -> None:
        """That it returns at all is the test: there is a timeout on each call, and one on each test."""
        window = self.window(server, timeout=0.2)
        window.insert_many(map(str, range(100)))
        window.flush()
        server.freeze()
        window.insert("100")
        with pytest.raises(StoreAway, match=r"does not answer: Timeout|has not answered"):
            window.flush()
        server.thaw()
        window.flush()
        window.abandon()
        again = self.window(server)
        assert again.query() == " ".join(map(str, range(101)))
        again.close()

    def test_a_server_that_is_not_there(self, server: RedisServer) -> None:
        server.kill()
        with pytest.raises(StoreAway, match="does not answer"):
            self.window(server)
        server.start()

    def test_a_server_that_is_loading_is_away(self, tmp_path: Path) -> None:
        """It says meanwhile that it keeps no log, and must not be refused for it."""
        server = RedisServer(tmp_path)
        with redis.Redis.from_url(server.url).pipeline(transaction=False) as pipe:
            for number in range(20_000):  # it answers after every 1,024
                pipe.set(f"other-{number}", "x")
            pipe.execute()
        server.kill()
        server.begin("--key-load-delay", "200")
        said = []
        for _ in range(600):
            try:
                RedisStore(server.url, timeout=1.0).close()
                break
            except StoreAway as error:  # and no other StoreError
                said.append(str(error))
                time.sleep(0.05)
        else:
            pytest.fail("it is never done")
        server.stop()
        assert any("does not answer: it is loading what it has kept" in each for each in said)

    def test_a_server_that_comes_back_empty(self, tmp_path: Path) -> None:
        server = RedisServer(tmp_path, durable=False)
        with pytest.raises(StoreError, match=r"would lose what it has confirmed .* or say durable=False"):
            self.window(server)
        window = StoredAMTA(sash.Concat(), RedisStore(server.url, durable=False), buffer=8, cache=8)
        window.insert_many("abc")
        window.flush()
        server.kill()
        server.start()
        window.insert("d")
        with pytest.raises(StoreError, match=r"is not as this window left it: .* or it has lost what was written"):
            window.flush()
        window.abandon()
        server.stop()
