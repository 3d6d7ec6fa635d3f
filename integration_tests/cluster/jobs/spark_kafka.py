"""Kafka to Kafka on Spark: spark_kafka.py BROKER IN OUT DEAD CHECKPOINT.

A result's key in Kafka names the window, so that one that is written again after a failure replaces itself. Records
that cannot be read go to the topic DEAD, by their place in the source, and the job goes on.
"""

from __future__ import annotations

import sys

from integration_tests.cluster.stream import QUERY
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import sash_spark

broker, source, sink, dead, checkpoint = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
read = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker).option("subscribe", source)
raw = read.option("startingOffsets", "earliest").load()
parsed = raw.selectExpr("CAST(value AS STRING) AS raw", "concat_ws('-', partition, offset) AS place").withColumn(
    "record", F.from_json("raw", "plug STRING, ms LONG, `load` LONG")
)
whole = F.expr("record.plug IS NOT NULL AND record.ms IS NOT NULL AND record.`load` IS NOT NULL")
good = parsed.where(whole).select(
    "record.plug", F.timestamp_millis("record.ms").alias("ts"), F.col("record.load").alias("load")
)
# Spark's watermark is that of all partitions, and one may be read sooner than another: it must not make anybody late.
# Each key is in one partition, in order, and its own watermark, which Sash keeps, closes its windows.
results = sash_spark.aggregate(good.withWatermark("ts", "1 hour"), QUERY, buckets=2)
name = F.concat_ws("|", "plug", "window", "window_start", "window_end")
values = results.select(name.alias("key"), F.to_json(F.struct(*results.columns)).alias("value"))
unread = parsed.where(~F.coalesce(whole, F.lit(False))).select(F.col("place").alias("key"), F.col("raw").alias("value"))
for rows, topic in ((values, sink), (unread, dead)):
    writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", broker).option("topic", topic)
    writer.option("checkpointLocation", f"{checkpoint}/{topic}").start()
spark.streams.awaitAnyTermination()
