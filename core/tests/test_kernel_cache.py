"""Compiled kernels are kept on disk: what an older version of an aggregation compiled is never run for a newer one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import sash

PROGRAM = """
import sys
import sash
from sash.aggregations import means

if sys.argv[1] == "newer":
    def lower(partial):
        return 7.0 * partial[0]
    means._lower_geometric.__code__ = lower.__code__
print(sash.rolling([1.0, 4.0, 16.0], sash.GeometricMean(), range=2).round(6).tolist())
"""


def test_a_function_that_changed_is_compiled_anew(tmp_path: Path) -> None:
    program = tmp_path / "program.py"  # Numba keeps nothing of what is in no file
    program.write_text(PROGRAM, encoding="utf-8")

    def run(version: str) -> str:
        environment = {
            "NUMBA_CACHE_DIR": str(tmp_path),
            "SASH_COMPILE_ROWS": "0",
            "PYTHONPATH": ":".join(sys.path),
            "PATH": "",
        }
        command = [sys.executable, str(program), version]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    older = run("older")
    assert older == "[2.0, 8.0]\n"
    assert run("newer") == "[14.0, 14.0]\n"
    assert run("older") == older


def test_logarithms_of_large_unsigned_numbers() -> None:
    values = np.array([2**63 + 2**20, 2**64 - 2**20], np.uint64)
    assert np.allclose(sash.rolling(values, sash.GeometricMean(), range=1), values.astype(np.float64))
