"""Windows: which stretches of a stream are aggregated. Descriptions only; what runs them is :mod:`sash.engine`.

How much of the stream must be known to know a window's edges is its class (general stream slicing, section 4.4):

| window | class | its edges are known |
| --- | --- | --- |
| sliding, tumbling on time | context free | always |
| sliding, tumbling on counts | forward context free (free in order of arrival) | once all tuples before are there |
| session, punctuated | forward context free | once all tuples up to them are there |
| while | forward context free | once all tuples up to them are there |
| last | forward context aware | only from tuples behind its begin |
"""

from sash.windows.base import ContextAware, ContextFree, Edges
from sash.windows.context import Last, Punctuated, Session, last, punctuated, session
from sash.windows.periodic import CountWindow, TimeWindow, sliding, tumbling
from sash.windows.policy import While, window_while

__all__ = [
    "ContextAware",
    "ContextFree",
    "CountWindow",
    "Edges",
    "Last",
    "Punctuated",
    "Session",
    "TimeWindow",
    "While",
    "Window",
    "last",
    "punctuated",
    "session",
    "sliding",
    "tumbling",
    "window_while",
]

Window = ContextFree | ContextAware | Session | Last
"""What a query's ``windows`` may be."""
