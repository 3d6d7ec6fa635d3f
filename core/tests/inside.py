"""What tests of the row engine look at inside of an operator."""

from __future__ import annotations

import sash
from sash.engine.rows.engine import AnyLane

__all__ = ["row_lane"]


def row_lane(op: sash.Operator) -> AnyLane:
    """The row engine of an operator of one key and one lane."""
    engine = op._driver.lanes[0].rows()
    engine.grow(1)
    return engine.lanes[0]
