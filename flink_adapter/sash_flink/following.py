"""``sash run --engine flink --follow``: from topic to topic by Flink's own connector, exactly once.

    source ── watermark of each partition ── sash: windows ── sink, in transactions
       └───────────── offsets and state: checkpoints in the folder of the state ─────────────┘

Results become visible with each checkpoint. Whoever goes on takes the newest one, and Flink ends the transactions that
it has: so a job that is killed loses and doubles nothing.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyflink.table import StreamTableEnvironment, TableDescriptor

import sash_flink
from sash.spi import Job, in_micros
from sash_flink.clock import Clock
from sash_flink.types import sql_row

__all__ = ["follow", "settings_of"]

_MOMENT = "sash moment"
_IDLE = "10 s"
"""A partition that has been silent for so long holds no results back."""


def settings_of(state: Path, jars: tuple[Path, ...]) -> dict[str, str]:
    """Flink's settings: checkpoints that stay in the folder, and the newest of them to go on from."""
    settings = {
        "execution.checkpointing.interval": "1s",
        "execution.checkpointing.dir": (state / "checkpoints").as_uri(),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.state-recovery.claim-mode": "CLAIM",
        "restart-strategy.type": "none",
        "pipeline.jars": ";".join(jar.resolve().as_uri() for jar in jars),
    }
    found = sorted(state.glob("checkpoints/*/chk-*/_metadata"), key=lambda path: path.stat().st_mtime_ns)
    if found:
        settings["execution.state-recovery.path"] = found[-1].parent.as_uri()
    return {name: value for name, value in settings.items() if value}


def follow(env: Any, job: Job) -> None:
    """Run until interrupted."""
    assert job.follow is not None
    source, target, group = job.follow.source, job.follow.target, job.follow.group
    t_env = StreamTableEnvironment.create(env)
    own = {f"properties.{name}": value for name, value in job.follow.settings.items()}
    read = {
        "connector": "kafka",
        "topic": source.name,
        "properties.bootstrap.servers": source.servers,
        "properties.group.id": group,
        "properties.auto.offset.reset": "earliest",
        "scan.startup.mode": "group-offsets",
        "scan.watermark.idle-timeout": _IDLE,
        "format": "json",
        "json.timestamp-format.standard": "ISO-8601",
    }
    schema = in_micros(job.source.schema).remove_metadata()
    schema = pa.schema([schema.field(name) for name in job.query.columns])
    options = ", ".join(f"{_text(name)} = {_text(value)}" for name, value in (read | own).items())
    columns = sql_row(schema)[len("ROW<") : -1]
    t_env.execute_sql(f"CREATE TEMPORARY TABLE source ({columns}{_watermark(job, schema)}) WITH ({options})")
    results = sash_flink.aggregate(t_env.to_data_stream(t_env.from_path("source")), job.query, uid="sash")
    keys = job.query.keys
    sink = TableDescriptor.for_connector("kafka").option("topic", target.name)
    write = {
        "properties.bootstrap.servers": target.servers,
        "properties.transaction.timeout.ms": "900000",
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": f"sash-{group}-{target.name}",
        "value.format": "json",
        "value.json.timestamp-format.standard": "ISO-8601",
    }
    if keys:
        text = len(keys) == 1 and pa.types.is_string(schema.field(keys[0]).type)
        write |= {"key.format": "raw" if text else "json", "key.fields": ";".join(keys)}
    for name, value in (write | own).items():
        sink.option(name, value)
    job.tally.doing = "following"
    t_env.from_data_stream(results).execute_insert(sink.build()).wait()


def _watermark(job: Job, schema: pa.Schema) -> str:
    """The watermark of each partition, a millisecond more than the delay behind: rows of one time are not late."""
    clock = Clock.of(job.query, schema)
    if clock.column is None or clock.arrival:
        return ""
    (lane,) = [lane for lane in job.query.lanes if lane.order == clock.column]
    name = f"`{clock.column.replace('`', '``')}`"
    number = f"TO_TIMESTAMP_LTZ(CAST(FLOOR({name} * CAST({clock.tick / 10**6!r} AS DOUBLE)) AS BIGINT), 3)"
    moment = number if clock.kind == "number" else f"CAST({name} AS TIMESTAMP_LTZ(3))"
    in_millis = clock.kind == "number" and lane.time_unit is None  # as Flink's own times
    behind = (math.ceil(lane.delay) if in_millis else -(-lane.delay // 10**6)) + 1
    (days, rest), sixty = divmod(behind, 24 * 3600 * 1000), 60 * 1000
    of_day = f"{rest // sixty // 60:02d}:{rest // sixty % 60:02d}:{rest % sixty // 1000:02d}.{rest % 1000:03d}"
    return (
        f", `{_MOMENT}` AS COALESCE({moment}, TO_TIMESTAMP_LTZ(0, 3)), "
        f"WATERMARK FOR `{_MOMENT}` AS `{_MOMENT}` - INTERVAL '{days} {of_day}' DAY(3) TO SECOND(3)"
    )


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
