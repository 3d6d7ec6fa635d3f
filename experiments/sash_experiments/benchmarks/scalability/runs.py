"""What the drivers of ``bench scalability`` have in common: which runs they make, and how they report them.

A driver is a process of its own, on this machine or in a cluster's container. It says on standard output when a run
begins and how long it took, so that whoever started it can look at the CPU clocks then.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace

__all__ = ["MARK", "PLAIN", "WARM", "Name", "Run", "arguments", "report", "runs", "word_of"]

MARK = "@scalability "
PLAIN = ("count_window", "HOP", "rowsBetween", "F.window")
"""The engines' plain windows, which are slow: they are run once."""
WARM = -1
"""The repeat of a run that does not count."""
Name = tuple[str, str]
"""What is computed, and who does."""


@dataclass(frozen=True)
class Run:
    """Of a contender on so many rows; ``start``: on so few that it shows what the start of a job costs."""

    aggregate: str
    contender: str
    rows: int
    repeat: int
    start: bool = False

    @property
    def name(self) -> Name:
        """What is computed, and who does."""
        return self.aggregate, self.contender


def word_of(name: Name, rows: int) -> str:
    """A contender and its rows as a driver takes them.

    >>> word_of(("max", "SQL OVER"), 500)
    'max:SQL OVER=500'
    """
    return f"{name[0]}:{name[1]}={rows}"


def _of_word(word: str) -> tuple[Name, int]:
    name, _, rows = word.rpartition("=")
    aggregate, _, contender = name.partition(":")
    return (aggregate, contender), int(rows)


def arguments(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--parallelism", type=int, default=1)
    parser.add_argument("--keys", type=int, default=84)
    parser.add_argument("--range", type=int, default=2**10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--pause", type=float, default=0.2, help="seconds that it takes to read the CPU clocks")
    parser.add_argument("--data", help="where to keep files that all nodes see")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE", help="of the engine")
    parser.add_argument("contenders", nargs="+", metavar="AGGREGATE:NAME=ROWS")
    options = parser.parse_args()
    options.contenders = dict(map(_of_word, options.contenders))
    options.setting = dict(word.split("=", 1) for word in options.setting)
    return options


def runs(contenders: Mapping[Name, int], repeats: int) -> Iterator[Run]:
    """Warm-ups first, then the contenders in turn, so that what else a machine does meets them all."""
    for repeat in range(WARM, repeats):
        for (aggregate, contender), rows in contenders.items():
            if contender not in PLAIN or repeat == 0:
                yield Run(aggregate, contender, rows, repeat)


def report(run: Run, work: Callable[[Run], int | None], pause: float, few: int | None = None) -> None:
    """Make a run, and report when it begins and when it has ended, with the bytes of state that ``work`` returns.

    With ``few``, one on so few rows comes before it, unless it is a warm-up.
    """
    if few is not None and run.repeat != WARM:
        report(replace(run, rows=few, start=True), work, pause)
    print(MARK + json.dumps(asdict(run)), flush=True)
    time.sleep(pause)  # the clocks are read
    begin = time.perf_counter()
    state = work(run)
    seconds = time.perf_counter() - begin
    state_of = {} if state is None else {"state_bytes": state}
    print(MARK + json.dumps({**asdict(run), "seconds": seconds, **state_of}), flush=True)
    time.sleep(pause)
