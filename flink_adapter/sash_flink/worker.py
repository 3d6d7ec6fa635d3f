"""What is particular about a Python worker of Flink."""

from __future__ import annotations

import builtins
import gc
import sys
import threading
from typing import Any

__all__ = ["end_bundles_at_once", "is_process", "let_arrays_be_null", "mend_print", "settle", "spare_the_loaded"]

_SAMPLER = "apache_beam.runners.worker.statesampler"
"""A module of Beam, by which PyFlink talks to processes."""
_JVM = "_pemja"
"""A module that is there in interpreters inside a JVM only."""
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
    """Let Python's garbage collector leave alone what is there now: modules, compiled kernels, PyFlink's objects.

    A full collection walks through more than a hundred thousand objects of Numba and pandas: the record that sets one
    off waits for 30 to 100 ms, and nothing is found. Call this when a function is opened, after all is imported and
    compiled. It costs one such collection, and cycles among the objects of that time are never found any more.

    What is left are the slices of windows, which are in no cycles: so full collections become ten times as rare.
    """
    gc.collect()
    gc.freeze()
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, max(old, _FULL_AFTER))


def settle() -> None:
    """Make a worker fit for what it is there for: a process, or, in thread mode, an interpreter in the JVM's."""
    if is_process():
        from sash.spi import keep_freed_memory  # not before mend_print: it imports Numba

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

    A thread of Beam's wakes up now and then and notes what a bundle is at, first after 2 ms, then each time after a
    fifth longer, and a bundle waits at its end until it does. PyFlink reads none of these notes.
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
