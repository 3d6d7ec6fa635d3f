"""sash.rolling and what else computes rolling windows over arrays, each called with the values as it wants them."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

import sash
from sash.testing import naive
from sash_experiments.benchmark import Contender, Row

__all__ = ["AGGREGATIONS", "KEY_RANGE", "KEY_ROWS", "Data", "copies", "keyed", "ours", "pandas_apply", "peers", "warm"]

LEAST = 0.1
"""Seconds that a round calls a contender for, at least."""
PYTHON_ROWS = 200_000
"""A function that pandas calls window by window takes microseconds a value."""
KEY_ROWS, KEY_RANGE = 100, 10
CHECKED = 20
"""Windows that are compared with the definition, fewer if they are large; with each other, contenders are in all."""

Array = np.ndarray[Any, Any]
Windows = Callable[[Any], tuple[Array, ...]]
"""The results of the full windows, from what a call returned."""


def spread() -> sash.Aggregation:
    """The user's own aggregation of the README."""
    return sash.aggregation(
        "load",
        lift=lambda v: (v, v),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda p: p[1] - p[0],
        commutative=True,
    )


AGGREGATIONS: dict[str, Callable[[], sash.Aggregation]] = {
    "max": sash.Max,
    "mean": sash.Mean,
    "sample std": sash.SampleStdDev,
    "argmax": sash.ArgMax,
    "M4": sash.M4,
    "spread": spread,
}


class Data:
    """The values as each contender wants them, so that none pays for a conversion."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    @cached_property
    def numpy(self) -> Array:
        return np.random.default_rng(5).random(self.rows)

    @cached_property
    def index(self) -> Array:
        return np.arange(self.rows)

    @cached_property
    def warm(self) -> Array:
        return self.numpy.copy()

    @cached_property
    def pandas(self) -> Any:
        import pandas

        return pandas.Series(self.numpy)

    @cached_property
    def polars(self) -> Any:
        import polars

        return polars.Series(self.numpy)


def seconds_of_calls(call: Callable[[], Any], least_calls: int = 1) -> list[tuple[float, float]]:
    """Seconds of each call by the clock and of CPU, after one that is not timed; nor is the freeing of results."""
    clock, cpu_clock, seconds = time.perf_counter, time.process_time, list[tuple[float, float]]()
    gc.collect()
    gc.disable()
    try:
        call()
        while len(seconds) < least_calls or sum(wall for wall, _ in seconds) < LEAST:
            cpu_begin, begin = cpu_clock(), clock()
            result = call()
            seconds.append((clock() - begin, cpu_clock() - cpu_begin))
            del result
    finally:
        gc.enable()
    return seconds


def seconds_per_call(call: Callable[[], Any]) -> tuple[float, float]:
    """The mean of the calls, by the clock and of CPU."""
    walls, cpus = zip(*seconds_of_calls(call), strict=True)
    return sum(walls) / len(walls), sum(cpus) / len(cpus)


def contender(
    name: str,
    call: Callable[[], Any],
    values: int,
    windows: Windows | None = None,
    oracle: Callable[[], Any] | None = None,
) -> Contender:
    """What calls a function that takes so many values."""

    def measure() -> Iterator[Row]:
        wall, cpu = (round(seconds / values * 1e9, 4) for seconds in seconds_per_call(call))
        yield {"values": values, "ns_per_value": wall, "cpu_ns_per_value": cpu}

    return Contender(name, measure, None if windows is None else lambda: windows(call()), oracle)


def parts(result: Any) -> tuple[Array, ...]:
    return result if isinstance(result, tuple) else (result,)


def definition(label: str, data: Data, n: int, slide: int = 1) -> tuple[Array, ...]:
    """The first windows, from scratch."""
    found = []
    few = max(min(CHECKED, 2**17 // n), 1)
    for start in range(0, min(few * slide, data.rows - n + 1), slide):
        window = data.numpy[start : start + n].tolist()
        values = list(zip(window, range(start, start + n), strict=True)) if label == "argmax" else window
        found.append(naive(AGGREGATIONS[label](), values))
    return tuple(np.array(found).T) if isinstance(found[0], tuple) else (np.array(found),)


def ours(label: str, data: Data, n: int, name: str = "sash", algorithm: str = "sba", slide: int = 1) -> Contender:
    aggregation = AGGREGATIONS[label]()
    values: Any = (data.numpy, data.index) if label == "argmax" else data.numpy
    call = partial(sash.rolling, values, aggregation, range=n, slide=slide, algorithm=algorithm)
    return contender(name, call, data.rows, parts, partial(definition, label, data, n, slide))


def warm(data: Data, n: int) -> Contender:
    """Ours into an array that is there, as memcpy has it."""
    room = np.empty(data.rows - n + 1)
    call = partial(sash.rolling, data.numpy, sash.Max(), range=n, algorithm="sba", out=room)
    return contender("sash, out=", call, data.rows, parts)


def copies(data: Data) -> list[Contender]:
    """What moving the values costs: into an array that is there, and into a new one as every contender needs."""
    into = contender("copyto", lambda: np.copyto(data.warm, data.numpy), data.rows)
    return [into, contender("copy", data.numpy.copy, data.rows)]


def peers(label: str, data: Data, n: int) -> list[Contender]:
    """All peers that have an aggregation. Each gives a result for every value, meaningless for the first n - 1."""

    def windows(result: Any) -> tuple[Array, ...]:
        full = tuple(np.asarray(part[n - 1 :] if len(part) == data.rows else part) for part in parts(result))
        # Bottleneck tells how many values ago the maximum was
        return (data.index[n - 1 :] - full[0],) if label == "argmax" else full

    return [contender(name, call, data.rows, windows) for name, call in peer_calls(data, n)[label].items()]


def peer_calls(data: Data, n: int) -> dict[str, dict[str, Callable[[], Any]]]:
    import bottleneck as bn  # type: ignore[import-untyped]
    from scipy import ndimage  # type: ignore[import-untyped]

    x, series, polar = data.numpy, data.pandas, data.polars
    origin = (n - 1) // 2  # the window ends at the value, as everyone else's, instead of being centred on it

    def m4(least: Any, most: Any) -> tuple[Any, ...]:
        return least, most, x[: data.rows - n + 1], x[n - 1 :]

    return {
        "max": {
            "bottleneck": lambda: bn.move_max(x, n),
            "pandas": lambda: series.rolling(n).max(),
            "polars": lambda: polar.rolling_max(n),
            "scipy": lambda: ndimage.maximum_filter1d(x, n, origin=origin),
        },
        "mean": {
            "bottleneck": lambda: bn.move_mean(x, n),
            "pandas": lambda: series.rolling(n).mean(),
            "polars": lambda: polar.rolling_mean(n),
            "scipy": lambda: ndimage.uniform_filter1d(x, n, origin=origin),
        },
        "sample std": {
            "bottleneck": lambda: bn.move_std(x, n, ddof=1),
            "pandas": lambda: series.rolling(n).std(),
            "polars": lambda: polar.rolling_std(n),
        },
        "argmax": {"bottleneck": lambda: bn.move_argmax(x, n)},
        "M4": {
            "bottleneck": lambda: m4(bn.move_min(x, n), bn.move_max(x, n)),
            "pandas": lambda: m4(series.rolling(n).min(), series.rolling(n).max()),
            "polars": lambda: m4(polar.rolling_min(n), polar.rolling_max(n)),
            "scipy": lambda: m4(
                ndimage.minimum_filter1d(x, n, origin=origin), ndimage.maximum_filter1d(x, n, origin=origin)
            ),
        },
    }


def window_spread(window: Any) -> Any:
    """In one pass, which is the fastest of several ways to say it in Numba."""
    least = most = window[0]
    for value in window:
        least = min(least, value)
        most = max(most, value)
    return most - least


def pandas_apply(data: Data, n: int) -> list[Contender]:
    few = data.pandas[: min(data.rows, PYTHON_ROWS)]

    def windows(result: Any) -> tuple[Array, ...]:
        return (np.asarray(result[n - 1 :]),)

    compiled = partial(data.pandas.rolling(n).apply, window_spread, raw=True, engine="numba")
    plain = partial(few.rolling(n).apply, lambda w: w.max() - w.min(), raw=True)
    return [
        contender("pandas apply, numba", compiled, data.rows, windows),
        contender("pandas apply, python", plain, len(few), windows),
    ]


def keyed(data: Data) -> list[Contender]:
    """Ours by key: windows of sorted keys are those of an array that is cut where keys change."""
    keys = data.rows // KEY_ROWS
    values = data.numpy[: keys * KEY_ROWS]
    in_order = np.repeat(np.arange(keys), KEY_ROWS)
    shuffled = np.random.default_rng(6).permutation(in_order)
    codes = {"one key": np.zeros_like(in_order), "many keys, sorted": in_order, "many keys, shuffled": shuffled}

    def oracle(codes: Array) -> tuple[Array, ...]:
        first = values[codes == codes[0]][: KEY_RANGE + CHECKED]
        return (np.lib.stride_tricks.sliding_window_view(first, KEY_RANGE).max(axis=1),)

    def windows(codes: Array, result: Any) -> tuple[Array, ...]:
        ends, results = result
        return (results[codes[ends] == codes[0]],)

    plain = partial(sash.rolling, values, sash.Max(), range=KEY_RANGE, algorithm="sba")
    return [
        *(
            contender(
                name,
                partial(sash.rolling_by, column, values, sash.Max(), range=KEY_RANGE),
                len(values),
                partial(windows, column),
                partial(oracle, column),
            )
            for name, column in codes.items()
        ),
        contender("rolling, no keys", plain, len(values)),
    ]
