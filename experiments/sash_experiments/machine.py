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


def commit(checkout: Path = Path(__file__).parent) -> str | None:
    """The commit of the checkout that this is in, with a plus if code was changed since; None: it is no checkout.

    Raw results are no code: what has just been measured does not mark what is measured next.
    """
    head = _git(checkout, "rev-parse", "--short=12", "HEAD")
    if not head:
        return None
    changed = _git(checkout, "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)*/results/*")
    return f"{head}+" if changed else head


def _git(checkout: Path, *arguments: str) -> str:
    """What git prints; nothing if it fails or is not there."""
    try:
        asked = subprocess.run(["git", "-C", str(checkout), *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return asked.stdout.strip()
