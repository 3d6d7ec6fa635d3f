"""Windows in a key-value store: larger than memory, and safe from a crash.

| store | where | what a flush survives |
| --- | --- | --- |
| MemoryStore | in this process | nothing |
| LMDBStore | a folder | a loss of power |
| RocksDBStore | a folder | a loss of power |
| RedisStore | a server | a stop of the server, and whatever its log survives |

``StoredAMTA(aggregation, store)`` and ``StoredLogMTA(aggregation, store)`` are the algorithms over them; docs/stores.md
describes how they store a window and what it survives.
"""

from sash.stores.base import MemoryStore, Store, StoreAway, StoreDenied, StoreError
from sash.stores.on_lmdb import LMDBStore
from sash.stores.on_redis import RedisStore
from sash.stores.on_rocksdb import RocksDBStore
from sash.stores.window import StoredAMTA, StoredLogMTA

__all__ = [
    "LMDBStore",
    "MemoryStore",
    "RedisStore",
    "RocksDBStore",
    "Store",
    "StoreAway",
    "StoreDenied",
    "StoreError",
    "StoredAMTA",
    "StoredLogMTA",
]
