"""The data pipeline on Spark: a file of DEBS 2014 cleaned, replicated, sorted and written, for ``make bench-spark``.

Lines in the original format, one in a thousand of them broken, to 10 million rows of Parquet with a manifest and a
quarantine. Making the lines is not measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sash_experiments.benchmark import Case, Contender, Row
from sash_experiments.benchmarks.spark.session import Spent
from sash_spark import debs, pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["cases", "measure"]

LINES, COPIES = 5_000_000, 2


def lines(spark: SparkSession, count: int, path: Path) -> int:
    """Write lines as the organisers' file has them: of 84 plugs, load only; how many of them are whole."""
    readings = pipeline.generated(spark, count, plugs=84)
    plug = "concat_ws(',', key % 7, key div 7 % 3, key div 21)"
    whole = f"concat_ws(',', seq, unix_seconds(ts), load, 1, {plug})"
    readings.selectExpr(f"if(seq % 1000 = 7, concat(seq, ',soon,,1'), {whole}) AS value").write.text(str(path))
    return count - len(range(7, count, 1000))


def measure(spark: SparkSession, folder: Path, count: int = LINES, copies: int = COPIES) -> Iterator[Row]:
    """What the rows cost that were written."""
    whole = lines(spark, count, folder / "raw")
    begin = Spent.now()
    clean = debs.debs14(spark, str(folder / "raw"))
    rows = pipeline.replicated(clean.rows, copies)
    manifest = pipeline.written(rows, str(folder / "out"), quarantine=clean.quarantine)
    spent = begin.row(manifest["rows"])
    if (manifest["rows"], manifest["quarantined"]["rows"]) != (whole * copies, count - whole):
        raise SystemExit(f"the pipeline wrote {manifest['rows']} rows and held back {manifest['quarantined']}")
    yield spent


def cases(spark: SparkSession, folder: Path) -> Iterator[Case]:
    """One contender, which is checked by the rows that it writes."""
    yield Case({"workload": "pipeline", "n": LINES * COPIES}, [Contender("sash", partial(measure, spark, folder))])
