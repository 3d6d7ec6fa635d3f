"""What tests of the row engine look at inside of an operator."""

from __future__ import annotations

import sash
from sash.engine.rows.lane import RowLane

__all__ = ["row_lane"]


def row_lane(op: sash.Operator) -> RowLane:
    """The row engine of an operator of one key and one lane."""
    engine = op._driver.lanes[0].rows()
    engine.grow(1)
    return engine.lanes[0]
