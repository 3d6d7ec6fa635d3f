"""What the drivers of ``bench scalability`` have in common: which runs they make, and how they report them.

A driver is a process of its own, on this machine or in a cluster's container. It says on standard output when a run
begins and how long it took, so that whoever started it can look at the CPU clocks then.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

__all__ = ["MARK", "PLAIN", "WARM", "Run", "arguments", "report", "runs"]

MARK = "@scalability "
PLAIN = ("count_window", "HOP", "rowsBetween", "F.window")
"""The engines' plain windows, which are slow: they are run once."""
WARM = -1
"""The repeat of a run that does not count."""


@dataclass(frozen=True)
class Run:
    """Of a contender on so many rows."""

    contender: str
    rows: int
    repeat: int


def arguments(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--parallelism", type=int, default=1)
    parser.add_argument("--keys", type=int, default=84)
    parser.add_argument("--range", type=int, default=2**10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--pause", type=float, default=0.2, help="seconds that it takes to read the CPU clocks")
    parser.add_argument("--data", help="where to keep files that all nodes see")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE", help="of the engine")
    parser.add_argument("contenders", nargs="+", metavar="NAME=ROWS")
    options = parser.parse_args()
    options.contenders = {name: int(rows) for name, rows in (word.rsplit("=", 1) for word in options.contenders)}
    options.setting = dict(word.split("=", 1) for word in options.setting)
    return options


def runs(contenders: dict[str, int], repeats: int) -> Iterator[Run]:
    """Warm-ups first, then the contenders in turn, so that what else a machine does meets them all."""
    for repeat in range(WARM, repeats):
        for name, rows in contenders.items():
            if name not in PLAIN or repeat == 0:
                yield Run(name, rows, repeat)


def report(run: Run, work: Callable[[str, int], object], pause: float) -> None:
    """Make a run, and report when it begins and when it has ended."""
    print(MARK + json.dumps(asdict(run)), flush=True)
    time.sleep(pause)  # the clocks are read
    begin = time.perf_counter()
    work(run.contender, run.rows)
    print(MARK + json.dumps({**asdict(run), "seconds": time.perf_counter() - begin}), flush=True)
    time.sleep(pause)
