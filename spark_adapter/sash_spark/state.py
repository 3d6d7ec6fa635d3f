"""The state of a bucket of keys, in Spark's state store and out of it."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T

from sash import PerformanceWarning, Query
from sash.spi import Fingerprint, KeyedOperator, dumps, fingerprint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "check_state",
    "read_state",
    "recall",
    "remember",
    "restore",
    "state_schema",
    "warn_large",
    "warn_wide",
]  # fmt: skip

_GUARD = "key_aggregates_and_buckets_must_be_those_of_the_checkpoint"
_FORMS = [T.DecimalType(digits, behind) for digits in range(1, 39) for behind in range(digits + 1)]


LARGE = 16 << 20
"""A bucket's state of more bytes is worth a warning, in the log of the worker."""
WIDE = 1 << 16
"""A window of so many slices is about a megabyte of state for each key."""


def state_schema(query: Query, buckets: int) -> T.StructType:
    """The columns of the state; ``state`` is the snapshot of :class:`sash.spi.KeyedOperator`.

    Spark refuses a checkpoint whose state has columns of other types, before it reads a row. The types of columns that
    hold nothing therefore encode what must not change: else rows could go to buckets that have no state yet, and
    nobody would notice.
    """
    fixed = (list(query.keys), Fingerprint.from_bytes(fingerprint(query)).aggregates, buckets)
    number = int.from_bytes(blake2b(dumps(fixed), digest_size=8).digest(), "little")
    schema = T.StructType().add("bucket", T.IntegerType()).add("keys", T.LongType()).add("state", T.BinaryType())
    for i in range(4):
        number, form = divmod(number, len(_FORMS))
        schema = schema.add(_GUARD + "_" * i, _FORMS[form])
    return schema


_KEPT: OrderedDict[Any, tuple[bytes, KeyedOperator]] = OrderedDict()
"""The operators that this worker saved last, with the bytes: while these are the state, it need not be read."""
_MOST, _MOST_BYTES = 64, 256 << 20


def recall(name: tuple[str, int], blob: bytes) -> KeyedOperator | None:
    """Take out the operator that this worker has kept for these bytes, if it has.

    The name distinguishes the streams of this process, which may have different functions of the same names.
    """
    saved, op = _KEPT.pop(name, (None, None))
    return op if saved == blob else None


def remember(name: tuple[str, int], blob: bytes, op: KeyedOperator) -> None:
    """Keep the operator of these bytes."""
    _KEPT[name] = (blob, op)
    while len(_KEPT) > _MOST or (len(_KEPT) > 1 and sum(len(held) for held, _ in _KEPT.values()) > _MOST_BYTES):
        _KEPT.popitem(last=False)


def restore(query: Query, state: Any, blocks: dict[Any, bytes] | None = None) -> KeyedOperator:
    """The operator of a snapshot, or of a header and its blocks; a StateError if they do not fit the query."""
    if blocks is None:
        return KeyedOperator.restore(query, bytes(state), own_watermark="key", trusted=True)
    return KeyedOperator.restore_parts(query, bytes(state), blocks, own_watermark="key", trusted=True)


def warn_large(size: int, number: int, keys: int) -> None:
    """Warn if much is written of a bucket in each micro-batch."""
    if size > LARGE:
        warnings.warn(
            f"the state of bucket {number} with {keys} keys has {size >> 20} MB, which Spark writes whole in each "
            "micro-batch: use longer slides or more buckets, forget silent keys (ttl=), or keep it in parts (state=)",
            PerformanceWarning,
            stacklevel=3,
        )


def warn_wide(slices: int, reason: str) -> None:
    """Warn, before anything runs, of windows with too many slices for a state that is written whole."""
    if slices >= WIDE:
        warnings.warn(
            f"a window has {slices:,} slices, and the state of each key, some {slices >> 16} MB, is written whole in "
            f"each micro-batch: use a longer slide, or have Spark keep it in parts ({reason})",
            PerformanceWarning,
            stacklevel=4,
        )


def read_state(spark: SparkSession, checkpoint: str, query: Query) -> dict[int, KeyedOperator]:
    """The operators of all buckets in a checkpoint, read through Spark's state data source, for inspection.

    Reads the whole state on this machine.
    """
    rows, in_parts = _states(spark, checkpoint)
    if not in_parts:
        return {row.bucket: restore(query, row.state) for row in rows.collect()}
    blocks: dict[int, dict[Any, bytes]] = {}
    for row in spark.read.format("statestore").option("stateVarName", "blocks").load(checkpoint).collect():
        blocks.setdefault(row.key.bucket, {})[tuple(row.user_map_key)] = bytes(row.user_map_value.slices)
    return {row.bucket: restore(query, row.state, blocks.get(row.bucket, {})) for row in rows.collect()}


def check_state(spark: SparkSession, checkpoint: str, query: Query) -> None:
    """Refuse, with the reason, a query that does not fit what a checkpoint holds, if there is one."""
    if not _has_commits(spark, checkpoint):
        return
    rows, in_parts = _states(spark, checkpoint)
    check = KeyedOperator.check_parts if in_parts else restore
    for row in rows.select("state").limit(1).collect():
        check(query, bytes(row.state))


def _has_commits(spark: SparkSession, checkpoint: str) -> bool:
    """Whether a micro-batch is committed in a checkpoint, on whichever file system."""
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        raise ValueError("checkpoint= needs a session of its own: by Spark Connect it cannot be looked for")
    place, settings = jvm.org.apache.hadoop.fs.Path(f"{checkpoint}/commits"), spark._jsc.hadoopConfiguration()
    files = place.getFileSystem(settings)
    return bool(files.exists(place)) and any(status.getPath().getName().isdigit() for status in files.listStatus(place))


def _states(spark: SparkSession, checkpoint: str) -> tuple[DataFrame, bool]:
    """The rows of a checkpoint that hold the states of buckets, and whether these are in parts."""
    _ = spark.streams  # starts the coordinator of state stores, without which none can be read
    names = spark.read.format("state-metadata").load(checkpoint).select("operatorName").distinct().collect()
    reader = spark.read.format("statestore")
    if any("transformWithState" in row.operatorName for row in names):
        return reader.option("stateVarName", "header").load(checkpoint).select("value.*"), True
    return reader.load(checkpoint).select("value.groupState.*"), False
