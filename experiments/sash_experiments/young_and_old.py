"""Windows of several lengths over one stream that share their parts: section 9 of the DABA paper.

A part is a DABA. A value is inserted into the youngest part; when it is too old for one part, it moves to the next:

    lengths 3, 5, 9        oldest                                     newest
                           [  v1  v2  v3  v4 | v5  v6 | v7  v8  v9 ]
                             oldest part       older     young
    window of 3:                                        young
    window of 5:                               older ⊕ young
    window of 9:             oldest ⊕ older ⊕ young
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import sash
from sash import Aggregation
from sash.aggregators import DABA
from sash_experiments.benchmark import Case, Contender, check
from sash_experiments.contenders import uniform_values
from sash_experiments.experiment import Experiment, scales
from sash_experiments.raw import Measured
from sash_experiments.timing import mean_seconds

__all__ = ["EXPERIMENTS", "SEPARATE", "SHARED", "Separate", "YoungAndOld"]

SHARED, SEPARATE = "shared parts", "a DABA each"


class _Part(DABA):
    def take(self, value: Any) -> None:
        """Add a partial that was lifted before."""
        self._push(value)

    def leave(self) -> Any:
        """Remove the oldest partial, and return it."""
        oldest = self._vals.slots[self._f & self._vals.mask]
        self._pop()
        return oldest


class YoungAndOld:
    """Windows of the newest values, of k lengths, that share their values: k DABAs of 2 max(lengths) + 2k partials.

    Combines: insert ≤ 5k, 3k on average; the answers of all lengths ≤ 2k - 1. k DABAs beside each other make k - 1
    fewer, and hold 2 sum(lengths) + 2k partials.

    >>> windows = YoungAndOld(sash.Max(), [2, 4])
    >>> for value in (9, 2, 6, 3, 5):
    ...     windows.insert(value)
    >>> windows.query()
    [5, 6]
    """

    def __init__(self, aggregation: Aggregation, lengths: Sequence[int]) -> None:
        if not lengths or lengths[0] < 1 or any(shorter >= longer for shorter, longer in pairwise(lengths)):
            raise ValueError(f"lengths must be whole numbers from 1 on, each more than the one before; got {lengths}")
        self._aggregation = aggregation
        self._parts = [_Part(aggregation) for _ in lengths]  # youngest first
        self._rooms = [longer - shorter for shorter, longer in pairwise([0, *lengths])]

    def insert(self, value: Any) -> None:
        """Take a value; the oldest of each part, if it is too old for that, moves to the next."""
        moving = self._aggregation.lift(value)
        for part, room in zip(self._parts, self._rooms, strict=True):
            part.take(moving)
            if len(part) <= room:
                return
            moving = part.leave()

    def query(self) -> list[Any]:
        """The results of all lengths, the shortest first."""
        combine = self._aggregation.combine
        totals = accumulate((part.total() for part in self._parts), lambda younger, older: combine(older, younger))
        return [self._aggregation.lower(total) for total in totals]

    @property
    def partials(self) -> int:
        """How many are held."""
        return sum(part.partials for part in self._parts)


class Separate:
    """A DABA for each length: what it is compared with."""

    def __init__(self, aggregation: Aggregation, lengths: Sequence[int]) -> None:
        self._windows = [(length, DABA(aggregation)) for length in lengths]

    def insert(self, value: Any) -> None:
        """Take a value into each window."""
        for length, window in self._windows:
            window.insert(value)
            if len(window) > length:
                window.evict()

    def query(self) -> list[Any]:
        """The results of all lengths."""
        return [window.query() for _, window in self._windows]

    @property
    def partials(self) -> int:
        """How many are held."""
        return sum(window.partials for _, window in self._windows)


WAYS: dict[str, type[YoungAndOld] | type[Separate]] = {SHARED: YoungAndOld, SEPARATE: Separate}
FUNCTIONS: dict[str, Callable[[], Aggregation]] = {
    "Sum": sash.Sum,
    "GeometricMean": sash.GeometricMean,
    "Bloom": lambda: sash.Bloom(capacity=1700, error_rate=0.01),
}


def _answers(way: type[YoungAndOld] | type[Separate]) -> list[Any]:
    windows, found = way(sash.Concat(), [1, 3, 4, 9]), []
    for value in "abcdefghijklmnopqrstuvwxyz":
        windows.insert(value)
        found.append(windows.query())
    return found


def _defined() -> list[Any]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [[",".join(letters[max(end - n, 0) : end]) for n in (1, 3, 4, 9)] for end in range(1, len(letters) + 1)]


def sharing(rounds: int, longest: int, counts: list[int], slides: int, budget: float) -> Iterator[Measured]:
    """Values a second and partials held by the number of lengths, spread evenly up to the longest."""
    contenders = [Contender(name, tuple, partial(_answers, way), _defined) for name, way in WAYS.items()]
    check(Case({"lengths": "1, 3, 4, 9"}, contenders))
    values = uniform_values(longest)
    for count in counts:
        lengths = [longest * (i + 1) // count for i in range(count)]
        for label, make in FUNCTIONS.items():
            for number in range(rounds):
                for name, way in WAYS.items():
                    windows = way(make(), lengths)
                    for value in values:
                        windows.insert(value)

                    def slide(value: float, windows: YoungAndOld | Separate = windows) -> None:
                        windows.insert(value)
                        windows.query()

                    seconds = mean_seconds(slide, values, slides, budget)
                    yield Measured(label, str(count), name, number, "values/s", 1 / seconds)
                    if label == "Sum":
                        yield Measured("partials held", str(count), name, number, "partials", windows.partials)


EXPERIMENTS = [
    Experiment(
        "daba-sharing",
        "Several window lengths that share young and old parts",
        "The newest n/k, 2n/k … n values, all answers at each value (section 9): k DABAs in a row, of which each "
        "passes on what is too old for it, and a DABA for each length; values a second and partials held, by k.",
        scales(
            rounds=(1, 3, 5),
            longest=(32, 2**12, 2**20),
            counts=([1, 2], [1, 2, 4, 8, 16], [1, 2, 4, 8, 16, 32]),
            slides=(64, 20_000, 1_000_000),
            budget=(0.02, 0.3, 60.0),
        ),
        sharing,
        x="window lengths",
        gap="The paper proposes it and does not measure it.",
    )
]
