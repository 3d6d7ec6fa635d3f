"""Engines that Sash starts on this machine can be reached from this machine only."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from .listening import listening
from .waiting_job import SASH_RUN, go_on, waiting_job

OWN_JOB = """
import os
import sash_flink
from pyflink.common import Types
from waiting import lift

env = sash_flink.environment(1, workers={workers})
with env.from_collection([1]).map(lift, Types.LONG()).execute_and_collect() as found:
    print(list(found))
"""
# What listens while `sash run` runs a batch, test_cut_short.py sees.
PROGRAMS = {
    "sash run on Flink, a stream": [*SASH_RUN, "flink", "--streaming"],
    "a job on Flink": ["-c", OWN_JOB.format(workers=True)],
    "a job on Flink in this process": ["-c", OWN_JOB.format(workers=False)],
    "sash run on Spark, a stream": [*SASH_RUN, "spark", "--streaming"],
}


@pytest.mark.engine
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_an_embedded_engine_listens_on_loopback_only(tmp_path: Path, program: list[str]) -> None:
    with waiting_job(tmp_path, program) as process:
        found = listening(process.pid)
        go_on(tmp_path, process)
    assert len(found) > 1  # the JVM and Python talk to each other
    assert [each for each in found if not each[0].is_loopback] == []


def test_what_listens_on_all_interfaces_is_seen() -> None:
    """What the tests above rely on."""
    with socket.create_server(("", 0)) as everywhere, socket.create_server(("127.0.0.1", 0)) as here:
        found = {(str(address), port) for address, port, _ in listening(os.getpid())}
        assert {("0.0.0.0", everywhere.getsockname()[1]), ("127.0.0.1", here.getsockname()[1])} <= found
    with socket.create_server(("::", 0), family=socket.AF_INET6) as everywhere:
        assert ("::", everywhere.getsockname()[1]) in {(str(each[0]), each[1]) for each in listening(os.getpid())}


def settings_of(env: Any) -> dict[str, str]:
    from pyflink.util.java_utils import get_j_env_configuration

    return dict(get_j_env_configuration(env._j_stream_execution_environment).toMap())


def test_an_embedded_flink_takes_no_jobs_of_others(flink: Any) -> None:
    found = settings_of(flink)
    assert found["web.submit.enable"] == found["web.cancel.enable"] == "false"
    assert {found[name] for name in ("rest.address", "rest.bind-address", "jobmanager.rpc.address")} == {"127.0.0.1"}


def test_settings_of_the_program_win(flink: Any) -> None:
    import sash_flink

    found = settings_of(sash_flink.environment(1, {"rest.bind-address": "0.0.0.0", "web.cancel.enable": "true"}))
    assert (found["rest.bind-address"], found["web.cancel.enable"]) == ("0.0.0.0", "true")
    assert found["web.submit.enable"] == "false"


def test_settings_of_a_real_cluster_are_left_as_they_are(flink: Any) -> None:
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.java_gateway import get_gateway

    from sash_flink.environment import keep_local

    gateway = get_gateway()
    j_class = gateway.jvm.org.apache.flink.streaming.api.environment.StreamExecutionEnvironment
    j_jars = gateway.new_array(gateway.jvm.java.lang.String, 0)
    env = StreamExecutionEnvironment(j_class.createRemoteEnvironment("flink.example", 8081, j_jars))
    before = settings_of(env)
    keep_local(env, {})
    assert settings_of(env) == before
    assert before["rest.address"] == "flink.example" and before["execution.target"] == "remote"
