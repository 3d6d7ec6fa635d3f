"""Memory that is freed is kept: counted are the pages that the system hands out."""

from __future__ import annotations

import platform
import subprocess
import sys

SCRIPT = """
import resource, sys
import numpy as np
from sash.spi import keep_freed_memory

def batch():
    columns = [np.ones(90_000) for _ in range(5)]  # some 3.6 MB, 880 pages

def faults(rounds):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        batch()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keeps = sys.argv[1] == "keep" and keep_freed_memory()
faults(5)
print(keeps, faults(50))
"""


def test_the_columns_of_batch_after_batch_are_in_the_same_memory() -> None:
    told = {}
    for how in ("leave", "keep"):
        done = subprocess.run([sys.executable, "-c", SCRIPT, how], capture_output=True, text=True, check=True)
        told[how] = done.stdout.split()
    glibc = platform.libc_ver()[0] == "glibc"
    assert glibc <= (told["keep"][0] == "True"), told
    if glibc:
        assert int(told["keep"][1]) < 500, told
        assert int(told["leave"][1]) > 10_000, told  # so there was something to be gained
