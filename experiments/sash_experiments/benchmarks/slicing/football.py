"""Streams like those of the paper's experiments: a football's position, a machine's state, and disorder.

The ball is tracked 2000 times a second, and five times a minute it is lost for a while, which ends a session. The
machine's state has 37 values. Times are whole milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sash_experiments import generators
from sash_experiments.generators.synthetic import BALL_HERTZ as RATE

__all__ = ["GAP", "RATE", "Stream", "football", "lengths"]

GAP = 1000  # milliseconds without a tuple that end a session

Array = np.ndarray[Any, Any]


def lengths(count: int) -> list[int]:
    """Of ``count`` tumbling windows, spread evenly over 1 to 20 s, in milliseconds."""
    return [1000 + 19_000 * i // max(count - 1, 1) for i in range(count)]


@dataclass(frozen=True)
class Stream:
    """Tuples in the order of their arrival."""

    ts: Array
    ball: Array
    state: Array

    def __len__(self) -> int:
        return len(self.ts)

    @cached_property
    def rows(self) -> list[dict[str, int]]:
        """One by one."""
        columns = zip(self.ts.tolist(), self.ball.tolist(), self.state.tolist(), strict=True)
        return [{"ts": ts, "ball": ball, "state": state} for ts, ball, state in columns]

    def batch(self, begin: int, end: int, *names: str) -> dict[str, Array]:
        """Some of them as columns."""
        return {name: getattr(self, name)[begin:end] for name in ("ts", *names)}

    def disordered(self, share: float, delay: int) -> Stream:
        """A ``share`` of them arrives up to ``delay`` milliseconds late."""
        rng = np.random.default_rng(7)
        late = rng.random(len(self)) < share
        arrival = self.ts + np.where(late, rng.random(len(self)) * delay, 0)
        order = np.argsort(arrival, kind="stable")
        return Stream(self.ts[order], self.ball[order], self.state[order])


def football(tuples: int, slow: int | None = None, rate: int = RATE) -> Stream:
    """A stream of so many tuples: the first ``slow`` at 2000 a second, those after them at ``rate``."""
    return Stream(**generators.football(tuples, slow, rate))
