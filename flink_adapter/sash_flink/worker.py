"""What is particular about a Python worker of Flink."""

from __future__ import annotations

import builtins
import gc
import sys

__all__ = ["mend_print", "spare_the_loaded"]


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
    """
    gc.collect()
    gc.freeze()
