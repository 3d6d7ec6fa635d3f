"""What is particular about a Python worker of Flink."""

from __future__ import annotations

import builtins
import sys

__all__ = ["mend_print"]


def mend_print() -> None:
    """Let Numba be imported in a worker, which has put a function of its own in the place of ``print``.

    Numba looks ``print`` up in the module that the function says it is from, and does not find it there.
    """
    home = sys.modules.get(getattr(builtins.print, "__module__", ""))
    if home is not None and not hasattr(home, "print"):
        home.print = builtins.print  # type: ignore[attr-defined]
