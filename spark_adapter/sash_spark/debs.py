"""The two DEBS challenges' data sets in their original formats.

DEBS 2012 (manufacturing equipment, ``allData.txt``): tab-separated, no header, 66 columns, about 100 readings a second.

    ts              index   mf01   mf02   mf03  pc13 … pc06  bm05 … bm10  pp01 … pp36  cp01 … cp04 …
    2012-02-22T16:46:28.9670320+00:00  2556001  0  13056  14406  …

A timestamp (ISO 8601, seven places, which Spark's timestamps cut to microseconds), a running number, then the energy
readings ``mf01``, ``mf02``, ``mf03`` (analogue, whole numbers) and the states of sensors. The papers aggregate ``mf01``
to ``mf03``; the columns that follow them are not read.

DEBS 2014 (smart plugs, ``sorted.csv``): comma-separated, no header, 7 columns, a reading a plug and second or so.

    id,timestamp,value,property,plug_id,household_id,house_id
    2967740693,1379879533,82.042,0,1,0,12

``timestamp`` in seconds since 1970; ``property`` 1 is load in watts, 0 is work in kWh; a plug is told by all of
``house_id``, ``household_id`` and ``plug_id``. The papers take the load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from sash_spark.pipeline import Rules, cleaned

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from sash_spark.pipeline import Clean

__all__ = ["debs12", "debs14"]


def debs12(spark: SparkSession, path: str) -> Clean:
    """``key`` (0: it is one machine), ``ts``, ``seq`` and the readings ``mf01`` to ``mf03`` of a file of DEBS 2012."""
    raw = _lines(spark, path)
    parts = F.split("line", "\t")
    wide = raw.select("line", *(_part(parts, i).alias(name) for i, name in enumerate(_DEBS12)))
    rules: Rules = {
        "fewer than 5 columns": F.size(parts) < 5,
        "no timestamp": F.try_to_timestamp("ts").isNull(),
        "no running number": _no("index", "bigint"),
        **{f"{name} is no number": _no(name, "double") for name in _DEBS12[2:]},
    }
    columns = {
        "key": F.lit(0).cast("bigint"),
        "ts": F.try_to_timestamp("ts"),
        "seq": F.col("index").try_cast("bigint"),
        **{name: F.col(name).try_cast("double") for name in _DEBS12[2:]},
    }
    return cleaned(wide, rules, columns, raw="line")


_DEBS12 = ("ts", "index", "mf01", "mf02", "mf03")
_DEBS14 = ("id", "timestamp", "value", "property", "plug_id", "household_id", "house_id")


def debs14(spark: SparkSession, path: str) -> Clean:
    """``key`` (a number for each plug), ``house``, ``ts``, ``seq`` and ``load`` of a file of DEBS 2014.

    Rows of work (property 0) are left out: they are no errors.
    """
    raw = _lines(spark, path)
    parts = F.split("line", ",")
    wide = raw.select("line", *(_part(parts, i).alias(name) for i, name in enumerate(_DEBS14)))
    wide = wide.where("property IS NULL OR trim(property) <> '0'")
    whole = ("id", "timestamp", "plug_id", "household_id", "house_id")
    rules: Rules = {
        "not 7 columns": F.size(F.split("line", ",")) != 7,
        "property is neither 0 nor 1": F.trim("property") != "1",
        **{f"{name} is no whole number": _no(name, "bigint") for name in whole},
        "value is no number": _no("value", "double"),
        "load is negative": F.col("value").try_cast("double") < 0,
    }
    house, household, plug = (F.col(name).try_cast("bigint") for name in ("house_id", "household_id", "plug_id"))
    columns = {
        "key": house * 1_000_000 + household * 1_000 + plug,
        "house": house,
        "ts": F.timestamp_seconds(F.col("timestamp").try_cast("bigint")),
        "seq": F.col("id").try_cast("bigint"),
        "load": F.col("value").try_cast("double"),
    }
    return cleaned(wide, rules, columns, raw="line")


def _lines(spark: SparkSession, path: str) -> DataFrame:
    return spark.read.text(path).withColumnRenamed("value", "line").where("trim(line) <> ''")


def _part(parts: Column, place: int) -> Column:
    return F.get(parts, F.lit(place))


def _no(name: str, kind: str) -> Column:
    return F.col(name).try_cast(kind).isNull()
