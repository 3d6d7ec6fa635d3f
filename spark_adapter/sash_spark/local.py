"""A Spark for a command: in this process unless another one is named, and silent."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

__all__ = ["session"]


def session(name: str, tasks: int, log: Path) -> SparkSession:
    """The Spark that runs already; else one for so many tasks at a time, in this process unless SPARK_MASTER or
    spark-defaults name another. What its JVM has to say goes to ``log``. Some seconds.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings: dict[str, Any] = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": tasks,
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
    }
    master = os.environ.get("SPARK_MASTER", f"local[{tasks}]")
    if master.startswith("local"):  # nobody else has to reach it
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    builder: Any = SparkSession.builder.appName(name).master(master)
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    with _silent(log):
        made: SparkSession = builder.getOrCreate()
    return made


@contextmanager
def _silent(log: Path) -> Iterator[None]:
    """The JVM that is started meanwhile has its streams from this process: it writes to a file for all its life."""
    sys.stderr.flush()
    kept, file = os.dup(2), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.dup2(file, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(file)
