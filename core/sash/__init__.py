"""Sash: aggregations over sliding windows, exact and in constant time per slide.

>>> import sash
>>> query = sash.Query(windows=sash.sliding(range=3), aggregates={"peak": sash.Max("load")})
>>> sash.run(query, {"load": [2, 6, 3, 5, 3, 1]})["peak"]
[6, 6, 5, 5]
>>> window = sash.aggregators.DABA(sash.Max())
>>> window.insert_many([2, 6, 3, 5, 3])
>>> window.query()
6
"""

from sash import aggregators, stores, windows
from sash.aggregations import (
    M4,
    Aggregation,
    ArgMax,
    ArgMin,
    Bloom,
    Collect,
    CollectDistinct,
    Concat,
    Count,
    DistinctCount,
    First,
    GeometricMean,
    HeavyHitters,
    Last,
    LawError,
    Max,
    MaxCount,
    Mean,
    Median,
    Min,
    MinCount,
    MomentSketch,
    PopulationStdDev,
    Quantile,
    QuantileSketch,
    SampleStdDev,
    Sum,
    aggregation,
    check_laws,
)
from sash.aggregators.chunk_size import optimal_chunk, optimal_chunk_time
from sash.engine.explain import explain
from sash.query import Query
from sash.query.file import QueryFileError, dump_query, load_query
from sash.runtime.operator import Operator
from sash.runtime.rolling import Rolling, rolling, rolling_by
from sash.runtime.run import run
from sash.state.snapshot_format import StateError
from sash.values import PerformanceWarning
from sash.windows import cumulative, last, punctuated, session, sliding, tumbling, window_while

__version__ = "0.1.1"

__all__ = [
    "M4",
    "Aggregation",
    "ArgMax",
    "ArgMin",
    "Bloom",
    "Collect",
    "CollectDistinct",
    "Concat",
    "Count",
    "DistinctCount",
    "First",
    "GeometricMean",
    "HeavyHitters",
    "Last",
    "LawError",
    "Max",
    "MaxCount",
    "Mean",
    "Median",
    "Min",
    "MinCount",
    "MomentSketch",
    "Operator",
    "PerformanceWarning",
    "PopulationStdDev",
    "Quantile",
    "QuantileSketch",
    "Query",
    "QueryFileError",
    "Rolling",
    "SampleStdDev",
    "StateError",
    "Sum",
    "__version__",
    "aggregation",
    "aggregators",
    "check_laws",
    "cumulative",
    "dump_query",
    "explain",
    "last",
    "load_query",
    "optimal_chunk",
    "optimal_chunk_time",
    "punctuated",
    "rolling",
    "rolling_by",
    "run",
    "session",
    "sliding",
    "stores",
    "tumbling",
    "window_while",
    "windows",
]
