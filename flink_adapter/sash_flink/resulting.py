"""Of what types results over a stream's columns are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pyarrow as pa  # type: ignore[import-untyped]

from sash.values.arrow_types import ArrowTypes

__all__ = ["FlinkTypes"]


class FlinkTypes(ArrowTypes):
    """Those of Arrow, as far as Flink has them."""

    def plain(self, kind: type, exact: bool, columns: Sequence[pa.DataType]) -> pa.DataType:
        """The type of values of one of Python's types."""
        if kind is timedelta:
            raise TypeError("its results are lengths of time, for which Flink has no column: aggregate numbers")
        return super().plain(kind, exact, columns)
