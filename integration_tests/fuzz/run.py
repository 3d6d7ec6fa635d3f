"""Tries one input after the other, and finds those that break a rule.

Inputs run in a child process with bounds: seconds of CPU and megabytes of memory for each. The parent knows the seed of
an input that ends or hangs the child.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
import traceback
from typing import Any

from .targets import TARGETS, kept

__all__ = ["bounded", "search"]

CPU_S, MEMORY_MB, HANGS_S = 5, 300, 120
"""The most that one input may take."""
FIRST = 50
"""Inputs before memory counts: modules are imported, and kernels compiled."""


class TooLong(BaseException):
    """An input takes too long; nothing that handles errors catches it."""


def search(target: str, seed: int, seconds: float, most: int) -> int:
    """Try seeds one after the other for some seconds; how many faults were found."""
    context = multiprocessing.get_context("fork")
    begin, first, faults = time.monotonic(), seed, 0
    at = context.Value("q", seed, lock=False)
    while time.monotonic() - begin < seconds and faults < most:
        at.value = seed
        receiver, sender = context.Pipe(duplex=False)
        left = seconds - (time.monotonic() - begin)
        child = context.Process(target=_work, args=(target, at, left, sender, seed == first))
        child.start()
        sender.close()
        before = None
        while not receiver.poll(HANGS_S) and before != at.value:
            before = at.value
        fault = _fault(child, receiver)
        child.kill()
        child.join()
        seed = at.value
        if fault is None:
            break
        faults += 1
        print(f"{target}, seed {seed}: {fault}", flush=True)
        seed += 1
    tried = seed - first
    print(f"{target}: {tried:,} inputs from seed {first} on, {faults} faults", flush=True)
    return faults


def _fault(child: Any, receiver: Any) -> str | None:
    """What the child found, or did itself; None: its time is over."""
    if not receiver.poll():
        return f"hangs for more than {HANGS_S} s"
    try:
        fault: str | None = receiver.recv()
    except EOFError:
        child.join()
        return f"ends the process with {child.exitcode}"
    return fault


def _work(target: str, at: Any, seconds: float, sender: Any, with_corpus: bool) -> None:
    """Try inputs from the seed ``at`` on, which is counted there; send the first fault, or that there was none."""
    signal.signal(signal.SIGPROF, _stop)
    end, check = time.monotonic() + seconds, TARGETS[target].check
    if with_corpus:
        for name, data in kept(target):
            if (fault := bounded(check, name, data)) is not None:
                sender.send(f"kept input {name}: {fault}")
                return
    begin = seed = at.value
    while time.monotonic() < end:
        at.value = seed
        try:
            name, data = TARGETS[target].input(seed)
        except Exception:
            sender.send(f"the tool itself fails: {traceback.format_exc(limit=-3)}")
            return
        memory = _memory_mb()
        fault = bounded(check, name, data)
        grown = _memory_mb() - memory
        if fault is None and grown > MEMORY_MB and seed - begin > FIRST:
            fault = f"takes {grown} MB"
        if fault is not None:
            sender.send(f"{name}: {fault}")
            return
        seed += 1
    at.value = seed
    sender.send(None)


def bounded(check: Any, name: str, data: Any) -> str | None:
    """What is wrong with an input; None: nothing."""
    begin = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, 2 * CPU_S)
    try:
        check(name, data)
    except TooLong:
        return f"takes more than {2 * CPU_S} s: {traceback.format_exc(limit=-4)}"
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:2000]}\n{traceback.format_exc(limit=-3)[-1500:]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.process_time() - begin
    return f"takes {seconds:.1f} s" if seconds > CPU_S else None


def _stop(*_: Any) -> None:
    raise TooLong


def _memory_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
