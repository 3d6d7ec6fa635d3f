"""The demo on an embedded Spark, as ``make demo`` runs it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.engine
@pytest.mark.xdist_group("spark")
def test_the_demo_gives_the_same_rows_on_spark() -> None:
    command = [
        sys.executable,
        "-m",
        "sash_experiments.demo",
        "--rows=5000",
        "--range=100",
        "--engines",
        "spark",
        "nothing",
    ]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "the same query on spark gives the same 3,614 rows" in shown.stdout
    assert "nothing: not installed (No module named 'sash_nothing')" in shown.stdout
    assert not shown.stderr
