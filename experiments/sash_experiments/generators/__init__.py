"""Made-up streams with the shape of the papers' data sets: schema, rate, number of keys and skew.

Seeded: the same arguments give the same rows. Each gives columns as arrays, O(rows).
"""

from sash_experiments.generators.debs import debs12, debs14, smart_home
from sash_experiments.generators.loading import load_debs12, load_debs14
from sash_experiments.generators.original import debs12_lines, debs14_lines
from sash_experiments.generators.synthetic import football, uniform

__all__ = [
    "debs12",
    "debs12_lines",
    "debs14",
    "debs14_lines",
    "football",
    "load_debs12",
    "load_debs14",
    "smart_home",
    "uniform",
]
