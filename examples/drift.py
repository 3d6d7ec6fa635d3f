"""When did the mean change? ADWIN, a window that grows while its values are alike and forgets what was before a change.

    python examples/drift.py                          # made-up readings, whose mean changes twice
    python examples/drift.py readings.csv             # with the columns number (0, 1, 2, …) and value

ADWIN (Bifet and Gavaldà, 2007) cuts its window in two wherever the means of both parts differ by more than chance
allows, and drops the older part bit by bit until no cut shows a difference. It looks for cuts between the buckets of an
exponential histogram: some of 1 value, some of 2, of 4, … .

    rows      0 1 2 3 4 5 6 7 8 9 10 11 12            buckets of a window of the rows 3 to 12
    buckets         |3|4 . . . . 7|8 . . 11|12|       3 | 4 … 7 | 8 … 11 | 12

Here the buckets are those intervals [j · 2^k, (j + 1) · 2^k) of row numbers that fit, of 64 rows at most, so that a
change is placed to within 64 rows. Where they begin does not depend on how the window came about, so two neighbouring
histograms can be merged in any order: it is an aggregation like all others. Its result is how many of the oldest rows
leave, and the slide policy needs no more than that.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import sash

Bucket = tuple[int, int, float, float]
"""(k, j, sum, sum of squares) of the rows j · 2^k to (j + 1) · 2^k - 1."""
Histogram = tuple[Bucket, ...]
LARGEST = 6
"""The k of the largest buckets."""


def histogram(number: int, value: float) -> Histogram:
    """The histogram of one row."""
    return ((0, number, value, value * value),)


def merge(older: Histogram, younger: Histogram) -> Histogram:
    """Both as one: where two buckets are the halves of a larger one, that takes their place. O(rows / 64)."""
    buckets = list(older)
    for level, place, total, squares in younger:
        while level < LARGEST and place & 1 and buckets and buckets[-1][:2] == (level, place - 1):
            _, _, sum_before, squares_before = buckets.pop()
            level, place, total, squares = level + 1, place >> 1, sum_before + total, squares_before + squares
        buckets.append((level, place, total, squares))
    return tuple(buckets)


def leaving(confidence: float, buckets: Histogram) -> int:
    """How many of the oldest rows leave: buckets are dropped as long as some cut shows two different means."""
    first = 0
    while first < len(buckets) - 1 and differs(buckets[first:], confidence):
        first += 1
    return sum(1 << level for level, *_ in buckets[:first])


def differs(buckets: Histogram, confidence: float) -> bool:
    """Whether the means before and after some bucket differ by more than chance allows (theorem 3.2)."""
    rows = sum(1 << level for level, *_ in buckets)
    total = math.fsum(bucket[2] for bucket in buckets)
    variance = max(math.fsum(bucket[3] for bucket in buckets) / rows - (total / rows) ** 2, 0.0)
    odds = math.log(2 * math.log(rows) / confidence)
    before, sum_before = 0, 0.0
    for level, _, bucket_sum, _ in buckets[:-1]:
        before, sum_before = before + (1 << level), sum_before + bucket_sum
        after = rows - before
        inverse = 1 / before + 1 / after
        most = math.sqrt(2 * inverse * variance * odds) + 2 / 3 * inverse * odds
        if abs(sum_before / before - (total - sum_before) / after) > most:
            return True
    return False


def no_longer_alike(total: dict[str, Any], oldest: dict[str, Any]) -> bool:
    """The slide policy. It is monotone, for it only compares a number of rows."""
    return bool(oldest["rows"] <= total["leaving"])


def query(confidence: float = 0.002) -> sash.Query:
    """A result with each row: the rows since the last change, and their mean."""
    adwin = sash.aggregation(
        ["number", "value"], lift=histogram, combine=merge, lower=partial(leaving, confidence), name="adwin"
    )
    return sash.Query(
        windows=sash.window_while(no_longer_alike),
        aggregates={"rows": sash.Count(), "mean": sash.Mean("value"), "leaving": adwin},
    )


def made_up(seed: int = 3) -> pd.DataFrame:
    """600 readings around 0.4, 500 around 0.6, 400 around 0.3."""
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(mean, 0.05, rows) for mean, rows in ((0.4, 600), (0.6, 500), (0.3, 400))])
    return pd.DataFrame({"number": np.arange(len(values)), "value": values})


def changes(readings: pd.DataFrame) -> Iterator[tuple[int, int, float]]:
    """(row at which a change was found, row since which the new values come, mean since) of each change."""
    op, begin = sash.Operator(query()), 0
    for number, value in zip(readings["number"].tolist(), readings["value"].tolist(), strict=True):
        for result in op.process({"number": number, "value": value}):
            if result["window_start"] > begin:
                begin = result["window_start"]
                yield number, begin, result["mean"]


def main(arguments: list[str] | None = None) -> None:
    """Print each change."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("readings", nargs="?", help="a CSV file with the columns number and value")
    options = parser.parse_args(arguments)
    for row, begin, mean in changes(made_up() if options.readings is None else pd.read_csv(options.readings)):
        print(f"row {row}: what was before row {begin} is dropped; the mean since is {mean:.3f}")


if __name__ == "__main__":
    main()
