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

from sash import aggregators
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
from sash.chunks import optimal_chunk, optimal_chunk_time
from sash.plan import explain
from sash.query import Query
from sash.rolling import PerformanceWarning, Rolling, rolling, rolling_by
from sash.run import run
from sash.windows import sliding, tumbling

__version__ = "0.1.0"

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
    "PerformanceWarning",
    "PopulationStdDev",
    "Quantile",
    "QuantileSketch",
    "Query",
    "Rolling",
    "SampleStdDev",
    "Sum",
    "__version__",
    "aggregation",
    "aggregators",
    "check_laws",
    "explain",
    "optimal_chunk",
    "optimal_chunk_time",
    "rolling",
    "rolling_by",
    "run",
    "sliding",
    "tumbling",
]
