"""``df.sash`` for DataFrames of polars: import this module to register it.

>>> import polars as pl, sash, sash.polars
>>> trades = pl.DataFrame({"minute": [0, 3, 7], "symbol": ["A", "B", "A"], "price": [3.0, 7.0, 5.0]})
>>> trades.sash.rolling(5, on="minute").agg(mean=sash.Mean("price"))["mean"].to_list()
[3.0, 5.0, 6.0]
>>> trades.sash.session(5, by="symbol", on="minute").agg(n=sash.Count()).rows()
[('A', 0, 5, 1), ('A', 7, 12, 1), ('B', 3, 8, 1)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from sash.runtime.accessor import FrameAccessor
from sash.values.arrays import Array

__all__ = ["SashAccessor"]


class _Polars:
    def with_time(self, frame: Any, on: str | None) -> tuple[Any, str]:
        if on is not None:
            return frame, on
        times = [name for name, kind in frame.schema.items() if kind.is_temporal() and kind != pl.Duration]
        if len(times) != 1:
            there = ", ".join(map(repr, times)) or "none"
            raise TypeError(f"durations need times: name their column with on=; columns of times are {there}")
        return frame, times[0]

    def beside(self, results: Any, names: Sequence[str], rows: Array | None, frame: Any) -> Any:
        columns = results.select(names)
        return columns if rows is None else columns[rows]

    def where(self, results: Any, name: str, enough: str, least: int) -> Any:
        return results.with_columns(pl.when(pl.col(enough) >= least).then(pl.col(name)).alias(name))


@pl.api.register_dataframe_namespace("sash")
class SashAccessor(FrameAccessor):
    """``df.sash``: windows over a DataFrame."""

    def __init__(self, frame: pl.DataFrame) -> None:
        super().__init__(_Polars(), frame)
