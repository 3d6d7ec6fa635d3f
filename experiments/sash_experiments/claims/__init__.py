"""What the five papers claim, each with its number and a check on our raw results. Facts are theirs, words are ours."""

from sash_experiments.claims.claim import Claim, Unshown, Verdict
from sash_experiments.claims.counted import CLAIMS as COUNTED
from sash_experiments.claims.of_daba import CLAIMS as DABA
from sash_experiments.claims.of_flink import CLAIMS as FLINK
from sash_experiments.claims.of_mta import CLAIMS as MTA
from sash_experiments.claims.of_pba import CLAIMS as PBA
from sash_experiments.claims.of_reactive import CLAIMS as REACTIVE
from sash_experiments.claims.of_slicing import CLAIMS as SLICING
from sash_experiments.claims.of_workloads import CLAIMS as WORKLOADS

__all__ = ["CLAIMS", "Claim", "Unshown", "Verdict"]

_ORDER = ("pba", "daba", "slicing", "ra", "mta")
CLAIMS = sorted(
    [*PBA, *FLINK, *DABA, *SLICING, *WORKLOADS, *REACTIVE, *MTA, *COUNTED],
    key=lambda claim: _ORDER.index(claim.experiment.partition("-")[0]),
)
