"""How a query is run: the options of :func:`sash_flink.aggregate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from sash.spi import nanoseconds, near

__all__ = ["Options", "milliseconds"]


@dataclass(frozen=True)
class Options:
    """How a query is run: see :func:`aggregate`."""

    packed: bool | None = None
    latency: Any = "100ms"
    max_rows: int = 8192
    buckets: int = 16
    cache: int = 10_000
    ttl: Any = None
    threads: int | None = None
    types: Mapping[str, pa.DataType] | None = None
    uid: str | None = None

    def __post_init__(self) -> None:
        for name in ("max_rows", "buckets", "cache"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}")
        if self.threads is not None and (not isinstance(self.threads, int) or self.threads < 0):
            raise ValueError(f"threads must be a whole number, 0 for none; got {self.threads!r}")

    @staticmethod
    def of(given: Mapping[str, Any]) -> Options:
        """Those that a user gave by their names."""
        known = [field.name for field in fields(Options)]
        for name in given:
            if name not in known:
                there = ", ".join(map(repr, known))
                raise TypeError(f"there is no option {name!r}{near(name, known) or f'; there are {there}'}")
        return Options(**given)

    def settings(self) -> dict[str, str]:
        """Of PyFlink: bundles as long as the latency allows, and as many states at hand as operators are alive."""
        return {
            "python.fn-execution.bundle.time": str(milliseconds(self.latency)),
            "python.state.cache-size": str(self.cache),
        }


def milliseconds(duration: Any) -> int:
    """Rounded up, at least one."""
    return int(max(-(-nanoseconds(duration) // 10**6), 1))
