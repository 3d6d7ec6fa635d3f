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
    All,
    Any,
    ArgMax,
    ArgMin,
    Bloom,
    Collect,
    CollectDistinct,
    Concat,
    Correlation,
    Count,
    Covariance,
    DistinctCount,
    ExactDistinctCount,
    ExponentialMean,
    First,
    GeometricMean,
    HeavyHitters,
    Kurtosis,
    Last,
    LawError,
    Max,
    MaxCount,
    Mean,
    Median,
    Min,
    MinCount,
    Mode,
    MomentSketch,
    PopulationStdDev,
    PopulationVariance,
    Product,
    Quantile,
    QuantileSketch,
    SampleStdDev,
    SampleVariance,
    Skewness,
    Slope,
    Sum,
    WeightedMean,
    aggregation,
    check_laws,
)
from sash.aggregators.chunk_size import optimal_chunk, optimal_chunk_time
from sash.engine.explain import explain
from sash.query import Query, arrival_time
from sash.query.file import QueryFileError, dump_query, load_query
from sash.runtime.operator import Operator
from sash.runtime.plot import plot
from sash.runtime.rolling import Rolling, rolling, rolling_by
from sash.runtime.run import run
from sash.state.snapshot_format import StateError
from sash.values import PerformanceWarning
from sash.windows import cumulative, last, punctuated, session, sliding, trailing, tumbling, window_while

__version__ = "0.1.1"

__all__ = [
    "M4",
    "Aggregation",
    "All",
    "Any",
    "ArgMax",
    "ArgMin",
    "Bloom",
    "Collect",
    "CollectDistinct",
    "Concat",
    "Correlation",
    "Count",
    "Covariance",
    "DistinctCount",
    "ExactDistinctCount",
    "ExponentialMean",
    "First",
    "GeometricMean",
    "HeavyHitters",
    "Kurtosis",
    "Last",
    "LawError",
    "Max",
    "MaxCount",
    "Mean",
    "Median",
    "Min",
    "MinCount",
    "Mode",
    "MomentSketch",
    "Operator",
    "PerformanceWarning",
    "PopulationStdDev",
    "PopulationVariance",
    "Product",
    "Quantile",
    "QuantileSketch",
    "Query",
    "QueryFileError",
    "Rolling",
    "SampleStdDev",
    "SampleVariance",
    "Skewness",
    "Slope",
    "StateError",
    "Sum",
    "WeightedMean",
    "__version__",
    "aggregation",
    "aggregators",
    "arrival_time",
    "check_laws",
    "cumulative",
    "dump_query",
    "explain",
    "last",
    "load_query",
    "optimal_chunk",
    "optimal_chunk_time",
    "plot",
    "punctuated",
    "rolling",
    "rolling_by",
    "run",
    "session",
    "sliding",
    "stores",
    "trailing",
    "tumbling",
    "window_while",
    "windows",
]
