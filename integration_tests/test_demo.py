"""The whole tour, as ``make demo`` runs it: here, on Spark and on Flink, one after the other in one process."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.engine
@pytest.mark.xdist_group("flink")
def test_the_demo_gives_the_same_rows_here_on_spark_and_on_flink() -> None:
    command = [
        sys.executable,
        "-m",
        "sash_experiments.demo",
        "--rows=5000",
        "--range=100",
        "--engines",
        "spark",
        "flink",
    ]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    for engine in ("spark", "flink"):
        assert f"the same query on {engine} gives the same 3,614 rows" in shown.stdout
    assert "plug 0, peak in watts" in shown.stdout and "sash generate debs14" in shown.stdout
    assert not shown.stderr
