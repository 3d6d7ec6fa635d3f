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
from sash.aggregations import sums

if sys.argv[1] == "newer":
    _add = sums._add
    def halved(a, b, c, d):
        return _add(a, b, c, d)[0] / 2, 0
    halved.__module__ = sums.__name__
    sums._add = halved
    def combine(a, b):
        hi, lo = _newer_add(a[1], a[2], b[1], b[2])
        return (a[0] + b[0], hi, lo, a[3] + b[3], a[4] + b[4], a[5] + b[5])
    sums._newer_add = halved
    sums._combine_counted.__code__ = combine.__code__
print(sash.rolling([1.0, 4.0, 16.0], sash.GeometricMean(), range=2).round(6).tolist())
"""


def test_a_function_that_changed_is_compiled_anew(tmp_path: Path) -> None:
    def run(version: str) -> str:
        environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path), "PATH": ""}
        program = [sys.executable, "-c", PROGRAM, version]
        return subprocess.run(program, env=environment, capture_output=True, text=True, check=True).stdout

    older = run("older")
    assert older == "[2.0, 8.0]\n"
    assert run("newer") != older
    assert run("older") == older


def test_logarithms_of_large_unsigned_numbers() -> None:
    values = np.array([2**63 + 2**20, 2**64 - 2**20], np.uint64)
    assert np.allclose(sash.rolling(values, sash.GeometricMean(), range=1), values.astype(np.float64))
