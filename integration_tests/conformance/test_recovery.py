"""Exactly once: the driver of a file-to-file stream is killed at random points, and the output is the oracle's."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from .rows import sorted_rows
from .spark_driver import FILES, STREAM

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
KILLS = 3


def test_a_spark_driver_that_is_killed_loses_and_doubles_nothing(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    size = -(-len(STREAM.rows) // FILES)
    for number in range(FILES):
        path = tmp_path / "in" / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(STREAM.rows[number * size : (number + 1) * size], STREAM.arrow), path)
        os.utime(path, (10**9 + number, 10**9 + number))

    seed = int(os.environ.get("SASH_KILL_SEED", "7"))
    chance = random.Random(seed)
    done = [_run_and_kill(tmp_path, chance) for _ in range(KILLS)]
    subprocess.run([*_command(tmp_path), "--finish"], cwd=ROOT, check=True, capture_output=True, timeout=300)

    assert done == sorted(done)
    assert 0 < done[-1] < FILES, f"kills came when {done} of {FILES} micro-batches were done"
    found = [row.asDict() for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    assert sorted_rows(STREAM.query, found) == sorted_rows(STREAM.query, STREAM.streamed())


def _command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "integration_tests.conformance.spark_driver", str(folder)]


def _run_and_kill(folder: Path, chance: random.Random) -> int:
    """Run the driver for some micro-batches more, and kill it in the midst of one; how many are done by then."""
    commits = folder / "checkpoint" / "commits"
    goal = _count(commits) + chance.choice([1, 1, 2])
    with (folder / "log").open("ab") as log:
        driver = subprocess.Popen(_command(folder), cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
        try:
            end = time.monotonic() + 150
            while _count(commits) < goal and driver.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
            time.sleep(chance.random() * 1.2)
        finally:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
    assert driver.returncode == -signal.SIGKILL, (folder / "log").read_text()[-2000:]
    return _count(commits)


def _count(commits: Path) -> int:
    return len([path for path in commits.glob("*") if path.name.isdigit()]) if commits.exists() else 0
