"""Run seeds: ``python -m integration_tests.simulator --seeds 1000``, or one again, with its schedule: ``--seed 7``."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import Counter
from multiprocessing import get_context
from typing import Any

from integration_tests.conformance.cases import CASES

from .runs import ENGINES, case_of, compare, crash_everywhere, length_of


def main() -> int:
    """Run; the exit code is 1 if a seed failed."""
    parser = argparse.ArgumentParser(prog="python -m integration_tests.simulator", description=__doc__)
    parser.add_argument("--engine", choices=ENGINES, action="append", help="all by default")
    parser.add_argument("--seeds", type=int, default=1000, help="how many, shared out over the engines (default 1000)")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="run only this one, on the engines, and print the schedule")
    parser.add_argument("--every-call", type=int, metavar="ROWS", help="instead: crash at every call over so many rows")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    engines = options.engine or list(ENGINES)
    if options.seed is not None:
        for engine in engines:
            job = compare(engine, options.seed)
            of = (
                f"{engine}, the first {length_of(options.seed) or 'of all'} rows of {CASES[case_of(options.seed)].name}"
            )
            print(*job.world.schedule, f"{of}: {job.counts}", sep="\n")
        return 0
    end = time.monotonic() + options.minutes * 60
    if options.every_call is None:
        numbers = range(options.first, options.first + -(-options.seeds // len(engines)))
    else:
        numbers = range(len(CASES))
    runs = [(engine, number, end, options.every_call) for number in numbers for engine in engines]
    counts, failed, done = Counter[str](), 0, Counter[str]()
    with get_context("fork").Pool(options.jobs, gc.freeze) as pool:
        for engine, fault, counted in pool.imap_unordered(_run, runs, chunksize=4):
            if counted is None:
                continue
            done[engine] += 1
            counts.update({f"{engine} {name}": number for name, number in counted.items()})
            if fault:
                failed += 1
                print(fault, flush=True)
    what = "seeds" if options.every_call is None else "cases"
    for engine in engines:
        of = ", ".join(f"{counts[name]:,} {name.split()[1]}" for name in sorted(counts) if name.split()[0] == engine)
        print(f"{engine:14} {done[engine]:,} {what}: {of}")
    print(f"{failed} of {done.total():,} {what} failed")
    return 1 if failed else 0


def _run(run: tuple[str, int, float, int | None]) -> tuple[str, str, dict[str, Any] | None]:
    """The engine, what failed, and counts; None: the time was over before."""
    engine, seed, end, rows = run
    if time.monotonic() > end:
        return engine, "", None
    try:
        if rows is not None:
            return engine, "", {"calls": crash_everywhere(engine, seed, rows)}
        return engine, "", compare(engine, seed).counts
    except Exception as error:
        notes = "\n".join(getattr(error, "__notes__", ())[-1:])
        of = f"seed {seed}" if rows is None else f"case {CASES[seed].name}"
        return engine, f"{engine}, {of}: {type(error).__name__}: {error}\n{notes}", {}


if __name__ == "__main__":
    sys.exit(main())
