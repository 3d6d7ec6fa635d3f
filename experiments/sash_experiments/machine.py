"""What measured numbers depend on: the machine and the versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["facts", "processor"]


def facts(packages: Iterable[str] = ("sash", "numpy", "numba"), **more: Any) -> dict[str, Any]:
    """Python, packages, machine, how busy it was before, the day; and what else the numbers depend on."""
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
        "machine": platform.machine(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
        "system": platform.system(),
        **more,
        "date": time.strftime("%Y-%m-%d"),
    }


def processor() -> str:
    """The processor's name, where it can be told."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
