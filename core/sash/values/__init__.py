"""Times, durations, arrays and columns of partials: what every other part computes with."""

__all__ = ["PerformanceWarning"]


class PerformanceWarning(UserWarning):
    """Something runs in a slower way than it could; the message says why."""
