"""What is particular about a Python worker of Spark."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
import zipimport
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_python", "keep_import_caches"]


def keep_import_caches() -> None:
    """Keep zipped packages from being read again for every task, which costs a quarter of a second each.

    A worker calls ``importlib.invalidate_caches`` before each task; pyspark.zip does not change while it lives.
    """
    zipimport.zipimporter.invalidate_caches = lambda self: None  # type: ignore[method-assign]


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
