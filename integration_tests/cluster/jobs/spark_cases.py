"""Runs conformance cases on the cluster, as batches and as streams, and pickles the rows: spark_cases.py OUT CASE …"""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from integration_tests.conformance.cases import CASES, ORDER
from pyspark.sql import SparkSession

import sash_spark

out, *names = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
found: dict[tuple[str, str], list[dict[str, object]]] = {}
for case in CASES:
    if case.name not in names:
        continue
    folder = Path(out) / case.name
    folder.mkdir(parents=True)
    for number, rows in enumerate(case.batches()):
        path = folder / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, case.arrow), path)
        os.utime(path, (10**9 + number, 10**9 + number))  # a stream takes files in the order of their times
    df = spark.read.schema(case.ddl).parquet(str(folder))
    results = sash_spark.aggregate(df, case.query, order=ORDER, **case.options)
    found[case.name, "batch"] = [row.asDict() for row in results.collect()]
    df = spark.readStream.schema(case.ddl).option("maxFilesPerTrigger", 1).parquet(str(folder))
    results = sash_spark.aggregate(df, case.query, order=ORDER, buckets=2, **case.options)
    table = case.name.replace("-", "_")
    writer = results.writeStream.format("memory").queryName(table).option("checkpointLocation", f"{out}/c-{case.name}")
    writer.trigger(availableNow=True).start().awaitTermination()
    found[case.name, "streaming"] = [row.asDict() for row in spark.table(table).collect()]
    print(f"{case.name}: done", flush=True)
Path(out, "rows.pickle").write_bytes(pickle.dumps(found))
