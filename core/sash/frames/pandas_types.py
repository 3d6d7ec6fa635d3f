"""The types of pandas: sample values of a column, and the types of results.

Results have types of the same family as their columns: NumPy's, or the nullable ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from sash.frames.library import LibraryTypes, Shape

__all__ = ["PandasTypes"]

_OBJECT = np.dtype(object)
_PYTHON_TYPES = {"b": bool, "i": int, "u": int, "f": float, "M": datetime, "m": timedelta}


class PandasTypes(LibraryTypes):
    """The :class:`~sash.aggregations.result_types.TypeSystem` of pandas; the type of objects says nothing of them."""

    def shape(self, kind: Any) -> Shape | None:
        """A type in Python's terms; None: its values can be anything."""
        if isinstance(kind, pd.CategoricalDtype):
            return self.shape(kind.categories.dtype)
        if isinstance(kind, pd.StringDtype):
            return Shape(str)
        python = _PYTHON_TYPES.get(_kind(kind))
        bits = 8 * kind.itemsize if _kind(kind) == "u" else 0
        return None if python is None else Shape(python, zone=getattr(kind, "tz", None), unsigned=bits)

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
