"""All benchmarks. Each is imported when it is run: some need an engine."""

from __future__ import annotations

import importlib

from sash_experiments.benchmark import Benchmark

__all__ = ["NAMES", "find"]

NAMES = ("aggregators", "rolling", "local", "slicing", "mta", "spark", "flink", "scalability")


def find(name: str) -> Benchmark:
    """A benchmark by its name."""
    module = importlib.import_module(f"{__name__}.{name}.bench")
    found: Benchmark = module.BENCHMARK
    return found
