"""All faults in random order, several times over, on streams that go on: ``make chaos``.

    python -m integration_tests.cluster.chaos [--seed N] [--faults 64] [--minutes M] [--streams flink redis] [--docs]

Flink, Spark and Redis run side by side, on one Kafka. What is written has a line for each fault, with the seconds until
results of what came after it were there, and one for each stream, with its rows. It ends with 1 if a row was lost or
came twice. ``--docs`` puts the tables into docs/faults.md.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from sash_experiments.tables import insert

from . import engine
from .faults import FAULTS, Fault, Stream, inflicted
from .flink import FlinkCluster
from .flink_stage import FlinkStage
from .kafka import Kafka
from .package import prepare
from .redis_stage import RedisStage
from .spark import SparkCluster
from .spark_stage import SparkStage

__all__ = ["main"]

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
STREAMS = ["redis", "flink", "spark"]
COLUMNS = ["seed", "number", "stream", "fault", "recovery_seconds", "expected", "got", "duplicates", "losses"]


@dataclass(frozen=True)
class Line:
    """Of the table: a fault, or at the end a stream with all its rows."""

    seed: int
    number: int
    stream: str
    fault: str = ""
    recovery_seconds: float | None = None
    expected: int | None = None
    got: int | None = None
    duplicates: int | None = None
    losses: int | None = None


def in_random_order(seed: int, count: int, streams: Sequence[str] = STREAMS) -> Iterator[Fault]:
    """All of them, shuffled, and again, until there are so many: each comes about as often as any other."""
    rng = random.Random(seed)
    chosen = [fault for fault in FAULTS if fault.stream in streams]
    rounds = (fault for _ in itertools.count() for fault in rng.sample(chosen, len(chosen)))
    return itertools.islice(rounds, count)


def begun(names: Sequence[str], host: engine.Host) -> dict[str, Stream]:
    """The streams of these names, at work."""
    streams: dict[str, Stream] = {}
    if "redis" in names:
        streams["redis"] = RedisStage(host)
    if "flink" in names or "spark" in names:
        kafka = Kafka(host)
        if "flink" in names:
            streams["flink"] = FlinkStage(FlinkCluster(host), kafka)
        if "spark" in names:
            streams["spark"] = SparkStage(SparkCluster(host), kafka)
    return streams


def run(host: engine.Host, seed: int, count: int, names: Sequence[str], minutes: float) -> Iterator[Line]:
    """Inflict so many; lines as they come. Interrupted, or after so long, it ends the streams and counts."""
    end = time.monotonic() + 60 * minutes
    prepare(host.shared)
    streams = begun(names, host)
    done = 0
    with suppress(KeyboardInterrupt):
        for number, fault in enumerate(in_random_order(seed, count, names), 1):
            if time.monotonic() > end:
                break
            done = number
            try:
                seconds = round(inflicted(fault, streams[fault.stream]), 1)
            except (TimeoutError, RuntimeError, AssertionError, OSError) as error:  # the others are still to come
                print(f"{fault}: {error}", file=sys.stderr)
                yield Line(seed, number, fault.stream, f"{fault.name}: NOT RECOVERED")
                for storage in host.storages.values():
                    storage.mend()
                continue
            yield Line(seed, number, fault.stream, fault.name, seconds)
    for stream in streams.values():
        yield Line(seed, done, **asdict(stream.end()))


def row(line: Line) -> list[str]:
    return ["" if value is None else str(value) for value in asdict(line).values()]


def as_markdown(lines: list[Line]) -> str:
    """Two tables: the faults with their recoveries, and the rows of each stream. Infinite: it was not over in time."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for line in lines:
        if line.fault:
            seconds.setdefault((line.stream, line.fault), []).append(line.recovery_seconds or math.inf)
    faults = ["| stream | fault | times | median recovery, s | longest, s |", "| --- | --- | ---: | ---: | ---: |"]
    faults += [
        f"| {stream} | {fault} | {len(took)} | {median(took):.1f} | {max(took):.1f} |"
        for (stream, fault), took in sorted(seconds.items())
    ]
    rows = [
        "| seed | stream | faults | rows expected | rows got | duplicates | losses |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for x in lines:
        if not x.fault:
            count = sum(bool(y.fault) and (y.seed, y.stream) == (x.seed, x.stream) for y in lines)
            rows.append(f"| {x.seed} | {x.stream} | {count} | {x.expected} | {x.got} | {x.duplicates} | {x.losses} |")
    return "\n".join([*faults, "", *rows])


def read(path: Path) -> list[Line]:
    """The lines that an earlier run has written."""

    def whole(text: str) -> int | None:
        return int(text) if text else None

    with path.open(newline="") as file:
        return [
            Line(
                int(line["seed"]),
                int(line["number"]),
                line["stream"],
                line["fault"],
                float(line["recovery_seconds"]) if line["recovery_seconds"] else None,
                *(whole(line[name]) for name in COLUMNS[5:]),
            )
            for line in csv.DictReader(file)
        ]


def main(arguments: list[str] | None = None) -> int:
    """Run, print and write the table."""
    parser = argparse.ArgumentParser(prog="chaos", description="All faults in random order.")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000, help="of the order; printed")
    parser.add_argument("--faults", type=int, default=max(64, 2 * len(FAULTS)), help="how many")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no more faults after so long")
    parser.add_argument("--docs", action="store_true", help="put the tables into docs/faults.md")
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=STREAMS, help="whose; all by default")
    parser.add_argument("--output", type=Path, default=Path("experiments/results/chaos.csv"))
    parser.add_argument("--tables", type=Path, nargs="+", help="break nothing; put the tables of these runs into docs")
    given = parser.parse_args(arguments)
    if given.tables:
        insert(as_markdown([line for path in given.tables for line in read(path)]), PAGE, "chaos")
        return 0
    if not engine.available():
        print("no Docker engine answers: integration_tests/docker-engine starts one", file=sys.stderr)
        return 2
    print(f"seed {given.seed}", flush=True)
    engine.remove_leftovers()
    lines: list[Line] = []
    try:
        with TemporaryDirectory(prefix="sash-chaos-", ignore_cleanup_errors=True) as folder:
            host = engine.Host(Path(folder))
            try:
                for line in run(host, given.seed, given.faults, given.streams, given.minutes):
                    lines.append(line)
                    print(*filter(None, row(line)[1:]), sep="  ", flush=True)
            finally:
                engine.remove_leftovers()
                host.close()
    finally:
        engine.remove_leftovers()
    with given.output.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(map(row, lines))
    print(f"\n{as_markdown(lines)}\n\nseed {given.seed}: make chaos ARGS='--seed {given.seed}' has the same order")
    if given.docs:
        insert(as_markdown(lines), PAGE, "chaos")
    unrecovered = [line for line in lines if line.fault and line.recovery_seconds is None]
    return int(bool(unrecovered) or any(line.duplicates or line.losses for line in lines))


if __name__ == "__main__":
    sys.exit(main())
