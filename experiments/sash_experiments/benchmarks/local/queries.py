"""The queries by key of ``bench local``, each said for Sash, Polars, DuckDB and pandas.

Rows have the columns ``key``, ``ts`` and ``load``. Libraries are imported where they are used, so that a new process in
which first results are timed imports one of them only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["COUNT", "HOPPING", "SESSIONS", "TABLE", "TRAILING", "TUMBLING", "KeyedQuery"]

COUNT, TUMBLING, HOPPING, SESSIONS, TRAILING = "count", "tumbling", "hopping", "sessions", "trailing"
TABLE = "readings"
"""What DuckDB calls the rows."""

_SASH = {"count": "Count", "max": "Max", "mean": "Mean", "sample std": "SampleStdDev"}
_POLARS = {"max": "max", "mean": "mean", "sample std": "std"}
_SQL = {"count": "count(*)", "max": "max(load)", "mean": "avg(load)", "sample std": "stddev_samp(load)"}
_SQL_OF_SLICES = {"max": "max(max)", "mean": "sum(sum) / sum(count)"}


class KeyedQuery(NamedTuple):
    """Windows of one kind over each key, and their aggregates."""

    kind: str
    size: int
    """Rows of a count window; seconds of a time window, or of a session's gap."""
    aggregates: tuple[str, ...]
    slide: int = 0
    """Seconds, of hopping windows."""

    @property
    def window(self) -> str:
        """The window as tables name it.

        >>> KeyedQuery(HOPPING, 600, ("max",), 10).window
        '10 min by 10 s'
        """
        size = f"{self.size // 60} min" if self.size % 60 == 0 else f"{self.size} s"
        names = {
            COUNT: f"last {self.size} rows",
            TUMBLING: size,
            SESSIONS: f"sessions of {self.size} s",
            TRAILING: f"last {size} at every row",
        }
        return names.get(self.kind, f"{size} by {self.slide} s")

    @property
    def label(self) -> str:
        """The aggregates as tables name them."""
        return " + ".join(self.aggregates)

    def sash(self) -> Any:
        """A :class:`sash.Query`."""
        import sash

        windows: dict[str, Any] = {
            COUNT: lambda: sash.sliding(self.size),
            TUMBLING: lambda: sash.tumbling(f"{self.size}s"),
            HOPPING: lambda: sash.sliding(f"{self.size}s", f"{self.slide}s"),
            SESSIONS: lambda: sash.session(f"{self.size}s"),
            TRAILING: lambda: sash.trailing(f"{self.size}s", "both"),
        }
        aggregates = {
            name: sash.Count() if name == "count" else getattr(sash, _SASH[name])("load") for name in self.aggregates
        }
        time = None if self.kind == COUNT else "ts"
        return sash.Query(key="key", windows=windows[self.kind](), aggregates=aggregates, time=time)

    def polars(self, frame: Any) -> Any:
        """The results of a frame in the order of time: of count and trailing windows one a row, else one a window."""
        import polars as pl

        load, ts = pl.col("load"), pl.col("ts")
        if self.kind == COUNT:
            rolling = {name: getattr(load, f"rolling_{_POLARS[name]}")(self.size) for name in self.aggregates}
            return frame.select("key", **{name: column.over("key") for name, column in rolling.items()})
        columns = {name: pl.len() if name == "count" else getattr(load, _POLARS[name])() for name in self.aggregates}
        if self.kind == SESSIONS:
            opens = (ts.diff() >= pl.duration(seconds=self.size)).fill_null(True)
            numbered = frame.with_columns(session=opens.cum_sum().over("key"))
            return numbered.group_by("key", "session").agg(start=ts.min(), **columns).drop("session")
        if self.kind == TRAILING:
            return frame.rolling("ts", period=f"{self.size}s", group_by="key", closed="both").agg(**columns)
        every = f"{self.slide or self.size}s"
        groups = frame.group_by_dynamic("ts", every=every, period=f"{self.size}s", group_by="key")
        return groups.agg(**columns).rename({"ts": "start"})

    def polars_rolling_by(self, frame: Any) -> Any:
        """Trailing windows as expressions of one aggregate each, the faster way."""
        import polars as pl

        rolling = {name: getattr(pl.col("load"), f"rolling_{_POLARS[name]}_by") for name in self.aggregates}
        columns = {name: by("ts", f"{self.size}s", closed="both").over("key") for name, by in rolling.items()}
        return frame.select("key", "ts", **columns)

    def polars_truncated(self, frame: Any) -> Any:
        """Tumbling windows as groups of truncated times, the faster way where there are few keys."""
        import polars as pl

        columns = {name: getattr(pl.col("load"), _POLARS[name])() for name in self.aggregates}
        return frame.group_by("key", start=pl.col("ts").dt.truncate(f"{self.size}s")).agg(**columns)

    def pandas(self, frame: Any) -> Any:
        """The results of tumbling windows."""
        start = frame["ts"].dt.floor(f"{self.size}s").rename("start")
        return frame.groupby(["key", start], sort=False)["load"].agg(list(self.aggregates)).reset_index()

    def sql(self) -> str:
        """DuckDB's query. Hopping windows are merged from slices: unnesting rows would make 60 of each."""
        columns = ", ".join(f'{_SQL[name]} AS "{name}"' for name in self.aggregates)
        if self.kind == COUNT:
            rolling = ", ".join(f'{_SQL[name]} OVER last AS "{name}"' for name in self.aggregates)
            frame = f"PARTITION BY key ORDER BY ts ROWS BETWEEN {self.size - 1} PRECEDING AND CURRENT ROW"
            return f"SELECT key, ts, {rolling} FROM {TABLE} WINDOW last AS ({frame})"
        if self.kind == TRAILING:
            rolling = ", ".join(f'{_SQL[name]} OVER last AS "{name}"' for name in self.aggregates)
            range_ = f"RANGE BETWEEN INTERVAL '{self.size} seconds' PRECEDING AND CURRENT ROW"
            return f"SELECT key, ts, {rolling} FROM {TABLE} WINDOW last AS (PARTITION BY key ORDER BY ts {range_})"
        if self.kind == TUMBLING:
            start = f"time_bucket(INTERVAL '{self.size} seconds', ts)"
            return f"SELECT key, {start} AS start, {columns} FROM {TABLE} GROUP BY ALL"
        if self.kind == SESSIONS:
            by_key = "PARTITION BY key ORDER BY ts"
            opens = f"coalesce(ts - lag(ts) OVER ({by_key}) >= INTERVAL '{self.size} seconds', true)"
            marked = f"SELECT *, {opens}::INT AS opens FROM {TABLE}"
            numbered = f"SELECT *, sum(opens) OVER ({by_key} ROWS UNBOUNDED PRECEDING) AS session FROM ({marked})"
            grouped = f"SELECT key, session, min(ts) AS start, {columns} FROM ({numbered}) GROUP BY key, session"
            return f"SELECT * EXCLUDE (session) FROM ({grouped})"
        slide = f"INTERVAL '{self.slide} seconds'"
        partials = "max(load) AS max, sum(load) AS sum, count(*) AS count"
        slices = f"SELECT key, time_bucket({slide}, ts) AS slice, {partials} FROM {TABLE} GROUP BY ALL"
        merged = ", ".join(f'{_SQL_OF_SLICES[name]} AS "{name}"' for name in self.aggregates)
        steps = f"range({self.size // self.slide}) AS steps(step)"
        start = f"slice - step * {slide}"
        return f"WITH slices AS ({slices}) SELECT key, {start} AS start, {merged} FROM slices, {steps} GROUP BY ALL"
