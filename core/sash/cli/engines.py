"""Where a query runs. An engine is a function that the entry point group ``sash.engines`` names; Sash's own are
``local``, and ``spark`` and ``flink`` in their adapters, which know their engines so that this package need not."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from sash.cli.errors import UsageError
from sash.cli.files import Source, arrow
from sash.query import Query

__all__ = ["Engine", "Job", "Tally", "engine", "engines", "results_of"]


@dataclass
class Tally:
    """What a run has done so far; None: not known. Engines write it, the progress line and the summary read it."""

    doing: str = "starting"
    rows_in: int = 0
    rows_out: int = 0
    late: int | None = None
    """Rows that came too late and were dropped."""
    state_bytes: int | None = None
    """What would have to be kept to go on later."""


@dataclass(frozen=True)
class Job:
    """What an engine is to do."""

    query: Query
    source: Source
    streaming: bool = False
    parallelism: int | None = None
    scratch: Path = Path()
    """A folder of its own, which is removed afterwards."""
    tally: Tally = field(default_factory=Tally)


Engine = Callable[[Job], Iterator[Any]]
"""The results as Arrow tables of one schema, at least one, however empty: the order of keys is the engine's."""


def engines() -> list[str]:
    """The names of those that are installed, with or without what they need."""
    return sorted({point.name for point in entry_points(group="sash.engines")} | {"local"})


def engine(name: str) -> Engine:
    """An engine by its name."""
    if name == "local":
        from sash.cli.local import run

        return run
    found = [point for point in entry_points(group="sash.engines") if point.name == name]
    if not found:
        raise UsageError(f"there is no engine {name!r}; there are {', '.join(engines())}")
    try:
        loaded: Engine = found[0].load()
    except ModuleNotFoundError as error:
        raise UsageError(f"engine {name!r} needs {error.name}: pip install 'sash[{name}]'") from None
    return loaded


def results_of(run: Engine, query: Query, columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The results of a query over columns in the order of arrival, by an engine; keys come in any order."""
    pa = arrow()
    from pyarrow import parquet  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory(prefix="sash-") as folder:
        path = Path(folder) / "columns.parquet"
        parquet.write_table(pa.table(dict(columns)), path)
        tables = list(run(Job(query, Source.of(path), scratch=Path(folder))))
    results: dict[str, list[Any]] = pa.concat_tables(tables).to_pydict()
    return results
