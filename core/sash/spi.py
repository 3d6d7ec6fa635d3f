"""The service provider interface: what an adapter may use of the core besides :mod:`sash` itself.

An adapter brings an engine's rows to an operator and its results back. It imports ``sash`` and this module, nothing
else of the core; ``make map`` and a test check that. Names of this module may change with any release.

Streams
    :class:`KeyedOperator` takes batches of many keys and emits :class:`Outcomes`; :class:`KeyOperator` takes the rows
    of a single key.
Sorted batches
    :class:`SortedBatches` takes record batches of rows that are sorted by key and emits record batches of results;
    :func:`coalesce_batches` makes such batches large enough.
Two phases
    :func:`reduces_first` decides whether rows become slices before those of a key come together, and
    :func:`why_one_phase_streams` why those of a stream cannot. Then a :class:`SliceReducer` takes the rows of a task,
    and a :class:`SliceMerger`, in a stream a :class:`SliceStream`, the slices of a group of keys.
Results
    :func:`result_columns` are the columns (:class:`Column`) of a query's results in those of Arrow's types that an
    engine has (:class:`EngineTypes`). :class:`ArrowOutput` writes outcomes as record batches. The bounds of a window
    are values of the column that :func:`bound_column` names, or a :data:`POSITION`. Of a changelog the
    column :data:`CHANGE` says what a row is.
Queries, times, state
    :func:`parse_query` and :class:`QueryImportError`; :func:`nanoseconds` of a duration and :data:`STEPS` of units;
    :func:`milliseconds` of a time and back to the :func:`moment`, up to the :data:`FARTHEST`; the
    :func:`fingerprint` of a query, a :class:`Fingerprint`, and :func:`dumps`, which writes plain values as bytes.
Workers
    :func:`keep_freed_memory`; :func:`hold_pool`, :func:`release_pool` and :data:`WAITING` of the threads that compute
    ``lcs``.
Users
    :func:`near` suggests the name that a user may have meant. On the command line an engine is a function of a
    :class:`Job`; :func:`in_micros` is the schema of its files for engines whose times are of microseconds; it raises
    :class:`DataError`, with the :func:`root_cause` of an engine's error, and :class:`UsageError`.

The command line is imported when it is first used, since workers do without it.

>>> from sash import spi
>>> spi.nanoseconds("2s")
2000000000
"""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sash.aggregators.pba import WAITING, hold_pool, release_pool
from sash.query.file import QueryImportError, parse_query
from sash.query.import_paths import near
from sash.runtime.arrow_output import CHANGE, ArrowOutput, Column, EngineTypes, result_columns
from sash.runtime.operator import KeyedOperator, KeyOperator, Outcomes
from sash.runtime.sorted_batches import SortedBatches, coalesce_batches
from sash.runtime.two_phases import SliceMerger, SliceReducer, SliceStream, reduces_first, why_one_phase_streams
from sash.runtime.window_bounds import POSITION, bound_column
from sash.state.fingerprint import Fingerprint, fingerprint
from sash.state.values import dumps
from sash.values.timestamps import FARTHEST, STEPS, milliseconds, moment, nanoseconds

if TYPE_CHECKING:
    from sash.cli.engines import DataError, Job, UsageError, root_cause
    from sash.cli.files import in_micros

__all__ = [
    "CHANGE",
    "FARTHEST",
    "POSITION",
    "STEPS",
    "WAITING",
    "ArrowOutput",
    "Column",
    "DataError",
    "EngineTypes",
    "Fingerprint",
    "Job",
    "KeyOperator",
    "KeyedOperator",
    "Outcomes",
    "QueryImportError",
    "SliceMerger",
    "SliceReducer",
    "SliceStream",
    "SortedBatches",
    "UsageError",
    "bound_column",
    "coalesce_batches",
    "dumps",
    "fingerprint",
    "hold_pool",
    "in_micros",
    "keep_freed_memory",
    "milliseconds",
    "moment",
    "nanoseconds",
    "near",
    "parse_query",
    "reduces_first",
    "release_pool",
    "result_columns",
    "root_cause",
    "why_one_phase_streams",
]
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as in malloc.h
_KEPT = 64 << 20
"""Bytes that may lie free at the end of the heap."""
_LARGE = 32 << 20
"""Larger blocks come from the system each time: the most that glibc allows."""

_COMMAND_LINE = {
    "DataError": "sash.cli.engines",
    "Job": "sash.cli.engines",
    "UsageError": "sash.cli.engines",
    "in_micros": "sash.cli.files",
    "root_cause": "sash.cli.engines",
}


def __getattr__(name: str) -> Any:
    if name in _COMMAND_LINE:
        return getattr(import_module(_COMMAND_LINE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def keep_freed_memory() -> bool:
    """Keep up to 64 MB that this process frees; False if its C library cannot. O(1).

    The columns of a batch take some hundred kilobytes each and are freed with it. glibc returns such memory to the
    system, which zeroes it again page by page for the next batch: over long windows a good part of the cost. For
    processes that only run queries, since the whole process is affected.

    >>> kept = keep_freed_memory()  # True with glibc
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's; others have none, or one that does nothing
    if mallopt is None:
        return False
    return all(mallopt(option, value) for option, value in ((_TRIM_THRESHOLD, _KEPT), (_MMAP_THRESHOLD, _LARGE)))
