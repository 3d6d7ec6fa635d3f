"""Preparation of a Python worker of Spark."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import warnings
import zipimport
from typing import TYPE_CHECKING

from pyspark import TaskContext

from sash.spi import hold_pool, keep_freed_memory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_python", "settle"]


def settle() -> None:
    """Spare a worker, which runs task after task, what it would repeat for each of them.

    Before a task it calls ``importlib.invalidate_caches``, and reads all zipped packages again, a quarter of a second:
    pyspark.zip does not change while it lives. After a task it collects garbage among all objects there are, most of
    them of modules (some 0.05 s with Numba's): those that are there are left out from the second call on, and from the
    fourth, the eighth, … those that have come by then, so that what dies later is left out only so often. Memory that
    a batch frees is kept for the next one.

    A task has as many threads as ``spark.task.cpus`` gives it cores, its own included.
    """
    global _calls
    zipimport.zipimporter.invalidate_caches = lambda self: None  # type: ignore[method-assign]
    _calls += 1
    if _calls == 1:
        keep_freed_memory()
        if (task := TaskContext.get()) is not None:  # None: this is no worker
            hold_pool(task.cpus() - 1)  # for good: a worker runs tasks of one application
    if _calls & (_calls - 1) == 0 and _calls > 1:
        gc.freeze()


_calls = 0


def check_python(spark: SparkSession) -> None:
    """Warn if local workers would run another Python than this one, where Sash may be missing."""
    context = getattr(spark, "sparkContext", None)
    if context is None or not str(context.master).startswith("local"):
        return
    found = shutil.which(context.pythonExec) or context.pythonExec
    if os.path.dirname(os.path.abspath(found)) != os.path.dirname(os.path.abspath(sys.executable)):
        warnings.warn(
            f"Spark's workers run {found!r}, not this Python: set PYSPARK_PYTHON={sys.executable} before Spark starts",
            stacklevel=3,
        )
