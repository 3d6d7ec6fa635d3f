"""The state of a bucket of keys, in Spark's state store and out of it."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T

from sash import PerformanceWarning, Query
from sash.runtime.keyed import KeyedOperator
from sash.state.fingerprint import Fingerprint, fingerprint
from sash.state.untagged import dumps
from sash_spark.sizes import warn_large

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["check_state", "loaded", "read_state", "saved", "state_schema"]

_GUARD = "key_aggregates_and_buckets_must_be_those_of_the_checkpoint"
_FORMS = [T.DecimalType(digits, behind) for digits in range(1, 39) for behind in range(digits + 1)]


def state_schema(query: Query, buckets: int) -> T.StructType:
    """The columns of the state; ``state`` is the snapshot of :class:`sash.runtime.keyed.KeyedOperator`.

    Spark refuses a checkpoint whose state has columns of other types, before it reads a row. What must not change is
    therefore told by the types of columns that hold nothing: else rows could go to buckets that have no state yet,
    and nobody would notice.
    """
    said = (list(query.keys), Fingerprint.from_bytes(fingerprint(query)).aggregates, buckets)
    number = int.from_bytes(blake2b(dumps(said), digest_size=8).digest(), "little")
    schema = T.StructType().add("bucket", T.IntegerType()).add("keys", T.LongType()).add("state", T.BinaryType())
    for i in range(4):
        number, form = divmod(number, len(_FORMS))
        schema = schema.add(_GUARD + "_" * i, _FORMS[form])
    return schema


_KEPT: OrderedDict[Any, tuple[bytes, KeyedOperator]] = OrderedDict()
"""Operators that this worker saved last, with what it saved: as long as that is the state, they need not be read."""
_MOST, _MOST_BYTES = 64, 256 << 20


def kept(name: tuple[str, int], blob: bytes) -> KeyedOperator | None:
    """The operator that this worker has of these bytes, which is then no longer kept.

    The name tells one stream of this process from another: theirs may be other functions of the same names.
    """
    found, op = _KEPT.pop(name, (None, None))
    return op if found == blob else None


def remember(name: tuple[str, int], blob: bytes, op: KeyedOperator) -> None:
    """Keep the operator of these bytes."""
    _KEPT[name] = (blob, op)
    while len(_KEPT) > _MOST or (len(_KEPT) > 1 and sum(len(held) for held, _ in _KEPT.values()) > _MOST_BYTES):
        _KEPT.popitem(last=False)


def loaded(state: Any, query: Query, run: str, number: int) -> KeyedOperator:
    """The operator of a bucket; a StateError if the state in the checkpoint does not fit the query."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)  # aggregate() has said so
        if not state.exists:
            return KeyedOperator(query, own_watermark="key")
        blob = bytes(state.get[2])
        return kept((run, number), blob) or KeyedOperator.restore(query, blob, own_watermark="key", trusted=True)


def saved(state: Any, op: KeyedOperator, run: str, number: int) -> int:
    """Put the operator's state where Spark takes it from; its size in bytes."""
    if not op.keys:  # all were forgotten
        state.remove()
        return 0
    blob = op.snapshot(trusted=True)
    warn_large(len(blob), number, op.keys)
    state.update((number, op.keys, blob, None, None, None, None))
    remember((run, number), blob, op)
    return len(blob)


def read_state(spark: SparkSession, checkpoint: str, query: Query) -> dict[int, KeyedOperator]:
    """The operators of all buckets, as a checkpoint has them, by Spark's state data source: to look at, not to run.

    Reads the state on this machine: for looking into it, not for large ones.
    """
    if not _in_parts(spark, checkpoint):
        rows = _stored(spark, checkpoint).select("value.groupState.*").collect()
        return {row.bucket: _read(query, row.state) for row in rows}
    blocks: dict[int, dict[Any, bytes]] = {}
    for row in _stored(spark, checkpoint, "blocks").collect():
        blocks.setdefault(row.key.bucket, {})[tuple(row.user_map_key)] = bytes(row.user_map_value.slices)
    rows = _stored(spark, checkpoint, "header").select("value.*").collect()
    return {row.bucket: _read(query, row.state, blocks.get(row.bucket, {})) for row in rows}


def check_state(spark: SparkSession, checkpoint: str, query: Query) -> None:
    """Refuse, with the reason, a query that does not fit what a checkpoint holds, if there is one."""
    if not _exists(spark, f"{checkpoint}/state"):
        return
    if _in_parts(spark, checkpoint):
        for row in _stored(spark, checkpoint, "header").select("value.state").limit(1).collect():
            KeyedOperator.check_parts(query, bytes(row.state))
        return
    for row in _stored(spark, checkpoint).select("value.groupState.state").limit(1).collect():
        _read(query, row.state)


def _exists(spark: SparkSession, path: str) -> bool:
    """Whether there is something, on whichever file system."""
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        raise ValueError("checkpoint= needs a session of its own: by Spark Connect it cannot be looked for")
    place, settings = jvm.org.apache.hadoop.fs.Path(path), spark._jsc.hadoopConfiguration()
    return bool(place.getFileSystem(settings).exists(place))


def _in_parts(spark: SparkSession, checkpoint: str) -> bool:
    names = spark.read.format("state-metadata").load(checkpoint).select("operatorName").distinct().collect()
    return any("transformWithState" in row.operatorName for row in names)


def _stored(spark: SparkSession, checkpoint: str, variable: str | None = None) -> DataFrame:
    reader = spark.read.format("statestore")
    return (reader if variable is None else reader.option("stateVarName", variable)).load(checkpoint)


def _read(query: Query, state: Any, blocks: dict[Any, bytes] | None = None) -> KeyedOperator:
    if blocks is None:
        return KeyedOperator.restore(query, bytes(state), own_watermark="key", trusted=True)
    return KeyedOperator.restore_parts(query, bytes(state), blocks, own_watermark="key", trusted=True)
