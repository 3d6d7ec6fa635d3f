"""Sash on Flink beside what Flink itself has. Run by ``make bench-flink``.

Embedded Flinks of parallelism 1, each with Python workers of its own. A source in the JVM makes readings of 84 (or 8)
plugs, in order of time, without an end; every contender computes the maximum of every window; results go nowhere. SQL
and Sash with packed records take a table and give one, the others streams. Contenders that are to be compared take
turns of some seconds (:mod:`turns`): what slows the machine for a while slows all of them, and neither the start of a
job nor the compiling of its code counts. All give a result a record; what is counted is results that came to the sink,
and CPU time, that of all processes of the contender: its Python, the JVM and the Python workers. Windows are full
before the first turn, or as full as they get in a minute (``--longest``), which favours what is slow:
``records_before`` tells. SQL OVER orders rows by their time, or by the millisecond of their arrival, which costs less
the more rows arrive in one. ``source alone`` has no windows: what the source and the copies of its rows cost all
others, too. Before they take turns, contenders find the maxima of small windows of a short stream.

``identity`` is a keyed process function that does nothing, as anyone would write it: PyFlink takes the key of a row in
a Python worker of its own. Sash has the JVM take it; with ``identity, keyed in the JVM`` so has the function.

Some contenders can be run again by themselves (``--only``), and their results take the place of those that are kept
(``--again``). The last workload is FPBA: how long the worst record is in the operator when it comes at a chunk's end.
``--rounds`` are of the latencies, whose median is reported.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import sash
from sash.testing import count_windows
from sash_experiments.benchmark import Benchmark, Case, Contender, Row, check, is_chosen, say
from sash_experiments.benchmarks.flink.contenders import (
    Collected,
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
    over_time,
    sliding_windows,
    source_alone,
    time_query,
)
from sash_experiments.benchmarks.flink.tables import tables
from sash_experiments.benchmarks.flink.turns import SETTINGS, SINK, Turns
from sash_experiments.children import child_command, in_child

__all__ = ["BENCHMARK", "groups"]

SIZES = [2**6, 2**10, 2**12, 2**14]
RATIOS = [10, 600, 3600]
LATENCIES = [("moments", sash.MomentSketch("load"), 2**14), ("bloom", sash.Bloom("load"), 2**16)]
CHECKED, CHECKED_KEYS, CHECKED_SECONDS = 4, 3, 20
"""Readings in a window, plugs and seconds of the stream on which contenders are checked."""
RESULTS = 600
"""Windows whose latency is looked at: the first chunk that ends while there are results is among them."""
SMALL = {"python.fn-execution.bundle.size": "100", "python.state.cache-size": "10000"}
"""PyFlink's own windows take minutes for as many records as others have in a bundle; and with fewer states at hand, as
by default, than they have windows, they are slower still. Sash has as many."""
WINDOWS_IN = "CountSlidingWindowAssigner.numRecordsIn"
"""Nothing comes out of PyFlink's windows on counts before they are full, which takes a while."""


Make = Callable[[int], Callable[[Readings], Any]]
"""What computes windows of so many records, or of so many seconds."""


@dataclass(frozen=True)
class Job:
    """A contender that computes something; ``full``: how many results it has given when its windows are full."""

    workload: str
    keys: int
    n: int
    contender: str
    make: Make
    full: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    counted: str = SINK
    windows: bool = True
    """Whether it computes windows."""

    @property
    def name(self) -> str:
        """As ``--only`` takes it."""
        return f"{self.workload}-{self.keys}-{self.n}:{self.contender}"


def groups() -> Iterator[list[Job]]:
    """Those that take turns with each other."""
    packed: Make = lambda n: ours(count_query(n))  # noqa: E731
    packed_by_time: Make = lambda n: ours(count_query(n).using(time="ts"))  # noqa: E731
    seconds: Make = lambda ratio: ours(time_query(ratio))  # noqa: E731
    yield [
        *(Job("count", 84, n, "sash packed", packed) for n in SIZES),
        Job("count", 84, 2**10, "source alone", lambda n: source_alone, windows=False),
    ]
    yield [Job("count", 84, n, "SQL OVER, arrival", over, 84 * n) for n in SIZES]
    yield [
        *(Job("count", 84, n, "sash packed, time", packed_by_time) for n in (2**10, 2**14)),
        *(Job("count", 84, n, "SQL OVER, time", over_time, 84 * n) for n in SIZES[1:]),
    ]
    yield [Job("count", 8, n, "sash packed", packed) for n in SIZES]
    yield [
        *(Job("count", 8, n, "sash by record", lambda n: by_record(count_query(n))) for n in SIZES),
        Job("count", 8, 2**10, "identity", lambda n: identity, windows=False),
        Job("count", 8, 2**10, "identity, keyed in the JVM", lambda n: identity_in_jvm, windows=False),
    ]
    yield [
        *(Job("count", 8, n, "SQL OVER, time", over_time, 8 * n) for n in SIZES[1:]),
        Job("count", 1, 2**10, "count_window", count_window, 2**10, SMALL, WINDOWS_IN),
    ]
    yield [
        *(Job("time", 84, ratio, "sash packed", seconds, 84 * ratio) for ratio in RATIOS),
        *(Job("time", 84, ratio, "SQL HOP", hop, 84 * ratio) for ratio in RATIOS),
    ]
    yield [
        *(Job("time", 84, n, "sash by record", lambda n: by_record(time_query(n)), 84 * n) for n in RATIOS),
        Job("time", 84, 10, "SlidingEventTimeWindows", sliding_windows, 84 * 10, SMALL),
    ]


def answers(names: list[str]) -> Iterator[list[list[float]]]:
    """The maxima of full windows that contenders find in a short stream; in a process of its own."""
    jobs = {job.name: job for group in groups() for job in group}
    for name in names:
        readings = Collected(CHECKED_KEYS * CHECKED_SECONDS, CHECKED_KEYS, jobs[name].settings)
        jobs[name].make(CHECKED)(readings)
        wanted = Counter((int(plug), peak) for plug, peak in expected())
        found = Counter(readings.results) & wanted  # windows may be given before they are full, too
        yield sorted(list(pair) for pair in found.elements())


def expected() -> list[list[float]]:
    """(plug, maximum) of the full windows of that stream: each plug has a reading a second."""
    loads = [float(id_ * 7919 % 1_000_003) for id_ in range(CHECKED_KEYS * CHECKED_SECONDS)]
    windows = [
        (plug, window) for plug in range(CHECKED_KEYS) for window in count_windows(loads[plug::CHECKED_KEYS], CHECKED)
    ]
    return sorted([plug, max(window)] for plug, window in windows)


def check_group(group: list[Job]) -> None:
    """Exit unless those that compute windows find the same."""
    named = [job.name for job in group if job.windows]
    found = dict(zip(named, in_child(answers, named), strict=True)) if named else {}
    contenders = [Contender(name, tuple, partial(found.__getitem__, name), expected) for name in named]
    check(Case({"windows": CHECKED}, contenders))


def serve(name: str, port: int) -> None:
    """Run one contender for ever, with Flink's REST interface at this port; in a process of its own."""
    (job,) = (job for group in groups() for job in group if job.name == name)
    job.make(job.n)(Endless(job.keys, {**SETTINGS, "rest.bind-port": str(port), **job.settings}))


def turns(group: list[Job], options: argparse.Namespace) -> Iterator[Row]:
    """A row a turn of each."""
    check_group(group)
    with tempfile.TemporaryDirectory() as folder, Turns(Path(folder)) as running:
        before = []
        for job in group:

            def command(port: int, name: str = job.name) -> list[str]:
                return child_command(serve, name, port)

            before.append(running.start(command, job.full, options.warm, options.longest, job.counted))
            full = "" if before[-1] >= job.full else f", of {job.full:,} that fill its windows"
            say(f"{job.name} has taken {before[-1]:,} records{full}")
        for number, index, spent in running.rounds(options.turns, options.seconds):
            job = group[index]
            say(f"turn {number} of {job.name}: {spent.records:,} records")
            labels = {name: getattr(job, name) for name in KEY}
            numbers = {"records": spent.records, "wall_s": round(spent.wall, 3), "cpu_s": round(spent.cpu, 2)}
            yield {**labels, "turn": number, "records_before": before[index], **numbers}


def latencies(name: str, aggregation: sash.Aggregation, n: int, rounds: int) -> Iterator[Row]:
    """How long records are in the operator; of each algorithm the median of some runs' worst."""
    from sash_experiments.benchmarks.flink.latency import ALGORITHMS, timed_stream

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
        numbers = [round(value, 1) for value in np.median(np.array(found), axis=0).tolist()]
        labels = {"workload": f"latency {name}", "keys": 1, "n": n, "contender": algorithm, "records": records}
        yield labels | dict(zip(STAYS, numbers, strict=True))


def rows(options: argparse.Namespace) -> Iterator[Row]:
    for group in groups():
        chosen = [job for job in group if is_chosen(job.name, options.only)]
        if chosen:
            yield from turns(chosen, options)
    for name, aggregation, n in LATENCIES:
        if is_chosen(_latency(name, n), options.only):
            yield from latencies(name, aggregation, n, options.rounds)


def _latency(name: str, n: int) -> str:
    return f"latency-1-{n}:{name}"


def names_of_contenders(text: str) -> str:
    """The value of ``--only``, if there are such contenders."""
    names = [*(job.name for group in groups() for job in group), *(_latency(name, n) for name, _, n in LATENCIES)]
    for pattern in text.split(";"):
        if not any(is_chosen(name, pattern) for name in names):
            raise argparse.ArgumentTypeError(f"there is no contender {pattern!r}; there are {', '.join(names)}")
    return text


def positive(text: str) -> float:
    """A number above 0."""
    if not float(text) > 0:
        raise argparse.ArgumentTypeError("must be more than 0")
    return float(text)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turns", type=int, default=6, help="of each contender")
    parser.add_argument("--seconds", type=positive, default=5.0, help="of a turn")
    parser.add_argument("--warm", type=positive, default=30.0, help="seconds that it runs before its first turn")
    parser.add_argument("--longest", type=positive, default=60.0, help="and at most, if its windows are not full then")
    parser.add_argument(
        "--only",
        type=names_of_contenders,
        help="contenders such as count-84-1024:sash packed, with semicolons between; count-84- are all that begin so",
    )


KEY = ("workload", "keys", "n", "contender")
STAYS = ("p50_us", "p999_us", "worst_us", "worst_own_us")
BENCHMARK = Benchmark(
    "flink",
    __doc__,
    (*KEY, "turn", "records_before", "records", "wall_s", "cpu_s", *STAYS),
    KEY,
    rows,
    tables,
    ("sash", "apache-flink", "pyarrow", "numpy", "numba"),
    rounds=3,
    arguments=arguments,
    page="docs/benchmarks/flink.md",
)
