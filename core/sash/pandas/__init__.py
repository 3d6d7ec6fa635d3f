"""``df.sash`` for DataFrames of pandas: import this module to register it.

>>> import pandas as pd, sash, sash.pandas
>>> times = pd.to_datetime(["2024-01-01 09:00", "2024-01-01 09:03", "2024-01-01 09:07"])
>>> trades = pd.DataFrame({"symbol": ["A", "B", "A"], "price": [3.0, 7.0, 5.0]}, index=times)
>>> trades.sash.rolling("5min").agg(mean=sash.Mean("price"))
                     mean
2024-01-01 09:00:00   3.0
2024-01-01 09:03:00   5.0
2024-01-01 09:07:00   6.0
>>> trades.sash.tumbling("1h", by="symbol").agg(peak=sash.Max("price"))
  symbol        window_start          window_end  peak
0      A 2024-01-01 09:00:00 2024-01-01 10:00:00   5.0
1      B 2024-01-01 09:00:00 2024-01-01 10:00:00   7.0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from sash.runtime.accessor import FrameAccessor
from sash.values.arrays import Array

__all__ = ["SashAccessor"]

INDEX = "time of the index"


class _Pandas:
    def with_time(self, frame: Any, on: str | None) -> tuple[Any, str]:
        if on is not None:
            return frame, on
        if not isinstance(frame.index, pd.DatetimeIndex):
            raise TypeError(
                f"durations need times: name their column with on=, for the index is a {type(frame.index).__name__}"
            )
        return frame.assign(**{INDEX: frame.index}), INDEX

    def beside(self, results: Any, names: Sequence[str], rows: Array | None, frame: Any) -> Any:
        columns = results[list(names)]
        return (columns if rows is None else columns.take(rows)).set_axis(frame.index)

    def where(self, results: Any, name: str, enough: str, least: int) -> Any:
        return results.assign(**{name: results[name].where(results[enough] >= least)})


@pd.api.extensions.register_dataframe_accessor("sash")
class SashAccessor(FrameAccessor):
    """``df.sash``: windows over a DataFrame."""

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__(_Pandas(), frame)
