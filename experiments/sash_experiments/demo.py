"""The tour: a sliding query over a smart-home stream. Run by ``make demo`` or ``python -m sash_experiments.demo``."""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sash
from sash.cli.engines import Engine, Job
from sash.cli.files import Source
from sash.testing import naive
from sash_experiments.generators import smart_home
from sash_experiments.sparkline import sparkline

SHOWN = 6


def main(arguments: list[str] | None = None) -> None:
    """Generate, explain, run, check one plug against the definition, and tell the rate."""
    parser = argparse.ArgumentParser(prog="sash_experiments.demo", description=__doc__)
    parser.add_argument("--rows", type=int, default=150_000, help="rows to generate (default %(default)s)")
    parser.add_argument("--range", type=int, default=1024, help="values in a window (default %(default)s)")
    parser.add_argument("--slide", type=int, default=1, help="values from window to window (default %(default)s)")
    parser.add_argument("--algorithm", default="auto", help="a merging algorithm by name (default %(default)s)")
    parser.add_argument(
        "--engines", nargs="*", default=[], metavar="NAME", help="engines to run it on too: spark flink"
    )
    options = parser.parse_args(arguments)
    try:
        query = _query(options)
        plan = sash.explain(query)
        stream = smart_home(options.rows)
    except (TypeError, ValueError) as error:
        parser.error(str(error))
    print(f"{options.rows:,} readings of {len(set(stream['plug'].tolist()))} smart plugs; the query, explained:\n")
    print(plan, end="\n\n")
    first, _ = _timed(query, stream)
    seconds, results = _timed(query, stream)
    _print_table(results)
    print(f"\n{len(results['peak']):,} windows of {options.range:,} values and 3 aggregates each, in {seconds:.2f} s:")
    print(f"{options.rows / seconds:,.0f} rows/s, {_sizes(query, options, stream)}")
    if first > seconds + 0.5:
        print(f"(the first time it took {first:.1f} s: what was compiled then is kept on disk)")
    _compare(stream, results)
    _draw(results)
    for engine in options.engines:
        _compare_with(engine, query, stream, results)
    command = Path(sys.executable).with_name("sash")
    print(
        f"\nnext: {command} generate debs14 --rows 100000 --output plugs.parquet, and docs/cli.md for sash run over it;"
    )
    print(f"and what the papers claim, re-run: {command} experiment report")


def _sizes(query: sash.Query, options: argparse.Namespace, stream: dict[str, Any]) -> str:
    """What a row costs by the window's size: about the same."""
    told = []
    for range_ in (max(options.range // 16, options.slide), options.range, options.range * 4):
        begin = time.process_time()
        sash.run(query.using(windows=sash.sliding(range=range_, slide=options.slide)), stream)
        seconds = time.process_time() - begin
        told.append(f"{seconds / max(options.rows, 1) * 1e6:.1f} with windows of {range_:,}")
    return f"CPU µs a row: {', '.join(told)}"


def _timed(query: sash.Query, stream: dict[str, Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    results = sash.run(query, stream)
    return time.perf_counter() - begin, results


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


def _draw(results: dict[str, list[Any]]) -> None:
    of_plug = [row for row in zip(*(results[name] for name in ("plug", "peak", "mean")), strict=True) if row[0] == 0]
    for name, place in (("peak", 1), ("mean", 2)):
        print(f"plug 0, {name} in watts, window by window: {sparkline([row[place] for row in of_plug], 50)}")


def _results_of(run: Engine, query: sash.Query, columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The results of a query over columns in the order of arrival, by an engine; keys come in any order."""
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyarrow import parquet

    with tempfile.TemporaryDirectory(prefix="sash-") as folder:
        path = Path(folder) / "columns.parquet"
        parquet.write_table(pa.table(dict(columns)), path)
        tables = list(run(Job(query, Source.of(path), scratch=Path(folder))))
    results: dict[str, list[Any]] = pa.concat_tables(tables).to_pydict()
    return results


def _compare_with(engine: str, query: sash.Query, stream: dict[str, Any], results: dict[str, list[Any]]) -> None:
    """Run the same query on an engine, whose adapter knows how, if it is installed."""
    try:
        adapter = importlib.import_module(f"sash_{engine}.cli")
    except ModuleNotFoundError as error:
        print(f"{engine}: not installed ({error})")
        return
    print(f"\nstarting {engine}, embedded in this process …", flush=True)
    begin = time.perf_counter()
    found = _results_of(adapter.run, query, stream)
    seconds = time.perf_counter() - begin
    if _sorted(found) != _sorted(results):
        raise SystemExit(f"{engine} gives other rows than the local run: please report this")
    size = len(stream["load"])
    print(
        f"the same query on {engine} gives the same {len(found['peak']):,} rows, in {seconds:.1f} s with its start "
        f"({size / seconds:,.0f} rows/s)"
    )


def _sorted(results: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    return sorted(zip(*(results[name] for name in sorted(results)), strict=True))


if __name__ == "__main__":
    main()
