"""The dashboard of ``slicing-fig17`` inside the engines: M4 over 80 concurrent windows a key, by parallel tasks.

    python -m sash_experiments.dashboard_on_engines spark --parallelism 1 2 4
    python -m sash_experiments.dashboard_on_engines flink --parallelism 1 2 4

Sash cuts each key's readings into slices, once for all windows. The engine's own way is a query for each window, all of
them in one job, since neither engine shares work between windows. Both have to give as many results before they are
timed. Readings are made in the engine, 2000 a second of all keys together. A job on few readings comes before each, and
the difference is what counts. Raw results: ``slicing-fig17-{spark,flink}.csv``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sash
import sash_flink
import sash_spark
from sash_experiments.benchmarks.flink.contenders import Readings
from sash_experiments.benchmarks.slicing.football import RATE, lengths
from sash_experiments.benchmarks.spark.session import session
from sash_experiments.machine import facts
from sash_experiments.raw import FIELDS, PYTHON, Measured, results_folder, saving

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FlinkDashboard", "SparkDashboard", "measured"]

FEW = 4 * RATE
"""Readings of the job that measures the fixed cost of a job."""
OURS, OWN = "sash", "a query a window"


def query_of(windows: int) -> sash.Query:
    """M4 of the load in each of so many windows of 1 to 20 s, by plug."""
    named = {f"w{number}": sash.tumbling(f"{size}ms") for number, size in enumerate(lengths(windows))}
    return sash.Query(windows=named, aggregates={"result": sash.M4("load")}, key="plug", time="ts")


class SparkDashboard:
    """Batch jobs on one local Spark with so many cores."""

    def __init__(self, parallelism: int, windows: int, keys: int, folder: Path) -> None:
        self.spark: SparkSession = session(folder, parallelism, parallelism)
        self.windows, self.keys, self.parallelism = windows, keys, parallelism

    def _readings(self, rows: int) -> DataFrame:
        ids = self.spark.range(0, rows, 1, self.parallelism)
        load = "CAST((id * 7919) % 1000003 AS DOUBLE) AS load"
        return ids.selectExpr(
            f"CAST(id % {self.keys} AS INT) AS plug", f"timestamp_micros(id * {10**6 // RATE}) AS ts", load
        )

    def _results(self, name: str, rows: int) -> DataFrame:
        from pyspark.sql import functions as F

        readings = self._readings(rows)
        if name == OURS:
            return sash_spark.aggregate(readings, query_of(self.windows))
        found: DataFrame | None = None
        parts = F.min_by("load", "ts"), F.max_by("load", "ts"), F.min("load"), F.max("load")
        for size in lengths(self.windows):
            window = F.window("ts", f"{size} milliseconds")
            part = readings.groupBy("plug", window).agg(*parts)
            found = part if found is None else found.unionAll(part)
        assert found is not None
        return found

    def run(self, name: str, rows: int) -> None:
        """A job whose results go nowhere."""
        self._results(name, rows).write.format("noop").mode("overwrite").save()

    def count(self, name: str, rows: int) -> int:
        """The number of results."""
        return self._results(name, rows).count()

    def close(self) -> None:
        """End the session."""
        self.spark.stop()


class _Football(Readings):
    """Readings at the rate of the football."""

    def time(self, number: str) -> str:
        return f"TO_TIMESTAMP_LTZ({number} / {RATE // 1000}, 3)"


class FlinkDashboard:
    """Streams on an embedded Flink with so many slots."""

    def __init__(self, parallelism: int, windows: int, keys: int, folder: Path) -> None:
        self.windows, self.keys, self.parallelism = windows, keys, parallelism

    def _readings(self, rows: int) -> _Football:
        readings = _Football(rows, self.keys)
        readings.env.set_parallelism(self.parallelism)
        return readings

    def _ours(self, readings: _Football) -> Any:
        return sash_flink.aggregate(readings.stream("plug, ts, `load`"), query_of(self.windows))

    def _own(self, readings: _Football) -> str:
        view = readings.t_env.sql_query(f"SELECT {readings.plug} AS plug, ts, {readings.load} AS `load` FROM ids")
        readings.t_env.create_temporary_view("readings", view)
        parts = "FIRST_VALUE(`load`), LAST_VALUE(`load`), MIN(`load`), MAX(`load`)"
        return " UNION ALL ".join(
            f"SELECT plug, {parts} FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), "
            f"INTERVAL '{size / 1000:.3f}' SECOND(2, 3)) GROUP BY plug, window_start, window_end"
            for size in lengths(self.windows)
        )

    def run(self, name: str, rows: int) -> None:
        """A job whose results go nowhere."""
        readings = self._readings(rows)
        if name == OURS:
            readings.sink(self._ours(readings))
        else:
            columns = "plug INT, a DOUBLE, b DOUBLE, c DOUBLE, d DOUBLE"
            readings.sql(self._own(readings), columns)

    def count(self, name: str, rows: int) -> int:
        """The number of results."""
        from pyflink.common import Types

        readings = self._readings(rows)
        if name == OURS:
            with self._ours(readings).map(lambda row: 1, Types.INT()).execute_and_collect() as results:
                return sum(1 for _ in results)
        with readings.t_env.execute_sql(self._own(readings)).collect() as results:
            return sum(1 for _ in results)

    def close(self) -> None:
        """Nothing: a job ends with its input."""


ENGINES: dict[str, Callable[[int, int, int, Path], SparkDashboard | FlinkDashboard]] = {
    "spark": SparkDashboard,
    "flink": FlinkDashboard,
}


def measured(
    engine: str, parallelisms: Sequence[int], windows: int, keys: int, rows: int, rounds: int
) -> Iterator[Measured]:
    """Readings a second by parallel tasks, what the start of a job costs left out."""
    for parallelism in parallelisms:
        with tempfile.TemporaryDirectory() as folder:
            dashboard = ENGINES[engine](parallelism, windows, keys, Path(folder))
            try:
                counts = {name: dashboard.count(name, FEW) for name in (OURS, OWN)}
                if len(set(counts.values())) > 1:
                    raise SystemExit(f"{engine}: the numbers of results differ, nothing to compare: {counts}")
                for number in range(rounds):
                    for name in counts:
                        seconds = _seconds(dashboard, name, rows) - _seconds(dashboard, name, FEW)
                        if seconds > 0:
                            rate = (rows - FEW) / seconds
                            yield Measured(engine, str(parallelism), name, number, "readings/s", rate, PYTHON)
            finally:
                dashboard.close()


def _seconds(dashboard: SparkDashboard | FlinkDashboard, name: str, rows: int) -> float:
    begin = time.perf_counter()
    dashboard.run(name, rows)
    return time.perf_counter() - begin


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=list(ENGINES))
    parser.add_argument("--parallelism", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--windows", type=int, default=80)
    parser.add_argument("--keys", type=int, default=84)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, help="where raw results are kept")
    options = vars(parser.parse_args(arguments))
    folder = options.pop("results") or results_folder()
    engine, parallelisms = options["engine"], options.pop("parallelism")
    about = facts(experiment=f"slicing-fig17-{engine}", parallelism=parallelisms, **options)
    rows = measured(parallelisms=parallelisms, **options)
    for row in saving(folder / f"slicing-fig17-{engine}.csv", FIELDS, rows, about):
        print(f"{row.panel}, {row.x} tasks, {row.series}: {row.value:,.0f} {row.unit}", flush=True)


if __name__ == "__main__":
    main()
