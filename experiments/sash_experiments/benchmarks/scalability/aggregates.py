"""What the contenders of ``bench scalability`` compute, and with which algorithm, on both engines.

``max`` is the paper's; a partial is a number. ``moments`` has the partials of a moment sketch, 23 numbers, whose
merges are what a second thread can save. Its result is the mean: to solve a sketch for a quantile takes a millisecond
whatever merges the windows, and would hide all else.
"""

from __future__ import annotations

from typing import Any

import sash

__all__ = ["AGGREGATES", "Moments", "by_threads", "count_query"]


class Moments(sash.MomentSketch):
    """The partials of a moment sketch, and the mean as their result.

    >>> moments = Moments("load")
    >>> moments.lower(moments.combine(moments.lift(1.0), moments.lift(4.0)))
    2.5
    """

    result_kind = float

    def _lower(self, partial: Any) -> float:
        return float(partial[3] / partial[0])


def _max_beside(column: str) -> sash.Aggregation:
    """A maximum that a second thread may merge. Python's ``max`` holds the GIL, so the threads take turns."""
    return sash.aggregation(column, lift=float, combine=max, commutative=True, releases_gil=True)


AGGREGATES = {"max": sash.Max, "moments": Moments}


def count_query(aggregate: str, n: int, algorithm: str = "auto", time: str | None = None) -> sash.Query:
    """The aggregate over the last ``n`` readings of a plug, at each reading."""
    peak = {"peak": AGGREGATES[aggregate]("load")}
    return sash.Query(key="plug", windows=sash.sliding(n), aggregates=peak, time=time, algorithm=algorithm)


def by_threads(aggregate: str, n: int) -> sash.Query:
    """The same for the operator that takes records one by one, with ``lcs`` on a second thread as the paper has it."""
    query = count_query(aggregate, n, "pba")
    return query.using(aggregates={"peak": _max_beside("load")}) if aggregate == "max" else query
