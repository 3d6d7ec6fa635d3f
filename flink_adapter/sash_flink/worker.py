"""Preparation of a Python worker of Flink, and patches for PyFlink and Beam."""

from __future__ import annotations

import builtins
import gc
import sys
import threading
from typing import Any

__all__ = ["end_bundles_at_once", "freeze_loaded_objects", "is_process", "patch_null_arrays", "patch_print", "settle"]

_SAMPLER = "apache_beam.runners.worker.statesampler"
"""A module of Beam, by which PyFlink talks to processes."""
_JVM = "_pemja"
"""A module that is there in interpreters inside a JVM only."""
_FULL_AFTER = 100
"""The number of collections of the middle generation, each after some 8,000 new objects, before a full one."""


def patch_print() -> None:
    """Make Numba importable in a worker, which has replaced ``print`` by a function of its own.

    Numba looks ``print`` up in the module that the function names as its own, and does not find it there.
    """
    home = sys.modules.get(getattr(builtins.print, "__module__", ""))
    if home is not None and not hasattr(home, "print"):
        home.print = builtins.print  # type: ignore[attr-defined]


def freeze_loaded_objects() -> None:
    """Exclude all current objects from garbage collection: modules, compiled kernels, PyFlink's objects.

    A full collection walks through more than a hundred thousand objects of Numba and pandas: the record that sets one
    off waits for 30 to 100 ms, and nothing is found. Call this when a function is opened, after all is imported and
    compiled. It costs one such collection, and cycles among the objects of that time are never freed.

    What is left are the slices of windows, which are in no cycles: so full collections become ten times as rare.
    """
    gc.collect()
    gc.freeze()
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, max(old, _FULL_AFTER))


def settle() -> None:
    """Prepare a worker: a process or, in thread mode, an interpreter in that of the JVM."""
    if is_process():
        from sash.spi import keep_freed_memory  # not before patch_print: it imports Numba

        keep_freed_memory()
        end_bundles_at_once()
    else:
        patch_null_arrays()


def is_process() -> bool:
    """Whether functions run in a Python process, not in a thread of the JVM."""
    return _JVM not in sys.modules


def patch_null_arrays() -> None:
    """Patch PyFlink's thread mode, which fails on a null in a column of arrays."""
    from pyflink.fn_execution.embedded.converters import ArrayDataConverter, ListDataConverter

    def to_internal(self: Any, value: Any) -> Any:
        return None if value is None else tuple(ListDataConverter.to_internal(self, value))

    def to_external(self: Any, value: Any) -> Any:
        return None if value is None else tuple(ListDataConverter.to_external(self, value))

    ArrayDataConverter.to_internal, ArrayDataConverter.to_external = to_internal, to_external


def end_bundles_at_once() -> None:
    """Patch Beam so that a bundle ends as soon as its work is done.

    A thread of Beam wakes up now and then to sample the state of a bundle, first after 2 ms, then each time after a
    fifth longer, and a bundle waits at its end until it does. PyFlink reads none of these samples.
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
