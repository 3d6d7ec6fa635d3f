"""Results of any runtime in one form, so that they can be compared: plain values, in one order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np

import sash

_NOISE = 1e-14
"""What the order of merges may leave of a zero; no value of the cases is that small."""


def sorted_rows(query: sash.Query, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Rows as texts, sorted: runtimes do not say in which order keys come."""
    return sorted(repr({name: plain(row[name]) for name in query.results}) for row in rows)


def plain(value: Any) -> Any:
    """Times in UTC, structures as tuples, numbers as what they are equal to."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return datetime.isoformat(moment)
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, float):
        if abs(value) < _NOISE:
            return 0.0
        return float(f"{value:.12g}") if value == value else "NaN"
    if isinstance(value, bytearray):
        return bytes(value)
    if hasattr(value, "asDict"):  # Spark's Row
        value = value.asDict()
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list | np.ndarray | set | frozenset):
        items = [plain(item) for item in value]
        return sorted(items, key=repr) if isinstance(value, set | frozenset) else items
    return value
