"""Columns by name: the name as it is, or a path into structures, quoted as in SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from sash.spi import near

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from sash import Query

__all__ = ["column", "find", "key_column", "orders_of", "path_of", "quote", "read_columns"]


def path_of(schema: T.StructType, name: str) -> tuple[str, ...]:
    """Where a column is: the name as it is, or the path to a field within structures, quoted as in SQL."""
    if name in schema.names:
        return (name,)
    kind: Any = schema
    path = tuple(_parts(name))
    for depth, part in enumerate(path):
        if not isinstance(kind, T.StructType):
            above = ".".join(path[:depth])
            raise KeyError(f"column {name!r} is not in {above!r}, which is no structure but {kind.simpleString()}")
        if part not in kind.names:
            raise KeyError(_missing(name, part, path[:depth], kind.names))
        kind = kind[part].dataType
    return path


def find(schema: T.StructType, name: str) -> T.StructField:
    """The column of this name, or the field at this path; it can be null if anything on the way can."""
    field, nullable = T.StructField("", schema), False
    for part in path_of(schema, name):
        field = field.dataType[part]  # type: ignore[index]  # path_of has seen that it is a structure
        nullable = nullable or field.nullable
    return T.StructField(name, field.dataType, nullable)


def _parts(name: str) -> Iterator[str]:
    """The parts of ``a.`b.c`.d``."""
    part, in_quotes = "", False
    for character in name:
        if character == "`":
            in_quotes = not in_quotes
        elif character == "." and not in_quotes:
            yield part
            part = ""
        else:
            part += character
    yield part


def _missing(name: str, part: str, above: Sequence[str], there: Sequence[str]) -> str:
    where = f"{'.'.join(above)!r}" if above else "the DataFrame"
    same = [".".join((*above, other)) for other in there if other.lower() == part.lower()]
    meant = f"; did you mean {same[0]!r}?" if same else near(name, [".".join((*above, other)) for other in there])
    return f"column {name!r} is not in {where}, which has {', '.join(map(repr, there)) or 'none'}{meant}"


def quote(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def column(df: DataFrame, name: str) -> Column:
    """A column, or a field within structures."""
    return F.col(".".join(map(quote, path_of(df.schema, name))))


def key_column(df: DataFrame, name: str) -> Column:
    """A key's column, in which the two zeros of floats are one: a sort would mix them, a shuffle might part them."""
    found, kind = column(df, name), find(df.schema, name).dataType
    return found + F.lit(0.0).cast(kind) if isinstance(kind, T.FloatType | T.DoubleType) else found


def orders_of(df: DataFrame, order: str | Sequence[str] | None) -> list[str]:
    """The names of the columns that order rows, which must be there."""
    names = [order] if isinstance(order, str) else list(order or ())
    for name in names:
        find(df.schema, name)
    return names


def read_columns(df: DataFrame, query: Query, orders: Sequence[str]) -> list[Column]:
    """What the query reads, as c0, c1, …, and what orders rows, as o0, o1, …: dots in names would be paths."""
    read = [key_column(df, name) if name in query.keys else column(df, name) for name in query.columns]
    named = {"c": read or [F.lit(True)], "o": [column(df, name) for name in orders]}  # a row without columns is none
    return [part.alias(f"{prefix}{i}") for prefix, parts in named.items() for i, part in enumerate(parts)]
