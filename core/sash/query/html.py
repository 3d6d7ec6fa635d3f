"""A query as notebooks show it: a small table, whatever texts are in it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sash.query import Query

__all__ = ["preformatted", "query_table"]

_OPTIONS = ("key", "time", "time_unit", "watermark_delay", "allowed_lateness", "early", "algorithm", "combine_time")


def query_table(query: Query) -> str:
    """A row for each window, each aggregate and each option that is not left out. O(windows + aggregates).

    >>> import sash
    >>> query = sash.Query(windows=sash.sliding(3), aggregates={"n": sash.Count()})
    >>> query_table(query)[:60]
    '<table><tr><th style="text-align:left">windows</th><td style'
    """
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in _rows(query)
    )
    return f"<table>{rows}</table>"


def _rows(query: Query) -> Iterator[tuple[str, str]]:
    for name, window in query.named.items():
        yield ("windows" if name is None else f"window {name}"), repr(window)
    for result, aggregation in query.aggregates.items():
        yield result, repr(aggregation)
    for option in _OPTIONS:
        value = getattr(query, option)
        if value is not None and value != type(query).__dataclass_fields__[option].default:
            yield option, str(value)


def preformatted(text: str) -> str:
    """A text as it is, in a font of equal widths.

    >>> preformatted("W[3, 1] < n")
    '<pre>W[3, 1] &lt; n</pre>'
    """
    return f"<pre>{escape(text)}</pre>"
