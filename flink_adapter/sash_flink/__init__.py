"""Sash in PyFlink: the same query over a DataStream or a Table, streaming or batch."""

from sash_flink.worker import patch_print

patch_print()  # before Numba is imported: a worker imports this package first

from sash_flink.aggregate import aggregate, aggregate_table, with_watermarks  # noqa: E402
from sash_flink.environment import environment  # noqa: E402
from sash_flink.records import WindowOperatorFunction  # noqa: E402
from sash_flink.results import LATE, REJECTED, Results  # noqa: E402
from sash_flink.sql import create_view  # noqa: E402

__all__ = [
    "LATE",
    "REJECTED",
    "Results",
    "WindowOperatorFunction",
    "aggregate",
    "aggregate_table",
    "create_view",
    "environment",
    "with_watermarks",
]
