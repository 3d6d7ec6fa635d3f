"""An environment that PyFlink jobs start in without trouble: interpreter, workers, logs and Java are seen to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping

from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment

from sash_flink.loopback import create_environment

__all__ = ["check_java", "environment"]

_OLDEST = 17


def environment(
    parallelism: int | None = None, settings: Mapping[str, str] | None = None, workers: bool = True
) -> StreamExecutionEnvironment:
    """An environment whose Python workers run this interpreter; ``settings`` are options of Flink by name.

    An embedded cluster is reachable from this machine only, and takes no jobs but this program's, unless ``settings``
    say otherwise (:mod:`sash_flink.loopback`). A real cluster keeps its own addresses.

    With ``workers`` an embedded cluster has Python processes of its own, one a slot, as a real one has; else all Python
    functions of all slots share this process and its lock. Logs go to a folder of their own instead of into the
    installation, unless ``FLINK_LOG_DIR`` names one.
    """
    check_java()
    os.environ.setdefault("FLINK_LOG_DIR", os.path.join(tempfile.gettempdir(), f"sash-flink-{os.getpid()}"))
    os.makedirs(os.environ["FLINK_LOG_DIR"], exist_ok=True)
    if workers:
        os.environ.setdefault("_python_worker_execution_mode", "process")
    if (settings or {}).get("python.execution-mode") == "thread":  # there the JVM runs the first Python that it finds
        os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    made = Configuration()
    for name, value in {
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        **(settings or {}),
    }.items():
        made.set_string(name, value)
    env = create_environment(made, settings or {})
    if parallelism is not None:
        env.set_parallelism(parallelism)
    return env


def check_java() -> None:
    """Say in a sentence if there is no Java that Flink runs on. It is looked for where PyFlink looks."""
    home = os.environ.get("JAVA_HOME")
    command = os.path.join(home, "bin", "java") if home else shutil.which("java")
    where = f"JAVA_HOME={home}" if home else "PATH"
    if not command or not os.path.exists(command):
        raise RuntimeError(
            f"Flink needs Java {_OLDEST} or newer, and there is none in {where}: install one, such as "
            "openjdk-17-jre-headless"
        )
    told = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(\d+)', told.stderr + told.stdout)
    if found is None or int(found[1]) < _OLDEST:
        version = found[1] if found else "of an unknown version"
        raise RuntimeError(
            f"Flink needs Java {_OLDEST} or newer; the one in {where} is {version}: point JAVA_HOME to a newer one"
        )
