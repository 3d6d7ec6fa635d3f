"""The tour: a sliding query over a smart-home stream. Run by ``make demo`` or ``python -m sash.demo``."""

from __future__ import annotations

import argparse
import time
from typing import Any

import sash
from sash.generate import smart_home
from sash.testing import naive

SHOWN = 6


def main(arguments: list[str] | None = None) -> None:
    """Generate, explain, run, check one plug against the definition, and tell the rate."""
    parser = argparse.ArgumentParser(prog="sash.demo", description=__doc__)
    parser.add_argument("--rows", type=int, default=150_000, help="rows to generate (default %(default)s)")
    parser.add_argument("--range", type=int, default=1024, help="values in a window (default %(default)s)")
    parser.add_argument("--slide", type=int, default=1, help="values from window to window (default %(default)s)")
    parser.add_argument("--algorithm", default="auto", help="a merging algorithm by name (default %(default)s)")
    options = parser.parse_args(arguments)
    try:
        query = _query(options)
        plan = sash.explain(query)
        stream = smart_home(options.rows)
    except (TypeError, ValueError) as error:
        parser.error(str(error))
    print(f"{options.rows:,} readings of {len(set(stream['plug'].tolist()))} smart plugs; the query, explained:\n")
    print(plan, end="\n\n")
    begin = time.perf_counter()
    results = sash.run(query, stream)
    seconds = time.perf_counter() - begin
    _print_table(results)
    print(f"\n{len(results['peak']):,} windows of {options.range:,} values and 3 aggregates each, in {seconds:.2f} s:")
    print(
        f"{options.rows / seconds:,.0f} rows/s, {seconds / options.rows * 1e6:.1f} µs a row, whatever the window's size"
    )
    _compare(stream, results)


def _query(options: argparse.Namespace) -> sash.Query:
    return sash.Query(
        key="plug",
        windows=sash.sliding(range=options.range, slide=options.slide),
        aggregates={"peak": sash.Max("load"), "mean": sash.Mean("load"), "who": sash.ArgMax("load", "ts")},
        algorithm=options.algorithm,
    )


def _print_table(results: dict[str, list[Any]]) -> None:
    print("  ".join(f"{name:>12}" for name in results))
    for row in list(zip(*results.values(), strict=True))[-SHOWN:]:
        print("  ".join(f"{value:12.3f}" if isinstance(value, float) else f"{value!s:>12}" for value in row))


def _compare(stream: dict[str, Any], results: dict[str, list[Any]]) -> None:
    """Recompute the last windows of one plug from scratch."""
    readings = [
        row for row in zip(*(stream[name].tolist() for name in ("plug", "load", "ts")), strict=True) if row[0] == 0
    ]
    of_plug = [row for row in zip(*results.values(), strict=True) if row[0] == 0][-20:]
    for _, start, end, *found in of_plug:
        window = readings[start:end]
        loads = [load for _, load, _ in window]
        timed = [(load, ts) for _, load, ts in window]
        expected = [naive(sash.Max(), loads), naive(sash.Mean(), loads), naive(sash.ArgMax(), timed)]
        if found != expected:
            raise SystemExit(f"window {start} … {end} is {found}, by the definition {expected}: please report this")
    print(f"the last {len(of_plug)} windows of plug 0, recomputed from scratch, are the same")


if __name__ == "__main__":
    main()
