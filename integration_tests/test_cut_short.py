"""A run that is cut short on an engine leaves no output that looks whole, and no process. It listened on loopback."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path

import pytest

from .listening import listening, tree
from .waiting_job import SASH_RUN, waiting_job


@pytest.mark.engine
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("engine", ["spark", "flink"])
def test_a_run_that_is_ended_leaves_what_was_there(tmp_path: Path, engine: str, number: signal.Signals) -> None:
    (tmp_path / "results").mkdir()
    program = [*SASH_RUN, engine, "--output", "results/out", "--quiet"]
    with waiting_job(tmp_path, program) as process:
        found = listening(process.pid)
        beneath = [os.pidfd_open(pid) for pid in tree(process.pid) if pid != process.pid]
        process.send_signal(number)
        code = process.wait()
        for pid in beneath:  # readable when the process has ended
            select.select([pid], [], [])
            os.close(pid)
    assert code == (143 if number == signal.SIGTERM else 130), (tmp_path / "said").read_text()
    assert list((tmp_path / "results").iterdir()) == []
    assert sorted(path.name for path in (tmp_path / "scratch").iterdir()) == []
    assert len(found) > 1 and all(address.is_loopback for address, *_ in found), "as in test_listening.py"
