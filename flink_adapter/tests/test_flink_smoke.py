"""Flink's Python workers have Sash and Numba: the core computes inside a real embedded Flink."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment

ROWS = [("a", 3.0), ("b", 5.0), ("a", 1.0), ("b", 4.0), ("a", 2.0)]


def sliding_max() -> KeyedProcessFunction:
    """The maximum of each key's last two values.

    The class is made inside a function so that it is sent to the worker by value: a worker cannot import test
    modules.
    """
    from pyflink.datastream import KeyedProcessFunction

    class SlidingMax(KeyedProcessFunction):  # type: ignore[misc]  # PyFlink has no types
        def open(self, runtime_context: RuntimeContext) -> None:
            import builtins
            import sys

            # The worker has put a function of its own in the place of `print`. Numba looks `print` up in the
            # module that the function says it is from, does not find it there, and fails to import.
            home = sys.modules.get(getattr(builtins.print, "__module__", ""))
            if home is not None and not hasattr(home, "print"):
                home.print = builtins.print  # type: ignore[attr-defined]

            import numba

            self.double = numba.njit(lambda value: value + value)
            self.windows: dict[str, Any] = {}

        def process_element(
            self, value: tuple[str, float], context: KeyedProcessFunction.Context
        ) -> Iterator[tuple[str, float, float, int]]:
            import sash

            key, load = value
            window = self.windows.setdefault(key, sash.aggregators.DABA(sash.Max()))
            window.insert(load)
            if len(window) > 2:
                window.evict()
            yield key, window.query(), self.double(load), os.getpid()

    return SlidingMax()


def test_sliding_maximum_in_a_keyed_process_function(flink: StreamExecutionEnvironment) -> None:
    stream = flink.from_collection(ROWS).key_by(lambda row: row[0]).process(sliding_max())
    with stream.execute_and_collect("sliding maximum") as results:
        rows = list(results)

    assert sorted(row[:3] for row in rows) == [
        ("a", 2.0, 4.0),
        ("a", 3.0, 2.0),
        ("a", 3.0, 6.0),
        ("b", 5.0, 8.0),
        ("b", 5.0, 10.0),
    ]
    assert os.getpid() not in {row[3] for row in rows}
