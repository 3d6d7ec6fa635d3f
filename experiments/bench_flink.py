"""Sash on Flink beside what Flink itself has. Run by ``make bench-flink``.

Embedded Flinks of parallelism 1, each with Python workers of its own. A source in the JVM makes readings of 84 (or 8)
plugs, in order of time, without an end; every contender computes the maximum of every window; results go nowhere. SQL
and Sash with packed records take a table and give one, the others streams. Contenders that are to be compared take
turns of some seconds (:mod:`flink_turns`): what slows the machine for a while slows all of them, and neither the
start of a job nor the compiling of its code counts. All give a result a record; what is counted is results that came to
the sink, and CPU time, that of all processes of the contender: its Python, the JVM and the Python workers. Windows
are full before the first turn, or as full as they get in a minute (``--longest``), which favours what is slow:
``records_before`` tells. SQL OVER orders rows by their time, or by the millisecond of their arrival, which costs less
the more rows arrive in one. ``source alone`` has no windows: what the source and the copies of its rows cost all
others, too.

``identity`` is a keyed process function that does nothing, as anyone would write it: PyFlink takes the key of a row in
a Python worker of its own. Sash has the JVM take it; with ``identity, keyed in the JVM`` so has the function.

Some contenders can be run again by themselves (``--only``), and their results be kept with the others (``--keep
build/flink.csv``). The last workload is FPBA: how long the worst record is in the operator when it comes at a chunk's
end.

Raw results, one row a turn, go to a CSV file, and the machine and the versions to a JSON file beside it; ``--table
FILE`` makes the tables again, ``--readme FILE`` puts them into a page.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import sash
from flink_contenders import (
    Endless,
    Readings,
    by_record,
    count_query,
    count_window,
    hop,
    identity,
    identity_in_jvm,
    ours,
    over,
    sliding_windows,
    source_alone,
    time_query,
)
from flink_tables import read
from flink_turns import SETTINGS, SINK, Turns
from sash_experiments.machine import facts
from tables import insert

HERE = Path(__file__).parent
FIELDS = [
    "workload", "keys", "n", "contender", "turn", "records_before", "records", "wall_s", "cpu_s",
    "p50_us", "p999_us", "worst_us", "worst_own_us",
]  # fmt: skip
SIZES = [2**6, 2**10, 2**12, 2**14]
RATIOS = [10, 600, 3600]
LATENCIES = [("moments", sash.MomentSketch("load"), 2**14), ("bloom", sash.Bloom("load"), 2**16)]
RESULTS = 600
"""Windows whose latency is looked at: the first chunk that ends while there are results is among them."""
SMALL = {"python.fn-execution.bundle.size": "100", "python.state.cache-size": "10000"}
"""PyFlink's own windows take minutes for as many records as others have in a bundle; and with fewer states at hand, as
by default, than they have windows, they are slower still. Sash has as many."""
WINDOWS_IN = "CountSlidingWindowAssigner.numRecordsIn"
"""Nothing comes out of PyFlink's windows on counts before they are full, which takes a while."""


@dataclass(frozen=True)
class Case:
    """A contender that computes something; ``full``: how many results it has given when its windows are full."""

    workload: str
    keys: int
    n: int
    contender: str
    run: Callable[[Readings], Any]
    full: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    counted: str = SINK

    @property
    def name(self) -> str:
        """As ``--only`` and ``--serve`` take it."""
        return f"{self.workload}-{self.keys}-{self.n}:{self.contender}"


def groups() -> Iterator[list[Case]]:
    """Those that take turns with each other."""
    yield [
        *(Case("count", 84, n, "sash packed", ours(count_query(n))) for n in SIZES),
        Case("count", 84, 2**10, "source alone", source_alone),
    ]
    yield [Case("count", 84, n, "SQL OVER, arrival", over(n, "proc"), 84 * n) for n in SIZES]
    yield [
        *(Case("count", 84, n, "sash packed, time", ours(count_query(n).using(time="ts"))) for n in (2**10, 2**14)),
        *(Case("count", 84, n, "SQL OVER, time", over(n, "ts"), 84 * n) for n in SIZES[1:]),
    ]
    yield [Case("count", 8, n, "sash packed", ours(count_query(n))) for n in SIZES]
    yield [
        *(Case("count", 8, n, "sash by record", by_record(count_query(n))) for n in SIZES),
        Case("count", 8, 2**10, "identity", identity),
        Case("count", 8, 2**10, "identity, keyed in the JVM", identity_in_jvm),
    ]
    yield [
        *(Case("count", 8, n, "SQL OVER, time", over(n, "ts"), 8 * n) for n in SIZES[1:]),
        Case("count", 1, 2**10, "count_window", count_window(2**10), 2**10, SMALL, WINDOWS_IN),
    ]
    yield [
        *(Case("time", 84, ratio, "sash packed", ours(time_query(ratio)), 84 * ratio) for ratio in RATIOS),
        *(Case("time", 84, ratio, "SQL HOP", hop(ratio), 84 * ratio) for ratio in RATIOS),
    ]
    yield [
        *(Case("time", 84, ratio, "sash by record", by_record(time_query(ratio)), 84 * ratio) for ratio in RATIOS),
        Case("time", 84, 10, "SlidingEventTimeWindows", sliding_windows(10), 84 * 10, SMALL),
    ]


def serve(name: str, port: int) -> None:
    """Run one contender for ever, with Flink's REST interface at this port."""
    (case,) = (case for group in groups() for case in group if case.name == name)
    case.run(Endless(case.keys, {**SETTINGS, "rest.bind-port": str(port), **case.settings}))


def turns(cases: list[Case], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row a turn of each."""
    with tempfile.TemporaryDirectory() as folder, Turns(Path(folder)) as jobs:
        before = []
        for case in cases:
            command = [sys.executable, __file__, "--serve", case.name]
            before.append(jobs.start(command, case.full, options.warm, options.longest, case.counted))
            full = "" if before[-1] >= case.full else f", of {case.full:,} that fill its windows"
            print(f"{case.name} has taken {before[-1]:,} records{full}", file=sys.stderr, flush=True)
        for number, index, spent in jobs.rounds(options.turns, options.seconds):
            case = cases[index]
            print(f"turn {number} of {case.name}: {spent.records:,} records", file=sys.stderr, flush=True)
            values = [case.workload, case.keys, case.n, case.contender, number, before[index], spent.records]
            yield dict(zip(FIELDS, [*values, round(spent.wall, 3), round(spent.cpu, 2)], strict=False))


def latencies(name: str, aggregation: sash.Aggregation, n: int, rounds: int) -> Iterator[dict[str, Any]]:
    """How long records are in the operator; of each algorithm the median of some runs' worst."""
    from latency_function import ALGORITHMS, timed_stream

    runs: dict[str, list[list[float]]] = {algorithm: [] for algorithm in ALGORITHMS}
    records = n + RESULTS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seconds.npy"
        for _ in range(rounds):
            for algorithm in ALGORITHMS:
                path.unlink(missing_ok=True)  # what a run did not write must not be taken for its result
                readings = Readings(records, 1)
                readings.sink(timed_stream(readings.stream("plug, `load`"), aggregation, n, algorithm, path))
                wall, own = np.load(path).T * 1e6
                runs[algorithm].append([*np.quantile(wall, [0.5, 0.999]).tolist(), wall.max(), own.max()])
    for algorithm, found in runs.items():
        told = [round(value, 1) for value in np.median(np.array(found), axis=0).tolist()]
        row = {"workload": f"latency {name}", "keys": 1, "n": n, "contender": algorithm, "records": records}
        yield row | dict(zip(FIELDS[-4:], told, strict=True))


def everything(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for group in groups():
        cases = [case for case in group if _asked(case.name, options.only)]
        if cases:
            yield from turns(cases, options)
    for name, aggregation, n in LATENCIES:
        if _asked(_latency(name, n), options.only):
            yield from latencies(name, aggregation, n, options.rounds)


def _latency(name: str, n: int) -> str:
    return f"latency-1-{n}:{name}"


def _asked(name: str, only: str | None) -> bool:
    """Whether a name such as count-84-1024:sash packed is one of those that are asked for."""
    case, _, contender = name.partition(":")
    patterns = [each.partition(":") for each in only.split(";")] if only else [("", "", "")]
    return any(case.startswith(begin) and who in ("", contender) for begin, _, who in patterns)


def run(options: argparse.Namespace) -> Path:
    """Measure; the path of the raw results. Those that are there stay until all is done."""
    out: Path = options.out or (HERE.parent / "build" if options.only else HERE / "results") / "flink.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    given = {name: getattr(options, name) for name in ("only", "turns", "seconds", "warm", "longest", "rounds")}
    about = facts(["sash", "apache-flink", "pyarrow", "numpy", "numba"], **given)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # jobs end with it, as by Ctrl-C
    part = out.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for row in everything(options):
            writer.writerow(row)
            file.flush()
    part.replace(out)
    _write(about, out)
    return out


def _write(about: dict[str, Any], results: Path) -> None:
    results.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def kept(again: Path) -> Path:
    """The kept results, with what was run again in its place, and how that was run."""
    path = HERE / "results" / "flink.csv"
    rows: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for each in (path, again):
        found: dict[tuple[str, ...], list[dict[str, str]]] = {}
        with each.open(newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(tuple(row[name] for name in FIELDS[:4]), []).append(row)
        rows |= found
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(itertools.chain.from_iterable(rows.values()))
    about, more = (json.loads(each.with_suffix(".json").read_text(encoding="utf-8")) for each in (path, again))
    _write({**about, "again": [*about.get("again", []), more]}, path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=6, help="of each contender")
    parser.add_argument("--seconds", type=float, default=5.0, help="of a turn")
    parser.add_argument("--warm", type=float, default=30.0, help="seconds that a contender runs before its first turn")
    parser.add_argument("--longest", type=float, default=60.0, help="and at most, if its windows are not full by then")
    parser.add_argument("--rounds", type=int, default=3, help="of the latencies, whose median is told")
    parser.add_argument(
        "--only",
        help="contenders such as count-84-1024:sash packed, with semicolons between; count-84- are all that begin so",
    )
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", type=Path, help="put the results of this file among those that are kept")
    parser.add_argument("--table", type=Path, help="make the tables from this file again")
    parser.add_argument("--readme", type=Path, help="also put them into this page")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.port)
        return
    for given in (options.table, options.keep):
        if given is not None and not given.exists():
            parser.error(f"there is no file {given}")
    if options.turns < 1 or options.rounds < 1 or min(options.seconds, options.warm, options.longest) <= 0:
        parser.error("--turns and --rounds must be 1 or more, --seconds, --warm and --longest more than 0")
    names = [*(case.name for group in groups() for case in group), *(_latency(name, n) for name, _, n in LATENCIES)]
    for each in options.only.split(";") if options.only else []:
        if not any(_asked(name, each) for name in names):
            parser.error(f"--only: there is no contender {each!r}; there are {', '.join(names)}")
    path = options.table or (kept(options.keep) if options.keep else run(options))
    text = "\n\n".join(read(path).tables())
    print(text)
    if options.readme:
        insert(text, options.readme, "flink")


if __name__ == "__main__":
    main()
