"""Aggregations: what is computed over a window. One family a module; :mod:`sash.aggregations.base` defines them."""

from sash.aggregations.base import Aggregation, Kind
from sash.aggregations.bloom import Bloom, BloomFilter
from sash.aggregations.custom import aggregation
from sash.aggregations.extrema import ArgMax, ArgMin, Max, MaxCount, Min, MinCount
from sash.aggregations.laws import LawError, check_laws
from sash.aggregations.means import GeometricMean, Mean, PopulationStdDev, SampleStdDev
from sash.aggregations.moment_sketch import MomentSketch
from sash.aggregations.ordered import M4, Collect, CollectDistinct, Concat, First, Last, M4Result
from sash.aggregations.quantiles import Median, Quantile
from sash.aggregations.sketches import DistinctCount, HeavyHitters, QuantileSketch
from sash.aggregations.sums import Count, Sum

__all__ = [
    "M4",
    "Aggregation",
    "ArgMax",
    "ArgMin",
    "Bloom",
    "BloomFilter",
    "Collect",
    "CollectDistinct",
    "Concat",
    "Count",
    "DistinctCount",
    "First",
    "GeometricMean",
    "HeavyHitters",
    "Kind",
    "Last",
    "LawError",
    "M4Result",
    "Max",
    "MaxCount",
    "Mean",
    "Median",
    "Min",
    "MinCount",
    "MomentSketch",
    "PopulationStdDev",
    "Quantile",
    "QuantileSketch",
    "SampleStdDev",
    "Sum",
    "aggregation",
    "check_laws",
]
