"""The benchmark of ``make bench-flink``: jobs take turns, and its tables say what the raw results do."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sash_experiments.benchmark import is_chosen
from sash_experiments.benchmarks.flink.bench import groups
from sash_experiments.benchmarks.flink.tables import Results, tables


def turn(n: int, contender: str, number: int, records: int, wall: float, cpu: float) -> dict[str, Any]:
    case = {"workload": "count", "keys": "8", "n": str(n), "contender": contender, "turn": str(number)}
    return case | {"records": str(records), "wall_s": str(wall), "cpu_s": str(cpu), "worst_us": ""}


def test_tables_are_of_all_turns_together() -> None:
    rows = [
        turn(1024, "sash by record", 0, 1000, 1.0, 1.5),
        turn(1024, "identity", 0, 1000, 1.0, 1.0),
        turn(1024, "identity", 1, 1000, 3.0, 1.0),  # the machine was slow, or a bundle came late
        turn(1024, "sash by record", 1, 2000, 3.0, 1.5),
        turn(64, "sash by record", 0, 3000, 3.0, 3.6),
    ]
    results = Results(rows)
    key = ("count", 8, 1024, "sash by record")
    assert (results.speed[key], results.cpu[key]) == (750.0, 1000.0)
    text = "\n".join(tables(rows, {}))
    assert "| 1024 | 0.75 (1e+03) | 0.5 (1e+03) |" in text
    assert "| sash by record : identity, count 1024, 8 keys | ≥ 0.769 | 1.5 | 1 | yes |" in text
    assert "| sash by record is flat, 8 keys, most : least | ≤ 1.2 | 1.33 | 1.2 | by CPU only |" in text


def test_every_contender_has_a_name_of_its_own_and_can_be_chosen_by_it() -> None:
    names = [job.name for group in groups() for job in group]
    assert len(set(names)) == len(names) > 30
    assert [name for name in names if is_chosen(name, "count-8-64;count-8-1024:identity")] == [
        "count-8-64:sash packed",
        "count-8-64:sash by record",
        "count-8-1024:identity",
    ]
    assert all(is_chosen(name, None) for name in names)


@pytest.mark.engine
def test_jobs_take_turns_and_end(tmp_path: Path) -> None:
    out, page = tmp_path / "flink.csv", tmp_path / "page.md"
    page.write_text("before\n<!-- flink: begin -->\n<!-- flink: end -->\nafter\n", encoding="utf-8")
    options = "--turns 2 --seconds 1.5 --warm 0.5 --only".split()
    only = "count-84-64:sash packed;count-84-1024:source alone"
    command = [sys.executable, "-m", "sash_experiments", "bench", "flink", *options, only]
    command += [f"--out={out}", f"--readme={page}"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=500, env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    assert done.returncode == 0, done.stderr
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    packed, alone = "sash packed", "source alone"
    assert [(row["contender"], row["turn"]) for row in rows] == [
        (packed, "0"),
        (alone, "0"),
        (alone, "1"),
        (packed, "1"),
    ]
    for row in rows:
        assert int(row["records"]) > 0 and int(row["records_before"]) > 0
        assert 0.5 < float(row["wall_s"]) and 0 < float(row["cpu_s"])
    assert "| 64 | " in page.read_text(encoding="utf-8") and out.with_suffix(".json").exists()
    assert not [path for path in running() if str(tmp_path) in path]


def running() -> list[str]:
    """What processes of this machine have in their environments."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                found.append((entry / "environ").read_bytes().decode(errors="replace"))
            except OSError:  # it has ended
                continue
    return found
