"""Times, durations, arrays and columns of partials: what every other part computes with."""

from typing import Any

import numpy as np

__all__ = ["Array", "PerformanceWarning"]

Array = np.ndarray[Any, Any]


class PerformanceWarning(UserWarning):
    """Something runs in a slower way than it could; the message says why."""
