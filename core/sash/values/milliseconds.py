"""Times in whole milliseconds since 1970, in which engines have their watermarks and timers."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

__all__ = ["FARTHEST", "milliseconds", "moment"]

FARTHEST = (2**63 - 1) // 10**6 - 1000
"""What nanoseconds can tell, in milliseconds."""
_LOCAL, _UTC = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(at: Any) -> int:
    """A time or a plain number of milliseconds, rounded up. O(1).

    >>> milliseconds(datetime(1970, 1, 1, 0, 0, 1, 1)), milliseconds(date(1970, 1, 2))
    (1001, 86400000)
    """
    if isinstance(at, datetime):  # as most often
        since = at - (_LOCAL if at.tzinfo is None else _UTC)
        return (since.days * 86400 + since.seconds) * 1000 + -(-since.microseconds // 1000)
    if isinstance(at, np.datetime64):
        return -(-int(at.astype("datetime64[ns]").astype(np.int64)) // 10**6)
    if isinstance(at, int | float | np.number):
        return math.ceil(at)
    days: int = (at - date(1970, 1, 1)).days
    return days * 86_400_000


def moment(milliseconds: int, zoned: bool) -> datetime:
    """The time that so many milliseconds are, as near as nanoseconds can tell; in UTC if ``zoned``. O(1).

    >>> moment(1001, zoned=False)
    datetime.datetime(1970, 1, 1, 0, 0, 1, 1000)
    """
    return (_UTC if zoned else _LOCAL) + timedelta(milliseconds=max(min(milliseconds, FARTHEST), -FARTHEST))
