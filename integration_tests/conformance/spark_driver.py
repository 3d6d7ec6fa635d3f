"""A Spark driver of its own, to be killed: a stream from files to files, over the rows of :data:`STREAM`.

``python -m integration_tests.conformance.spark_driver FOLDER`` runs until it is killed; with ``--finish``, until all
that is in the folder has been read.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import sash

from .cases import ORDER, SCHEMA, Case, stream

FILES = 8
TIMES = [step * 2 - (step * 7) % 3 for step in range(FILES * 12)]
STREAM = Case(
    "recovery",
    sash.Query(
        key="k",
        windows={"time": sash.sliding("20s", "6s"), "session": sash.session("3s"), "last": sash.last(3, every="15s")},
        aggregates={"sum": sash.Sum("x"), "all": sash.Concat("s"), "n": sash.Count()},
        time="ts",
        watermark_delay="2s",
    ),
    SCHEMA,
    stream(TIMES, keys=["a", "b", "c"]),
)


def main(folder: Path, finish: bool) -> None:
    """Run the stream."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark.sql import SparkSession

    import sash_spark
    from sash_spark.streaming_parts import PROVIDER, ROCKSDB, importable

    builder: Any = SparkSession.builder.master("local[2]").appName("sash-recovery")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": 2,
        "spark.ui.enabled": False,
    }
    if importable() is None:  # then state is kept in parts
        settings[PROVIDER] = ROCKSDB
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    df = spark.readStream.schema(STREAM.ddl).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    results = sash_spark.aggregate(df, STREAM.query, order=ORDER, buckets=4)
    writer = results.writeStream.format("parquet").option("path", str(folder / "out"))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(**({"availableNow": True} if finish else {"processingTime": "0 seconds"})).start().awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--finish" in sys.argv)
