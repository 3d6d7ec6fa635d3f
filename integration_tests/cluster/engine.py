"""Containers that run this machine's own Java and Python, in an image of a few kilobytes.

An image with both engines in it takes minutes to build and needs a base image from somewhere. What the tests need is
processes that can be killed, paused and cut off. So the image is a skeleton of empty folders, over which ``/usr``, the
Python and the environment that run the tests are mounted, read-only. Sash itself is not: it travels with the jobs.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import docker  # type: ignore[import-untyped]
from docker.errors import DockerException  # type: ignore[import-untyped]
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from .storage import Storage

__all__ = ["LABEL", "PATIENCE", "SHARED", "Host", "Node", "available", "remove_leftovers", "wait_for"]

IMAGE = "sash-skeleton:latest"
LABEL = "org.sash.tests"
"""On all that a run makes; its value is the process that does."""
SHARED = "/cluster"
"""Where every container sees the folder that they share: checkpoints, jobs, data."""

PATIENCE = 600.0
"""Seconds after which something does not come any more. A machine that has much else to do is not a failure."""

Ports = Iterable[int] | Mapping[int, int]

# Ryuk, which cleans up for testcontainers, is an image that cannot be had everywhere: containers are found by a label.
os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")
os.environ.setdefault("TESTCONTAINERS_CONNECTION_MODE", "docker_host")


def available() -> bool:
    """Whether a Docker engine answers."""
    try:
        docker.from_env().ping()
    except DockerException:
        return False
    return True


def remove_leftovers() -> None:
    """Remove all containers and networks of this run, and of runs that were killed; not those of one beside it."""
    wait_for("the end of the containers of earlier runs", _removed)  # Docker may need several attempts to kill one


def _removed() -> bool:
    client = docker.from_env()
    of_tests = {"label": LABEL}
    for container in client.containers.list(all=True, filters=of_tests):
        if not _runs_elsewhere(container.labels[LABEL]):
            container.remove(force=True)
    for network in client.networks.list(filters=of_tests):
        if not _runs_elsewhere(network.attrs["Labels"][LABEL]):
            network.remove()
    return True


def _label() -> dict[str, str]:
    return {LABEL: str(os.getpid())}


def _runs_elsewhere(pid: str) -> bool:
    command = Path("/proc", pid, "cmdline")  # empty if all that is left of a process is that nobody asked how it ended
    return pid != str(os.getpid()) and command.exists() and bool(command.read_bytes())


def wait_for(what: str, ready: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """The first true value of ``ready``; an error of the network counts as none."""
    end, last = time.monotonic() + seconds, None
    while time.monotonic() < end:
        try:
            if found := ready():
                return found
        except (OSError, ValueError, LookupError) as error:  # not there yet
            last = error
        time.sleep(0.2)
    raise TimeoutError(f"{what}: not after {seconds} s" + (f" ({last!r})" if last else ""))


class Host:
    """A network of containers, and the folder that they share."""

    def __init__(self, shared: Path) -> None:
        self.shared = shared
        self.client = docker.from_env()
        _make_image(self.client)
        self.share = _share(self.client)
        self.storages = {name: Storage(shared / f"{name}-storage") for name in ("flink", "spark")}
        self.network = Network(docker_network_kw={"labels": _label()})
        self.network.create()

    def close(self) -> None:
        """Let go of file systems."""
        for storage in self.storages.values():
            storage.close()

    def node(
        self, name: str, command: Sequence[str], ports: Ports = (), environment: Mapping[str, str] | None = None
    ) -> Node:
        """A container that runs a command; ``ports`` are published on loopback, to ports that are free or are given."""
        return Node(self, name, command, ports, environment or {})


class Node:
    """A container. It has a name in the network, and can be killed, paused, cut off and started again."""

    def __init__(
        self, host: Host, name: str, command: Sequence[str], ports: Ports, environment: Mapping[str, str]
    ) -> None:
        self.host, self.name = host, name
        made = DockerContainer(IMAGE).with_command(list(command)).with_name(f"sash-{os.getpid()}-{name}")
        made = made.with_network(host.network).with_network_aliases(name)
        made = made.with_kwargs(labels=_label(), hostname=name, **host.share)
        for port, outside in (ports if isinstance(ports, Mapping) else dict.fromkeys(ports)).items():
            made.ports[f"{port}/tcp"] = ("127.0.0.1", outside)  # type: ignore[assignment]  # as the Docker SDK takes it
        for variable, value in {**_environment(), **environment}.items():
            made = made.with_env(variable, value)
        for path in _mounts():
            made = made.with_volume_mapping(str(path), str(path), "ro")
        self._made = made.with_volume_mapping(str(host.shared), SHARED, "rw")

    def start(self) -> Self:
        self._made.start()
        return self

    @property
    def container(self) -> Any:
        return self._made.get_wrapped_container()

    def port(self, inside: int) -> int:
        """The port of this machine that leads to one of the container."""
        return int(self._made.get_exposed_port(inside))

    def run(self, *command: str, seconds: float = PATIENCE, **environment: str) -> str:
        """Run a command in it; what it printed. One that fails is an error with that."""
        code, output = self.container.exec_run(["timeout", str(seconds), *command], environment=environment)
        text: str = output.decode(errors="replace")
        if code:
            told = [line for line in text.splitlines() if not re.match(r"\s+at |.* INFO ", line)]
            raise RuntimeError("\n".join([f"{self.name}: {' '.join(command)} ended with {code}", *told[-60:]]))
        return text

    def log(self) -> str:
        text: str = self.container.logs().decode(errors="replace")
        return text

    def ended(self) -> bool:
        """Whether its command has come to an end."""
        self.container.reload()
        return bool(self.container.status == "exited")

    # faults

    def kill(self) -> None:
        """kill -9 of all that runs in it."""
        self.container.kill()

    def kill_process(self, pattern: str) -> None:
        """kill -9 of its processes whose command matches; a letter in brackets keeps the search from finding itself."""
        found = wait_for(pattern, lambda: self.container.exec_run(["pgrep", "-f", pattern])[1].decode().split())
        self.run("kill", "-9", *found)

    def restart(self) -> None:
        """Start it again after it was killed."""
        self.container.start()

    def pause(self) -> None:
        self.container.pause()

    def unpause(self) -> None:
        self.container.unpause()

    def cut_off(self) -> None:
        """Take it off the network."""
        self.host.client.networks.get(self.host.network.id).disconnect(self.container)

    def reconnect(self) -> None:
        self.host.client.networks.get(self.host.network.id).connect(self.container, aliases=[self.name])

    def stop(self) -> None:
        self._made.stop()


def _share(client: Any) -> dict[str, Any]:
    """By default all containers together weigh as much as one process, and miss heartbeats if there are others."""
    if client.info().get("CgroupDriver") != "cgroupfs":
        return {}
    return {"cgroup_parent": "/", "cpu_shares": 335}  # each as much as a process does at nice 5


def _make_image(client: Any) -> None:
    """The skeleton: folders to mount on, and the links that programs expect."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for folder in ["usr", "tmp", "proc", "sys", "dev", "etc", "root", "run", "var/tmp", SHARED.strip("/")]:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder.endswith("tmp") else 0o755
            tar.addfile(entry)
        for link in ("bin", "sbin", "lib", "lib64"):
            entry = tarfile.TarInfo(link)
            entry.type, entry.linkname = tarfile.SYMTYPE, f"usr/{link}"
            tar.addfile(entry)
        for name, text in {"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n"}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    name, tag = IMAGE.split(":")
    client.api.import_image_from_data(packed.getvalue(), repository=name, tag=tag)


def java_home() -> Path:
    """Where the Java on PATH, or in JAVA_HOME, has its files."""
    java = shutil.which(os.path.join(os.environ["JAVA_HOME"], "bin/java") if os.environ.get("JAVA_HOME") else "java")
    if java is None:
        raise RuntimeError("there is no Java: scripts/java tells how to get one")
    told = subprocess.run([java, "-XshowSettings:properties", "-version"], capture_output=True, text=True, check=True)
    found = re.search(r"java\.home = (.*)", told.stderr)
    assert found, told.stderr
    return Path(found[1].strip())


def _mounts() -> list[Path]:
    wanted = [Path("/usr"), Path(sys.base_prefix), Path(sys.prefix), java_home(), Path("/etc/ssl")]
    wanted += sorted(Path("/etc").glob("java-*"))  # where Debian's Java has its settings
    outside = [path for path in dict.fromkeys(wanted) if path == Path("/usr") or not path.is_relative_to("/usr")]
    return [path for path in outside if path.exists()]


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.prefix) / "bin"), str(java_home() / "bin"), "/usr/sbin", "/usr/bin"])
    return {
        "JAVA_HOME": str(java_home()),
        "PATH": path,
        "HOME": "/root",
        "LANG": "C.UTF-8",
        # These processes are short-lived and share few cores: what counts is how soon they are up.
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "NUMBA_CACHE_DIR": f"{SHARED}/cache",
    }
