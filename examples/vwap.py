"""Volume-weighted average prices by symbol, with pandas.

    python examples/vwap.py                        # made-up trades
    python examples/vwap.py trades.csv --out minutes.csv

Trades are a CSV file with the columns time, symbol, price, volume. One query computes two windows from the
same slices: minutes, and the last five minutes at every minute. Then each trade gets the average of the five
minutes before it.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import sash
import sash.pandas  # registers DataFrame.sash

QUERY = sash.Query(
    key="symbol",
    windows={"minute": sash.tumbling("1m"), "five minutes": sash.sliding("5m", "1m")},
    aggregates={
        "open": sash.First("price"),
        "high": sash.Max("price"),
        "low": sash.Min("price"),
        "close": sash.Last("price"),
        "volume": sash.Sum("volume"),
        "vwap": sash.WeightedMean("price", "volume"),
    },
    time="time",
)


def made_up(rows: int = 2000, seed: int = 1) -> pd.DataFrame:
    """Prices that walk at random, a trade of one of three symbols every half a second or so."""
    rng = np.random.default_rng(seed)
    steps = pd.Series(rng.integers(0, 1000, rows).cumsum())
    symbols = rng.choice(["AAA", "BBB", "CCC"], rows)
    prices = 100 + pd.Series(rng.normal(0, 0.05, rows)).groupby(symbols).cumsum()
    return pd.DataFrame(
        {
            "time": pd.Timestamp("2026-01-05 09:30") + pd.to_timedelta(steps, "ms"),
            "symbol": symbols,
            "price": prices.round(2),
            "volume": rng.integers(1, 10, rows) * 100,
        }
    )


def with_trailing_vwap(trades: pd.DataFrame) -> pd.DataFrame:
    """The trades, each with the average of its symbol's last five minutes, and how far its price is from that."""
    windows = trades.sash.rolling("5m", by="symbol", on="time")
    vwap = windows.agg(vwap=sash.WeightedMean("price", "volume"))["vwap"]
    return trades.assign(vwap=vwap, deviation=trades["price"] / vwap - 1)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trades", nargs="?", help="a CSV file; by default trades are made up")
    parser.add_argument("--out", help="write the bars to this CSV file")
    options = parser.parse_args(arguments)
    trades = made_up() if options.trades is None else pd.read_csv(options.trades, parse_dates=["time"])
    bars = sash.run(QUERY, trades)
    if options.out:
        bars.to_csv(options.out, index=False)
    print(bars.groupby(["symbol", "window"]).tail(1).to_string(index=False))
    far = with_trailing_vwap(trades).nlargest(3, "deviation")
    print("\nfarthest above their last five minutes:\n" + far.to_string(index=False))


if __name__ == "__main__":
    main()
