"""FiBA: a finger B-tree aggregator, for values that arrive out of order."""

from sash.aggregators.fiba.window import FiBA

__all__ = ["FiBA"]
