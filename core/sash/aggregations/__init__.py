"""Aggregations: what is computed over a window. One family a module; :mod:`sash.aggregations.base` defines them."""

from sash.aggregations.base import Aggregation, Kind
from sash.aggregations.bloom import Bloom, BloomFilter
from sash.aggregations.custom import aggregation
from sash.aggregations.distinct import ExactDistinctCount, Mode
from sash.aggregations.exponential import ExponentialMean
from sash.aggregations.extrema import ArgMax, ArgMin, Max, MaxCount, Min, MinCount
from sash.aggregations.laws import LawError, check_laws
from sash.aggregations.means import GeometricMean, Mean, PopulationStdDev, SampleStdDev
from sash.aggregations.moment_sketch import MomentSketch
from sash.aggregations.moments import Kurtosis, PopulationVariance, SampleVariance, Skewness
from sash.aggregations.ordered import M4, Collect, CollectDistinct, Concat, First, Last, M4Result
from sash.aggregations.pairs import Correlation, Covariance, Slope, WeightedMean
from sash.aggregations.products import Product
from sash.aggregations.quantiles import Median, Quantile
from sash.aggregations.sketches import DistinctCount, HeavyHitters, QuantileSketch
from sash.aggregations.sums import Count, Sum
from sash.aggregations.truth import All, Any

__all__ = [
    "M4",
    "Aggregation",
    "All",
    "Any",
    "ArgMax",
    "ArgMin",
    "Bloom",
    "BloomFilter",
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
    "Kind",
    "Kurtosis",
    "Last",
    "LawError",
    "M4Result",
    "Max",
    "MaxCount",
    "Mean",
    "Median",
    "Min",
    "MinCount",
    "Mode",
    "MomentSketch",
    "PopulationStdDev",
    "PopulationVariance",
    "Product",
    "Quantile",
    "QuantileSketch",
    "SampleStdDev",
    "SampleVariance",
    "Skewness",
    "Slope",
    "Sum",
    "WeightedMean",
    "aggregation",
    "check_laws",
]
