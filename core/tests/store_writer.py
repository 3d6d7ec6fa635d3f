"""Run as a program that is killed: slides a window in a store for ever, and tells what it has flushed.

    python store_writer.py lmdb FOLDER | rocksdb FOLDER | redis URL

The values are 0, 1, 2, …; a window has up to 300 of them, and each time that 1000 have come it is emptied. Every so
often it flushes and prints how many values have come. Opened again, it goes on.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import sash
from sash.aggregations.custom import Together
from sash.stores import LMDBStore, RedisStore, RocksDBStore, Store, StoredAMTA

__all__ = ["AGGREGATION", "LARGEST", "opened", "whole"]

AGGREGATION = Together([sash.Count(), sash.First(), sash.Last(), sash.Sum()])
LARGEST = 300
STORES = {"lmdb": LMDBStore, "rocksdb": RocksDBStore, "redis": RedisStore}


def opened(kind: str, where: str) -> StoredAMTA:
    store: Store = STORES[kind](where)
    return StoredAMTA(AGGREGATION, store, buffer=16, cache=16)


def size_after(inserted: int) -> int:
    """How many values the window has after so many."""
    return min(inserted, LARGEST) if inserted % 1000 > LARGEST else min(inserted % 1000, LARGEST)


def slide(window: Any, value: int) -> None:
    """What comes with a value; the window after it is told by the number of values alone."""
    window.insert((value,) * 4)
    if (value + 1) % 1000 == 0:
        window.evict_many(len(window))
    elif len(window) > LARGEST:
        window.evict()


def whole(inserted: int) -> tuple[Any, ...]:
    """The window's results after so many values, by definition."""
    size = size_after(inserted)
    if not size:
        return (0, None, None, None)
    values = range(inserted - size, inserted)
    return (size, values[0], values[-1], sum(values))


def main() -> None:
    window = opened(*sys.argv[1:])
    value = int(window.query()[2] + 1) if len(window) else window._end
    rng = random.Random(value)
    while True:
        for _ in range(rng.randrange(1, 400)):
            slide(window, value)
            value += 1
        if rng.random() < 0.5:
            window.flush()
            print(value, flush=True)


if __name__ == "__main__":
    main()
