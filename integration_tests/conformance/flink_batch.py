"""The batch job of all cases, in a process of its own: ``python -m …conformance.flink_batch FILE WAY``.

In a batch Flink runs one case after the other, and a worker process for each would take seconds to start: here Python
runs in threads of the JVM, of which a JVM that other jobs use should know nothing.
"""

from __future__ import annotations

import faulthandler
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIMIT = 420
"""Seconds, after which it tells where its threads are, and ends."""


def rows_by_case(folder: Path, way: str) -> dict[str, list[Mapping[str, Any]]]:
    """What the job gives, by the name of the case; ``way``: packed, by record or two phases."""
    output = folder / "rows.pickle"
    command = [sys.executable, "-m", __spec__.name, str(output), way]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT + 60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, list[Mapping[str, Any]]] = pickle.loads(output.read_bytes())
    return found


def main(output: Path, way: str) -> None:
    import sash_flink

    from .flink import IN_TWO_PHASES, run_cases

    faulthandler.dump_traceback_later(LIMIT, exit=True)
    env = sash_flink.environment(1, {"python.execution-mode": "thread"})
    options: dict[str, Any] = {"packed": way == "packed"}
    if way == "two phases":
        options = {"cases": IN_TWO_PHASES, "salted": True}
    output.write_bytes(pickle.dumps(run_cases(env, output.parent, batch=True, **options)))
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
