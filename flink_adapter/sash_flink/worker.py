"""What is particular about a Python worker of Flink."""

from __future__ import annotations

import builtins
import gc
import sys
import threading
from typing import Any

from sash.values.allocator import keep_freed_memory

__all__ = ["end_bundles_at_once", "is_process", "let_arrays_be_null", "mend_print", "settle", "spare_the_loaded"]

_SAMPLER = "apache_beam.runners.worker.statesampler"
"""A module of Beam, by which PyFlink talks to processes."""
_JVM = "_pemja"
"""A module that is there in interpreters inside a JVM only. Those of Beam are everywhere."""
_FULL_AFTER = 100
"""So many collections of the middle generation, each after some 8,000 new objects, are made before a full one."""


def mend_print() -> None:
    """Let Numba be imported in a worker, which has put a function of its own in the place of ``print``.

    Numba looks ``print`` up in the module that the function says it is from, and does not find it there.
    """
    home = sys.modules.get(getattr(builtins.print, "__module__", ""))
    if home is not None and not hasattr(home, "print"):
        home.print = builtins.print  # type: ignore[attr-defined]


def spare_the_loaded() -> None:
    """Let Python's garbage collector leave alone what is there now: modules, compiled kernels, what PyFlink has made.

    A full collection walks through all objects that could be part of a cycle. Numba and pandas alone have more than a
    hundred thousand, so that a record that happens to set one off waits for 30 to 100 ms, and nothing is found. Called
    when a function is opened, after all has been imported and compiled, it costs one such collection; cycles among the
    objects that are there now are not found any more, should they ever become garbage. They are those of a worker that
    has just started: where a process is used for several jobs, one after the other, that is at most a job's own a time.

    What is left to walk through are the slices of the windows, tens of thousands for a long one, of which none is ever
    part of a cycle. So full collections are made ten times as rare as they are by default; young ones are not.
    """
    gc.collect()
    gc.freeze()
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, max(old, _FULL_AFTER))


def settle() -> None:
    """Make a worker fit for what it is there for: a process, or, in thread mode, an interpreter in the JVM's."""
    if is_process():
        keep_freed_memory()
        end_bundles_at_once()
    else:
        let_arrays_be_null()


def is_process() -> bool:
    """Whether functions run in a process of Python's own, not in a thread of the JVM."""
    return _JVM not in sys.modules


def let_arrays_be_null() -> None:
    """Mend PyFlink's thread mode, which takes a null in a column of arrays for an array, and fails."""
    from pyflink.fn_execution.embedded.converters import ArrayDataConverter, ListDataConverter

    def to_internal(self: Any, value: Any) -> Any:
        return None if value is None else tuple(ListDataConverter.to_internal(self, value))

    def to_external(self: Any, value: Any) -> Any:
        return None if value is None else tuple(ListDataConverter.to_external(self, value))

    ArrayDataConverter.to_internal, ArrayDataConverter.to_external = to_internal, to_external


def end_bundles_at_once() -> None:
    """Let bundles be over when all is done.

    Beam has a thread that wakes up now and then and notes what a bundle is at: first after 2 ms, then each time after a
    fifth longer. A bundle is not over before that thread has woken up once more: it takes up to 2 ms, or a fifth of its
    time, longer. What is noted is for Beam's own runners; PyFlink reads none of it.
    """
    beam = sys.modules[_SAMPLER]
    if hasattr(beam.StateSampler, "unsampled"):
        return
    stop = beam.StateSampler.stop

    def start_without(self: Any) -> None:
        self.tracked_thread = threading.current_thread()
        beam.set_current_tracker(self)
        self.started = self.unsampled = True

    def stop_without(self: Any) -> None:
        if not self.unsampled:  # begun before this was called
            stop(self)
            return
        beam.set_current_tracker(None)
        self.finished = True

    beam.StateSampler.unsampled = False
    beam.StateSampler.start, beam.StateSampler.stop = start_without, stop_without
