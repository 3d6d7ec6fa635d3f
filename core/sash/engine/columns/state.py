"""The state of a columnar lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sash.engine.columns.aggregates import Aggregate
from sash.engine.columns.keys import Array, Keys, Marks
from sash.engine.columns.rules.all import Rules
from sash.engine.columns.table import Table
from sash.values.arrays import joined

__all__ = ["Pending", "State"]


@dataclass(frozen=True)
class Pending:
    """Rows in the order of arrival: those of a batch, or those that wait.

    ``tied`` tells the rows at whose time the watermark had arrived before them; None: it does not matter. What they
    bring comes after all else that became complete at that time.
    """

    codes: Array
    times: Array
    columns: Mapping[str, Array]
    tied: Array | None = None

    def __len__(self) -> int:
        return len(self.times)

    def take(self, which: Any) -> Pending:
        columns = {name: column[which] for name, column in self.columns.items()}
        tied = None if self.tied is None else self.tied[which]
        return Pending(self.codes[which], self.times[which], columns, tied)

    def followed_by(self, other: Pending) -> Pending:
        if not len(self) or not len(other):
            return self if len(self) else other
        columns = {name: joined(column, other.columns[name]) for name, column in self.columns.items()}
        codes, times = np.concatenate([self.codes, other.codes]), np.concatenate([self.times, other.times])
        waited = np.zeros(len(self), np.bool_)  # the watermark had not arrived, or they would not wait
        return Pending(codes, times, columns, None if other.tied is None else np.concatenate([waited, other.tied]))


@dataclass(frozen=True)
class State:
    """All that a lane remembers. Never changed: a batch makes another one."""

    keys: Keys
    marks: Mapping[str | None, Marks]
    table: Table
    names: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    pending: Pending
    rules: Rules
    merges: int = 0
    advanced: Any = None
    """The watermark that all keys have been told of, those to come too. None: before all times."""
    coarsen_at: int = 0
    """How many slices must be held before old ones are merged again. Not saved."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of times."""
        return self.rules.dtype
