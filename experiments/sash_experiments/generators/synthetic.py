"""Streams that no challenge gave: uniform values, and a football's position."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash_experiments.generators.debs import STATES, checked_rows

__all__ = ["BALL_HERTZ", "LOST", "SPELL", "football", "uniform"]

BALL_HERTZ = 2000
"""How often a second the ball is seen."""
LOST = 1500
"""Milliseconds for which it is lost, five times a minute."""
SPELL = 12_000
"""Milliseconds between two losses."""

Array = np.ndarray[Any, Any]


def uniform(rows: int, keys: int = 1, seed: int = 1) -> dict[str, Array]:
    """Values that are uniform in [0, 1): ``key``, ``ts`` (whole milliseconds), ``seq``, ``value``.

    >>> uniform(3, keys=2)["key"].tolist()
    [0, 1, 0]
    """
    if keys < 1:
        raise ValueError(f"keys must be at least 1; got {keys}")
    rng = np.random.default_rng(checked_rows(rows, seed))
    numbers = np.arange(rows)
    return {"key": numbers % keys, "ts": numbers // keys, "seq": numbers, "value": rng.random(rows)}


def football(rows: int, slow: int | None = None, rate: int = BALL_HERTZ, seed: int = 5) -> dict[str, Array]:
    """A ball's position and a machine's state (of 37): ``ts`` (whole milliseconds), ``ball``, ``state``.

    It is seen 2000 times a second, or, after the first ``slow`` rows, ``rate`` times. Five times a minute it is lost
    for a while, which ends a session.

    >>> football(3)["ts"].tolist()
    [0, 0, 1]
    """
    rng = np.random.default_rng(checked_rows(rows, seed))
    slow = rows if slow is None else min(slow, rows)
    played = np.arange(slow) * 1000 // BALL_HERTZ
    begin = slow * 1000 // BALL_HERTZ
    played = np.concatenate([played, begin + np.arange(rows - slow) * 1000 // rate]).astype(np.int64)
    ball = np.cumsum(rng.integers(-400, 401, rows)) + rng.integers(-20, 21, rows)
    return {"ts": played + played // SPELL * LOST, "ball": ball, "state": rng.integers(0, STATES, rows)}
