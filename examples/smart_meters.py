"""The table behind a smart-meter dashboard: Spark Structured Streaming from files to Parquet.

    python examples/smart_meters.py incoming table checkpoint           # runs until it is stopped
    python examples/smart_meters.py incoming table checkpoint --once    # takes what is there, and ends

Meters write JSON lines with house, ts and watts into files of a folder. For each house the table has the load
of the last hour, every five minutes. Started again with the same checkpoint, the job goes on where it was:
each row is counted once, also after kill -9.
"""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame, SparkSession

import sash
import sash_spark

SCHEMA = "house STRING, ts TIMESTAMP, watts DOUBLE"
QUERY = sash.Query(
    key="house",
    windows=sash.sliding("1h", "5m"),
    aggregates={
        "mean": sash.Mean("watts"),
        "peak": sash.Max("watts"),
        "peak_at": sash.ArgMax("watts", "ts"),
        "p95": sash.Quantile("watts", 0.95),
        "readings": sash.Count(),
    },
    time="ts",
    watermark_delay="2m",  # meters report up to two minutes late
)


def session() -> SparkSession:
    """A local Spark, unless `spark-submit` or a notebook has started one."""
    return SparkSession.builder.appName("smart meters").config("spark.sql.session.timeZone", "UTC").getOrCreate()


def loads(spark: SparkSession, incoming: str) -> DataFrame:
    """The stream of results."""
    readings = spark.readStream.schema(SCHEMA).json(incoming)
    return sash_spark.aggregate(readings, QUERY)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("incoming", help="the folder in which files of readings arrive")
    parser.add_argument("table", help="the folder of the Parquet table")
    parser.add_argument("checkpoint", help="the folder of the stream's state")
    parser.add_argument("--once", action="store_true", help="take the files that are there, and end")
    options = parser.parse_args(arguments)
    writer = loads(session(), options.incoming).writeStream.format("parquet").outputMode("append")
    writer = writer.option("checkpointLocation", options.checkpoint)
    writer = writer.trigger(availableNow=True) if options.once else writer.trigger(processingTime="10 seconds")
    stream = writer.start(options.table)
    stream.awaitTermination()
    metrics = (stream.lastProgress or {}).get("observedMetrics", {}).get("sash")
    print(f"the last micro-batch: {metrics}")


if __name__ == "__main__":
    main()
