"""The multi-level aggregators of the MTA paper: Log MTA and AMTA."""

from sash.aggregators.mta.amta import AMTA
from sash.aggregators.mta.log_mta import LogMTA

__all__ = ["AMTA", "LogMTA"]
