"""The dashboard of the stream slicing paper (figure 17): M4 over 80 concurrent windows, by parallel instances.

An instance is a process with a stream of its own, as an engine's parallel tasks are. All begin together, and take
tuples until a time is up: what counts is the tuples of all of them, by the clock.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import sash
from sash_experiments.benchmarks.slicing.baselines import Buckets
from sash_experiments.benchmarks.slicing.football import lengths
from sash_experiments.experiment import Experiment, scales
from sash_experiments.generators import football
from sash_experiments.generators.synthetic import BALL_HERTZ
from sash_experiments.raw import Measured
from sash_experiments.timing import collector_off

__all__ = ["EXPERIMENTS", "buckets_of", "query_of"]

Row = dict[str, Any]
Take = Callable[[], int]
"""Take some tuples: how many."""
SOME = 64
BATCH = 100_000
SHARED: dict[str, Any] = {}
"""What a process of the pool is given when it starts: the barrier at which all of them wait for each other."""


def query_of(windows: int) -> sash.Query:
    """M4 of the ball's position in each of so many windows."""
    named = {f"w{i}": sash.tumbling(size, on="ts") for i, size in enumerate(lengths(windows))}
    return sash.Query(windows=named, aggregates={"result": sash.M4("ball")}, time="ts")


def buckets_of(windows: int) -> Buckets:
    """What engines do without slices: a partial for each window, and each tuple merged into all of them."""
    return Buckets([(size, size) for size in lengths(windows)], sash.M4("ball"))


def _rows(process: Callable[[Row], Any], stream: dict[str, Any]) -> Take:
    rows = [{"ts": ts, "ball": ball} for ts, ball in zip(stream["ts"].tolist(), stream["ball"].tolist(), strict=True)]
    period = int(stream["ts"][-1]) + 1
    place = past = 0

    def take() -> int:
        nonlocal place, past
        if place + SOME > len(rows):
            place, past = 0, past + period
        for row in rows[place : place + SOME]:
            process({"ts": row["ts"] + past, "ball": row["ball"]})
        place += SOME
        return SOME

    return take


def _columns(operator: sash.Operator, stream: dict[str, Any]) -> Take:
    ts, ball, period = stream["ts"], stream["ball"], int(stream["ts"][-1]) + 1
    past = 0

    def take() -> int:
        nonlocal past
        operator.process_batch({"ts": ts + past, "ball": ball})
        past += period
        return len(ts)

    return take


def _taker(name: str, windows: int, batch: int) -> tuple[Take, Callable[[], int]]:
    """What takes tuples, and what tells the bytes of its state, if it can be told."""
    if name == "buckets":
        return _rows(buckets_of(windows).process, football(20 * BALL_HERTZ)), lambda: 0
    operator = sash.Operator(query_of(windows))
    if name == "sash columns":
        return _columns(operator, football(batch)), lambda: len(operator.snapshot())
    return _rows(operator.process, football(20 * BALL_HERTZ)), lambda: len(operator.snapshot())


def _joined(barrier: Any) -> None:
    SHARED["barrier"] = barrier


def _instance(name: str, windows: int, batch: int, warm: float, budget: float) -> tuple[int, float, float, int]:
    """(tuples, seconds by the clock, seconds on the processor, bytes of state) of one of the parallel instances."""
    take, state = _taker(name, windows, batch)
    taken, begin = take(), time.perf_counter()  # the first compiles
    while time.perf_counter() - begin < warm:
        take()
    with collector_off():
        SHARED["barrier"].wait()
        begin, cpu, taken = time.perf_counter(), time.process_time(), 0
        while (now := time.perf_counter()) - begin < budget or not taken:
            taken += take()
            now = time.perf_counter()
        cpu = time.process_time() - cpu
    return taken, now - begin, cpu, state()


def fig17(rounds: int, parallel: list[int], windows: int, batch: int, warm: float, budget: float) -> Iterator[Measured]:
    """Tuples a second of all instances together, the processors that they keep busy, and their state."""
    # A fork would copy compiled code and threads in the middle of things.
    context = multiprocessing.get_context("spawn")
    for instances in parallel:
        barrier = context.Barrier(instances)
        with ProcessPoolExecutor(instances, context, _joined, (barrier,)) as pool:
            for number in range(rounds):
                for name in ("sash columns", "sash rows", "buckets"):
                    wanted = [pool.submit(_instance, name, windows, batch, warm, budget) for _ in range(instances)]
                    done = [each.result() for each in wanted]
                    yield from _measured(name, str(instances), number, done)


def _measured(name: str, x: str, number: int, done: list[tuple[int, float, float, int]]) -> Iterator[Measured]:
    rate = sum(taken / seconds for taken, seconds, _, _ in done)
    busy = sum(cpu / seconds for _, seconds, cpu, _ in done)
    yield Measured("throughput", x, name, number, "tuples/s", rate)
    yield Measured("processors kept busy", x, name, number, "processors", busy)
    if state := sum(held for *_, held in done):
        yield Measured("state", x, name, number, "bytes", state)


EXPERIMENTS = [
    Experiment(
        "slicing-fig17",
        "A dashboard in parallel",
        "M4 over 80 concurrent windows of 1 to 20 s an instance, football data in order, by the number of parallel "
        "instances, each a process with a stream of its own; tuples a second of all, the processors they keep busy, "
        "bytes of state.",
        scales(
            rounds=(1, 3, 10),
            parallel=([1, 2], [1, 2, 4], list(range(1, 9))),
            windows=(4, 80, 80),
            batch=(2000, BATCH, BATCH),
            warm=(0.0, 1.0, 10),
            budget=(0.05, 3.0, 60),
        ),
        fig17,
        x="parallel instances",
        x_log=False,
        y_log=False,
        gap="The paper has 8 cores and runs inside Flink, as python -m sash_experiments.dashboard_on_engines does. "
        "More instances than cores share them: growth is shown up to the cores of this machine, and not extrapolated.",
    ),
]
