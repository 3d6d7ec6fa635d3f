"""Kafka to Kafka on Flink, exactly once: flink_kafka.py BROKER IN OUT DEAD.

Records that cannot be read, or taken, go to the topic DEAD, and the job goes on.
"""

from __future__ import annotations

import sys
from pathlib import Path

from integration_tests.cluster.stream import QUERY
from integration_tests.cluster.touchy import Touchy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

import sash_flink

broker, source, sink, dead = sys.argv[1:]
env = StreamExecutionEnvironment.get_execution_environment()
env.add_jars(*(path.as_uri() for path in Path("/cluster/kafka/flink").glob("*.jar")))
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set_local_timezone("UTC")
kafka = f"'connector' = 'kafka', 'properties.bootstrap.servers' = '{broker}'"
once = "'sink.delivery-guarantee' = 'exactly-once', 'properties.transaction.timeout.ms' = '900000'"
# The watermark is made in the source, where each partition has its own: one that is read sooner makes nobody late.
t_env.execute_sql(
    f"""CREATE TABLE source (
        line STRING,
        plug AS JSON_VALUE(line, '$.plug'),
        ts AS TO_TIMESTAMP_LTZ(TRY_CAST(JSON_VALUE(line, '$.ms') AS BIGINT), 3),
        `load` AS TRY_CAST(JSON_VALUE(line, '$.load') AS BIGINT),
        moment AS TO_TIMESTAMP_LTZ(COALESCE(TRY_CAST(JSON_VALUE(line, '$.ms') AS BIGINT), 0), 3),
        WATERMARK FOR moment AS moment - INTERVAL '4' SECOND
    ) WITH ({kafka}, 'topic' = '{source}', 'format' = 'raw', 'properties.group.id' = 'sash-{source}',
        'scan.startup.mode' = 'earliest-offset')"""
)
t_env.execute_sql(
    f"""CREATE TABLE sink (plug STRING, `window` STRING, window_start TIMESTAMP_LTZ(6), window_end TIMESTAMP_LTZ(6),
        total BIGINT, peak BIGINT, n BIGINT)
    WITH ({kafka}, 'topic' = '{sink}', 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601', {once},
        'sink.transactional-id-prefix' = '{sink}')"""
)
t_env.execute_sql(
    f"CREATE TABLE dead (line STRING) WITH ({kafka}, 'topic' = '{dead}', 'format' = 'raw', {once}, "
    f"'sink.transactional-id-prefix' = '{dead}')"
)
readable = "plug IS NOT NULL AND `load` IS NOT NULL"
stream = t_env.to_data_stream(t_env.sql_query(f"SELECT plug, ts, `load`, moment FROM source WHERE {readable}"))
sys.modules["sash_flink.aggregate"].PackedFunction = Touchy  # type: ignore[attr-defined]
results = sash_flink.aggregate(stream, QUERY, latency="50ms", uid="sash")
t_env.create_temporary_view("results", results)
t_env.create_temporary_view("rejected", results.get_side_output(sash_flink.REJECTED))
inserts = t_env.create_statement_set()
inserts.add_insert_sql("INSERT INTO sink SELECT plug, `window`, window_start, window_end, total, peak, n FROM results")
# What Sash cannot take, a record without a time, comes back from it; the rest does not get so far.
inserts.add_insert_sql(
    f"""INSERT INTO dead SELECT line FROM source WHERE NOT ({readable})
    UNION ALL SELECT JSON_OBJECT(KEY 'load' VALUE `load`, KEY 'plug' VALUE plug) FROM rejected"""
)
inserts.execute()
