"""From raw files to sorted Parquet that experiments run on.

    raw ── cleaned ── replicated ── partitioned and sorted ── Parquet and a manifest
             └─ quarantine, with reasons

Everything is lazy until :func:`written`, and nothing is ever collected on the driver but the numbers of the manifest.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from sash_spark.paths import find

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["Clean", "cleaned", "generated", "read", "replicated", "written"]

Rules = Mapping[str, "Column"]
"""What is wrong with a row, by the words that say so. A rule that is null does not apply."""

_PACKAGES = ("sash", "pyspark", "pyarrow")


@dataclass(frozen=True)
class Clean:
    """What came of raw rows."""

    rows: DataFrame
    quarantine: DataFrame
    """The raw rows that are not whole, and an array of ``reasons``."""


def cleaned(
    frame: DataFrame, rules: Rules, columns: Mapping[str, Column] | None = None, raw: str | None = None
) -> Clean:
    """Rows that break no rule, as ``columns``; all others go to the quarantine, with every reason.

    ``raw`` is the column with the row as it came; without one the quarantine has all columns.
    """
    told = F.array(*(F.when(rule, F.lit(reason)) for reason, rule in rules.items())).cast("array<string>")
    judged = frame.withColumn("reasons", F.filter(told, lambda reason: reason.isNotNull()))
    rows = judged.where("size(reasons) = 0").drop("reasons")
    if columns is not None:
        rows = rows.select(*(column.alias(name) for name, column in columns.items()))
    held = judged.where("size(reasons) > 0")
    return Clean(rows, held.select(raw, "reasons") if raw is not None else held)


def read(spark: SparkSession, path: str, format: str | None = None, schema: str | None = None, **options: Any) -> Clean:
    """Any CSV, JSON or Parquet file or folder; lines that do not fit the schema go to the quarantine.

    ``format`` is read off the name if not given. CSV files have a header unless told otherwise, and need a schema to be
    checked against.
    """
    kind = format or Path(path.rstrip("/")).suffix.lstrip(".").lower()
    if kind not in ("csv", "json", "parquet"):
        raise ValueError(f"{path!r} is not told to be CSV, JSON or Parquet: give format=")
    if kind == "parquet":
        return cleaned(spark.read.options(**options).parquet(path), {})
    if schema is None:
        raise ValueError(f"{kind.upper()} tells no types: give schema=, as in 'plug long, ts timestamp, load double'")
    settings = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_malformed", **options}
    reader = spark.read.format(kind).options(**({"header": True} | settings if kind == "csv" else settings))
    frame = reader.schema(f"{schema}, _malformed string").load(path)
    # A line is parsed, and so found to be malformed, only as far as its columns are asked for: here, all of them.
    parsed = F.length(F.to_json(F.struct(*frame.drop("_malformed").columns))) >= 0
    clean = cleaned(frame, {f"not {schema}": F.col("_malformed").isNotNull() & parsed})
    return Clean(clean.rows.drop("_malformed"), clean.quarantine.select(F.col("_malformed").alias("line"), "reasons"))


def generated(spark: SparkSession, rows: int, plugs: int = 14, seed: int = 14) -> DataFrame:
    """Readings of smart plugs like those of ``smart_home`` of the experiments, made by Spark's workers."""
    numbers = spark.range(rows).selectExpr(f"id % {plugs} AS key", f"id div {plugs} AS second", "id")
    base = 5 + 115 * (F.abs(F.hash("key", F.lit(seed))) % 1000) / 1000
    day = 1 + 0.5 * F.sin(2 * 3.141592653589793 * F.col("second") / 86400 + F.col("key"))
    peak = F.when(F.rand(seed) < 0.002, 500 + 2000 * F.rand(seed + 1)).otherwise(0.0)
    load = F.round(base * day - 3 * F.log(1 - F.rand(seed + 2)) + peak, 3)
    columns = ("key", "key div 5 AS house", "timestamp_seconds(second) AS ts", "id AS seq")
    return numbers.select(*map(F.expr, columns), load.alias("load"))


def replicated(frame: DataFrame, copies: int, key: str = "key", stride: int | None = None) -> DataFrame:
    """So many copies of all rows, each with keys of its own: copy i has the keys shifted by i · ``stride``.

    Keys must be whole numbers below ``stride``, which keeps copies apart (2**32 if not given).
    """
    if copies < 1:
        raise ValueError(f"copies must be at least 1; got {copies}")
    kind = find(frame.schema, key).dataType.simpleString()
    if kind not in ("tinyint", "smallint", "int", "bigint"):
        raise TypeError(f"column {key!r} is {kind}: only keys that are whole numbers can be shifted")
    several = frame.select("*", F.explode(F.sequence(F.lit(0), F.lit(copies - 1))).alias("__copy"))
    shifted = F.col(key) + F.col("__copy").cast("bigint") * F.lit(stride or 2**32)
    return several.withColumn(key, shifted).drop("__copy")


def written(
    frame: DataFrame,
    path: str,
    key: str = "key",
    time: str = "ts",
    order: Sequence[str] = ("seq",),
    partitions: int | None = None,
    quarantine: DataFrame | None = None,
    **facts: Any,
) -> dict[str, Any]:
    """Write rows to ``path``/rows, a key's together and in order, and a manifest of what they are; its content.

    The ``quarantine`` goes to ``path``/quarantine, counted by reason. Further facts (``seed=…``) go into the manifest.
    """
    sort = [key, time, *(name for name in order if name in frame.columns)]
    spread = frame.repartition(key) if partitions is None else frame.repartition(partitions, key)
    spread.sortWithinPartitions(*sort).write.mode("overwrite").parquet(f"{path}/rows")
    spark = frame.sparkSession
    rows = spark.read.parquet(f"{path}/rows")
    ends = (F.min(time).cast("string"), F.max(time).cast("string"))
    (about,) = rows.agg(F.count("*"), F.count_distinct(key), *ends).collect()
    manifest: dict[str, Any] = {
        "rows": about[0],
        "keys": about[1],
        "time": list(about[2:]),
        "time_zone": spark.conf.get("spark.sql.session.timeZone"),
        "columns": {field.name: field.dataType.simpleString() for field in rows.schema},
        "sorted_by": sort,
        "quarantined": {} if quarantine is None else _quarantined(quarantine, f"{path}/quarantine"),
        **facts,
        "versions": {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    one = spark.createDataFrame([(json.dumps(manifest, indent=2),)], "value string").coalesce(1)
    one.write.mode("overwrite").text(f"{path}/manifest")  # by Spark: the path may be on any file system
    return manifest


def _quarantined(quarantine: DataFrame, path: str) -> dict[str, int]:
    quarantine.write.mode("overwrite").parquet(path)
    held = quarantine.sparkSession.read.parquet(path)
    by_reason = held.select(F.explode("reasons").alias("reason")).groupBy("reason").count().collect()
    return {"rows": held.count()} | {row["reason"]: row["count"] for row in sorted(by_reason)}
