"""The benchmark of windows with slide policies runs, in sizes that mean nothing: every table and plot is made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree


def test_every_experiment_runs(tmp_path: Path) -> None:
    output, page = tmp_path / "mta.csv", tmp_path / "page.md"
    page.write_text("before\n<!-- bench-mta: begin -->\n<!-- bench-mta: end -->\nafter\n", encoding="utf-8")
    sizes = "--sizes 0 6 --largest 8 --dimensions-size 6 --smallest-held 8 --largest-held 8 --budget 0.01".split()
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
    for title in ["constant size", "leave at once", "all six together", "Memory of the process", "| goal |"]:
        assert title in text
    for name in ("latency", "bulk", "memory"):
        assert len(list(ElementTree.parse(tmp_path / f"mta-{name}.svg").getroot())) > 10
