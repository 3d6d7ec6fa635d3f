"""Stores that tests keep windows in: real folders, and a real Redis server, which is started once a session."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from redis_server import RedisServer
from sash.stores import LMDBStore, MemoryStore, RedisStore, RocksDBStore, Store

Reopen = Callable[[], Store]
numbers = itertools.count()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture(params=["memory", "lmdb", "rocksdb", "redis"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Reopen]:
    """Makes new places for a store; each opens what is there, as often as it is called."""

    def place() -> Reopen:
        number = next(numbers)
        if request.param == "memory":
            kept = MemoryStore()  # opened again, it is what it was
            return lambda: kept
        if request.param == "lmdb":
            return lambda: LMDBStore(tmp_path / str(number), sync=False)
        if request.param == "rocksdb":
            return lambda: RocksDBStore(tmp_path / str(number))
        server = request.getfixturevalue("redis_server")
        return lambda: RedisStore(server.url, f"sash:{tmp_path.name}:{number}")

    return place


@pytest.fixture
def place(places: Callable[[], Reopen]) -> Reopen:
    return places()
