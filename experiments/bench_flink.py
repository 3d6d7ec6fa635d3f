"""Sash on Flink beside what Flink itself has. Run by ``make bench-flink``.

One embedded Flink, parallelism 1, Python workers of their own. A generator in the JVM makes readings of 84 (or 8)
plugs, in order of time; every contender computes the maximum of every window; results go nowhere. Each contender is
run on few and on many records: what is told is the difference, so that the start of a job and of its workers does not
count. CPU is that of the whole process tree: this process, the JVM and the Python workers.

Contenders that are slow are given fewer records. Raw results, one row a run, go to a CSV file, and the machine and the
versions to a JSON file beside it; ``--table FILE`` makes the tables again.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sash
import sash_flink
from flink_tables import Results
from process_tree import cpu_seconds

if TYPE_CHECKING:
    from pyflink.datastream import DataStream

HERE = Path(__file__).parent
FIELDS = ["workload", "keys", "n", "contender", "records", "wall_s", "cpu_s", "records_per_s", "cpu_us_per_record"]
SIZES = [2**6, 2**10, 2**12, 2**14]
RATIOS = [10, 600, 3600]
FEW = 2_000
WARM: set[str] = set()


@dataclass(frozen=True)
class Contender:
    """One way to compute something: a stream of readings in, something to wait for out. ``records``: how many."""

    name: str
    run: Callable[[Readings], Any]
    records: int


class Readings:
    """A job's environment, and its readings as a stream and as a table: plug, t (ms), load."""

    def __init__(self, records: int, keys: int) -> None:
        from pyflink.table import StreamTableEnvironment

        self.env = sash_flink.environment(1, {"python.fn-execution.bundle.size": "10000"})
        self.t_env = StreamTableEnvironment.create(self.env)
        self.t_env.get_config().set_local_timezone("UTC")
        self.t_env.execute_sql(
            "CREATE TEMPORARY TABLE ids (id BIGINT, proc AS PROCTIME(), "
            f"ts AS TO_TIMESTAMP_LTZ((id / {keys}) * 1000, 3), "
            "WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND) WITH ('connector' = 'datagen', "
            f"'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '{records - 1}', "
            "'rows-per-second' = '100000000')"
        )
        self.plug, self.load = f"CAST(MOD(id, {keys}) AS INT)", "CAST(MOD(id * 7919, 1000003) AS DOUBLE)"
        self.select = f"SELECT {self.plug} AS plug, ts, {self.load} AS `load`, proc FROM ids"

    def stream(self) -> DataStream:
        """Plug, time and load."""
        return self.t_env.to_data_stream(self.t_env.sql_query(f"SELECT plug, ts, `load` FROM ({self.select})"))

    def sink(self, stream: DataStream) -> None:
        """Run the job; results go nowhere."""
        from pyflink.java_gateway import get_gateway

        sink = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()
        stream._j_data_stream.sinkTo(sink)
        self.env.execute("bench")

    def sql(self, query: str, columns: str) -> None:
        """The same for SQL."""
        self.t_env.execute_sql(f"CREATE TEMPORARY TABLE nowhere ({columns}) WITH ('connector' = 'blackhole')")
        self.t_env.execute_sql(f"INSERT INTO nowhere {query}").wait()


def ours(query: sash.Query, **options: Any) -> Callable[[Readings], Any]:
    return lambda readings: readings.sink(sash_flink.aggregate(readings.stream(), query, **options))


def count_query(n: int) -> sash.Query:
    return sash.Query(key="plug", windows=sash.sliding(n), aggregates={"peak": sash.Max("load")})


def time_query(ratio: int) -> sash.Query:
    return sash.Query(
        key="plug", windows=sash.sliding(f"{ratio}s", "1s"), aggregates={"peak": sash.Max("load")}, time="ts"
    )


def over(n: int) -> Callable[[Readings], Any]:
    window = f"(PARTITION BY plug ORDER BY proc ROWS BETWEEN {n - 1} PRECEDING AND CURRENT ROW)"
    return lambda readings: readings.sql(
        f"SELECT plug, MAX(`load`) OVER {window} FROM ({readings.select})", "plug INT, peak DOUBLE"
    )


def hop(ratio: int) -> Callable[[Readings], Any]:
    def run(readings: Readings) -> None:
        view = readings.t_env.sql_query(f"SELECT {readings.plug} AS plug, ts, {readings.load} AS `load` FROM ids")
        readings.t_env.create_temporary_view("readings", view)
        readings.sql(
            "SELECT plug, window_start, MAX(`load`) FROM HOP(TABLE readings, DESCRIPTOR(ts), INTERVAL '1' SECOND, "
            f"INTERVAL '{ratio}' SECOND({len(str(ratio))})) GROUP BY plug, window_start, window_end",
            "plug INT, s TIMESTAMP(3), peak DOUBLE",
        )

    return run


def count_window(n: int) -> Callable[[Readings], Any]:
    def run(readings: Readings) -> None:
        keyed = readings.stream().key_by(lambda row: row[0])
        readings.sink(keyed.count_window(n, 1).reduce(lambda a, b: a if a[2] >= b[2] else b))

    return run


def identity(readings: Readings) -> None:
    """A keyed process function that does nothing, on rows of the same columns, keyed in the JVM as ours are."""
    from identity_function import identity_stream

    readings.sink(identity_stream(readings.stream()))


def count_cases(records: int) -> Iterator[tuple[str, int, int, list[Contender]]]:
    slow = max(records // 10, 4 * FEW)
    for keys in (84, 8):
        for n in SIZES:
            contenders = [
                Contender("sash packed", ours(count_query(n)), records),
                # Its cost is that of a full window: the records must fill the windows of all keys, and some more.
                Contender("SQL OVER", over(n), max(slow // max(1, n // 1024), keys * n * 5 // 4)),
            ]
            if keys == 84:
                contenders.append(Contender("sash by record", ours(count_query(n), packed=False), slow))
            if keys == 84 and n == 2**10:
                contenders.append(Contender("identity", identity, slow))
                contenders.append(Contender("count_window", count_window(n), 3 * FEW))
            yield "count", keys, n, contenders


def time_cases(records: int) -> Iterator[tuple[str, int, int, list[Contender]]]:
    for ratio in RATIOS:
        yield (
            "time",
            84,
            ratio,
            [
                Contender("sash packed", ours(time_query(ratio)), records),
                Contender("SQL HOP", hop(ratio), max(records // 10 // max(1, ratio // 60), 2 * FEW)),
            ],
        )


def measured(contender: Contender, records: int, keys: int) -> tuple[float, float]:
    """Wall and CPU seconds of a run."""
    readings = Readings(records, keys)
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(ended,))
    wall, cpu = time.perf_counter(), cpu_seconds()
    watch.start()
    try:
        contender.run(readings)
        return time.perf_counter() - wall, cpu_seconds() - cpu
    finally:
        ended.set()
        watch.join()


def _watch(ended: threading.Event) -> None:
    """Workers end with their job: what they have spent must have been seen before."""
    while not ended.wait(0.2):
        cpu_seconds()


def bench(workload: str, keys: int, n: int, contender: Contender) -> dict[str, Any]:
    if contender.name not in WARM:  # the first job of a kind loads classes and compiles kernels
        measured(contender, FEW, keys)
        WARM.add(contender.name)
    few = measured(contender, FEW, keys)
    many = measured(contender, contender.records, keys)
    records = contender.records - FEW
    wall, cpu = (max(b - a, 1e-9) for a, b in zip(few, many, strict=True))
    values = [workload, keys, n, contender.name, records, round(wall, 3), round(cpu, 3)]
    return dict(zip(FIELDS, [*values, round(records / wall), round(cpu / records * 1e6, 2)], strict=True))


def facts(records: int) -> dict[str, Any]:
    packages = ["sash", "apache-flink", "pyarrow", "numpy", "numba"]
    return {
        "records": records,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in packages},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--only", help="such as count-84-1024: runs whose name begins so, of contenders after a colon")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, help="make the tables from this file again")
    options = parser.parse_args()
    if options.table:
        with options.table.open(newline="") as file:
            print("\n\n".join(Results(csv.DictReader(file)).tables()))
        return
    out = options.out or (HERE.parent / "build" if options.only else HERE / "results") / "flink.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    prefix, _, names = (options.only or "").partition(":")
    rows = []
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for workload, keys, n, contenders in [*count_cases(options.records), *time_cases(options.records)]:
            if not f"{workload}-{keys}-{n}".startswith(prefix):
                continue
            for contender in contenders:
                if names and contender.name not in names.split(","):
                    continue
                rows.append(bench(workload, keys, n, contender))
                writer.writerow(rows[-1])
                file.flush()
                print({name: rows[-1][name] for name in FIELDS if name != "wall_s"}, flush=True)
    out.with_suffix(".json").write_text(json.dumps(facts(options.records), indent=1) + "\n")
    print("\n\n".join(Results(rows).tables()))


if __name__ == "__main__":
    main()
