"""What the parts of ``bench spark`` share: a local Spark, and what is spent and by whom."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sash.cli.processes import cpu_seconds, processes
from sash_experiments.benchmark import Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Spent", "session"]


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

    def row(self, rows: int) -> Row:
        """The numbers of a raw result: what was spent since then on so many rows."""
        now = Spent.now()
        spent = {f"{name}_s": round(after - vars(self)[name], 3) for name, after in vars(now).items()}
        speeds = {"rows_per_s": round(rows / (now.wall - self.wall))}
        speeds["cpu_s_per_million"] = round((now.cpu - self.cpu) / rows * 1e6, 4)  # type: ignore[assignment]
        return {"rows": rows, **spent, **speeds}


THREADS: dict[tuple[int, str], float] = {}
"""CPU seconds of threads, those that ended included: idle ones of the compiler do."""


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


def session(folder: Path, cores: int = 2, tasks: int = 2, settings: Mapping[str, Any] | None = None) -> SparkSession:
    """A local Spark whose files are in ``folder``, or the one that SPARK_MASTER names."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("PYTHONWARNINGS", "ignore::FutureWarning")  # pandas, of what PySpark does, at each group
    from pyspark.sql import SparkSession

    fixed = {
        "spark.driver.memory": "2g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": tasks,
        "spark.sql.adaptive.coalescePartitions.enabled": False,  # few rows are to warm all workers too
        "spark.sql.execution.arrow.maxRecordsPerBatch": 100_000,
        "spark.sql.execution.arrow.maxBytesPerBatch": 2**31 - 1,  # else Spark adds up a batch's bytes at each row
        "spark.eventLog.enabled": False,
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
    }
    if "SPARK_MASTER" not in os.environ:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        fixed |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        fixed |= {"spark.local.dir": str(folder / "local")}
    builder: Any = SparkSession.builder.appName("sash-bench")
    builder = builder.master(os.environ.get("SPARK_MASTER", f"local[{cores}]"))
    for name, value in {**fixed, **(settings or {})}.items():
        builder = builder.config(name, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("FATAL")  # at 3600 F.window is too long to compile, at length
    return spark
