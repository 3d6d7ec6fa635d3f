"""compose/compose.yaml, the image and the commands of ``make cluster-…`` fit together. No Docker engine is needed."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[1]
COMPOSE = ROOT / "compose"
FILE: dict[str, Any] = yaml.safe_load((COMPOSE / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = FILE["services"]
PROFILES = ["flink", "spark", "kafka", "redis"]
SCRIPTS = ["cluster-compose", "cluster-down", "cluster-image", "cluster-submit", "cluster-up"]
every_service = pytest.mark.parametrize("name", SERVICES)


def ran(script: str, *arguments: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [ROOT / "scripts" / script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stderr


def test_every_profile_has_its_services() -> None:
    found = {profile: {n for n, each in SERVICES.items() if each["profiles"] == [profile]} for profile in PROFILES}
    assert found == {
        "flink": {"jobmanager", "taskmanager"},
        "spark": {"spark-master", "spark-worker", "spark-history"},
        "kafka": {"kafka"},
        "redis": {"redis"},
    }
    assert sum(map(len, found.values())) == len(SERVICES)


@every_service
def test_ports_are_those_of_loopback(name: str) -> None:
    ports = SERVICES[name].get("ports", [])
    assert all(re.fullmatch(r"127\.0\.0\.1:\$\{[A-Z_]+:-\d+\}:\d+", port) for port in ports)
    assert bool(ports) != name.endswith(("taskmanager", "worker")), "what there can be several of, publishes nothing"


@every_service
def test_every_node_says_whether_it_is_healthy(name: str) -> None:
    _, command, *role = SERVICES[name]["healthcheck"]["test"]
    if command == "healthy":
        tree = ast.parse((COMPOSE / "bin" / "healthy").read_text(encoding="utf-8"))
        (roles,) = [node.value for node in tree.body if isinstance(node, ast.Assign)]
        assert isinstance(roles, ast.Dict)
        assert role == [name] and name in [ast.literal_eval(key) for key in roles.keys if key is not None]
    else:
        assert [command, *role] == ["redis-cli", "ping"]


@every_service
def test_what_a_node_runs_is_in_the_image(name: str) -> None:
    command = SERVICES[name]["command"][0]
    if command == "redis-server":
        assert command in (COMPOSE / "Dockerfile").read_text(encoding="utf-8")
        return
    path = COMPOSE / "kafka" / "start" if name == "kafka" else COMPOSE / "bin" / command
    assert os.access(path, os.X_OK)
    if name != "kafka":
        assert f"\n{SERVICES[name]['command'][1]})" in path.read_text(encoding="utf-8"), "a role that the script knows"


def test_what_has_to_outlive_a_node_is_on_a_named_volume() -> None:
    mounted = {name: dict(each.split(":") for each in service["volumes"]) for name, service in SERVICES.items()}
    assert {volume for volumes in mounted.values() for volume in volumes} == set(FILE["volumes"])
    for name in ("jobmanager", "taskmanager", "spark-master", "spark-worker"):
        assert mounted[name]["checkpoints"] == "/var/lib/sash/checkpoints"
    assert "events" in mounted["spark-master"] and "events" in mounted["spark-history"]
    made = (COMPOSE / "Dockerfile").read_text(encoding="utf-8")
    for volumes in mounted.values():
        assert all(place in made for place in volumes.values()), "made in the image, so that its user may write there"


def test_the_image_is_built_of_what_is_there() -> None:
    lines = (COMPOSE / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    sent = [line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"]
    for source in [source for sources in copied for source in sources]:
        assert (ROOT / source).exists(), source
        assert any(f"{source}/".startswith(f"{each}/") or f"{each}/".startswith(f"{source}/") for each in sent), source


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_can_be_run(script: str) -> None:
    path = ROOT / "scripts" / script
    assert os.access(path, os.X_OK)
    interpreter = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("#!").split()
    subprocess.run([*interpreter, "-n", path], check=True)


def test_make_runs_the_scripts_with_what_they_are_told() -> None:
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    told = ["make", "-n", "ARGS=", "BASE=", "ENGINE=spark", "WORKERS=3", "QUERY=q.toml", "INPUT=a b", "OUTPUT=out"]
    made = {
        target: subprocess.check_output([*told, target], cwd=ROOT, text=True, env=alone).strip()
        for target in ("cluster-image", "cluster-up", "cluster-down", "cluster-submit")
    }
    assert made == {
        "cluster-image": 'BASE="" scripts/cluster-image',
        "cluster-up": "scripts/cluster-up 3 spark",
        "cluster-down": "scripts/cluster-down",
        "cluster-submit": 'scripts/cluster-submit spark "q.toml" "a b" "out"',
    }


def test_wrong_words_are_answered_by_a_sentence(tmp_path: Path) -> None:
    query = tmp_path / "q.toml"
    query.touch()
    answers = [
        (ran("cluster-up", "2", "storm"), "There is no cluster 'storm'"),
        (ran("cluster-submit", "kafka", str(query), str(query), "out"), "flink or to spark, not to 'kafka'"),
        (ran("cluster-submit", "flink", str(query), str(tmp_path / "none"), "out"), "There is no file or folder"),
        (ran("cluster-submit", "flink", "q.toml"), "usage: make cluster-submit"),
    ]
    for (code, said), expected in answers:
        assert code == 2 and expected in said and said.count("\n") == 1


def test_where_there_is_no_compose_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "dirname").symlink_to(shutil.which("dirname") or "")
    code, said = ran("cluster-compose", "ps", PATH=str(tmp_path))
    assert code == 1 and "apt-get install docker-compose" in said and said.count("\n") == 1


def test_where_no_engine_answers_no_image_is_built(tmp_path: Path) -> None:
    code, said = ran("cluster-image", DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert (
        code == 1 and said == "No Docker engine answers: start one, or run this by integration_tests/docker-engine.\n"
    )
