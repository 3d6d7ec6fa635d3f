"""Stores that are damaged, of something else, or of another window: all of them are refused, in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sash
from redis_server import RedisServer
from sash.stores import LMDBStore, MemoryStore, RedisStore, RocksDBStore, Store, StoredAMTA, StoredLogMTA, StoreError
from sash.stores.base import HEADER, page_key

pytest_plugins = ["store_fixtures"]
Reopen = Callable[[], Store]


def small(algorithm: type[Any], aggregation: sash.Aggregation, store: Store) -> Any:
    return algorithm(aggregation, store, buffer=3, cache=4)


def drain(window: Any) -> None:
    while len(window):
        window.evict()
        window.query()


class TestDamage:
    def filled(self, place: Reopen, algorithm: type[Any] = StoredAMTA) -> None:
        with small(algorithm, sash.Max(), place()) as window:
            window.insert_many(range(100))

    def change(self, place: Reopen, key: bytes, change: Callable[[bytes], bytes | None]) -> None:
        """Damage a value, as a broken disk would."""
        store = place()
        header, value = store.get([HEADER, key])
        assert header is not None and value is not None
        if key == HEADER:
            damaged = change(value)
            assert damaged is not None
            store.commit({}, damaged, header)
        else:
            store.commit({key: change(value)}, b"", header)
            store.commit({}, header, b"")
        store.close()

    def opened(self, place: Reopen, algorithm: type[Any] = StoredAMTA, aggregation: Any = None, cache: int = 4) -> None:
        store = place()
        try:
            algorithm(aggregation or sash.Max(), store, cache=cache).close()
        finally:
            store.close()

    @pytest.mark.parametrize("at", [0, 5, 20, -1])
    def test_a_damaged_header(self, place: Reopen, at: int) -> None:
        self.filled(place)
        self.change(place, HEADER, lambda value: value[:at] + bytes([value[at] ^ 1]) + value[at:][1:])
        with pytest.raises(StoreError, match=r"store .*(damaged|not hold a window)"):
            self.opened(place)

    @pytest.mark.parametrize("where", ["flipped", "cut off", "missing", "another"])
    def test_a_damaged_page(self, place: Reopen, where: str) -> None:
        self.filled(place)
        other = place()
        (another,) = other.get([page_key(0, 8)])
        other.close()
        damages: dict[str, Callable[[bytes], bytes | None]] = {
            "flipped": lambda value: value[:30] + bytes([value[30] ^ 4]) + value[31:],
            "cut off": lambda value: value[:-3],
            "missing": lambda value: None,
            "another": lambda value: another,
        }
        self.change(place, page_key(0, 7), damages[where])
        window = small(StoredAMTA, sash.Max(), place())
        with pytest.raises(StoreError, match=r"store .* is damaged: page 7 of level 0"):
            window.verify()
        window.evict_many(13)
        with pytest.raises(StoreError, match="is damaged: page 7 of level 0"):
            drain(window)
        window.abandon()

    def test_a_store_of_something_else(self, place: Reopen) -> None:
        store = place()
        store.commit({b"mine": b"1"}, b"x", None)
        store.close()
        with pytest.raises(StoreError, match=r"store .* does not hold a window, or is damaged"):
            self.opened(place)

    def test_a_store_with_foreign_keys_and_no_header(self) -> None:
        store = MemoryStore()
        store._values[b"mine"] = b"1"
        with pytest.raises(StoreError, match="does not hold a window; use an empty one"):
            StoredAMTA(sash.Max(), store)

    def test_a_window_of_something_else(self, place: Reopen) -> None:
        self.filled(place)
        for arguments, words in [
            ({"algorithm": StoredLogMTA}, "another algorithm: AMTA, not LogMTA"),
            ({"aggregation": sash.Min()}, r"another aggregation: Max\(\), not Min\(\)"),
            ({"cache": 64}, "another cache, which must be twice: 2, not 32"),
        ]:
            with pytest.raises(StoreError, match=words):
                self.opened(place, **arguments)  # type: ignore[arg-type]
        self.opened(place)

    def test_folders_of_something_else(self, tmp_path: Path) -> None:
        (tmp_path / "data.mdb").write_bytes(b"something else" * 1000)
        with pytest.raises(StoreError, match=r"the LMDB store in .* cannot be used"):
            LMDBStore(tmp_path)
        (tmp_path / "CURRENT").write_bytes(b"something else")
        with pytest.raises(StoreError, match=r"the RocksDB store in .* cannot be used"):
            RocksDBStore(tmp_path)
        with pytest.raises(StoreError, match=r"the LMDB store in .* cannot be opened"):
            LMDBStore(tmp_path / "data.mdb" / "below")

    def test_a_key_of_another_type(self, redis_server: RedisServer) -> None:
        store = RedisStore(redis_server.url, "text")
        store._client.set("text", "mine")
        with pytest.raises(StoreError, match=r"the Redis store 'text' at redis:.* cannot be used: WRONGTYPE"):
            StoredAMTA(sash.Max(), store)
        store.close()

    def test_partials_that_cannot_be_told_in_bytes(self, place: Reopen) -> None:
        opaque = sash.aggregation(lift=lambda value: {Path(str(value))}, combine=lambda a, b: a | b, name="opaque")
        window = StoredAMTA(opaque, place())
        window.insert(1)
        with pytest.raises(ValueError, match=r"a value of type pathlib.*Path can be saved only inside"):
            window.flush()
        window.abandon()

    @pytest.mark.parametrize(("arguments", "words"), [({"cache": 100}, "power of 2"), ({"buffer": 0}, "at least 1")])
    def test_sizes_that_are_none(self, arguments: dict[str, int], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            StoredAMTA(sash.Max(), MemoryStore(), **arguments)  # type: ignore[arg-type]
