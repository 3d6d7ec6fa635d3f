"""How many rows should have come, and how many did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Tally", "tally"]


@dataclass(frozen=True)
class Tally:
    """Of one stream: ``duplicates`` are rows that came more often than they should, wrong ones included."""

    stream: str
    expected: int
    got: int
    duplicates: int
    losses: int

    @property
    def exact(self) -> bool:
        return not self.duplicates and not self.losses


def tally(stream: str, expected: Iterable[str], got: Iterable[str]) -> Tally:
    """Rows are compared by their texts, however often each is there."""
    wanted, found = Counter(expected), Counter(got)
    return Tally(stream, wanted.total(), found.total(), (found - wanted).total(), (wanted - found).total())
