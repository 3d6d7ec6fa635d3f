"""A real Redis server on a free loopback port, which tests may stop, kill, freeze and start again."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

__all__ = ["RedisServer"]


class RedisServer:
    """Writes its log before it answers, unless ``durable`` is False: then it forgets everything when it stops."""

    tls_port: int | None = None
    certificate: Path | None = None

    @staticmethod
    def free_port() -> int:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            port: int = sock.getsockname()[1]
            return port

    def __init__(self, folder: Path, durable: bool = True, *options: str) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.fail("there is no redis-server on PATH: scripts/redis installs it on Debian and Ubuntu")
        self._folder = folder
        self.port = self.free_port()
        log = ["--appendonly", "yes", "--appendfsync", "always"] if durable else ["--appendonly", "no", "--save", ""]
        self._command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder), *log, *options]
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def begin(self, *options: str) -> None:
        """Do not wait until it answers."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen([*self._command, *options], stdout=log, stderr=log)

    def start(self) -> None:
        """Until it answers."""
        self.begin()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if self._answers():
                return
            time.sleep(0.02)
        pytest.fail("the Redis server does not answer:\n" + (self._folder / "log").read_text())

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as sock:
                sock.settimeout(1)
                sock.sendall(b"PING\r\n")
                return sock.recv(16).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False

    def kill(self) -> None:
        """As a crash would."""
        self._process.kill()
        self._process.wait(30)

    def freeze(self) -> None:
        """It is there, and never answers."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        self.thaw()
        self._process.terminate()
        self._process.wait(30)
