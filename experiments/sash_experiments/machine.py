"""What measured numbers depend on: the commit, the machine and the versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["commit", "facts", "processor"]


def facts(packages: Iterable[str] = ("sash", "numpy", "numba"), **more: Any) -> dict[str, Any]:
    """Python, packages, the commit, machine, how busy it was before, the day; and what else the numbers depend on."""
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
        "commit": commit(),
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


def commit() -> str | None:
    """The commit of the checkout that this is, with a plus if files were changed since; None: it is no checkout."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--abbrev=12", "--dirty=+"]
    try:
        asked = subprocess.run([*command, "--exclude=*"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return asked.stdout.strip() or None
