"""The local runtime: a query over a whole data set in this process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from sash.engine.planner import plan
from sash.engine.results import Outcome
from sash.frames import columns_of, is_reader, number_keys
from sash.query import Query, arrival_time
from sash.runtime.driver import Driver
from sash.runtime.output import Output
from sash.values.arrays import Nan

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["run"]


@overload
def run(query: Query, data: pd.DataFrame, *, nan: Nan = "null") -> pd.DataFrame: ...
@overload
def run(query: Query, data: pl.DataFrame | pl.LazyFrame, *, nan: Nan = "null") -> pl.DataFrame: ...
@overload
def run(query: Query, data: Mapping[str, Any], *, nan: Nan = "null") -> dict[str, Any]: ...
@overload
def run(query: Query, data: Iterable[Mapping[str, Any]], *, nan: Nan = "null") -> list[dict[str, Any]]: ...
@overload
def run(query: Query, data: Any, *, nan: Nan = "null") -> Any: ...
def run(query: Query, data: Any, *, nan: Nan = "null") -> Any:
    """All results of ``query`` over ``data``, key by key, those of a key in the order in which windows complete.

    ``data`` is a pandas or polars DataFrame, an Arrow table, a dict of arrays or lists, or rows (mappings); the results
    are of the same kind (:mod:`sash.frames` has the whole list). A result has the key's columns, ``window`` (the name,
    if windows have names), ``window_start`` and ``window_end`` (times as in the data, or positions counted by key) and
    the aggregates. Nothing is late, since all data is there: tuples are taken in the order of time, whatever the order
    of rows.

    NaN is null in a pandas column that has no null of its own (NumPy's floats, objects), as pandas has it; with
    ``nan="value"`` it is a number, as it is in all other data, and propagates.

    A ``pyarrow.RecordBatchReader`` is a stream, for tables larger than memory, and so are its results: a reader, whose
    rows come as their windows complete. Its rows must be in the order of time but for ``watermark_delay``. What is held
    is the state of the keys and some hundred thousand rows.

    Costs what the planned merges do, in compiled code where the columns are of numbers.

    >>> import sash
    >>> query = sash.Query(key="plug", windows=sash.sliding(2), aggregates={"peak": sash.Max("load")})
    >>> sash.run(query, {"plug": ["a", "b", "a", "a"], "load": [3, 9, 5, 4]})
    {'plug': ['a', 'a'], 'window_start': [0, 1], 'window_end': [2, 3], 'peak': [5, 5]}
    """
    if is_reader(data):
        from sash.runtime.record_batches import run_reader

        return run_reader(query, data)
    if query.time == arrival_time:
        raise ValueError("sash.run takes a whole table, whose rows have no time of arrival: name a column with time=")
    frame = columns_of(data, query.columns, nan)
    codes, distinct = number_keys(frame, query.keys)
    driver = Driver(plan(query.using(allowed_lateness=None, early=None), own_watermark=False), own_watermark=False)
    keys = len(next(iter(distinct.values()))) if distinct else min(1, len(codes))
    outcomes = driver.run(frame, codes, keys)
    return Output(query).table(frame, _by_lane(outcomes), driver.times, distinct)


def _by_lane(outcomes: list[Any]) -> list[Outcome]:
    """The outcomes lane by lane; the table sorts those of several lanes by key."""
    columns = [outcome.columns() for outcome in outcomes]
    lanes = [outcome.lane for outcome in columns]
    filled = [outcome for outcome in columns if len(outcome)]
    return sorted(filled or columns[:1], key=lambda outcome: lanes.index(outcome.lane))
