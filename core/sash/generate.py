"""Made-up data with the shape of the data sets that the papers use. Seeded: the same arguments give the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["smart_home"]


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
