"""The same readings as lines of the challenges' own files, which the loaders of original files read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sash_experiments.generators.debs import debs12, debs14

__all__ = ["debs12_lines", "debs14_lines"]

_REST = "\t0" * 61
"""The columns of DEBS 2012 after the readings: states of sensors, which the papers do not use."""


def debs12_lines(rows: int, seed: int = 12) -> Iterator[str]:
    """Tab-separated, 66 columns: a time of seven places, a running number, readings, states of sensors.

    >>> next(debs12_lines(1)).split("\\t")[:2]
    ['2012-02-22T16:46:28.9670320+00:00', '2556001']
    """
    stream = debs12(rows, seed)
    times = np.datetime_as_string(stream["ts"], unit="us")
    readings = (stream[name].astype(np.int64).tolist() for name in ("seq", "mf01", "mf02", "mf03"))
    for ts, *numbers in zip(times.tolist(), *readings, strict=True):
        yield f"{ts}0+00:00\t" + "\t".join(map(str, numbers)) + _REST


def debs14_lines(rows: int, keys: int = 14, seed: int = 14) -> Iterator[str]:
    """Comma-separated: id, timestamp in seconds, value, property (1: load), plug, household and house.

    >>> next(debs14_lines(1)).split(",")[3:]
    ['1', '0', '0', '0']
    """
    stream = debs14(rows, keys, seed)
    seconds = stream["ts"].astype("datetime64[s]").astype(np.int64)
    columns = (each.tolist() for each in (stream["seq"], seconds, stream["load"], stream["key"], stream["house"]))
    for number, second, load, key, house in zip(*columns, strict=True):
        yield f"{number},{second},{load},1,{key % 5},0,{house}"
