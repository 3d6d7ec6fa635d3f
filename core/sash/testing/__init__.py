"""What tests of windows need, ours and users': the definition, a stream by it, and aggregations that count or fail.

The definition is written as naively as it can be read; nothing here is fast.
"""

from sash.testing.definition import count_windows, naive
from sash.testing.evaluator import Evaluator, evaluate
from sash.testing.wrapped import Counted, Failing

__all__ = ["Counted", "Evaluator", "Failing", "count_windows", "evaluate", "naive"]
