"""What the five papers claim, each with its number and a check on our raw results. Facts are theirs, words are ours."""

from sash_experiments.claims.claim import Claim, Unshown, Verdict
from sash_experiments.claims.of_daba import CLAIMS as DABA
from sash_experiments.claims.of_mta import CLAIMS as MTA
from sash_experiments.claims.of_pba import CLAIMS as PBA
from sash_experiments.claims.of_reactive import CLAIMS as REACTIVE
from sash_experiments.claims.of_slicing import CLAIMS as SLICING

__all__ = ["CLAIMS", "Claim", "Unshown", "Verdict"]

CLAIMS = [*PBA, *DABA, *SLICING, *REACTIVE, *MTA]
