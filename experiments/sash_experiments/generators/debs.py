"""Streams like those of the DEBS challenges of 2012 and 2014, as their loaders give them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "HERTZ",
    "PLUGS",
    "START_2012",
    "START_2014",
    "STATES",
    "WORK",
    "checked_rows",
    "debs12",
    "debs14",
    "shares_of_plugs",
    "smart_home",
]

HERTZ = 100
"""Readings a second of the manufacturing equipment."""
STATES = 37
"""Values that its first energy reading takes."""
START_2012 = np.datetime64("2012-02-22T16:46:28.967032")
START_2014 = np.datetime64("2013-09-01T00:00:00")
PLUGS = 14
"""Plugs in the first ten million readings of DEBS 2014; more are copies of these, with the same distribution."""
WORK = 0.35
"""How steeply plugs differ in how often they report: the i-th reports i ** -WORK times as often as the first."""

Array = np.ndarray[Any, Any]


def debs12(rows: int, seed: int = 12) -> dict[str, Array]:
    """Readings of one machine, 100 a second: ``key``, ``ts``, ``seq``, ``mf01`` (of 37 values), ``mf02``, ``mf03``.

    >>> {name: column.tolist() for name, column in debs12(2).items() if name in ("key", "seq")}
    {'key': [0, 0], 'seq': [2556001, 2556002]}
    """
    rng = np.random.default_rng(checked_rows(rows, seed))
    numbers = np.arange(rows)
    levels = np.sort(rng.integers(8_000, 18_000, STATES))
    walk = np.abs(np.cumsum(rng.integers(-1, 2, rows))) % (2 * STATES - 2)  # a state goes over into one beside it
    mf02 = 13_000 + 900 * np.sin(numbers / 2_500) + rng.normal(0, 60, rows)
    mf03 = 14_400 + 400 * np.sin(numbers / 9_000) + rng.normal(0, 30, rows)
    return {
        "key": np.zeros(rows, np.int64),
        "ts": START_2012 + numbers * np.timedelta64(10**6 // HERTZ, "us"),
        "seq": 2_556_001 + numbers,
        "mf01": levels[np.minimum(walk, 2 * STATES - 2 - walk)].astype(np.float64),
        "mf02": np.round(mf02),
        "mf03": np.round(mf03),
    }


def shares_of_plugs(keys: int) -> Array:
    """The share of the readings of :func:`debs14` that each plug has. O(keys).

    >>> shares_of_plugs(3).round(2).tolist()
    [0.41, 0.32, 0.28]
    """
    share: Array = (np.arange(keys) % PLUGS + 1.0) ** -WORK
    share /= share.sum()
    return share


def debs14(rows: int, keys: int = 14, seed: int = 14) -> dict[str, Array]:
    """Loads of smart plugs: ``key`` (a plug), ``house``, ``ts``, ``seq`` and ``load``, in the order of time.

    Plugs do not report alike often: the busiest a little more than twice as often as the rarest of 14. More than 14 are
    as many times the same: 84 and 336 as in the PBA paper.

    >>> sorted(set(debs14(1000)["key"].tolist()))
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]
    """
    if keys < 1:
        raise ValueError(f"keys must be at least 1; got {keys}")
    rng = np.random.default_rng(checked_rows(rows, seed))
    plug = rng.choice(keys, rows, p=shares_of_plugs(keys))
    plug[: min(keys, rows)] = np.arange(min(keys, rows))  # each is there from the beginning
    whole = smart_home(rows * 2, keys, seed)
    by_plug = [whole["load"][whole["plug"] == each] for each in range(keys)]
    load = np.empty(rows)
    for each, loads in enumerate(by_plug):
        at = np.flatnonzero(plug == each)
        load[at] = np.resize(loads, len(at)) if len(loads) else 0.0
    return {
        "key": plug.astype(np.int64),
        "house": plug // 5,
        "ts": START_2014 + (np.arange(rows) // keys).astype("timedelta64[s]"),
        "seq": np.arange(rows),
        "load": load,
    }


def smart_home(rows: int, plugs: int = 14, seed: int = 14) -> dict[str, Any]:
    """Loads of smart plugs as in the DEBS 2014 challenge: a reading a plug and second, columns as arrays.

    ``ts`` is in seconds, ``load`` in watts: a day's curve a plug with noise and the peaks of a device switched on.

    >>> stream = smart_home(4, plugs=2)
    >>> {name: column.tolist() for name, column in stream.items() if name != "load"}
    {'ts': [0, 0, 1, 1], 'house': [0, 0, 0, 0], 'plug': [0, 1, 0, 1]}
    """
    if rows < 0 or plugs < 1:
        raise ValueError(f"rows must not be negative and plugs at least 1; got rows={rows}, plugs={plugs}")
    rng = np.random.default_rng(seed)
    ts, plug = np.divmod(np.arange(rows), plugs)
    base = rng.uniform(5, 120, plugs)
    phase = rng.uniform(0, 2 * np.pi, plugs)
    day = 1 + 0.5 * np.sin(2 * np.pi * ts / 86400 + phase[plug])
    switched_on = rng.random(rows) < 0.002
    load = base[plug] * day + rng.exponential(3, rows) + switched_on * rng.uniform(500, 2500, rows)
    return {"ts": ts, "house": plug // 5, "plug": plug, "load": np.round(load, 3)}


def checked_rows(rows: int, seed: int) -> int:
    """The seed, if there can be so many rows."""
    if rows < 0:
        raise ValueError(f"rows must not be negative; got {rows}")
    return seed
