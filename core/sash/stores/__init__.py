"""Windows that are kept in a key-value store: larger than memory, and safe from a crash.

| store | where | a flush is safe from |
| --- | --- | --- |
| MemoryStore | in this process | nothing |
| LMDBStore | a folder | a loss of power |
| RocksDBStore | a folder | a loss of power |
| RedisStore | a server | a stop of the server, and what its log is safe from |

``StoredAMTA(aggregation, store)`` and ``StoredLogMTA(aggregation, store)`` are the algorithms over them; docs/stores.md
tells how they are kept and what they survive.
"""

from sash.stores.base import MemoryStore, Store, StoreAway, StoreError
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
    "StoreError",
    "StoredAMTA",
    "StoredLogMTA",
]
