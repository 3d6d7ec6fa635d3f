"""A mean that forgets: each value weighs half as much for every half-life that has passed since.

A partial knows its time: (Σ value · weight, Σ weight, newest time), where weights are those at the newest time. Merging
two decays the older one to the time of the newer one, so ``combine`` is associative and, though time matters,
commutative. Timestamps are nanoseconds since 1970 in it, other times plain numbers.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from sash.aggregations.base import Aggregation, Functions, Kind, Sliced
from sash.values.timestamps import EPOCH, EPOCH_UTC, FIRST_DAY, STEPS, as_duration, nanoseconds

__all__ = ["ExponentialMean"]

Decayed = tuple[float, float, Any]


def _lift(pair: Any) -> Decayed:
    value, time = pair
    return (float(value**1), 1.0, time)  # only numbers have powers


def _merge(a: Decayed, b: Decayed, rate: float) -> Decayed:
    if a[2] > b[2]:
        a, b = b, a
    kept = math.exp((a[2] - b[2]) * rate)
    return (b[0] + a[0] * kept, b[1] + a[1] * kept, b[2])


def _lower(partial: Decayed) -> float:
    return partial[0] / partial[1]


def _nanoseconds_since_1970(time: Any) -> int:
    if isinstance(time, datetime):
        since = time - (EPOCH if time.tzinfo is None else EPOCH_UTC)
        whole = (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000
        return whole + int(getattr(since, "nanoseconds", 0))
    if isinstance(time, np.datetime64):
        return int(time.astype("datetime64[ns]").astype(np.int64))
    days: int = (time - FIRST_DAY).days
    return days * STEPS["D"]


class ExponentialMean(Aggregation):
    """``ExponentialMean("value", "time", half_life="5m")``: the mean in which a value weighs ½ to the power of its age.

    Ages are those at the newest time in the window, so it is the mean of pandas' ``ewm(halflife=…, times=…)`` over the
    rows of the window. ``half_life`` is a duration if the times are timestamps, else a number in their unit.

    Rows with a null in either column are skipped; NaN among the values makes it NaN. Algebraic, commutative, not
    invertible; a combine takes an exponential and 5 flops.

    >>> import sash
    >>> load = sash.ExponentialMean("load", "second", half_life=10)
    >>> load.lower(load.combine(load.lift((3.0, 0)), load.lift((6.0, 10))))
    5.0
    """

    arity = 2
    kind = Kind.ALGEBRAIC
    commutative = True
    result_kind = float
    time_columns = (1,)
    _lift = staticmethod(_lift)
    _lower = staticmethod(_lower)
    _options = ("half_life",)

    def __init__(self, *columns: str, half_life: str | timedelta | float, where: str | None = None) -> None:
        super().__init__(*columns, where=where)
        self.half_life: str | float
        if isinstance(half_life, str | timedelta):
            self.half_life = as_duration(half_life, "half_life")
            length: float = nanoseconds(self.half_life)
        elif isinstance(half_life, bool) or not isinstance(half_life, int | float):
            raise TypeError(f"half_life must be a duration such as '5m', or a number; got {half_life!r}")
        else:
            self.half_life = length = half_life
        if not 0 < length < math.inf:
            raise ValueError(f"half_life must be positive; got {half_life!r}")
        self._rate = math.log(2.0) / length

    def lift(self, value: Any) -> Any:
        try:
            number, time = value
        except (TypeError, ValueError):
            raise TypeError(f"{self!r} takes pairs (value, time); got {value!r}") from None
        if number is None or time is None:
            return None
        if isinstance(time, date | np.datetime64):
            self._check_unit(timestamps=True)
            time = _nanoseconds_since_1970(time)
        elif isinstance(time, int | float | np.integer | np.floating) and not isinstance(time, bool):
            self._check_unit(timestamps=False)
            time = time.item() if isinstance(time, np.number) else time
        else:
            raise TypeError(f"{self!r} cannot aggregate {value!r}: {time!r} of {type(time).__name__} is not a time")
        return super().lift((number, time))

    def _check_unit(self, timestamps: bool) -> None:
        if timestamps != isinstance(self.half_life, str):
            has = (
                "timestamps: half_life must be a duration such as '5m'"
                if timestamps
                else ("plain numbers: half_life must be a number in their unit")
            )
            raise TypeError(f"{self!r} cannot aggregate these times, which are {has}")

    def _combine(self, a: Decayed, b: Decayed) -> Decayed:
        return _merge(a, b, self._rate)

    def columnar(self, kind: str, clean: bool) -> Functions:
        rate = self._rate

        def combine(a: Decayed, b: Decayed) -> Decayed:
            return _merge(a, b, rate)

        return Functions(_lift, combine, _lower)

    def sliced(self, kind: str) -> Sliced:
        return Sliced(self.columnar(kind, clean=False))
