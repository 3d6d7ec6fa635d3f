"""Runs conformance cases on the cluster, packed and by record, and pickles the rows: flink_cases.py OUT CASE …"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from integration_tests.conformance.cases import CASES
from integration_tests.conformance.flink import run_cases
from pyflink.datastream import StreamExecutionEnvironment

out, *names = sys.argv[1:]
Path(out).mkdir(parents=True, exist_ok=True)
chosen = [case for case in CASES if case.name in names]
found = {}
for way in ("packed", "record"):
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = run_cases(env, Path(out), False, chosen, packed=way == "packed", latency="5ms")
    found.update({(name, way): told for name, told in rows.items()})
    print(f"{way}: done", flush=True)
Path(out, "rows.pickle").write_bytes(pickle.dumps(found))
