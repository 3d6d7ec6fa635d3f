"""The local runtime: a query over a whole data set in this process, by columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from sash.engine.columns.values import value_columns
from sash.engine.decisions import unsupported
from sash.engine.planner import LanePlan, plan
from sash.engine.results import Outcome
from sash.engine.rows.lane import Result, RowLane
from sash.frames import Frame, columns_of, factorize
from sash.query import Query
from sash.query.lanes import Lane
from sash.runtime.error_rows import naming_rows
from sash.runtime.output import Output
from sash.values.arrays import Nan
from sash.values.time_codec import TimeCodec

__all__ = ["run"]

Array = np.ndarray[Any, Any]

LONG = 4_000_000
"""From so many rows on, progress is shown on a terminal."""


def run(query: Query, data: Any, *, nan: Nan = "null") -> Any:
    """All results of ``query`` over ``data``, key by key, and for each key in the order in which windows are complete.

    ``data`` is a pandas or polars DataFrame, an Arrow table, a dict of arrays or lists, or rows (mappings); the results
    are of the same kind. A result has the key's columns, ``window`` (the name, if windows have names),
    ``window_start`` and ``window_end`` (times as in the data, or positions counted by key) and the aggregates. As all
    data is there, nothing is late: tuples are taken in the order of time, whatever the order of rows.

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
    output = Output(query)
    codecs = dict(_codecs(query, frame, output))
    final = query.using(allowed_lateness=None)
    lanes = plan(final, own_watermark=False).lanes
    with naming_rows(query, frame, codes):
        outcomes = [each for planned in lanes for each in _run_lane(final, planned, frame, codes, codecs)]
    return output.table(frame, _by_key(outcomes), codecs, distinct)


def _codecs(query: Query, frame: Frame, output: Output) -> Iterator[tuple[str, TimeCodec]]:
    for lane in query.lanes:
        if lane.order is not None and len(frame):
            codec = TimeCodec.of_array(frame[lane.order], lane.order, frame.zone(lane.order), time_unit=lane.time_unit)
            if codec is not None:
                yield lane.order, output.codec(lane, codec)


def _inside(lane: Lane, frame: Frame, codecs: dict[str, TimeCodec]) -> Array | None:
    if lane.order is None:
        return None
    if lane.order not in codecs:
        return np.zeros(0, np.int64)
    return codecs[lane.order].to_inside_array(frame[lane.order], lane.order, 0, frame.zone(lane.order))


def _run_lane(
    query: Query, planned: LanePlan, frame: Frame, codes: Array, codecs: dict[str, TimeCodec]
) -> Iterator[Outcome]:
    times = _inside(planned.lane, frame, codecs)
    if unsupported(query, planned.lane) is not None:
        yield from _by_rows(query, planned, frame, codes, times)
        return
    from sash.engine.columns.lane import ColumnLane  # brings Numba, which takes a while: only when it is needed

    engine = ColumnLane(query, planned.lane, own_watermark=False)
    columns = value_columns(query, frame)
    for piece in _pieces(len(frame)):
        part = {name: array[piece] for name, array in columns.items()}
        results = engine.process(codes[piece], None if times is None else times[piece], part, piece.stop - piece.start)
        yield Outcome.of_columns(planned.lane, results)
    yield Outcome.of_columns(planned.lane, engine.close())


def _pieces(size: int) -> Iterator[slice]:
    """All rows at once, or, if someone watches and it takes long, in steps that are shown."""
    if size < LONG or not sys.stderr.isatty():
        yield slice(0, size)
        return
    step = max(LONG // 4, size // 50)
    for start in range(0, size, step):
        print(f"\rsash: {100 * start // size:3d} % of {size:,} rows", end="", file=sys.stderr, flush=True)
        yield slice(start, min(size, start + step))
    print("\r" + " " * 50 + "\r", end="", file=sys.stderr, flush=True)


def _by_rows(query: Query, planned: LanePlan, frame: Frame, codes: Array, times: Array | None) -> Iterator[Outcome]:
    """For windows that have to be told of each tuple: key by key."""
    whole = [frame.listed(column) for column in query.values]
    values = list(zip(*whole, strict=True)) if whole else [()] * len(frame)
    moments = [None] * len(frame) if times is None else times.tolist()
    order = np.argsort(codes, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        lane = RowLane(query, planned.lane, planned.decisions, planned.store, own_watermark=False)
        results: list[Result] = []
        for row in rows.tolist():
            results += lane.process(moments[row], values[row]) or []
        results += lane.advance(float("inf"))
        outcome = Outcome.of_rows(planned.lane, results, query)
        outcome.codes[:] = codes[rows[:1]]
        yield outcome


def _by_key(outcomes: list[Outcome]) -> list[Outcome]:
    """Outcomes of one lane, already key by key, or several, to be brought into that order by the table."""
    filled = [outcome for outcome in outcomes if len(outcome)]
    return filled or outcomes[:1]
