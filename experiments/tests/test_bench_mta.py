"""The benchmark of windows with slide policies runs, in sizes that mean nothing: every table and plot is made."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

import sash
from sash.aggregations.custom import Together
from sash.aggregators import AMTA, Recalc
from sash_experiments.benchmark import Case, check
from sash_experiments.benchmarks.mta.bench import reached, timed
from sash_experiments.benchmarks.mta.contenders import IN_MEMORY, Places
from sash_experiments.benchmarks.mta.policies import POLICIES, contenders, readings, rising_run, slide
from sash_experiments.children import in_child
from sash_experiments.verdicts import judged


def test_every_experiment_runs(tmp_path: Path) -> None:
    output, page = tmp_path / "mta.csv", tmp_path / "page.md"
    page.write_text("before\n<!-- bench-mta: begin -->\n<!-- bench-mta: end -->\nafter\n", encoding="utf-8")
    sizes = (
        "--sizes 0 6 --largest 8 --dimensions-size 6 --smallest-held 8 --largest-held 8 --budget 0.01 "
        "--limits 8 --counts 1 3"
    ).split()
    contenders = ["--contenders", "Recalc", "DABA", "AMTA", "AMTA, LMDB", "LogMTA, RocksDB", "AMTA, Redis"]
    command = [
        sys.executable,
        "-m",
        "sash_experiments",
        "bench",
        "mta",
        *sizes,
        *contenders,
        f"--output={output}",
        f"--docs={page}",
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert output.with_suffix(".json").exists()
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("after\n")
    for title in [
        "constant size",
        "leave at once",
        "all six together",
        "Memory of the process",
        "| goal |",
        "Policies",
        "so many MB",
        "So many counts",
    ]:
        assert title in text
    for name in ("latency", "bulk", "memory"):
        assert len(list(ElementTree.parse(tmp_path / f"mta-{name}.svg").getroot())) > 10
    assert "not run" not in {each.verdict for each in judged(tmp_path) if each.claim.experiment.startswith("mta")}


def test_policies_let_go_what_is_older_than_the_maximum_or_the_longest_run() -> None:
    """All contenders are compared with the policy read literally; some values leave together."""
    for kind, (create, limit) in POLICIES.items():
        check(Case({"kind": kind}, list(contenders(kind, 64, list(IN_MEMORY), Places(Path(), ""), timed, 0.0))))
        window = AMTA(Together([sash.Count(), create()]))
        step, sizes = slide(window, limit(40)), [0]
        for value in readings(600, 150):
            step(value)
            sizes.append(len(window))
        assert max(sizes) <= 40 and max(before - after for before, after in pairwise(sizes)) > 5


def test_the_longest_rising_run_is_found_with_its_place() -> None:
    window = Recalc(rising_run())
    window.insert_many([5, 1, 2, 2, 3, 4, 1, 2, 3])
    assert window.query() == (3, 3)  # 2 3 4, the oldest of two


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_window_in_a_store_outgrows_the_memory_that_its_process_may_have() -> None:
    reachable = {name: next(in_child(reached, name, "", 4, 1 << 16))["steps"] for name in ("AMTA", "AMTA, LMDB")}
    assert reachable["AMTA"] < reachable["AMTA, LMDB"] == 1 << 16
