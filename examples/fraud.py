"""Velocity features for fraud detection, on Flink.

    python examples/fraud.py payments.jsonl features late

For each payment: how many payments its card made in the last five minutes and in the last hour, how much, and
in how many countries. A fraud model takes these features. Payments that come more than ten seconds late go to
a folder of their own, where people look at them.

Payments are JSON lines with card, ts, amount and country. On a cluster, replace the file by a Kafka table:
nothing else changes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pyflink.table import StreamTableEnvironment

import sash
import sash_flink

QUERY = sash.Query(
    key="card",
    windows={"5m": sash.trailing("5m"), "1h": sash.trailing("1h")},  # one result a payment and window
    aggregates={
        "payments": sash.Count(),
        "spent": sash.Sum("amount"),
        "largest": sash.Max("amount"),
        "countries": sash.ExactDistinctCount("country"),
    },
    time="ts",
    watermark_delay="10s",
)
COLUMNS = (
    "card STRING, `window` STRING, ts TIMESTAMP(3), payments BIGINT, spent DOUBLE, largest DOUBLE, countries BIGINT"
)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("payments", type=Path, help="a file of JSON lines")
    parser.add_argument("features", type=Path, help="the folder for the features")
    parser.add_argument("late", type=Path, help="the folder for payments that come too late")
    parser.add_argument("--parallelism", type=int, default=1)
    options = parser.parse_args(arguments)
    env = sash_flink.environment(options.parallelism)
    t_env = StreamTableEnvironment.create(env)
    json = "'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'"
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE payments (card STRING, ts TIMESTAMP(3), amount DOUBLE, country STRING) "
        f"WITH ('connector' = 'filesystem', 'path' = '{options.payments.resolve()}', {json})"
    )
    for name, columns, folder in (
        ("features", COLUMNS, options.features),
        ("late", "card STRING, ts TIMESTAMP(3), amount DOUBLE, country STRING", options.late),
    ):
        t_env.execute_sql(
            f"CREATE TEMPORARY TABLE {name} ({columns}) "
            f"WITH ('connector' = 'filesystem', 'path' = '{folder.resolve()}', {json})"
        )
    payments = t_env.to_data_stream(t_env.from_path("payments"))
    # A watermark with every record: which payments are late does not depend on how fast the file is read.
    timed = sash_flink.with_watermarks(payments, QUERY, every_record=True)
    results = sash_flink.aggregate(timed, QUERY, uid="velocity", ttl="1d")
    t_env.create_temporary_view("results", results)
    t_env.create_temporary_view("too_late", results.get_side_output(sash_flink.LATE))
    jobs = t_env.create_statement_set()
    jobs.add_insert_sql(
        "INSERT INTO features SELECT card, `window`, window_end, payments, spent, largest, countries FROM results"
    )
    jobs.add_insert_sql("INSERT INTO late SELECT card, ts, amount, country FROM too_late")
    jobs.execute().wait()


if __name__ == "__main__":
    main()
