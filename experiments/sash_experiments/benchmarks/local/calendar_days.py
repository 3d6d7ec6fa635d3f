"""Days of a time zone by key, as ``bench local`` measures them: two years of readings, clocks changing four times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

import sash
from sash_experiments.benchmark import Case, Contender
from sash_experiments.benchmarks.local.contenders import measure_call

__all__ = ["DAYS", "ZONE", "calendar_cases"]

ZONE, YEARS, KEYS = "America/New_York", 2, 100
DAYS = f"days of {ZONE}"
START = np.datetime64("2025-01-01", "us")
CHECKED = 20

Array = np.ndarray[Any, Any]


class Days:
    """Rows of each key in the order of time, as each contender wants them, and the days that it makes of them."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        random = np.random.default_rng(11)
        step = np.timedelta64(YEARS * 365 * 86_400 * 10**6 // rows, "us")
        self.columns = {
            "key": random.integers(0, min(KEYS, rows), rows),
            "ts": START + np.arange(rows) * step,
            "load": random.random(rows),
        }

    @cached_property
    def polars(self) -> Any:
        import polars as pl

        return pl.DataFrame(self.columns).with_columns(
            pl.col("ts").dt.replace_time_zone("UTC").dt.convert_time_zone(ZONE)
        )

    @cached_property
    def pandas(self) -> Any:
        return self.polars.to_pandas()

    def calls(self) -> dict[str, Callable[[], Any]]:
        """What each contender runs."""
        import polars as pl

        aggregates = {"max": sash.Max("load"), "mean": sash.Mean("load")}
        query = sash.Query(key="key", windows=sash.tumbling("1d", zone=ZONE), aggregates=aggregates, time="ts")
        columns = {"max": pl.col("load").max(), "mean": pl.col("load").mean()}
        return {
            "sash": lambda: sash.run(query, self.polars),
            "polars": lambda: self.polars.group_by_dynamic("ts", every="1d", group_by="key").agg(**columns),
            "polars, truncate": lambda: self.polars.group_by("key", pl.col("ts").dt.truncate("1d")).agg(**columns),
            "pandas": self._by_pandas,
        }

    def _by_pandas(self) -> Any:
        frame = self.pandas
        return frame.groupby(["key", frame["ts"].dt.normalize()], sort=False)["load"].agg(["max", "mean"]).reset_index()

    def answer(self, call: Callable[[], Any]) -> tuple[int, list[Array]]:
        """How many days there are, and what is in them, by key and start."""
        import polars as pl

        result = call()
        frame = result if isinstance(result, pl.DataFrame) else pl.from_pandas(result)
        frame = frame.rename({"window_start": "ts"}, strict=False).select("key", "ts", "max", "mean")
        hours = (pl.col("ts").dt.epoch("s") - int(START.astype("M8[s]").astype(int))) / 3600
        frame = frame.with_columns(hours.alias("ts")).sort("key", "ts")
        return len(frame), [frame[name].to_numpy() for name in frame.columns]

    def definition(self) -> tuple[int, list[Array]]:
        """The first days of the first key, from scratch, by the standard library's zones."""
        zone, days = ZoneInfo(ZONE), dict[datetime, list[float]]()
        mine = self.columns["key"] == 0
        for at, load in zip(self.columns["ts"][mine].tolist(), self.columns["load"][mine].tolist(), strict=True):
            local = at.replace(tzinfo=UTC).astimezone(zone)
            days.setdefault(local.replace(hour=0, minute=0, second=0, microsecond=0), []).append(load)
            if len(days) > CHECKED:
                break
        start = START.item().replace(tzinfo=UTC)
        found = [(0, (day - start) / timedelta(hours=1), max(loads), np.mean(loads)) for day, loads in days.items()]
        count = self.answer(self.calls()["pandas"])[0]
        return count, [np.array(column[:CHECKED], float) for column in zip(*found, strict=True)]


def calendar_cases(rows: int) -> Iterator[Case]:
    """One case."""
    days = Days(rows)
    labels = {"workload": "calendar", "window": DAYS, "aggregates": "max + mean", "keys": min(KEYS, rows)}
    contenders = [
        Contender(name, partial(measure_call, call, rows), partial(days.answer, call), days.definition)
        for name, call in days.calls().items()
    ]
    yield Case(labels, contenders)
