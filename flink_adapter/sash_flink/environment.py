"""The environment of PyFlink jobs, with interpreter, workers, logs, Java and addresses set.

By itself an embedded Flink listens on all interfaces, and whoever reaches its REST port can submit a job: run any code.
So all that start one get their environment from :func:`environment`, which has it listen on the loopback interface.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.util.java_utils import get_j_env_configuration, is_local_deployment

from sash_flink import beam_servers

__all__ = ["check_java", "environment", "keep_local"]

LOOPBACK = "127.0.0.1"
ADDRESSES = "rest.address rest.bind-address jobmanager.rpc.address jobmanager.bind-host".split()
ADDRESSES += ["taskmanager.host", "taskmanager.bind-host"]
SETTINGS = dict.fromkeys(ADDRESSES, LOOPBACK) | {"web.submit.enable": "false", "web.cancel.enable": "false"}
_OLDEST = 17
_MODE = "_python_worker_execution_mode"
"""A variable of PyFlink's."""


def environment(
    parallelism: int | None = None, settings: Mapping[str, str] | None = None, workers: bool = True
) -> StreamExecutionEnvironment:
    """An environment whose Python workers run this interpreter; ``settings`` are options of Flink by name.

    An embedded cluster is reachable from this machine only, and takes no jobs but this program's, unless ``settings``
    say otherwise. A real cluster keeps its own addresses.

    With ``workers`` an embedded cluster has Python processes of its own, one a slot, as a real one has; else all Python
    functions of all slots share this process and its lock. Logs go to a folder of their own instead of into the
    installation, unless ``FLINK_LOG_DIR`` names one.
    """
    check_java()
    given = settings or {}
    os.environ.setdefault("FLINK_LOG_DIR", os.path.join(tempfile.gettempdir(), f"sash-flink-{os.getpid()}"))
    os.makedirs(os.environ["FLINK_LOG_DIR"], exist_ok=True)
    if workers:
        os.environ.setdefault(_MODE, "process")
    if given.get("python.execution-mode") == "thread":  # there the JVM runs the first Python that it finds
        os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    if os.environ.get(_MODE) != "process":  # Python functions may run in this process
        _serve_functions_on_loopback()
    configuration = Configuration()
    ours = dict.fromkeys(("python.executable", "python.client.executable"), sys.executable)
    for name, value in {**ours, **given}.items():
        configuration.set_string(name, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    keep_local(env, given)
    if parallelism is not None:
        env.set_parallelism(parallelism)
    return env


def check_java() -> None:
    """Raise a clear error if there is no Java that Flink runs on, where PyFlink looks for it."""
    home = os.environ.get("JAVA_HOME")
    command = os.path.join(home, "bin", "java") if home else shutil.which("java")
    where, needed = f"JAVA_HOME={home}" if home else "PATH", f"Flink needs Java {_OLDEST} or newer"
    if not command or not os.path.exists(command):
        raise RuntimeError(f"{needed}, and there is none in {where}: install one, such as openjdk-17-jre-headless")
    answer = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    if version is None or int(version[1]) < _OLDEST:
        name = version[1] if version else "of an unknown version"
        raise RuntimeError(f"{needed}; the one in {where} is {name}: point JAVA_HOME to a newer one")


def keep_local(env: StreamExecutionEnvironment, settings: Mapping[str, str]) -> None:
    """Make an embedded cluster reachable from this machine only, except where ``settings`` say otherwise.

    A program that ``flink run`` starts has a real cluster, which is left as it is.
    """
    j_settings = get_j_env_configuration(env._j_stream_execution_environment)
    if is_local_deployment(j_settings):
        for name, value in SETTINGS.items():
            if name not in settings:
                j_settings.setString(name, value)
        beam_servers.keep_local()


def _serve_functions_on_loopback() -> None:
    """Bind the server through which the JVM runs functions in this process; PyFlink binds it to all interfaces."""
    import grpc  # type: ignore[import-untyped]
    from apache_beam.portability.api import beam_fn_api_pb2_grpc
    from apache_beam.utils import thread_pool_executor
    from pyflink.fn_execution.beam.beam_worker_pool_service import BeamFnLoopbackWorkerPoolServicer

    add_to_server: Any = beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server

    def start(servicer: Any) -> str:
        if not servicer._worker_address:
            server = grpc.server(thread_pool_executor.shared_unbounded_instance())  # type: ignore[no-untyped-call]
            address = f"{LOOPBACK}:{server.add_insecure_port(f'{LOOPBACK}:0')}"
            add_to_server(servicer, server)
            server.start()
            servicer._worker_address = address
            atexit.register(server.stop, 1)
        return str(servicer._worker_address)

    BeamFnLoopbackWorkerPoolServicer.start = start
