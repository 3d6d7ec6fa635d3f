"""A line on the terminal that shows that a run is alive, and what it did when it has ended."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sash.cli.engines import Tally

__all__ = ["shown", "summary"]

_EVERY = 0.2
_WIDTH = 24


@contextmanager
def shown(tally: Tally, total: int | None) -> Iterator[None]:
    """Show a bar (of ``total`` rows, if that is known) while something runs. Nothing, if nobody watches."""
    if not sys.stderr.isatty():
        yield
        return
    ended, begin = threading.Event(), time.monotonic()

    def tick() -> None:
        while not ended.wait(_EVERY):
            print(f"\r\033[K{line(tally, total, time.monotonic() - begin)}", end="", file=sys.stderr, flush=True)

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield
    finally:
        ended.set()
        ticker.join()
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def line(tally: Tally, total: int | None, seconds: float) -> str:
    """The progress so far.

    >>> line(Tally("streaming", 500, 20), 1000, 3.0)
    '[############------------]  50 %  streaming, 500 rows in, 20 out, 3 s'
    """
    bar = ""
    if total:
        done = min(tally.rows_in / total, 1)
        filled = int(done * _WIDTH)
        bar = f"[{'#' * filled}{'-' * (_WIDTH - filled)}] {done:4.0%}  ".replace("%", " %")
    return f"{bar}{tally.doing}, {tally.rows_in:,} rows in, {tally.rows_out:,} out, {seconds:.0f} s"


def summary(tally: Tally, seconds: float, where: str, streaming: bool = False) -> str:
    """What was done, in a few lines. Only a stream has a state to go on from.

    >>> print(summary(Tally("", 1000, 20, 0), 0.5, "local"))
    rows in       1,000
    rows out      20
    late rows     0
    state         none kept
    time          0.50 s on local, 2,000 rows/s
    """
    rate = f", {tally.rows_in / seconds:,.0f} rows/s" if tally.rows_in and seconds > 0 else ""
    unknown = "not told by the engine"
    late = unknown if tally.late is None else f"{tally.late:,}"
    state = f"{tally.state_bytes:,} bytes" if tally.state_bytes is not None else unknown if streaming else "none kept"
    told = {
        "rows in": f"{tally.rows_in:,}",
        "rows out": f"{tally.rows_out:,}",
        "late rows": late,
        "state": state,
        "time": f"{seconds:.2f} s on {where}{rate}",
    }
    return "\n".join(f"{name:<13} {value}" for name, value in told.items())
