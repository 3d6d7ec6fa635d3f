"""Queries in SQL: a view of a query's results, by whatever SQL can name.

Flink takes table functions that see whole tables in Java only, so there is no ``sash(TABLE readings, …)`` as on Spark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyflink.table import StreamTableEnvironment

from sash import Query, load_query
from sash.spi import QueryImportError, parse_query
from sash_flink.aggregate import aggregate_table

__all__ = ["create_view"]


def create_view(t_env: StreamTableEnvironment, name: str, source: str, query: Query | str, **options: Any) -> None:
    """Make the results of ``query`` over ``source`` a temporary view ``name`` that SQL can select from.

    ``source`` is the name of a table, or a SELECT; ``query`` is a query, a file that ends in .toml, or a TOML text.
    Files and texts name built-in functions only, since whoever writes them need not be who runs them. ``options`` are
    those of :func:`sash_flink.aggregate_table`. Nothing runs before the view is used.
    """
    table = t_env.from_path(source) if len(source.split()) == 1 else t_env.sql_query(source)
    t_env.create_temporary_view(name, aggregate_table(table, _query(query), t_env, **options))


def _query(query: Query | str) -> Query:
    if isinstance(query, Query):
        return query
    if not isinstance(query, str):
        raise TypeError(f"query must be a sash.Query, a file or a TOML text; got {type(query).__name__}")
    try:
        return load_query(Path(query)) if query.endswith(".toml") and "\n" not in query else parse_query(query)
    except QueryImportError as error:
        reason = f"{error.path}, line {error.line}: {error.reason} in SQL"
        raise ValueError(f"{reason}; load such a query in the program, and give it as it is") from error
