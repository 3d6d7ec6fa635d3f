"""The demo's query on an embedded Flink. Run by ``make demo``."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from sash import Query
from sash.cli.engines import Job
from sash.cli.files import Source
from sash_flink import cli

__all__ = ["run"]


def run(query: Query, stream: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The results of the query over columns in the order of arrival, by a Flink in this process, in any order."""
    with tempfile.TemporaryDirectory(prefix="sash-demo-") as folder:
        path = Path(folder) / "stream.parquet"
        pq.write_table(pa.table(dict(stream)), path)
        tables = list(cli.run(Job(query, Source.of(path), scratch=Path(folder))))
    results: dict[str, list[Any]] = pa.concat_tables(tables).to_pydict()
    return results
