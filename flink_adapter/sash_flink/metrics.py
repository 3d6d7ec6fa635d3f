"""What Flink shows of an operator, in its UI and to its reporters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from sash.spi import WAITING

__all__ = ["Metrics"]

COUNTS = ("rows", "results", "late", "rejected", "stateWritten")


class Metrics:
    """Rows, results, late and rejected rows, bytes of state written since the task began; what is held and done now.

    ``lcsWaits`` and ``lcsWaitMillis`` are of the whole slot: how often, and for how long, a window waited for ``lcs``.

    All are gauges, which Flink asks once a bundle: a counter of PyFlink's costs a microsecond a record.
    """

    def __init__(self, group: Any, live: Mapping[Any, Any]) -> None:
        self.counts = dict.fromkeys(COUNTS, 0)
        """To be added to as it is: this is done several times a record."""
        if group is None:  # python.metric.enabled is off
            return
        group = group.add_group("sash")
        for name in COUNTS:
            group.gauge(name, partial(self.counts.__getitem__, name))
        group.gauge("keysAlive", lambda: len(live))
        group.gauge("stateBytes", lambda: sum(kept.weight.snapshot + kept.weight.since for kept in list(live.values())))
        group.gauge("merges", lambda: sum(kept.op.metrics["merges"] for kept in list(live.values())))
        group.gauge("lcsWaits", lambda: WAITING.times)
        group.gauge("lcsWaitMillis", lambda: int(WAITING.seconds * 1000))
