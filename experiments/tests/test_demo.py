"""The whole tour, as ``make demo`` runs it: here, on Spark and on Flink, one after the other in one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.engine
def test_the_demo_gives_the_same_rows_here_on_spark_and_on_flink() -> None:
    options = "--rows=5000 --range=100 --engines spark flink nothing".split()
    shown = subprocess.run(
        [sys.executable, "-m", "sash_experiments.demo", *options], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    for engine in ("spark", "flink"):
        assert f"the same query on {engine} gives the same 3,614 rows" in shown.stdout
    assert "nothing: not installed (No module named 'sash_nothing')" in shown.stdout
    assert "plug 0, peak in watts" in shown.stdout and "sash generate debs14" in shown.stdout
    assert not shown.stderr


def test_make_runs_it_on_both_engines() -> None:
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    shown = subprocess.check_output(["make", "-n", "ARGS=", "demo"], cwd=ROOT, text=True, env=alone)
    assert shown.splitlines()[-1].strip() == ".venv/bin/python -m sash_experiments.demo --engines spark flink"


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("--algorithm=quantum", "algorithm must be"),
        ("--slide=2000", "is below slide"),
        ("--rows=-1", "not be negative"),
    ],
)
def test_the_demo_says_what_is_wrong(argument: str, words: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "sash_experiments.demo", argument], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 2 and words in shown.stderr and "Traceback" not in shown.stderr


@pytest.mark.parametrize("arguments", [[], ["--slide=7", "--range=100", "--algorithm=daba"], ["--rows=10"]])
def test_the_demo_runs(arguments: list[str]) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "sash_experiments.demo", "--rows=20000", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "rows/s" in shown.stdout and "recomputed from scratch, are the same" in shown.stdout
    assert not shown.stderr
