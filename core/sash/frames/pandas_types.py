"""The types of pandas: sample values of a column, and the types of results.

Results have types of the same family as their columns: NumPy's, or the nullable ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["PandasTypes"]

_OBJECT = np.dtype(object)
_SAMPLES: dict[str, tuple[Any, Any]] = {
    "b": (False, True),
    "i": (1, 2),
    "u": (1, 2),
    "f": (1.5, 2.5),
    "M": (datetime(2024, 3, 1), datetime(2024, 3, 2)),
    "m": (timedelta(seconds=1), timedelta(seconds=2)),
}


class PandasTypes:
    """The :class:`~sash.aggregations.result_types.TypeSystem` of pandas; the type of objects says nothing of them."""

    def samples(self, kind: Any) -> tuple[Any, Any]:
        """Two values that a column of this type can have, the smaller first."""
        if isinstance(kind, pd.CategoricalDtype):
            return self.samples(kind.categories.dtype)
        if isinstance(kind, pd.StringDtype):
            return ("a", "b")
        if isinstance(kind, pd.DatetimeTZDtype):
            return (datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 3, 2, tzinfo=UTC))
        if getattr(kind, "numpy_dtype", kind) == np.uint64:
            return (2**63, 2**63 + 1)
        samples = _SAMPLES.get(_kind(kind))
        if samples is None:
            raise TypeError(f"values of type {kind} can be anything")
        return samples

    def plain(self, kind: type, exact: bool, columns: Sequence[Any]) -> Any:
        """The type of values of one of Python's types."""
        if kind in (bool, int, float):
            nullable = any(not isinstance(_values(column), np.dtype) for column in columns)
            unsigned = kind is int and exact and columns and all(_kind(column) == "u" for column in columns)
            names = {bool: ("bool", "boolean"), int: ("int64", "Int64"), float: ("float64", "Float64")}[kind]
            name = names[nullable]
            return pd.api.types.pandas_dtype(name.replace("I", "UI").replace("int", "uint") if unsigned else name)
        if kind is datetime:
            zoned = next((column for column in columns if isinstance(column, pd.DatetimeTZDtype)), None)
            unit: Any = _finest([column for column in columns if _kind(column) == "M"])
            return np.dtype(f"M8[{unit}]") if zoned is None else pd.DatetimeTZDtype(unit, zoned.tz)
        if kind is timedelta:
            return np.dtype(f"m8[{_finest([column for column in columns if _kind(column) == 'm'])}]")
        return _OBJECT

    def digits(self, kind: Any) -> tuple[int, int, int] | None:
        """No type of pandas is one of decimals."""
        return None

    def decimal(self, precision: int, scale: int) -> Any:
        return _OBJECT

    def list_of(self, item: Any) -> Any:
        return _OBJECT

    def struct(self, fields: list[tuple[str, Any]]) -> Any:
        return _OBJECT


def _values(column: Any) -> Any:
    return column.categories.dtype if isinstance(column, pd.CategoricalDtype) else column


def _kind(column: Any) -> str:
    return str(getattr(column, "numpy_dtype", column).kind)


def _finest(columns: Sequence[Any]) -> str:
    """A unit fine enough for the midpoint of two values: Python's types have microseconds."""
    units = {getattr(column, "unit", None) or np.datetime_data(column)[0] for column in columns}
    return "ns" if "ns" in units else "us"
