"""What Flink shows of an operator, in its UI and to its reporters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Metrics"]


class Metrics:
    """Counts of rows, results, late and rejected rows; gauges of keys that are alive and of bytes of state."""

    def __init__(self, group: Any, live: Mapping[Any, Any]) -> None:
        self._counters: dict[str, Any] = {}
        if group is None:  # python.metric.enabled is off
            return
        group = group.add_group("sash")
        self._counters = {name: group.counter(name) for name in ("rows", "results", "late", "rejected")}
        group.gauge("keysAlive", lambda: len(live))
        group.gauge("stateBytes", lambda: sum(each.weight.total for each in list(live.values())))
        group.gauge("merges", lambda: sum(each.op.metrics["merges"] for each in list(live.values())))

    def count(self, name: str, number: int) -> None:
        """Add to a count."""
        if number and name in self._counters:
            self._counters[name].inc(number)
