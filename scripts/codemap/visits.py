"""The files of the core that a row and a batch pass through: those whose functions are entered.

    keyed query, time window │ warm up │ a row that completes nothing │ a row that completes windows │ a batch

Run as a program, it prints the files of each in JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from codemap.layers import CORE

__all__ = ["visits"]


def visits() -> dict[str, list[str]]:
    """The files that are visited by a quiet row, by a row that completes a window and by a batch. Some seconds."""
    path = os.pathsep.join([str(CORE.parent), str(Path(__file__).parents[1])])
    program = [sys.executable, "-m", "codemap.visits"]
    done = subprocess.run(program, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    files: dict[str, list[str]] = json.loads(done.stdout)
    return files


def _visited(work: Callable[[], Any]) -> list[str]:
    """The files of the core whose functions are entered while it works."""
    files: set[str] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return sorted(Path(file).relative_to(CORE).as_posix() for file in files if file.startswith(f"{CORE}{os.sep}"))


def _traced() -> dict[str, list[str]]:
    import numpy as np

    import sash

    window = sash.sliding("10s", "5s")
    query = sash.Query(key="plug", windows=window, aggregates={"peak": sash.Max("load")}, time="ts")
    op = sash.Operator(query)
    rows = [{"plug": "a", "ts": datetime(2024, 3, 1) + timedelta(seconds=at), "load": at % 7.0} for at in range(1000)]
    for row in rows[:501]:
        op.process(row)
    quiet = _visited(lambda: op.process(rows[501]))  # the row of 500 s has completed a window, that of 505 s does
    completing = _visited(lambda: _expect_results(op.process(rows[505])))
    op = sash.Operator(query)
    batches = [{name: np.array([row[name] for row in rows[at : at + 100]]) for name in rows[0]} for at in _HUNDREDS]
    for batch in batches[:-1]:
        op.process_batch(batch)
    return {"quiet row": quiet, "completing row": completing, "batch": _visited(lambda: op.process_batch(batches[-1]))}


_HUNDREDS = range(0, 1000, 100)


def _expect_results(rows: list[Any]) -> None:
    assert rows, "the row should have completed a window"


if __name__ == "__main__":
    json.dump(_traced(), sys.stdout)
