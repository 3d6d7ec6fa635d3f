"""The benchmark of the operator runs, in sizes that mean nothing: all contenders agree, and every table is made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sash_experiments.benches import SLICING
from sash_experiments.verdicts import judged

FROM_IT = {each.name for each in SLICING}


def test_every_part_runs(tmp_path: Path) -> None:
    output, page = tmp_path / "slicing.csv", tmp_path / "page.md"
    page.write_text("before\n<!-- slicing: begin -->\n<!-- slicing: end -->\nafter\n", encoding="utf-8")
    command = [sys.executable, "-m", "sash_experiments", "bench", "slicing", "--tiny", "--rounds=1"]
    command += [f"--output={output}", f"--readme={page}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert output.exists() and output.with_suffix(".json").exists()
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("after\n")
    for title in ["Goals", *(f"Figure {number}" for number in range(8, 17)), "Columns"]:
        assert title in text
    assert "not run" not in {each.verdict for each in judged(tmp_path) if each.claim.experiment in FROM_IT}
