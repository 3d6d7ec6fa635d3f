"""Jobs of Flink that take turns: each has a JVM and workers of its own, and all but one stand still.

```
packed, 2^6    ──run──┊             ┊             ┊──run──┊ ...
packed, 2^10          ┊──run──┊     ┊     ┊──run──┊       ┊
packed, 2^14          ┊       ┊─run─┊─run─┊               ┊
```

A machine that others share changes its speed by the minute, so that runs one after the other cannot tell a fifth. Jobs
that stand still (SIGSTOP) have all that they had when they go on: warm caches, compiled code and full windows. So
turns of a few seconds, to and fro, give all of them the same minutes, and none pays for its start. What a job has done
in its turn is how many records came to its sink, by Flink's own metrics, and the CPU time of its processes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from sash.cli.processes import processes
from sash_experiments.processes import free_port

__all__ = ["SETTINGS", "SINK", "Job", "Spent", "Turns"]

Command = Callable[[int], list[str]]
"""What starts a job whose REST interface is to be at a port."""
FRESH = 0.1
"""Seconds that Flink takes at most to bring metrics up to date once they were asked for."""
SINK = "Writer.numRecordsIn"
"""How the name of the metric ends that counts what comes to a sink."""
SETTINGS = {
    "metrics.fetcher.update-interval": "20",
    # Clocks go on while a job stands still: nothing may be taken for dead.
    "heartbeat.timeout": str(24 * 60 * 60 * 1000),
    "pekko.ask.timeout": "1 h",
}


class Spent(NamedTuple):
    """What a job has done so far, or since an earlier time; ``wall`` is the time that it did not stand still."""

    records: int
    wall: float
    cpu: float

    def since(self, before: Spent) -> Spent:
        """The difference."""
        return Spent(self.records - before.records, self.wall - before.wall, self.cpu - before.cpu)


class Job:
    """A program that runs one job of Flink, with its JVM and workers, started with the port of Flink's REST interface.

    ``counted`` is how the name of the metric ends by which its records are counted.
    """

    def __init__(self, command: Command, log: Path, counted: str = SINK) -> None:
        self.port = free_port()
        self.log, self.counted = log, counted
        with log.open("w") as out:
            self._process = subprocess.Popen(command(self.port), stdout=out, stderr=out, start_new_session=True)
        self._metric = ""
        self._ran, self._thawed = 0.0, time.perf_counter()

    def started(self, seconds: float) -> Spent:
        """Wait until the first record has been counted."""
        end = time.monotonic() + seconds
        problem: urllib.error.URLError | None = None
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(f"the job ended:\n{self.log.read_text()[-3000:]}")
            try:
                self._metric = self._metric or self._found()
                if self._metric and (now := self.now()).records > 0:
                    return now
                problem = None
            except urllib.error.URLError as error:
                problem = error  # as long as the cluster is not up; if it stays so, this is the cause
            time.sleep(0.2)
        log = self.log.read_text()[-3000:]
        raise TimeoutError(f"nothing came out of the job in {seconds:.0f} s:\n{log}") from problem

    def now(self) -> Spent:
        """What the job has done so far."""
        self._get(self._metric)  # has Flink ask its tasks; what it answers is what they told the last time
        wall = self._ran + time.perf_counter() - self._thawed
        cpu = sum(spent for _, spent in self._processes())
        time.sleep(FRESH)
        (found,) = self._get(self._metric)
        return Spent(int(found["sum"]), wall, cpu)

    def thaw(self) -> None:
        """Let it go on."""
        self._thawed = time.perf_counter()
        self._signal(signal.SIGCONT)

    def freeze(self) -> None:
        """Have it stand still."""
        self._signal(signal.SIGSTOP)
        self._ran += time.perf_counter() - self._thawed

    def end(self) -> None:
        """End it, and all of its processes."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _processes(self) -> Iterator[tuple[int, float]]:
        """(pid, CPU seconds): workers are children of the JVM, and all are of one session."""
        for pid, _, _, spent in processes():
            try:
                if os.getsid(pid) == self._process.pid:
                    yield pid, spent
            except ProcessLookupError:  # it has just ended
                continue

    def _signal(self, number: signal.Signals) -> None:
        for pid, _ in list(self._processes()):
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, number)

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            return json.load(answer)

    def _found(self) -> str:
        """The path of the metric that counts records; empty while there is none yet."""
        for job in self._get("/jobs/overview")["jobs"]:
            for vertex in self._get(f"/jobs/{job['jid']}")["vertices"]:
                path = f"/jobs/{job['jid']}/vertices/{vertex['id']}/subtasks/metrics"
                for metric in self._get(path):
                    if metric["id"].endswith(self.counted):
                        return f"{path}?get={metric['id']}&agg=sum"
        return ""


class Turns:
    """Jobs that are measured together."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._jobs: list[tuple[Job, Spent]] = []

    def __enter__(self) -> Turns:
        return self

    def __exit__(self, *_: object) -> None:
        for job, _ in self._jobs:
            job.end()

    def start(self, command: Command, full: int, warm: float, longest: float, counted: str = SINK) -> int:
        """Start a job, and have it stand still once it is warm: the records that were counted then.

        That is some seconds after the first of them, or more, up to the longest time, if there were not enough of them
        to have full windows.
        """
        job = Job(command, self._folder / f"{len(self._jobs)}.log", counted)
        self._jobs.append((job, Spent(0, 0.0, 0.0)))
        began = job.started(180)
        now = began
        while now.wall - began.wall < warm or (now.records < full and now.wall - began.wall < longest):
            time.sleep(0.5)
            now = job.now()
        job.freeze()
        self._jobs[-1] = job, now
        return now.records

    def rounds(self, count: int, seconds: float) -> Iterator[tuple[int, int, Spent]]:
        """(round, job, what it did since its last turn was over), to and fro.

        Records come to the sink by bundles, up to a second of them at once: so no time between turns is left out, and
        their sum is off by part of one bundle only.
        """
        order = list(range(len(self._jobs)))
        for number in range(count):
            for index in order:
                job, before = self._jobs[index]
                job.thaw()
                time.sleep(seconds)
                now = job.now()
                job.freeze()
                self._jobs[index] = job, now
                yield number, index, now.since(before)
            order.reverse()
