"""When were the machines at work? Sessions of sensor readings, with polars.

    python examples/sensor_sessions.py                         # made-up readings
    python examples/sensor_sessions.py readings.parquet --out sessions.parquet

A machine's sensor reports while the machine runs, and is silent otherwise. A session is a run of readings
less than 30 seconds apart. Readings are a Parquet file with the columns machine, at, vibration, power.
"""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta

import numpy as np
import polars as pl

import sash
import sash.polars  # registers DataFrame.sash

GAP = timedelta(seconds=30)


def made_up(machines: int = 4, seed: int = 1) -> pl.DataFrame:
    """Each machine starts ten times, reads once a second for some minutes, and then rests."""
    rng = np.random.default_rng(seed)
    rows = []
    for machine in range(machines):
        at = datetime(2026, 1, 5, 6) + timedelta(seconds=int(rng.integers(0, 600)))
        for _ in range(10):
            for _ in range(int(rng.integers(60, 300))):
                at += timedelta(seconds=1)
                rows.append((f"press {machine}", at, rng.gamma(2.0, 0.5), 3.0 + rng.normal(0, 0.2)))
            at += timedelta(seconds=int(rng.integers(60, 900)))
    frame = pl.DataFrame(rows, schema=["machine", "at", "vibration", "power"], orient="row")
    return frame.sample(fraction=1.0, shuffle=True, seed=seed)  # the order of rows does not matter


def sessions(readings: pl.DataFrame) -> pl.DataFrame:
    """A row for each session: when, how long, how much energy, and what the vibration was like."""
    found = readings.sash.session(GAP, by="machine", on="at").agg(
        readings=sash.Count(),
        first=sash.First("at"),
        last=sash.Last("at"),
        power=sash.Mean("power"),
        vibration_p99=sash.Quantile("vibration", 0.99),
        vibration_max=sash.Max("vibration"),
    )
    lasted = pl.col("last") - pl.col("first")
    return found.with_columns(lasted=lasted, kwh=pl.col("power") * lasted.dt.total_seconds() / 3600).drop("window_end")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readings", nargs="?", help="a Parquet file; by default readings are made up")
    parser.add_argument("--out", help="write the sessions to this Parquet file")
    options = parser.parse_args(arguments)
    found = sessions(made_up() if options.readings is None else pl.read_parquet(options.readings))
    if options.out:
        found.write_parquet(options.out)
    print(found.sort("kwh", descending=True).head(5))
    print(found.group_by("machine").agg(pl.len().alias("sessions"), pl.sum("kwh"), pl.sum("lasted")).sort("machine"))


if __name__ == "__main__":
    main()
