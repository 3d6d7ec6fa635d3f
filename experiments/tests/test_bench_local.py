"""The benchmark of the local runtime runs, in sizes that mean nothing: all contenders agree, and tables are made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_every_part_runs(tmp_path: Path) -> None:
    output, page = tmp_path / "local.csv", tmp_path / "page.md"
    page.write_text("before\n<!-- local: begin -->\n<!-- local: end -->\nafter\n", encoding="utf-8")
    command = [sys.executable, "-m", "sash_experiments", "bench", "local", "--rows=8000", "--rounds=1"]
    command += [f"--output={output}", f"--docs={page}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert output.exists() and output.with_suffix(".json").exists()
    assert {path.name for path in tmp_path.glob("*.svg")} == {"local-median.svg", "local-keys.svg"}
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("after\n")
    for title in (
        "`sash.run` by key",
        "Trailing windows by key",
        "Days of a time zone",
        "A table larger than memory",
        "`sash.rolling`",
        "First results",
        "`Operator.process`",
        "`sash.Operator` in batches",
        "Goals",
    ):
        assert title in text
