"""For tests of windows, ours and users': the naive definition of results, and aggregations that count or fail.

Nothing here is fast.
"""

from sash.testing.definition import count_windows, naive
from sash.testing.evaluator import Evaluator, evaluate
from sash.testing.wrapped import Counted, Failing

__all__ = ["Counted", "Evaluator", "Failing", "count_windows", "evaluate", "naive"]
