"""The local runtime: a query over a whole data set in this process."""

from __future__ import annotations

from typing import Any

from sash.engine.planner import plan
from sash.engine.results import Outcome
from sash.frames import columns_of, factorize
from sash.query import Query
from sash.runtime.driver import Driver
from sash.runtime.output import Output
from sash.values.arrays import Nan

__all__ = ["run"]

LONG = 4_000_000
"""From this number of rows on, progress is shown on a terminal."""


def run(query: Query, data: Any, *, nan: Nan = "null") -> Any:
    """All results of ``query`` over ``data``, key by key, those of a key in the order in which windows complete.

    ``data`` is a pandas or polars DataFrame, an Arrow table, a dict of arrays or lists, or rows (mappings); the results
    are of the same kind. A result has the key's columns, ``window`` (the name, if windows have names),
    ``window_start`` and ``window_end`` (times as in the data, or positions counted by key) and the aggregates. Nothing
    is late, since all data is there: tuples are taken in the order of time, whatever the order of rows.

    NaN is null in a pandas column that has no null of its own (NumPy's floats, objects), as pandas has it; with
    ``nan="value"`` it is a number, as it is in all other data, and propagates.

    Costs what the planned merges do, in compiled code where the columns are of numbers.

    >>> import sash
    >>> query = sash.Query(key="plug", windows=sash.sliding(2), aggregates={"peak": sash.Max("load")})
    >>> sash.run(query, {"plug": ["a", "b", "a", "a"], "load": [3, 9, 5, 4]})
    {'plug': ['a', 'a'], 'window_start': [0, 1], 'window_end': [2, 3], 'peak': [5, 5]}
    """
    frame = columns_of(data, query.columns, nan)
    codes, distinct = factorize(frame, query.keys)
    driver = Driver(plan(query.using(allowed_lateness=None), own_watermark=False), own_watermark=False)
    keys = int(codes.max(initial=-1)) + 1
    outcomes = driver.run(frame, codes, keys)
    return Output(query).table(frame, _by_lane(outcomes), driver.times, distinct)


def _by_lane(outcomes: list[Any]) -> list[Outcome]:
    """The outcomes lane by lane; the table sorts those of several lanes by key."""
    columns = [outcome.columns() for outcome in outcomes]
    lanes = [outcome.lane for outcome in columns]
    filled = [outcome for outcome in columns if len(outcome)]
    return sorted(filled or columns[:1], key=lambda outcome: lanes.index(outcome.lane))
