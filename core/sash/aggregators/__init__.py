"""Merging algorithms: how to keep the partials of a window so that few merges answer it. One module each.

FIFO algorithms are built as ``DABA(aggregation)`` and share ``insert``, ``insert_many``, ``evict``, ``evict_many``,
``query``, ``total`` and ``len()``. ``SBA`` and ``PBA`` are built for one window, ``PBA(aggregation, range, slide)``.
``FiBA`` takes values in any order: ``insert_at(time, value)``, ``evict_until(time)``.

| algorithm | combines per slide, amortised / worst | partials held | requires of the aggregation |
| --- | --- | --- | --- |
| Recalc | n / n | n | |
| SubtractOnEvict | 2 / 2 | n + 1 | invertible |
| TwoStacks | 3 / n | 2n | |
| TwoStacksLite | 3 / n | n + 1 | |
| ABA | 3 / n | 2n | |
| DABA | 4 / 6 | 2n + 2 | |
| DABALite | 4 / 6 | n + 2 | |
| FlatFAT | O(log n) | 8n | |
| FlatFIT | 3 / n | n | |
| SlickDeque | < 2 / n | n | selective or invertible |
| SlideSide | 3 / n | n + 1 | |
| LogMTA | O(log n) | 2n + 130 log n | |
| AMTA | 6 / O(log n) | 2n + 130 log n | |
| FiBA | O(log d), d from an end / O(log n) | O(n) | |
| SBA | 3 / a chunk | 2n + 2 | |
| PBA | 3 / 3 on the main thread | 3n/2 + 5 | |
"""

from sash.aggregators.aba import ABA
from sash.aggregators.base import FifoAggregator
from sash.aggregators.daba import DABA
from sash.aggregators.daba_lite import DABALite
from sash.aggregators.fiba import FiBA
from sash.aggregators.flatfat import FlatFAT
from sash.aggregators.flatfit import FlatFIT
from sash.aggregators.mta import PolicyError
from sash.aggregators.mta.amta import AMTA
from sash.aggregators.mta.log_mta import LogMTA
from sash.aggregators.pba import PBA
from sash.aggregators.recalc import Recalc
from sash.aggregators.sba import SBA
from sash.aggregators.slick_deque import SlickDeque
from sash.aggregators.slide_side import SlideSide
from sash.aggregators.subtract_on_evict import SubtractOnEvict
from sash.aggregators.two_stacks import TwoStacks
from sash.aggregators.two_stacks_lite import TwoStacksLite

__all__ = [
    "ABA",
    "AMTA",
    "DABA",
    "FIFO",
    "PBA",
    "SBA",
    "DABALite",
    "FiBA",
    "FifoAggregator",
    "FlatFAT",
    "FlatFIT",
    "LogMTA",
    "PolicyError",
    "Recalc",
    "SlickDeque",
    "SlideSide",
    "SubtractOnEvict",
    "TwoStacks",
    "TwoStacksLite",
]

FIFO: tuple[type[FifoAggregator], ...] = (
    Recalc,
    SubtractOnEvict,
    TwoStacks,
    TwoStacksLite,
    ABA,
    DABA,
    DABALite,
    FlatFAT,
    FlatFIT,
    SlickDeque,
    SlideSide,
    LogMTA,
    AMTA,
)
"""The algorithms that take any interleaving of inserts and evictions."""
