"""What the parts of ``make bench-spark`` share: what is spent and by whom, the raw results' columns, a local Spark."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from process_tree import cpu_seconds, processes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FIELDS", "Row", "Spent", "row", "say", "session"]

FIELDS = [
    *("workload", "n", "contender", "round", "rows", "wall_s", "cpu_s", "rows_per_s", "cpu_s_per_million"),
    *("python_s", "compiler_s", "collector_s"),
]
Row = dict[str, Any]


@dataclass(frozen=True)
class Spent:
    """Seconds: of the wall, of CPU in all processes, and of these in Python and in two kinds of the JVM's threads."""

    wall: float
    cpu: float
    python: float
    compiler: float
    collector: float

    @staticmethod
    def now() -> Spent:
        """Since the beginning."""
        cpu = cpu_seconds()
        jvms = [(pid, spent) for pid, parent, _, spent in processes() if parent == os.getpid() and _name(pid) == "java"]
        for pid, _ in jvms:
            THREADS.update(_threads(pid))
        python = cpu - sum(spent for _, spent in jvms)
        compiler = sum(spent for (_, name), spent in THREADS.items() if "Compiler" in name)
        collector = sum(spent for (_, name), spent in THREADS.items() if name.startswith(("GC ", "G1 ", "VM Thread")))
        return Spent(time.perf_counter(), cpu, python, compiler, collector)

    def since(self, before: Spent) -> Spent:
        """What was spent after ``before``."""
        pairs = zip(vars(self).values(), vars(before).values(), strict=True)
        return Spent(*(now - then for now, then in pairs))


THREADS: dict[tuple[int, str], float] = {}  # those that ended, too: idle ones of the compiler do


def _threads(pid: int) -> Iterator[tuple[tuple[int, str], float]]:
    tick = os.sysconf("SC_CLK_TCK")
    for entry in Path(f"/proc/{pid}/task").iterdir():
        try:
            before, _, after = (entry / "stat").read_text().rpartition(")")
        except OSError:  # it has just ended
            continue
        fields = after.split()
        yield (int(entry.name), before.partition("(")[2]), (int(fields[11]) + int(fields[12])) / tick


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:  # it has just ended
        return ""


def row(workload: str, n: int, contender: str, rows: int, spent: Spent, number: int = 0) -> Row:
    """A raw result: what was spent on so many rows."""
    say(f"{workload}, {n:,}: {contender}, {rows:,} rows, {spent.cpu:.1f} CPU s, {spent.wall:.1f} s")
    speeds = (round(rows / spent.wall), round(spent.cpu / rows * 1e6, 4))
    parts = (round(each, 3) for each in (spent.python, spent.compiler, spent.collector))
    cells = (workload, n, contender, number, rows, round(spent.wall, 3), round(spent.cpu, 3), *speeds, *parts)
    return dict(zip(FIELDS, cells, strict=True))


def say(text: str) -> None:
    """Progress."""
    print(f"  {text}", file=sys.stderr, flush=True)


def session(folder: Path) -> SparkSession:
    """A local Spark with two workers, whose files are in ``folder``."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    os.environ.setdefault("PYTHONWARNINGS", "ignore::FutureWarning")  # pandas, of what PySpark does, at each group
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder.master("local[2]").appName("sash-bench")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.adaptive.coalescePartitions.enabled": False,  # few rows are to warm both workers too
        "spark.sql.execution.arrow.maxRecordsPerBatch": 100_000,
        "spark.sql.execution.arrow.maxBytesPerBatch": 2**31 - 1,  # else Spark adds up a batch's bytes at each row
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    made: SparkSession = builder.getOrCreate()
    made.sparkContext.setLogLevel("FATAL")  # at 3600 F.window is too long to compile, at length
    return made
