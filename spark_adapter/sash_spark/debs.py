"""The two DEBS challenges' data sets in their original formats.

DEBS 2012 (manufacturing equipment, ``allData.txt``): tab-separated, no header, 66 columns, about 100 readings a second.

    ts                                 index    mf01  mf02   mf03   pc13 … bm05 … pp01 … cp01 …
    2012-02-22T16:46:28.9670320+00:00  2556001  0     13056  14406  …

The energy readings ``mf01``, ``mf02`` and ``mf03`` are what the papers aggregate; the states of sensors behind them are
not read. Spark's timestamps cut the seven places to microseconds.

DEBS 2014 (smart plugs, ``sorted.csv``): comma-separated, no header, 7 columns, a reading a plug and second or so.

    id,timestamp,value,property,plug_id,household_id,house_id
    2967740693,1379879533,82.042,0,1,0,12

``timestamp`` is in seconds; ``property`` 1 is load in watts, which the papers take, 0 is work in kWh; ``house_id``,
``household_id`` and ``plug_id`` together name a plug.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from sash_spark.pipeline import Rules, cleaned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sash_spark.pipeline import Clean

__all__ = ["debs12", "debs14"]


_DEBS12 = ("ts", "index", "mf01", "mf02", "mf03")
_DEBS14 = ("id", "timestamp", "value", "property", "plug_id", "household_id", "house_id")


def debs12(spark: SparkSession, path: str) -> Clean:
    """``key`` (0: it is one machine), ``ts``, ``seq`` and the readings ``mf01`` to ``mf03`` of a file of DEBS 2012."""
    columns = {
        "key": F.lit(0).cast("bigint"),
        "ts": F.try_to_timestamp("ts"),
        "seq": F.col("index").try_cast("bigint"),
        **{name: F.col(name).try_cast("double") for name in _DEBS12[2:]},
    }
    rules: Rules = {
        "fewer than 5 columns": F.size(F.split("line", "\t")) < 5,
        "no timestamp": columns["ts"].isNull(),
        "no running number": columns["seq"].isNull(),
        **{f"{name} is no number": columns[name].isNull() for name in _DEBS12[2:]},
    }
    return cleaned(_wide(spark, path, "\t", _DEBS12), rules, columns, raw="line")


def debs14(spark: SparkSession, path: str) -> Clean:
    """``key`` (a number for each plug), ``house``, ``ts``, ``seq`` and ``load`` of a file of DEBS 2014.

    Rows of work (property 0) are left out: they are no errors.
    """
    whole = {name: F.col(name).try_cast("bigint") for name in _DEBS14 if name not in ("value", "property")}
    load = F.col("value").try_cast("double")
    rules: Rules = {
        "not 7 columns": F.size(F.split("line", ",")) != 7,
        "property is neither 0 nor 1": F.trim("property") != "1",
        **{f"{name} is no whole number": column.isNull() for name, column in whole.items()},
        "value is no number": load.isNull(),
        "load is negative": load < 0,
    }
    columns = {
        "key": whole["house_id"] * 1_000_000 + whole["household_id"] * 1_000 + whole["plug_id"],
        "house": whole["house_id"],
        "ts": F.timestamp_seconds(whole["timestamp"]),
        "seq": whole["id"],
        "load": load,
    }
    readings = _wide(spark, path, ",", _DEBS14).where("property IS NULL OR trim(property) <> '0'")
    return cleaned(readings, rules, columns, raw="line")


def _wide(spark: SparkSession, path: str, separator: str, names: Sequence[str]) -> DataFrame:
    """The lines of a file that are not empty, and their first parts as texts."""
    lines = spark.read.text(path).withColumnRenamed("value", "line").where("trim(line) <> ''")
    parts = F.split("line", separator)
    return lines.select("line", *(F.get(parts, F.lit(place)).alias(name) for place, name in enumerate(names)))
