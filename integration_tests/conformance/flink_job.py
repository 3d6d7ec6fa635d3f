"""The job of the recovery tests, to be submitted to a cluster: ``flink run -py flink_job.py FOLDER packed|record``."""

from __future__ import annotations

import sys
from pathlib import Path

import sash_flink
from integration_tests.conformance.test_flink_recovery import endless

if __name__ == "__main__":
    folder, way = sys.argv[1:]
    # Restarts have to last until the cluster has noticed that a TaskManager is gone, which takes it five seconds.
    endless(sash_flink.environment(), Path(folder), 1, packed=way == "packed", delay="1s")
