"""Engines that Sash starts on this machine can be reached from this machine only."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .listening import listening

WAITING = """
import os

def lift(value):
    "Say that a job runs, and wait."
    os.write(os.open(os.environ["REACHED"], os.O_WRONLY), b"here")
    os.open(os.environ["GO_ON"], os.O_RDONLY)
    return value

def combine(a, b):
    return b
"""
QUERY = """
window = { type = "sliding", range = 1 }
[aggregates.x]
function = "aggregation"
columns = "x"
lift = "waiting:lift"
combine = "waiting:combine"
"""
OWN_JOB = """
import os
import sash_flink
from pyflink.common import Types
from waiting import lift

env = sash_flink.environment(1, workers={workers})
with env.from_collection([1]).map(lift, Types.LONG()).execute_and_collect() as found:
    print(list(found))
"""
SASH_RUN = ["-m", "sash.cli", "run", "--query", "q.toml", "--input", "in.csv", "--allow-imports", "waiting", "--engine"]
PROGRAMS = {
    "sash run on Flink": [*SASH_RUN, "flink"],
    "sash run on Flink, a stream": [*SASH_RUN, "flink", "--streaming"],
    "a job on Flink": ["-c", OWN_JOB.format(workers=True)],
    "a job on Flink in this process": ["-c", OWN_JOB.format(workers=False)],
    "sash run on Spark": [*SASH_RUN, "spark"],
    "sash run on Spark, a stream": [*SASH_RUN, "spark", "--streaming"],
}


def sockets_while_a_job_runs(folder: Path, program: list[str]) -> list[Any]:
    """What the processes of a program listen on while a function of its job waits."""
    (folder / "waiting.py").write_text(WAITING)
    (folder / "q.toml").write_text(QUERY)
    (folder / "in.csv").write_text("x\n1\n")
    os.mkfifo(folder / "reached")
    os.mkfifo(folder / "go-on")
    clean = {name: value for name, value in os.environ.items() if "FLINK" not in name and "_python" not in name[:7]}
    clean |= {"REACHED": str(folder / "reached"), "GO_ON": str(folder / "go-on")}
    clean["PYTHONPATH"] = os.pathsep.join([str(folder), *(path for path in sys.path if path)])
    with (
        open(folder / "said", "w") as said,
        subprocess.Popen([sys.executable, *program], cwd=folder, env=clean, stdout=said, stderr=said) as process,
    ):
        pipe, ended = os.open(folder / "reached", os.O_RDWR), os.pidfd_open(process.pid)
        try:
            ready, _, _ = select.select([pipe, ended], [], [])
            assert pipe in ready, (folder / "said").read_text()
            found = listening(process.pid)
            go_on = os.open(folder / "go-on", os.O_RDWR)  # stays open: functions that come later do not wait
            assert process.wait() == 0, (folder / "said").read_text()
            os.close(go_on)
            return found
        finally:
            process.kill()
            os.close(pipe)
            os.close(ended)


@pytest.mark.engine
@pytest.mark.xdist_group("flink")
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_an_embedded_engine_listens_on_loopback_only(tmp_path: Path, program: list[str]) -> None:
    found = sockets_while_a_job_runs(tmp_path, program)
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

    from sash_flink.loopback import keep_local

    gateway = get_gateway()
    j_class = gateway.jvm.org.apache.flink.streaming.api.environment.StreamExecutionEnvironment
    j_jars = gateway.new_array(gateway.jvm.java.lang.String, 0)
    env = StreamExecutionEnvironment(j_class.createRemoteEnvironment("flink.example", 8081, j_jars))
    before = settings_of(env)
    keep_local(env, {})
    assert settings_of(env) == before
    assert before["rest.address"] == "flink.example" and before["execution.target"] == "remote"
