"""Windows: which stretches of a stream are aggregated. Descriptions only; what runs them is :mod:`sash.engine`.

How much of the stream must be known to know a window's edges is its class (general stream slicing, section 4.4):

| window | class | its edges are known |
| --- | --- | --- |
| sliding, tumbling, cumulative on time or of a calendar | context free | always |
| sliding, tumbling on counts | forward context free (free in order of arrival) | once all tuples before are there |
| session, punctuated | forward context free | once all tuples up to them are there |
| while, trailing | forward context free | once all tuples up to them are there |
| last | forward context aware | only from tuples after its start |

A type of window is spread over four modules, of one name where it has its own: its description here; its watch in
:mod:`sash.engine.rows.watches`, if it does not run as a context-free window does; its rule in
:mod:`sash.engine.columns.rules`, if it runs by columns; and its definition in :mod:`sash.testing.definition`.
"""

from collections.abc import Callable

from sash.windows.base import ContextAware, ContextClass, ContextFree, Edges, Window
from sash.windows.calendar import CalendarWindow
from sash.windows.count import AroundWindow, CountWindow, While, window_while
from sash.windows.cumulative import CumulativeWindow, cumulative
from sash.windows.last import Last, last
from sash.windows.punctuated import Punctuated, punctuated
from sash.windows.session import Session, session
from sash.windows.sliding import sliding, tumbling
from sash.windows.time import TimeWindow
from sash.windows.trailing import TrailingWindow, trailing

__all__ = [
    "TYPES",
    "AroundWindow",
    "CalendarWindow",
    "ContextAware",
    "ContextClass",
    "ContextFree",
    "CountWindow",
    "CumulativeWindow",
    "Edges",
    "Last",
    "Punctuated",
    "Session",
    "TimeWindow",
    "TrailingWindow",
    "While",
    "Window",
    "cumulative",
    "last",
    "punctuated",
    "session",
    "sliding",
    "trailing",
    "tumbling",
    "window_while",
]

TYPES: dict[str, Callable[..., Window]] = {
    "sliding": sliding,
    "tumbling": tumbling,
    "cumulative": cumulative,
    "trailing": trailing,
    "session": session,
    "last": last,
    "punctuated": punctuated,
    "while": window_while,
}
"""What creates a window, by the type that a query file names."""
