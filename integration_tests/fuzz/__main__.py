"""Fuzz for some minutes: ``python -m integration_tests.fuzz --minutes 10``, or try one seed again."""

from __future__ import annotations

import argparse
import sys
from random import Random

from .run import search
from .targets import TARGETS


def main() -> int:
    """Fuzz; the exit code is 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m integration_tests.fuzz", description=__doc__)
    parser.add_argument("--target", choices=TARGETS, action="append", help="what to fuzz; all by default")
    parser.add_argument("--minutes", type=float, default=10.0, help="for all targets together (default %(default)s)")
    parser.add_argument("--seed", type=int, help="try this seed only, and show the traceback")
    parser.add_argument("--first-seed", type=int, default=None, help="begin here (default: chosen at random)")
    parser.add_argument("--most", type=int, default=20, help="stop a target after so many faults (default 20)")
    options = parser.parse_args()
    targets = options.target or list(TARGETS)
    if options.seed is not None:
        for target in targets:
            name, data = TARGETS[target].input(options.seed)
            print(target, name, data[:300] if isinstance(data, bytes) else data)
            TARGETS[target].check(name, data)
        return 0
    found = 0
    for target in targets:
        first = Random().randrange(10**9) if options.first_seed is None else options.first_seed
        found += search(target, first, options.minutes * 60 / len(targets), options.most)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
