"""An embedded Flink that listens on the loopback interface only.

By itself it listens on all interfaces, and whoever reaches its REST port can submit a job: run any code. All that start
an embedded cluster get their environment from :func:`sash_flink.environment`, and so from here.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from typing import Any

from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.util.java_utils import get_j_env_configuration, is_local_deployment

from sash_flink import beam_servers

__all__ = ["create_environment", "keep_local"]

LOOPBACK = "127.0.0.1"
ADDRESSES = (
    "rest.address",
    "rest.bind-address",
    "jobmanager.rpc.address",
    "jobmanager.bind-host",
    "taskmanager.host",
    "taskmanager.bind-host",
)
SETTINGS = dict.fromkeys(ADDRESSES, LOOPBACK) | {"web.submit.enable": "false", "web.cancel.enable": "false"}


def create_environment(configuration: Configuration, settings: Mapping[str, str]) -> StreamExecutionEnvironment:
    """The environment of a job. An embedded cluster is kept local, except where ``settings`` say otherwise."""
    mode = "_python_worker_execution_mode"  # of PyFlink
    if os.environ.get(mode) != "process":  # Python functions may run in this process
        _serve_functions_on_loopback()
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    keep_local(env, settings)
    return env


def keep_local(env: StreamExecutionEnvironment, settings: Mapping[str, str]) -> None:
    """Have an embedded cluster reachable from this machine only, except where ``settings`` say otherwise.

    A program that ``flink run`` starts has a real cluster, which is left as it is.
    """
    j_settings = get_j_env_configuration(env._j_stream_execution_environment)
    if is_local_deployment(j_settings):
        for name, value in SETTINGS.items():
            if name not in settings:
                j_settings.setString(name, value)
        beam_servers.keep_local()


def _serve_functions_on_loopback() -> None:
    """The server by which the JVM has this process run functions: PyFlink has it listen on all interfaces."""
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
